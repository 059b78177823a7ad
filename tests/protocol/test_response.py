"""Responses: one wire form each, nothing else accepted, and counts that can be read back."""

from __future__ import annotations

import base64
import string
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.protocol.errors import ReportError
from deniable.protocol.response import Response, Shape, decode_base64url

BASE64URL = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
EVERYTHING = BASE64URL + "=+/. \n\0\u00e9\uff11"


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    width = draw(st.integers(1, 40) | st.sampled_from((63, 64, 65, 255, 256, 257, 4096)))
    rows = draw(st.integers(1, 5))
    if draw(st.booleans()):
        return Shape("symbol", width, rows)
    weight = draw(st.none() | st.integers(0, min(width, 20)))
    return Shape("bits", width, rows, weight)


@st.composite
def responses(draw: st.DrawFn, shape: Shape) -> Response:
    row = draw(st.integers(0, shape.rows - 1))
    if shape.kind == "symbol":
        return Response(draw(st.integers(0, shape.width - 1)), row)
    bits = st.sets(
        st.integers(0, shape.width - 1),
        min_size=shape.weight or 0,
        max_size=shape.width if shape.weight is None else shape.weight,
    )
    return Response(sum(1 << bit for bit in draw(bits)), row)


@given(st.data())
def test_packing_round_trips(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    response = data.draw(responses(shape))
    wire = shape.pack(response)
    assert shape.unpack(wire) == response
    assert isinstance(wire, list) == (shape.rows > 1)
    out = wire[1] if isinstance(wire, list) else wire
    assert type(out) is (int if shape.kind == "symbol" else str)


@given(st.data())
def test_folding_counts(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    given_ = data.draw(st.lists(responses(shape), max_size=8))
    cells = [0] * shape.cells
    for response in given_:
        shape.fold(cells, response)
    expected = []
    for row in range(shape.rows):
        mine = [response.out for response in given_ if response.row == row]
        if shape.kind == "symbol":
            expected += [mine.count(symbol) for symbol in range(shape.width)]
        else:
            expected += [sum(mask >> bit & 1 for mask in mine) for bit in range(shape.width)]
            expected.append(len(mine))
    assert cells == expected
    assert shape.reports(cells) == len(given_)


@pytest.mark.parametrize(
    "shape",
    [
        Shape("symbol", 5),
        Shape("symbol", 3, rows=2),
        Shape("bits", 9),
        Shape("bits", 3),
        Shape("bits", 3, rows=2),
        Shape("bits", 4, weight=2),
    ],
    ids=str,
)
def test_every_small_wire_form_is_decided(shape: Shape) -> None:
    """Of all short texts and small integers, exactly the packed responses are accepted."""
    outs = range(shape.width) if shape.kind == "symbol" else range(1 << shape.width)
    legal = {
        str(shape.pack(Response(out, row)))
        for out in outs
        for row in range(shape.rows)
        if shape.weight is None or out.bit_count() == shape.weight
    }
    length = 0 if shape.kind == "symbol" else (shape.size * 8 + 5) // 6
    inner: list[Any] = [*range(-2, 9), *map("".join, product(BASE64URL, repeat=length))]
    tried = inner if shape.rows == 1 else [[row, out] for row in range(-1, 4) for out in inner]
    assert {str(wire) for wire in tried if accepted(shape, wire)} == legal


def accepted(shape: Shape, wire: object) -> bool:
    try:
        response = shape.unpack(wire)
    except ReportError:
        return False
    assert shape.pack(response) == wire
    return True


WRONG: list[Any] = [
    None, True, False, 1.0, 0.0, -1, 5, 2**63, 10**30, float("nan"), float("inf"),
    "", "0", "1", "AA", "AA==", "AB", "AAA", "AAE", "A", "a\u00e9a", "\uff11", "\uff21",
    "A\n", "A\0", " A",
    [], [0], [[0]], [0, 0], [0, 0, 0], {}, {"0": 0}, (0,), b"AA", ["AA"],
]  # fmt: skip


@pytest.mark.parametrize("wire", WRONG, ids=repr)
@pytest.mark.parametrize("shape", [Shape("symbol", 5), Shape("bits", 17)], ids=str)
def test_nothing_but_the_one_form_is_accepted(shape: Shape, wire: Any) -> None:
    with pytest.raises(ReportError) as refusal:
        shape.unpack(wire)
    assert refusal.value.code == "bad_response"


@pytest.mark.parametrize(
    "wire",
    [0, None, "AA", [], [0], (0, 0), [0, 0, 0], {0: 0, 1: 0}, [0, True], [0, 5], [[0], 0]]
    + [[row, 0] for row in (-1, 3, True, 0.0, "0", None)],
    ids=repr,
)
def test_rows_are_checked(wire: object) -> None:
    shape = Shape("symbol", 5, rows=3)
    assert shape.unpack([0, 0]) == Response(0)
    with pytest.raises(ReportError) as refusal:
        shape.unpack(wire)
    assert refusal.value.code == "bad_response"


class Sneaky(int):
    """Equal to an integer and not one that JSON gives."""


def test_subclasses_are_not_the_wire_form() -> None:
    assert not accepted(Shape("symbol", 5), Sneaky(1))
    assert not accepted(Shape("bits", 3), type("Text", (str,), {})("AA"))


def test_bits_past_the_width_are_refused() -> None:
    shape = Shape("bits", 3)
    assert shape.unpack("Bw") == Response(7)
    with pytest.raises(ReportError, match="bits past the 3 of the question must be zero"):
        shape.unpack("CA")


def test_spare_bits_are_refused() -> None:
    with pytest.raises(ReportError, match="canonical base64url: spare bits zero, no padding"):
        Shape("bits", 3).unpack("Bx")


def test_a_weight_is_exact() -> None:
    shape = Shape("bits", 8, weight=2)
    assert shape.unpack(shape.pack(Response(0b101))) == Response(0b101)
    for mask in (0, 1, 7, 255):
        with pytest.raises(ReportError, match="must have exactly 2 bits set"):
            shape.unpack(shape.pack(Response(mask)))


@pytest.mark.parametrize(
    ("shape", "response", "wire"),
    [
        (Shape("symbol", 2), Response(1), 1),
        (Shape("symbol", 4, rows=9), Response(3, 8), [8, 3]),
        (Shape("bits", 3), Response(0b101), "BQ"),
        (Shape("bits", 12), Response(1 << 11 | 1), "AQg"),
        (Shape("bits", 16), Response(0xFFFB), "-_8"),
        (Shape("bits", 2, rows=2), Response(0), [0, "AA"]),
    ],
    ids=str,
)
def test_wire_forms_are_frozen(shape: Shape, response: Response, wire: object) -> None:
    """Bit i of a mask is bit i mod 8 of byte i div 8."""
    assert shape.pack(response) == wire
    assert shape.unpack(wire) == response


@pytest.mark.parametrize(
    ("shape", "cells", "size"),
    [
        (Shape("symbol", 2), 2, 1),
        (Shape("symbol", 257, rows=3), 771, 2),
        (Shape("bits", 8), 9, 1),
        (Shape("bits", 9, rows=2), 20, 2),
        (Shape("bits", 4096), 4097, 512),
    ],
    ids=str,
)
def test_sizes(shape: Shape, cells: int, size: int) -> None:
    assert (shape.cells, shape.size) == (cells, size)


@given(st.binary(max_size=60))
def test_base64url_round_trips(raw: bytes) -> None:
    text = base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
    assert decode_base64url(text) == raw


@given(st.text(EVERYTHING, max_size=12) | st.text(max_size=6))
def test_base64url_has_one_spelling(text: str) -> None:
    try:
        raw = decode_base64url(text)
    except ReportError:
        return
    assert base64.urlsafe_b64encode(raw).rstrip(b"=").decode() == text
