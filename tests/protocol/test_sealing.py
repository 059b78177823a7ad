"""What a response is sealed into: its info, its plaintext, its size and its wire form."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from survey_documents import boolean_table, choice_table, make_question, values

from deniable.protocol.errors import ReportError
from deniable.protocol.question import Question
from deniable.protocol.response import Response
from deniable.protocol.sealing import (
    SUITES,
    SealedResponse,
    SealingKey,
    encode_base64url,
    pack_plain,
    plain_size,
    seal_info,
    sealed_size,
    unpack_plain,
    unpack_sealed,
)

DARK = replace(make_question(boolean_table()), sealed=True)
COLOURS = [f"colour {number}" for number in range(60)]


def choice(mechanism: object) -> Question:
    table = choice_table(choices=COLOURS, epsilon_first=1, mechanism=mechanism)
    return replace(make_question(table), sealed=True)


QUESTIONS = {
    "boolean": DARK,
    "grr": choice("grr"),
    "oue": choice("oue"),
    "olh": choice("olh"),
    "rappor": choice("rappor"),
}
KEYS = (
    SealingKey("old", "x25519", bytes([1] * 32), "expired"),
    SealingKey("now", "x25519", bytes([2] * 32), "active"),
    SealingKey("next", "mlkem768-x25519", bytes([3] * 1216), "pending"),
)


def test_info_is_frozen() -> None:
    fields = (
        b"deniable/1", b"sealed", b"acme-editor", b"asked", b"1", DARK.hash.encode(),
        b"2026-11-30", b"beta", b"k1",
    )  # fmt: skip
    frozen = b"".join(len(field).to_bytes(4, "big") + field for field in fields)
    assert seal_info(DARK, "2026-11-30", "beta", "k1") == frozen
    assert DARK.hash == "3bc7f14f1bbda3139a9777a364dd950e971453f158c78ef024033ce8a6902cc7"


@pytest.mark.parametrize(
    "other",
    [
        seal_info(replace(DARK, survey="acme"), "2026-11-30", "beta", "k1"),
        seal_info(replace(DARK, id="darker"), "2026-11-30", "beta", "k1"),
        seal_info(replace(DARK, version=2), "2026-11-30", "beta", "k1"),
        seal_info(replace(DARK, ask="Is it?"), "2026-11-30", "beta", "k1"),
        seal_info(DARK, "2026-12-01", "beta", "k1"),
        seal_info(DARK, "2026-11-30", None, "k1"),
        seal_info(DARK, "2026-11-30", "bet", "ak1"),
        seal_info(DARK, "2026-11-30", "beta", "k2"),
    ],
)
def test_info_tells_everything_apart(other: bytes) -> None:
    assert other != seal_info(DARK, "2026-11-30", "beta", "k1")


def test_the_hash_covers_sealed_only_where_it_is() -> None:
    plain = make_question(boolean_table())
    assert plain.hash == make_question(boolean_table(sealed=False)).hash
    assert plain.hash != DARK.hash
    assert "sealed" not in plain.privacy_document()
    assert [plain.document()["sealed"], DARK.document()["sealed"]] == [False, True]


def test_a_plaintext_is_frozen() -> None:
    assert pack_plain(DARK, Response(1)) == bytes.fromhex("0000000001")
    assert pack_plain(QUESTIONS["oue"], Response(0b1000_0000_0000_0110)) == bytes.fromhex(
        "000000000680000000000000"
    )
    assert pack_plain(QUESTIONS["olh"], Response(2, 258)) == bytes.fromhex("0201000002")


@pytest.mark.parametrize("name", QUESTIONS)
@given(data=st.data())
def test_a_response_comes_back_in_one_size(name: str, data: st.DataObject) -> None:
    question = QUESTIONS[name]
    shape = question.mechanism.shape
    row = data.draw(st.integers(0, shape.rows - 1))
    if shape.kind == "symbol":
        out = data.draw(st.integers(0, shape.width - 1))
    else:
        low, high = (shape.weight, shape.weight) if shape.weight else (4, 12)
        places = st.lists(st.integers(0, shape.width - 1), min_size=low, max_size=high, unique=True)
        out = sum(1 << place for place in data.draw(places))
    response = Response(out, row)
    plaintext = pack_plain(question, response)
    assert len(plaintext) == plain_size(question)
    try:
        question.unpack(shape.pack(response))
    except ReportError:
        with pytest.raises(ReportError):
            unpack_plain(question, plaintext)
    else:
        assert unpack_plain(question, plaintext) == response


@pytest.mark.parametrize("name", QUESTIONS)
@given(plaintext=st.binary(max_size=12))
def test_any_plaintext_has_one_meaning_or_none(name: str, plaintext: bytes) -> None:
    question = QUESTIONS[name]
    with suppress(ReportError):
        assert pack_plain(question, unpack_plain(question, plaintext)) == plaintext


@pytest.mark.parametrize(
    ("name", "plaintext"),
    [
        ("boolean", ""),
        ("boolean", "00000000"),
        ("boolean", "000000000100"),
        ("boolean", "0000000002"),
        ("boolean", "0100000001"),
        ("oue", "000000000000000000000010"),
        ("oue", "00000000ffffffffffffff0f"),
        ("olh", "ffffffff00"),
    ],
)
def test_every_other_plaintext_is_refused(name: str, plaintext: str) -> None:
    with pytest.raises(ReportError, match="bad_response"):
        unpack_plain(QUESTIONS[name], bytes.fromhex(plaintext))


@pytest.mark.parametrize(
    ("suite", "name", "size"),
    [
        ("x25519", "boolean", 32 + 5 + 16),
        ("x25519", "oue", 32 + 12 + 16),
        ("mlkem768-x25519", "boolean", 1120 + 5 + 16),
    ],
)
def test_sizes_are_frozen(suite: str, name: str, size: int) -> None:
    assert sealed_size(QUESTIONS[name], suite) == size
    assert {name: (s.public, s.encapsulation) for name, s in SUITES.items()} == {
        "x25519": (32, 32),
        "mlkem768-x25519": (1216, 1120),
    }


@pytest.mark.parametrize("key", KEYS[1:], ids=lambda key: key.state)
def test_the_wire_form_comes_back(key: SealingKey) -> None:
    sealed = SealedResponse(key.id, bytes(range(53)) + bytes(sealed_size(DARK, key.suite) - 53))
    wire = sealed.pack()
    assert wire == [key.id, encode_base64url(sealed.ciphertext)]
    assert unpack_sealed(wire, DARK, KEYS) == sealed


GOOD = encode_base64url(bytes(53))


@pytest.mark.parametrize(
    ("wire", "code"),
    [
        (["old", GOOD], "sealing_key"),
        (["other", GOOD], "sealing_key"),
        (["", GOOD], "sealing_key"),
        (["next", GOOD], "bad_response"),
        (["now", GOOD + "A"], "bad_response"),
        (["now", GOOD[:-1]], "bad_response"),
        (["now", GOOD + "="], "bad_response"),
        (["now", GOOD[:-1] + "B"], "bad_response"),
        (["now", "+" + GOOD[1:]], "bad_response"),
        (["now", "\u0661" + GOOD[1:]], "bad_response"),
        (["now"], "bad_response"),
        (["now", GOOD, GOOD], "bad_response"),
        ([GOOD, 1], "bad_response"),
        ([0, 1], "bad_response"),
        ({"now": GOOD}, "bad_response"),
        (GOOD, "bad_response"),
        (1, "bad_response"),
        (None, "bad_response"),
    ],
)
def test_every_other_wire_form_is_refused(wire: Any, code: str) -> None:
    with pytest.raises(ReportError) as refusal:
        unpack_sealed(wire, DARK, KEYS)
    assert refusal.value.code == code
    assert GOOD[:20] not in str(refusal.value)


@given(wire=values | st.lists(st.sampled_from(("now", "next", GOOD, GOOD + "A", 3)), max_size=3))
def test_any_wire_form_is_a_report_or_a_typed_refusal(wire: object) -> None:
    with suppress(ReportError):
        assert unpack_sealed(wire, DARK, KEYS).pack() == wire
