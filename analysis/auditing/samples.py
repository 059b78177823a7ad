"""Responses as they left the devices, seen from the sides that an event may look at.

What must never change: nothing is thrown away. A response that has no meaning to its mechanism
is still one of a kind, and devices that send such are told apart by it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deniable.protocol.errors import ReportError
from deniable.protocol.mechanisms import FrequencyOracle, Mechanism
from deniable.protocol.mechanisms.bloom import bloom_filter
from deniable.protocol.mechanisms.privset import PrivSet
from deniable.protocol.mechanisms.rappor import Rappor
from deniable.protocol.response import Response

Codes = NDArray[np.int64]
Bits = NDArray[np.uint8]

STRANGE = -1
"""The code of a response that is none of its mechanism's."""


class Sample:
    """The responses of devices that gave the same answer.

    Parameters
    ----------
    mechanism : Mechanism
        That they are to come from.
    wires : sequence of hashable
        As they left, but with tuples for lists.
    """

    def __init__(self, mechanism: Mechanism, wires: Sequence[Hashable]) -> None:
        self.mechanism = mechanism
        self.wires = tuple(wires)

    def __len__(self) -> int:
        return len(self.wires)

    def __add__(self, other: Sample) -> Sample:
        return Sample(self.mechanism, self.wires + other.wires)

    @property
    def halves(self) -> tuple[Sample, Sample]:
        """The devices at even and at odd places."""
        return Sample(self.mechanism, self.wires[::2]), Sample(self.mechanism, self.wires[1::2])

    @property
    def times(self) -> tuple[Sample, Sample]:
        """The devices that were made early, and those that were made late."""
        middle = len(self) // 2
        return Sample(self.mechanism, self.wires[:middle]), Sample(
            self.mechanism, self.wires[middle:]
        )

    @cached_property
    def responses(self) -> tuple[Response | None, ...]:
        """What each says; None where it is no response of the mechanism."""
        known = {wire: self._read(wire) for wire in set(self.wires)}
        return tuple(known[wire] for wire in self.wires)

    def _read(self, wire: Hashable) -> Response | None:
        try:
            return self.mechanism.shape.unpack(list(wire) if isinstance(wire, tuple) else wire)
        except ReportError:
            return None

    @cached_property
    def rows(self) -> Codes:
        """The row of each."""
        return _codes([STRANGE if each is None else each.row for each in self.responses])

    @cached_property
    def cells(self) -> Codes:
        """The row and symbol of each, as one number."""
        width = self.mechanism.shape.width
        return _codes(
            [STRANGE if each is None else each.row * width + each.out for each in self.responses]
        )

    @cached_property
    def bits(self) -> Bits:
        """A row for each response, a column for each bit; none is set in a strange one."""
        shape = self.mechanism.shape
        size = (shape.width + 7) // 8
        packed = b"".join(
            (0 if each is None else each.out).to_bytes(size, "little") for each in self.responses
        )
        matrix = np.frombuffer(packed, np.uint8).reshape(len(self), size)
        return np.unpackbits(matrix, axis=1, count=shape.width, bitorder="little")

    def supports(self, one: int, other: int) -> Codes:
        """Return how far each response speaks for two symbols, as one number for each way."""
        known = {each: _support(self.mechanism, one, other, each) for each in set(self.responses)}
        return _codes([known[each] for each in self.responses])


def _support(mechanism: Mechanism, one: int, other: int, response: Response | None) -> int:
    """Return whether it supports either symbol, or how many bits of the filter of either alone."""
    if response is None:
        return STRANGE
    if isinstance(mechanism, Rappor):
        masks = [
            bloom_filter(response.row, symbol, mechanism.bits, mechanism.hashes)
            for symbol in (one, other)
        ]
        ours, theirs = (response.out & mask & ~(masks[0] & masks[1]) for mask in masks)
        return ours.bit_count() * (mechanism.hashes + 1) + theirs.bit_count()
    if isinstance(mechanism, PrivSet):
        sets = [mechanism.padded(symbol) for symbol in (one, other)]
        return sum(
            bool(response.out & padded) << place for place, padded in enumerate(reversed(sets))
        )
    if isinstance(mechanism, FrequencyOracle):
        return 2 * mechanism.supports(one, response) + mechanism.supports(other, response)
    return 0


def _codes(numbers: Sequence[int]) -> Codes:
    return np.array(numbers, np.int64)
