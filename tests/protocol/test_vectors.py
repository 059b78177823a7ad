"""The known answers that every implementation shares: current, and derived once more by hand.

The second derivation follows docs/wire.md with nothing but hashlib and hmac. If a value here
differs, devices in the field would draw a second permanent response: change the code back, never
the file.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import pytest
from vectors_kit import (
    FILE,
    KNOWN,
    QUESTIONS,
    SCALE,
    below,
    coins,
    kept_or_moved,
    kept_or_turned,
    keyed,
    packed,
    prefixed,
    thresholds,
    unpacked,
    words,
)

from deniable.protocol import vectors
from deniable.protocol.question import QuestionType
from deniable.protocol.survey import parse_compiled

PAGE = FILE.parents[1] / "docs" / "wire.md"
ROWS = {entry["question"]: entry["rows"] for entry in KNOWN["buckets"]}


def test_the_file_is_current(tmp_path: Path) -> None:
    """Write it anew with `make vectors`, if an entry was added; none may change."""
    assert FILE.read_text(encoding="utf-8") == vectors.text()
    written = tmp_path / "vectors.json"
    assert vectors.main([str(written)]) == 0
    assert written.read_bytes() == FILE.read_bytes()


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "deniable.protocol.vectors"]
    for arguments, status in (([str(tmp_path)], 1), (["a", "b"], 2)):
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (status, 1)


def test_the_file_is_small_and_any_language_can_read_its_numbers() -> None:
    assert FILE.stat().st_size < 200_000
    assert all(abs(number) <= 2**53 for number in numbers(KNOWN))
    assert parse_compiled(KNOWN["survey"]).id == "vectors"


def test_the_page_shows_known_answers_and_names_them_all() -> None:
    page = PAGE.read_text(encoding="utf-8")
    (known,) = (entry for entry in KNOWN["hashes"] if entry["question"] == "coin_twice")
    assert f"{known['canonical']}\n{known['hash']}\n" in page
    secret = bytes(range(32)).hex()
    fields = ("permanent", "vectors", "coin_twice", "1", known["hash"], "0", "1")
    keep = int(QUESTIONS["coin_twice"]["mechanism"]["thresholds"]["keep"])
    assert f"`{next(words(secret, *fields)):016x}`" in page
    assert f"`{keep:016x}`" in page
    assert all(f"`{key}`" in page for key in KNOWN)
    assert all(f"`{key}`" in page for key in (*KNOWN["survey"], *QUESTIONS["coin"]))


def numbers(value: Any) -> Iterator[int]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from numbers(item)
    elif not isinstance(value, str | bool) and value is not None:
        assert isinstance(value, int)
        yield value


def test_every_case_is_there() -> None:
    named = {(q["mechanism"]["name"], q["epsilon_first"] is not None) for q in QUESTIONS.values()}
    twice = ("grr", "oue", "olh", "cms", "hcms", "pem")
    assert named >= {(name, both) for name in twice for both in (False, True)}
    assert named >= {(name, False) for name in ("privset", "trajectory", "counter")}
    assert {q["type"] for q in QUESTIONS.values()} == set(get_args(QuestionType))
    assert {q["period"] for q in QUESTIONS.values()} == {"day", "week", "month", "once"}
    assert {q["mechanism"]["options"].get("g") for q in QUESTIONS.values()} >= {3, 4, 5, 9}
    moved = [entry for entry in KNOWN["reports"] if entry["response"] != entry["permanent"]]
    assert {QUESTIONS[entry["question"]]["mechanism"]["name"] for entry in moved} == {
        "grr", "oue", "olh", "cms", "hcms", "pem",
    }  # fmt: skip


def permanent(secret: str, question: dict[str, Any], symbol: int) -> Any:
    """The response from the documented layout alone."""
    mechanism, limits = question["mechanism"], thresholds(question)
    rows = mechanism["shape"]["rows"]
    setup = below(keyed(question, secret, "setup", "", ""), rows)
    memo = symbol
    if mechanism["name"] == "olh":
        memo = ROWS[question["id"]][setup][symbol]
    drawn = keyed(question, secret, "permanent", str(setup), str(memo))
    if mechanism["name"] == "oue":
        true, other = limits["true_bit"], limits["other_bit"]
        k = mechanism["k"]
        return packed(coins([true if bit == memo else other for bit in range(k)], drawn), k)
    out = kept_or_moved(memo, limits["keep"], mechanism["shape"]["width"], drawn)
    return out if rows == 1 else [setup, out]


def second(question: dict[str, Any], remembered: Any, fresh: list[str]) -> Any:
    """The report of a remembered response, from the words that are drawn for it."""
    name, shape = question["mechanism"]["name"], question["mechanism"]["shape"]
    limits, width = thresholds(question), shape["width"]
    drawn = iter([int(word, 16) for word in fresh])
    row, out = (0, remembered) if shape["rows"] == 1 else remembered
    report: Any
    if name == "oue":
        mask, again = unpacked(out), limits["bit_again"]
        set_bits = [mask >> bit & 1 for bit in range(width)]
        report = packed(coins([again if bit else SCALE - again for bit in set_bits], drawn), width)
    elif name == "cms":
        report = packed(kept_or_turned(unpacked(out), width, limits["keep_again"], drawn), width)
    elif name == "hcms":
        report = kept_or_turned(out, 1, limits["keep_again"], drawn)
    else:
        report = kept_or_moved(out, limits["keep_again"], width, drawn)
    return report if shape["rows"] == 1 else [row, report]


@pytest.mark.parametrize("entry", KNOWN["hashes"], ids=lambda entry: str(entry["question"]))
def test_hashes_are_of_the_canonical_texts(entry: dict[str, str]) -> None:
    assert hashlib.sha256(entry["canonical"].encode()).hexdigest() == entry["hash"]
    assert QUESTIONS[entry["question"]]["hash"] == entry["hash"]
    document = json.loads(entry["canonical"])
    assert document.pop("survey") == "vectors"
    assert document.pop("question") == entry["question"]
    asked = QUESTIONS[entry["question"]]
    assert document == {**{key: asked[key] for key in document}, "version": str(asked["version"])}


def test_words_and_uniform_integers_are_known() -> None:
    for entry in KNOWN["words"]:
        drawn = words(entry["secret"], *entry["fields"])
        assert [f"{next(drawn):016x}" for _ in entry["words"]] == entry["words"]
    for entry in KNOWN["below"]:
        assert int(entry["limit"]) == 2**64 - 2**64 % entry["n"]
        drawn = words(entry["secret"], *entry["fields"])
        assert [below(drawn, entry["n"]) for _ in entry["drawn"]] == entry["drawn"]


def test_permanent_responses_follow_from_the_layout() -> None:
    for entry in KNOWN["permanent"]:
        question = QUESTIONS[entry["question"]]
        if question["type"] == "number":
            continue
        for symbol, response in enumerate(entry["responses"]):
            assert permanent(entry["secret"], question, symbol) == response


def test_buckets_collide_in_their_share_of_rows() -> None:
    """Any two symbols share a bucket in (R - 1)/g of the R rows."""
    for entry in KNOWN["buckets"]:
        mechanism = QUESTIONS[entry["question"]]["mechanism"]
        rows, g = mechanism["shape"]["rows"], mechanism["options"]["g"]
        assert len(entry["rows"]) == rows == (g ** entry["digits"] - 1) // (g - 1)
        for a, b in combinations(zip(*entry["rows"], strict=True), 2):
            assert sum(x == y for x, y in zip(a, b, strict=True)) == (rows - 1) // g


def test_second_rounds_follow_from_their_words() -> None:
    for entry in KNOWN["reports"]:
        question = QUESTIONS[entry["question"]]
        assert second(question, entry["permanent"], entry["fresh"]) == entry["response"]


def test_pseudonyms_follow_from_the_layout() -> None:
    for entry in KNOWN["pseudonyms"]:
        own = [str(part) for part in entry["alone"] or []]
        message = prefixed("deniable/1", "device", "vectors", entry["period"], *own)
        named = hmac.new(bytes.fromhex(entry["secret"]), message, hashlib.sha512).digest()[:16]
        assert base64.urlsafe_b64encode(named).decode() == f"{entry['device']}=="


def test_requests_are_padded_to_the_next_size() -> None:
    for entry in KNOWN["requests"]:
        document = json.loads(entry["body"])
        for key in ("period", "segment", "device", "reports"):
            assert document.get(key) == entry[key]
        assert entry["size"] == vectors.padded(len(entry["body"].encode()))
    with pytest.raises(StopIteration):
        vectors.padded(65537)
