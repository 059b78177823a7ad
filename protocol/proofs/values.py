"""Which values of a question are tried: all of them, or some that lie all over the domain."""

from __future__ import annotations

from collections.abc import Sequence

from ..mechanisms.base import Mechanism
from ..mechanisms.pem import PEM
from ..text_form import base_of
from .bits import patterns

_ALL_SETS = 8
_SETS = 64
_TEXTS = 8


def values_of(mechanism: Mechanism) -> tuple[Sequence[int], int]:
    """Return encoded values, and how many there are; of texts as many as are tried.

    Of sets of a few of the values all; of more the empty one, each of a single value, the largest
    and some without any regularity. Of texts so many that they have nearly all buckets of a row.
    """
    if mechanism.asks == "set":
        return _sets(mechanism.k), 1 << mechanism.k
    if mechanism.asks == "text":
        some = _texts(mechanism)
        return some, len(some)
    return range(mechanism.k), mechanism.k


def _sets(k: int) -> Sequence[int]:
    if k <= _ALL_SETS:
        return range(1 << k)
    singles = dict.fromkeys(1 << at * (k - 1) // (_SETS - 1) for at in range(_SETS))
    growing = ((1 << size) - 1 for size in range(2, 6))
    return list(dict.fromkeys([0, *singles, *growing, *patterns(k, _SETS), (1 << k) - 1]))


def _texts(mechanism: Mechanism) -> Sequence[int]:
    """Return numbers of texts; of prefixes, evenly spaced over all there are."""
    count = _TEXTS * mechanism.k
    if not isinstance(mechanism, PEM):
        return range(count)
    there_are = base_of(mechanism.letters) ** mechanism.length
    return sorted({at * (there_are - 1) // (count - 1) for at in range(count)})
