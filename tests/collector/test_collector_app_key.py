"""Keys of apps: what a file may hold, and who is let in."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from deniable.client.transport import key_header
from deniable.collector import app_key
from deniable.collector.app_key import AppKeys, create_app_key
from deniable.collector.problems import HTTPProblem
from deniable.protocol.errors import ParameterError


def written(folder: Path, text: str) -> Path:
    path = folder / "app-keys"
    path.write_text(text, "utf-8")
    return path


def refused(keys: AppKeys, header: str | None) -> HTTPProblem:
    with pytest.raises(HTTPProblem) as caught:
        keys.check(header)
    return caught.value


def test_a_new_key_is_let_in(tmp_path: Path) -> None:
    key, line = create_app_key("editor-4.2")
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", key)
    assert line == f"sha256:{hashlib.sha256(key.encode()).hexdigest()}  editor-4.2"
    assert key not in line
    keys = AppKeys.load(written(tmp_path, line))
    keys.check(key)
    assert key_header(key) == {app_key.HEADER: key}, "a client can send it"


def test_keys_differ() -> None:
    assert len({create_app_key("editor")[0] for _ in range(100)}) == 100


def test_a_file_holds_several_names_and_remarks(tmp_path: Path) -> None:
    made = [create_app_key(name) for name in ("old", "new", "next")]
    text = f"# apps\n\n{made[0][1]}\n  {made[1][1]} of spring\t2027 é\r\n#{made[2][1]}\n"
    keys = AppKeys.load(written(tmp_path, text))
    assert len(keys.digests) == 2
    keys.check(made[0][0])
    keys.check(made[1][0])
    assert refused(keys, made[2][0]).status == 401


@pytest.mark.parametrize("header", [None, "", "wrong", "\udcff", "é", "x" * 100_000])
def test_nobody_else_is(header: str | None, tmp_path: Path) -> None:
    key, line = create_app_key("editor")
    keys = AppKeys.load(written(tmp_path, line))
    problem = refused(keys, header)
    assert problem.status == 401
    assert "WWW-Authenticate" in problem.headers
    assert "takes reports only of apps whose key it knows" in problem.detail
    for close in (key[:-1], f"{key} ", f"{key},{key}", key.swapcase(), line, line.split()[0]):
        refused(keys, close)


def test_every_key_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are and whichever fits: the time says nothing of the keys."""
    made = [create_app_key("editor") for _ in range(5)]
    keys = AppKeys.load(written(tmp_path, "\n".join(line for _, line in made)))
    compared: list[bytes] = []

    def compare(a: bytes, b: bytes) -> bool:
        compared.append(b)
        return original(a, b)

    original = app_key.hmac.compare_digest
    monkeypatch.setattr(app_key.hmac, "compare_digest", compare)
    keys.check(made[0][0])
    refused(keys, None)
    assert compared == [*keys.digests, *keys.digests]


HEX = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    "line",
    [
        HEX,
        f"sha512:{HEX}",
        f"SHA256:{HEX}",
        f"sha256:{HEX.upper()}",
        f"sha256:{HEX[:-1]}",
        f"sha256:{HEX}0",
        f"sha256: {HEX}",
        f"editor sha256:{HEX}",
        "my-own-key",
    ],
)
def test_a_line_that_is_no_key_is_named(line: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"# keys\nsha256:{HEX} good\n{line}\n")
    with pytest.raises(ParameterError) as caught:
        AppKeys.load(path)
    assert str(caught.value) == (
        f"app keys: {path}, line 3: must begin with sha256: and 64 hex digits, as "
        "`deniable-collector app-key create` prints it"
    )


@pytest.mark.parametrize("text", ["", "\n\n", "# only remarks\n"])
def test_a_file_without_keys_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="holds no key, and would let nobody in"):
        AppKeys.load(written(tmp_path, text))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"nowhere cannot be read \(No such file"):
        AppKeys.load(tmp_path / "nowhere")
    path = tmp_path / "app-keys"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ParameterError, match="is not UTF-8"):
        AppKeys.load(path)


@pytest.mark.parametrize("name", ["", "two words", "new\nline", "-x", "x" * 65])
def test_a_name_is_a_word(name: str) -> None:
    with pytest.raises(ParameterError, match="app key name must be"):
        create_app_key(name)
