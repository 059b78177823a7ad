"""What a rehearsal of a set question compares: items, sizes and the mean size, with their truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from deniable.protocol.tally import Tally

from ..estimators import Raw
from ..inputs import Number
from .estimates import estimate_sets

Of = Callable[[Mapping[int, float]], float]
"""From the shares of whole sets, by their masks, to what is estimated."""


def set_answers(
    tally: Tally, confidence: Number, simultaneous: bool
) -> Iterator[tuple[str, Raw, Of]]:
    """Yield for each estimate its name, itself, and what it is of a known population.

    Sizes are named ``size 0`` and so on, in brackets if an item is called that.
    """
    made = estimate_sets([tally], confidence=confidence, simultaneous=simultaneous)
    m, choices = made.max_items, tally.question.choices
    for at, one in enumerate(made.items):
        raw = Raw(one.frequency, one.standard_error, one.low, one.high)
        yield choices[at], raw, partial(_item, at, m)
    for size, one in enumerate(made.sizes):
        raw = Raw(one.frequency, one.standard_error, one.low, one.high)
        yield _apart(f"size {size}", choices), raw, partial(_size, size, m)
    mean = made.mean_size
    raw = Raw(mean.estimate, mean.standard_error, mean.low, mean.high)
    yield _apart("mean size", choices), raw, partial(_mean_size, m)


def _apart(name: str, choices: tuple[str, ...]) -> str:
    while name in choices:
        name = f"({name})"
    return name


def _item(at: int, m: int, shares: Mapping[int, float]) -> float:
    """Return the frequency of an item, of which a larger set counts as often as it is drawn."""
    return math.fsum(
        share * min(1.0, m / mask.bit_count()) for mask, share in shares.items() if mask >> at & 1
    )


def _size(size: int, m: int, shares: Mapping[int, float]) -> float:
    return math.fsum(s for mask, s in shares.items() if min(m, mask.bit_count()) == size)


def _mean_size(m: int, shares: Mapping[int, float]) -> float:
    return math.fsum(s * min(m, mask.bit_count()) for mask, s in shares.items())
