"""What travels from a device to a collector, byte for byte."""

from __future__ import annotations

import base64
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from survey_documents import choice_table, make_question, make_survey

from deniable.protocol.errors import ParameterError
from deniable.protocol.report import (
    CODES,
    DEVICE_BYTES,
    DEVICE_CHARACTERS,
    RETRY_CODES,
    device_name,
    parse_device,
    report_document,
    request_document,
)
from deniable.protocol.response import Response

BASE64URL = string.ascii_letters + string.digits + "-_"


@given(st.binary(min_size=16, max_size=16))
def test_device_names_round_trip(pseudonym: bytes) -> None:
    name = device_name(pseudonym)
    assert len(name) == DEVICE_CHARACTERS == 22
    assert set(name) <= set(BASE64URL)
    assert parse_device(name) == pseudonym


def test_a_device_name_is_frozen() -> None:
    assert device_name(bytes(range(240, 256))) == "8PHy8_T19vf4-fr7_P3-_w"


@given(st.text(BASE64URL, min_size=22, max_size=22))
def test_a_pseudonym_has_one_name(name: str) -> None:
    """22 characters hold 132 bits, so four must be zero."""
    decoded = base64.urlsafe_b64decode(name + "==")
    canonical = device_name(decoded) == name
    assert canonical == (name[-1] in "AQgw")
    if canonical:
        assert parse_device(name) == decoded
    else:
        with pytest.raises(ParameterError):
            parse_device(name)


@pytest.mark.parametrize(
    "name",
    [
        "", "A", "A" * 21, "A" * 23, "A" * 24, "A" * 22 + "==", "A" * 20 + "==", "A" * 21 + "B",
        "A" * 21 + "=", "A" * 21 + "\n", "A" * 21 + " ", "+" + "A" * 21, "/" + "A" * 21,
        "\u00e9" + "A" * 21, "\uff21" * 22, "\ud800" + "A" * 21, "A" * 10 + "=" + "A" * 11,
    ],
)  # fmt: skip
def test_other_names_are_refused_and_not_repeated(name: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        parse_device(name)
    assert str(refusal.value) == (
        "device must be 16 bytes in base64url without padding"
        " (22 characters, the last A, Q, g or w)"
    )


def test_a_report_is_frozen() -> None:
    dark = make_survey().questions["dark_mode"]
    packed = dark.mechanism.shape.pack(Response(1))
    assert report_document(dark.id, dark.version, dark.wire_hash, packed) == {
        "question": "dark_mode",
        "version": 1,
        "hash": "9625a3d27875e6aa776357ee82be10d6",
        "response": 1,
    }
    oue = make_question(choice_table(mechanism="oue"))
    assert oue.mechanism.shape.pack(Response(0b1010)) == "Cg"


@pytest.mark.parametrize("segment", ["beta", None])
def test_a_request_is_frozen(segment: str | None) -> None:
    reports = ({"question": "dark_mode"},)
    document = request_document("acme-editor", "2026-11-30", segment, "A" * 22, reports)
    assert document.pop("segment", None) == segment
    assert document == {
        "survey": "acme-editor",
        "period": "2026-11-30",
        "device": "A" * 22,
        "reports": [{"question": "dark_mode"}],
    }


def test_an_absent_segment_is_left_out() -> None:
    assert "segment" not in request_document("s", "once", None, "A" * 22, [])


def test_codes_are_frozen() -> None:
    assert list(CODES) == [
        "unknown_question", "wrong_version", "wrong_hash", "bad_response", "wrong_period",
        "period_closed", "period_future", "expired", "segment", "sealing_key",
    ]  # fmt: skip
    assert sorted(RETRY_CODES) == ["period_future"]
    assert DEVICE_BYTES == 16
