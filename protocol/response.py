"""Responses and their shape: the wire form, the check, the packing and the fold, written once.

A mechanism only names its :class:`Shape`; device, collector and analyst then agree on how a
response travels and how it is counted. What must never change: a response has exactly one wire
form, so that nothing can ride along in spare bits, alternative spellings or number formats.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass
from typing import Literal

from .errors import ReportError

Wire = int | str | list[int | str]
"""The JSON form of a response: a symbol, base64url bits, or [row, either]."""


@dataclass(frozen=True, slots=True)
class Response:
    """What a mechanism puts out: a symbol or a bit mask (bit i is 1 << i), in a row."""

    out: int
    row: int = 0


@dataclass(frozen=True, slots=True)
class Shape:
    """The set of responses a mechanism can give, and the cells they are counted in.

    Attributes
    ----------
    kind : "symbol" or "bits"
        One of ``width`` symbols, or ``width`` bits of which any may be set.
    width : int
        Number of symbols or bits.
    rows : int
        Number of public variants (hash rows, cohorts, levels) a device may have been assigned.
    weight : int or None
        For bits: exactly this many are set, if not None.
    """

    kind: Literal["symbol", "bits"]
    width: int
    rows: int = 1
    weight: int | None = None

    @property
    def _stride(self) -> int:
        return self.width if self.kind == "symbol" else self.width + 1

    @property
    def cells(self) -> int:
        """Length of a tally: one cell a symbol, or one a bit and one for the row's reports."""
        return self.rows * self._stride

    @property
    def size(self) -> int:
        """Bytes of the packed response, without its row."""
        bits = (self.width - 1).bit_length() if self.kind == "symbol" else self.width
        return max(1, (bits + 7) // 8)

    def pack(self, response: Response) -> Wire:
        """Return the one JSON form of ``response``."""
        out: int | str = response.out
        if self.kind == "bits":
            packed = response.out.to_bytes(self.size, "little")
            out = base64.urlsafe_b64encode(packed).rstrip(b"=").decode()
        return out if self.rows == 1 else [response.row, out]

    def unpack(self, wire: object) -> Response:
        """Return the response of a JSON value, which may be anything.

        Raises
        ------
        ReportError
            ``bad_response``: not the one wire form of a response of this shape.
        """
        row: object = 0
        out = wire
        if self.rows > 1:
            if not isinstance(wire, list) or len(wire) != 2:
                raise _bad(f"must be [row, response] with row 0..{self.rows - 1}")
            row, out = wire
        if type(row) is not int or not 0 <= row < self.rows:
            raise _bad(f"its row must be an integer 0..{self.rows - 1}")
        return Response(self._symbol(out) if self.kind == "symbol" else self._bits(out), row)

    def _symbol(self, wire: object) -> int:
        if type(wire) is not int or not 0 <= wire < self.width:
            raise _bad(f"must be an integer 0..{self.width - 1}")
        return wire

    def _bits(self, wire: object) -> int:
        length = (self.size * 8 + 5) // 6
        if type(wire) is not str or len(wire) != length:
            raise _bad(f"must be {length} characters of base64url")
        mask = int.from_bytes(decode_base64url(wire), "little")
        if mask >> self.width:
            raise _bad(f"bits past the {self.width} of the question must be zero")
        if self.weight is not None and mask.bit_count() != self.weight:
            raise _bad(f"must have exactly {self.weight} bits set")
        return mask

    def fold(self, cells: MutableSequence[int], response: Response) -> None:
        """Add one response to a tally of ``self.cells`` integers, in place."""
        base = response.row * self._stride
        if self.kind == "symbol":
            cells[base + response.out] += 1
            return
        cells[base + self.width] += 1
        mask = response.out
        while mask:
            cells[base + (mask & -mask).bit_length() - 1] += 1
            mask &= mask - 1

    def reports(self, cells: Sequence[int]) -> int:
        """Return how many responses a tally holds."""
        return sum(cells) if self.kind == "symbol" else sum(cells[self.width :: self._stride])


def decode_base64url(text: str) -> bytes:
    """Decode base64url without padding, refusing every form but the canonical one.

    Raises
    ------
    ReportError
        ``bad_response``: a foreign character, a wrong length, or spare bits that are not zero.
    """
    try:
        raw = text.encode("ascii")
        decoded = base64.b64decode(raw + b"=" * (-len(raw) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise _bad("must be base64url without padding") from None
    if base64.urlsafe_b64encode(decoded).rstrip(b"=") != raw:
        raise _bad("must be canonical base64url: spare bits zero, no padding")
    return decoded


def _bad(detail: str) -> ReportError:
    return ReportError("bad_response", f"response {detail}")
