"""``deniable sealing-key``: a private key nobody else reads, and its public half for a survey."""

from __future__ import annotations

import json
import os
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from sealed_kit import SUITES, sealed_question, sealing_survey
from survey_documents import boolean_table, survey_tables

from deniable.analysis import create_sealing_key, sealing_key
from deniable.analysis.cli import main
from deniable.analysis.unsealing.private_keys import read
from deniable.protocol.errors import DocumentError, ParameterError, StoreError
from deniable.protocol.response import Response
from deniable.protocol.sealing import SUITES as SIZES
from deniable.protocol.sealing import pack_plain, seal_info
from deniable.protocol.survey import parse_survey


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)], prog_name="deniable")


@pytest.mark.parametrize("suite", SUITES)
def test_a_key_is_made_and_its_table_is_what_a_survey_takes(tmp_path: Path, suite: str) -> None:
    file = tmp_path / "k.json"
    made = run("sealing-key", "create", file, "--suite", suite, "--id", "k2027")
    assert made.exit_code == 0, made.output
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text())["private"] not in made.output
    (table,) = tomllib.loads(made.stdout)["survey"]["sealing_keys"]
    assert [table["id"], table["suite"], table["state"]] == ["k2027", suite, "pending"]
    table["state"] = "active"
    tables = survey_tables({"q": boolean_table(sealed=True)}, sealing_keys=[table])
    (key,) = parse_survey(tables).sealing_keys
    assert len(key.public) == SIZES[suite].public
    assert run("sealing-key", "show", file).stdout == made.stdout
    shown = json.loads(run("sealing-key", "show", file, "--format", "json").stdout)
    assert {**shown, "state": "active"} == table


@pytest.mark.parametrize("suite", SUITES)
def test_a_key_read_back_opens_what_is_sealed_for_it(tmp_path: Path, suite: str) -> None:
    from dataclasses import replace

    from sealed_kit import PERIOD, seal

    made = create_sealing_key(tmp_path / "k.json", suite=suite)
    survey = sealing_survey(replace(made.key, state="active"), well=sealed_question())
    question = survey.questions["well"]
    (sealed,) = seal(survey, question, [Response(1)])
    info = seal_info(question, PERIOD, None, made.key.id)
    plaintext = read(tmp_path / "k.json").opener()(sealed.ciphertext, info)
    assert plaintext == pack_plain(question, Response(1))


def test_ids_come_of_the_key_and_differ(tmp_path: Path) -> None:
    made = {create_sealing_key(tmp_path / f"{i}.json").key.id for i in range(3)}
    assert len(made) == 3
    assert all(len(name) == 9 and name[0] == "k" for name in made)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "k.json"
    create_sealing_key(file)
    before = file.read_bytes()
    again = run("sealing-key", "create", file)
    assert again.exit_code == 1
    assert again.stderr == f"Error: {file} exists, and a private key is never overwritten\n"
    assert file.read_bytes() == before
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "elsewhere.json")
    assert run("sealing-key", "create", link).exit_code == 1
    assert not (tmp_path / "elsewhere.json").exists()


@pytest.mark.skipif(os.name == "nt", reason="rights are POSIX's")
@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_key_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "k.json"
    create_sealing_key(file)
    file.chmod(mode)
    with pytest.raises(StoreError, match="chmod 600"):
        sealing_key(file)
    file.write_text("[survey]", encoding="utf-8")
    with pytest.raises(DocumentError, match="it holds no sealing key"):
        sealing_key(file)


@pytest.mark.parametrize("name", ["", "K", "a b", "x" * 65])
def test_a_bad_id_is_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(ParameterError, match="id must be like"):
        create_sealing_key(tmp_path / "k.json", name=name)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ParameterError, match="suite must be one of"):
        create_sealing_key(tmp_path / "k.json", suite="rsa")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d | {"private": d["private"][:-1] + ("A" if d["private"][-1] != "A" else "E")},
        lambda d: d | {"public": "A" * 43},
        lambda d: d | {"suite": "rsa"},
        lambda d: d | {"suite": "mlkem768-x25519"},
        lambda d: d | {"suite": 3},
        lambda d: d | {"id": "K!"},
        lambda d: d | {"format": 2},
        lambda d: d | {"more": 1},
        lambda d: {k: v for k, v in d.items() if k != "private"},
        lambda d: [d],
        lambda d: "SECRET" + json.dumps(d),
    ],
)
def test_a_spoiled_file_is_refused_without_its_secret(tmp_path: Path, spoil: Any) -> None:
    file = tmp_path / "k.json"
    create_sealing_key(file)
    document = json.loads(file.read_text())
    spoiled = spoil(document)
    file.write_text(spoiled if isinstance(spoiled, str) else json.dumps(spoiled))
    with pytest.raises(DocumentError, match="holds no sealing key") as refusal:
        sealing_key(file)
    assert document["private"][:20] not in str(refusal.value)


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    shown = run("sealing-key", "show", tmp_path / "none.json")
    assert shown.exit_code == 1
    assert shown.stderr.count("\n") == 1
    assert "check the path" in shown.stderr
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    (tmp_path / "bytes.json").chmod(0o600)
    assert "not UTF-8" in run("sealing-key", "show", tmp_path / "bytes.json").stderr
