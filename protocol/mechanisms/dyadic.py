"""What mechanisms with one epsilon for all periods have in common: levels, and a memory.

A device belongs to one level h of 0, 1, .., public and drawn from its secret alone, and reports
only in the periods 2^h, 2*2^h, 3*2^h, .. up to the last, the period T: about what became of its
yes/no since the report before. Every period t is a sum of at most log2(t) + 1 such stretches, of
different levels, so the devices of all levels together tell how many say yes in each.

A device's first answer is kept for that, and what it said at the report before: :class:`Memory` is
the one place where a true value is stored. A period in which nothing is recorded goes on with the
answer before.

References
----------
Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta. Amplification by shuffling: from local
to central differential privacy via anonymity. SODA 2019 (online monitoring).
Ohrimenko, Wirth, Wu. Randomize the future: asymptotically optimal locally private frequency
estimation protocol for longitudinal data. PODS 2022.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from ..errors import ParameterError
from ..response import Shape
from .base import Mechanism

START = -1
"""The answer before the first period: none."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What a device remembers between the periods of one question.

    Attributes
    ----------
    base : int or None
        Its bit at the last period in which its level reports, :data:`START` before the first of
        them; None if it was not asked yet then, so that nothing is known to compare with.
    latest : int
        Its bit as last recorded.
    used : int
        How many of its reports said that something changed.
    seen : int
        The last period that is behind it.
    """

    base: int | None
    latest: int
    used: int
    seen: int


class Dyadic(Mechanism):
    """A bit in each period t of 1..T, reported by stretches of 2^h periods.

    Attributes
    ----------
    periods : int
        T.
    """

    __slots__ = ()

    decoder: ClassVar[str] = "tree"
    two_rounds: ClassVar[bool] = False
    periods: int

    @property
    def levels(self) -> int:
        """How many levels there are: each reports at least once."""
        return self.periods.bit_length()

    @property
    def shape(self) -> Shape:
        """A bit, in the row of its level."""
        return Shape("symbol", 2, self.levels)

    @property
    def classes(self) -> int:
        """One epsilon covers all changes."""
        return 1

    @property
    def merges(self) -> bool:
        """The answer alone decides no report."""
        return True

    @property
    def fingerprint_bits(self) -> float:
        """The level, and a bit that is another one in every report."""
        return math.log2(self.levels) + 1

    @abstractmethod
    def level(self, setup: int) -> int:
        """Return the level of a setup."""

    @abstractmethod
    def bit(self, setup: int, symbol: int) -> int:
        """Return the yes/no that a device with this setup makes of its symbol."""

    @abstractmethod
    def key(self, setup: int, memory: Memory, t: int) -> tuple[bytes, int]:
        """Return the memo key of the report of period t, and how many changes it tells of.

        ``memory`` is what is known at its end, with a base that is not None.
        """

    def follow(self, latest: int, bit: int) -> int:
        """Return what a bit is taken for after the latest one: itself."""
        return bit

    def due(self, level: int, t: int) -> bool:
        """Return whether devices of a level report in period t."""
        return t % (1 << level) == 0

    def nodes(self, level: int) -> int:
        """Return in how many periods they do."""
        return self.periods >> level

    def step(
        self, setup: int, memory: Memory | None, symbol: int | None, t: int
    ) -> tuple[bytes | None, Memory | None]:
        """Go through the end of period t, once, and return the report's memo key and the memory.

        Parameters
        ----------
        setup : int
        memory : Memory or None
            As the step before left it; None if there was none.
        symbol : int or None
            What was recorded in the period; None if nothing was.
        t : int
            In 1..T, later than the step before. Periods left out between the two are periods
            without record and report.

        Returns
        -------
        memo key : bytes or None
            None if there is no report in this period.
        memory : Memory or None
            To be kept; None if nothing was ever recorded.

        Raises
        ------
        ParameterError
            If t lies outside, or is not later than the step before.
        """
        if not 1 <= t <= self.periods:
            raise ParameterError(f"period must be in 1..{self.periods}: {t}")
        if memory is not None and t <= memory.seen:
            raise ParameterError(f"period must be later than {memory.seen}: {t}")
        now = self._at(setup, memory, symbol, t)
        level = self.level(setup)
        if now is None or not self.due(level, t):
            return None, now
        key: bytes | None = None
        if now.base is not None:
            key, told = self.key(setup, now, t)
            now = replace(now, used=now.used + told)
        return key, replace(now, base=now.latest)

    def _at(self, setup: int, memory: Memory | None, symbol: int | None, t: int) -> Memory | None:
        """Return the memory at the end of period t, before its report."""
        span = 1 << self.level(setup)
        bit = None if symbol is None else self.bit(setup, symbol)
        if memory is None:
            return None if bit is None else Memory(START if t <= span else None, bit, 0, t)
        missed = (t - 1) // span > memory.seen // span
        base = memory.latest if missed else memory.base
        latest = memory.latest if bit is None else self.follow(memory.latest, bit)
        return Memory(base, latest, memory.used, t)

    def stretches(self, t: int) -> tuple[tuple[int, int], ...]:
        """Return the stretches that periods 1..t are made of, as (level, period of the report).

        >>> from decimal import Decimal
        >>> from deniable.protocol.mechanisms import build
        >>> build("counter", 2, Decimal(1), options={"periods": 7}).stretches(6)
        ((2, 4), (1, 6))
        """
        found, end = [], 0
        for level in reversed(range(t.bit_length())):
            if t >> level & 1:
                end += 1 << level
                found.append((level, end))
        return tuple(found)
