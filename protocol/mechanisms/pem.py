"""Prefix extension: the first letters of a text, more of them on other devices.

A device belongs to one level and one hash row (:mod:`.rows`) of it, public and drawn from its
secret alone. A level stands for a number of letters: the prefix of that length of the device's text
is hashed to one of ``g`` buckets, and the bucket perturbed as :mod:`.grr` does, in one round or
two. ``last`` of a hundred devices have the last level, that of whole texts; the others share the
levels before it equally. So each device reports once, with one epsilon, and of a text that many
devices have, each level shows a little more: who reads the tally extends only the prefixes that are
likely to be frequent.

Every prefix of the first level is looked at, 2^16 of them at most: of more, its devices could not
tell which are worth following. Each other level adds as little as it can. The fewer the letters to
be told apart at the end, the less of the evidence comes from the last level, and the fewer devices
have it.

At its level a report supports every prefix of its bucket: the true one with ``p = E/(E+g-1)``,
another one with 1/g on average over all rows there could be. What is remembered is the bucket.
Domain size k here is g, and frequencies are those of whole texts.

What must never change: the rows, the sizes chosen where the author asks for none, and the numbering
of setups, level by level.

References
----------
Wang, Li, Jha. Locally differentially private heavy hitter identification. IEEE Transactions on
Dependable and Secure Computing, 2019.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar

from ..draws import Draws
from ..errors import ParameterError
from ..limits import MAX_CELLS
from ..response import Response, Shape
from ..text_form import base_of
from .base import NO_OPTIONS, Law, Options, Rounds, require_epsilons
from .grr import GRR
from .rows import bucket
from .sketch import Sketch, require_cells

_FIRST_BITS, _STEP_BITS = 16, 5

_MOST = 1 << 22
"""Prefixes that one level may add to one prefix, for all are looked at."""

_LEAST_ROWS = 32
"""So many of each level, or g is less than it could be: what no device has may share the bucket of
a frequent prefix in one row or two, but not in a good part of so many."""

_LAST_MOST, _LAST_LESS, _LAST_LEAST = 57, 4, 20
"""Of 100 devices, those of the last level: less for every level there is."""

_HASH_RANGES = (*range(2, 65), *range(68, 129, 4), *range(136, 513, 8))


@dataclass(frozen=True)
class PEM(Sketch):
    """A bucket of a prefix, through randomized response.

    Attributes
    ----------
    letters, length : int
        Of the texts: the size of their alphabet, and how long they can be.
    first, step : int
        Letters of the first level, and how many more each other level has, the last one at most.
    last : int
        How many of 100 devices have the last level.
    rows : int
        Hash rows of each level.
    buckets : GRR
        Over g buckets, with both thresholds.
    """

    name: ClassVar[str] = "pem"
    two_rounds: ClassVar[bool] = True
    automatic: ClassVar[bool] = False
    options: ClassVar[Mapping[str, range]] = MappingProxyType(
        {
            "letters": range(1, 501),
            "length": range(1, 65),
            "first": range(1, 65),
            "step": range(1, 65),
            "last": range(1, 100),
            "rows": range(1, 4097),
            "g": range(2, 4097),
        }
    )
    given: ClassVar[frozenset[str]] = frozenset({"letters", "length"})

    epsilon: Decimal
    epsilon_first: Decimal | None
    letters: int
    length: int
    first: int
    step: int
    last: int
    rows: int
    buckets: GRR

    @classmethod
    def resolve(
        cls,
        k: int,
        epsilon: Decimal,
        epsilon_first: Decimal | None,
        options: Options = NO_OPTIONS,
    ) -> PEM:
        """Choose the options left out, and compute the thresholds; ``k`` is not looked at."""
        require_epsilons(epsilon, epsilon_first)
        letters, length = options["letters"], options["length"]
        bits = math.log2(letters + 1)
        first = options.get("first", min(length, max(1, int(_FIRST_BITS / bits))))
        step = options.get("step", max(1, int(_STEP_BITS / bits)))
        if first > length:
            raise ParameterError(f"first must be at most the {length} letters of a text: {first}")
        for name, value in (("first", first), ("step", min(step, length - first))):
            _require_few(name, value, letters)
        levels = 1 + -(-(length - first) // step)
        ranges = [options["g"]] if "g" in options else _ranges(levels)
        every = [GRR.resolve(g, epsilon, epsilon_first) for g in ranges]
        buckets = min(every, key=_noise)
        most = min(MAX_CELLS // (levels * buckets.k), cls.options["rows"].stop - 1)
        rows = options.get("rows", max(1, most))
        require_cells(levels * rows * buckets.k, "levels x rows x g")
        last = options.get("last", max(_LAST_LEAST, _LAST_MOST - _LAST_LESS * levels))
        return cls(epsilon, epsilon_first, letters, length, first, step, last, rows, buckets)

    @property
    def k(self) -> int:  # type: ignore[override]
        """g."""
        return self.buckets.k

    @property
    def g(self) -> int:
        """How many buckets a row has."""
        return self.buckets.k

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Letters of each level; the last has all."""
        return (*range(self.first, self.length, self.step), self.length)

    @property
    def shape(self) -> Shape:
        """One of g buckets, in a row of a level."""
        return Shape("symbol", self.g, len(self.lengths) * self.rows)

    @property
    def thresholds(self) -> Mapping[str, int]:
        """``keep`` and, with a second round, ``keep_again``."""
        return self.buckets.thresholds

    @property
    def second(self) -> tuple[Fraction, Fraction] | None:
        """(p2, q2) of a bucket."""
        return self.buckets.second

    @property
    def p(self) -> Fraction:
        """P(a report is in the bucket of the true prefix)."""
        return self.buckets.p

    @property
    def q(self) -> Fraction:
        """1/g, on average over all rows there could be."""
        return Fraction(1, self.g)

    @property
    def coverage(self) -> Fraction:
        """The share of devices that report of whole texts."""
        return self.share(len(self.lengths) - 1)

    def share(self, level: int) -> Fraction:
        """Return the share of devices that have a level, all of them if there is only one."""
        before = len(self.lengths) - 1
        if not before:
            return Fraction(1)
        last = Fraction(self.last, 100)
        return last if level == before else (1 - last) / before

    @property
    def chains(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """One: the remembered bucket is the text's or it is not."""
        return self.buckets.chains

    @property
    def flips(self) -> int:
        """One remembered bucket against another."""
        return 1

    @property
    def losses(self) -> tuple[Fraction, Fraction]:
        """Those of the bucket, in a row where two texts do not collide."""
        return self.buckets.losses

    @property
    def classes(self) -> int:
        """g buckets."""
        return self.g

    @property
    def fingerprint_bits(self) -> float:
        """The setup's entropy, and a bucket."""
        shares = [float(self.share(level)) for level in range(len(self.lengths))]
        levels = -sum(share * math.log2(share) for share in shares)
        return levels + math.log2(self.rows * self.g)

    def level(self, setup: int) -> int:
        """Return the level of a setup."""
        return setup // self.rows

    def prefix(self, symbol: int, level: int) -> int:
        """Return the number of the letters of a text's number that a level has."""
        following: int = base_of(self.letters) ** (self.length - self.lengths[level])
        return symbol // following

    def bucket(self, setup: int, prefix: int) -> int:
        """Return the bucket of a prefix of the setup's level."""
        return bucket(self.name, setup, prefix, self.g)

    def assign(self, keyed: Draws) -> int:
        """Draw whether the level is the last, else which one, then the row."""
        last = len(self.lengths) - 1
        level = 0
        if last:
            level = last if keyed.below(100) < self.last else keyed.below(last)
        return level * self.rows + keyed.below(self.rows)

    def memo(self, setup: int, symbol: int) -> bytes | None:
        """Return the bucket of the prefix, all that is ever remembered of a text."""
        return str(self.bucket(setup, self.prefix(symbol, self.level(setup)))).encode()

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        """Keep the bucket or move to a uniform other."""
        return Response(self.buckets.permanent(0, memo, keyed).out, setup)

    def instant(self, permanent: Response, fresh: Draws) -> Response:
        """Perturb the remembered bucket once more, for this report only."""
        out = self.buckets.instant(Response(permanent.out), fresh).out
        return Response(out, permanent.row)

    def law(self, setup: int, memo: bytes, rounds: Rounds) -> Law:
        """Two probabilities: the prefix's bucket, and every other."""
        law = self.buckets.law(0, memo, rounds)
        return {Response(response.out, setup): mass for response, mass in law.items()}

    def covers(self, value: int, response: Response) -> bool:
        """The last level alone says something of whole texts."""
        return self.level(response.row) == len(self.lengths) - 1

    def supports(self, value: int, response: Response) -> bool:
        """A bucket supports every text in it."""
        return response.out == self.bucket(response.row, value)


def _ranges(levels: int) -> list[int]:
    """Return every g that leaves rows enough for so many levels."""
    return [g for g in _HASH_RANGES if levels * _LEAST_ROWS * g <= MAX_CELLS]


def _require_few(name: str, value: int, letters: int) -> None:
    """Refuse a level at which an analyst's computer would have too much to look at."""
    most = max(length for length in range(1, 65) if (letters + 1) ** length <= _MOST)
    if value > most:
        raise ParameterError(
            f"{name} must be at most {most} for an alphabet of {letters} letters, or there are too "
            f"many beginnings to look at: {value}"
        )


def _noise(buckets: GRR) -> Fraction:
    """Return n times the variance of a rare prefix's frequency; huge if nothing is said of it."""
    p, q = buckets.p, Fraction(1, buckets.k)
    return q * (1 - q) / (p - q) ** 2 if p > q else Fraction(MAX_CELLS) ** 4
