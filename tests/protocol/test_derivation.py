"""Known answers: the bytes from which every device draws, frozen.

The expected values are written down here, and derived once more from the documented layout with
nothing but hashlib and hmac. If one of these tests fails, devices in the field would draw a
second permanent response: change the code back, never the vectors.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import pytest
from client_kit import choice, question, survey

from deniable.protocol.derivation import permanent_response, pseudonym
from deniable.protocol.question import Question

SECRET = bytes(range(32))
SIDES = [f"side {number}" for number in range(16)]

ASKED = survey(
    {"id": "known", "linkable": True},
    coin=question(),
    side=choice(*SIDES, mechanism="grr"),
    bits=choice(*SIDES, mechanism="oue"),
    flips=choice("a", "b", "c", mechanism="sue", version=3, period="once"),
    hashed=choice(*SIDES, mechanism={"name": "olh", "g": 2}),
    count=question(type="number", range={"low": 0, "high": 10, "steps": 10}),
).questions

HASHES = {
    "coin": "8d582e2c1d5f41498116d3c6fbdc97344464ca513c69dea03ebfbb47211bd766",
    "side": "1d342c7d0c2f2b4d458df3be70587ae6bc0a456527965574208810113071945a",
    "bits": "8f9f696c65ed02f848c30167737742aeb1bd98d2edbadffe99b0466048ad2efd",
    "flips": "5dbee4bd395194e6a104d1c4139896006f7f60505a55f0614a14f62b5dabf1c9",
    "hashed": "fb23337ab911134665ebba78e68dc85f61bfe399017e65c235b338ed84f64170",
    "count": "06ece72ef30043fd6dc944cd476b54d26a48faa1f74a746b4ebb92d5c058c926",
}

# Permanent responses to symbols 0, 1, 2 under SECRET: a symbol, or a mask with bit i for symbol i.
PERMANENT = {
    "coin": [0, 1],
    "side": [0, 1, 3],
    "bits": [256, 134, 2065],
    "flips": [1, 2, 0],
    "hashed": [1, 1, 1, 1],
    "count": [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1],
}
ROWS = {"hashed": 2}


def prefixed(*fields: str) -> bytes:
    return b"".join(len(f.encode()).to_bytes(4, "big") + f.encode() for f in fields)


def words(secret: bytes, *fields: str) -> Any:
    """64-bit words of HMAC-SHA-512(secret, fields and a counter from 0), big-endian."""
    counter = 0
    while True:
        message = prefixed("deniable/1", *fields) + counter.to_bytes(8, "big")
        block = hmac.new(secret, message, hashlib.sha512).digest()
        yield from (int.from_bytes(block[at : at + 8], "big") for at in range(0, 64, 8))
        counter += 1


def below(drawn: Any, n: int) -> int:
    """A uniform integer from the words, those past the last full multiple of n left out."""
    if n == 1:
        return 0
    while (word := next(drawn)) >= 2**64 - 2**64 % n:
        pass
    return int(word % n)


def derive(asked: Question, symbol: int) -> tuple[int, int]:
    """The permanent response and its row, from the documented layout alone."""
    question = ("known", asked.id, str(asked.version), HASHES[asked.id])
    setups = words(SECRET, "setup", *question, "", "")
    setup, remembered = 0, symbol
    if asked.mechanism.name == "olh":
        setup = below(setups, 15)
        remembered = ((setup + 1) & symbol).bit_count() % 2
    elif asked.mechanism.name == "1bitmean":
        setup = below(setups, 10)
        remembered = int(symbol > setup)
    drawn = words(SECRET, "permanent", *question, str(setup), str(remembered))
    thresholds = asked.mechanism.thresholds
    if "keep" in thresholds:
        width = asked.mechanism.shape.width
        if next(drawn) >= thresholds["keep"]:
            other = below(drawn, width - 1)
            remembered = other + (other >= remembered)
        return remembered, setup if asked.mechanism.shape.rows > 1 else 0
    mask = 0
    for bit in range(asked.mechanism.k):
        limit = thresholds["true_bit" if bit == symbol else "other_bit"]
        mask |= (next(drawn) < limit) << bit
    return mask, 0


@pytest.mark.parametrize("name", ASKED)
def test_privacy_hashes_are_known(name: str) -> None:
    assert ASKED[name].hash == HASHES[name]


@pytest.mark.parametrize("name", ASKED)
def test_permanent_responses_are_known(name: str) -> None:
    found = [permanent_response(SECRET, ASKED[name], s) for s in range(len(PERMANENT[name]))]
    assert [response.out for response in found if response] == PERMANENT[name]
    derived = [derive(ASKED[name], symbol) for symbol in range(len(found))]
    assert [(response.out, response.row) for response in found if response] == derived
    assert {row for _, row in derived} == {ROWS.get(name, 0)}


@pytest.mark.parametrize(
    ("alone", "known"),
    [
        (None, "d684a9d493ea1f02a2e7e9d98c2f7661"),
        (("flips", 3), "b7ed4f84048af353a36fbf1f47bb055d"),
    ],
)
def test_pseudonyms_are_known(alone: tuple[str, int] | None, known: str) -> None:
    own = [] if alone is None else [alone[0], str(alone[1])]
    message = prefixed("deniable/1", "device", "known", "2026-11-30", *own)
    assert hmac.new(SECRET, message, hashlib.sha512).digest()[:16].hex() == known
    assert pseudonym(SECRET, "known", "2026-11-30", alone).hex() == known


def other(**changes: Any) -> Question:
    head = {"id": changes.pop("survey", "known"), "linkable": True}
    name = changes.pop("name", "bits")
    asked = choice(*SIDES, **{"mechanism": "oue", **changes})
    return survey(head, **{name: asked}).questions[name]


@pytest.mark.parametrize(
    "changes",
    [
        {"survey": "unknown"},
        {"name": "bitz"},
        {"version": 2},
        {"ask": "Another question?"},
    ],
)
def test_no_two_questions_share_bits(changes: dict[str, Any]) -> None:
    """16 symbols of 16 bits each: independent draws agree on all with odds below 1e-100."""
    mine, theirs = other(), other(**changes)
    assert [permanent_response(SECRET, mine, s) for s in range(16)] != [
        permanent_response(SECRET, theirs, s) for s in range(16)
    ]


def test_pseudonyms_differ_by_survey_period_and_question() -> None:
    names = {
        pseudonym(SECRET, "known", "2026-11-30"),
        pseudonym(SECRET, "known", "2026-12-01"),
        pseudonym(SECRET, "known2", "026-11-30"),
        pseudonym(SECRET, "known", "2026-11-30", ("flips", 3)),
        pseudonym(SECRET, "known", "2026-11-30", ("flips", 31)),
        pseudonym(SECRET, "known", "2026-11-30", ("flips3", 1)),
        pseudonym(SECRET[::-1], "known", "2026-11-30"),
    }
    assert len(names) == 7
