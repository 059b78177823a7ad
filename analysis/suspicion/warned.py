"""Warnings beside the estimates they are about; the numbers stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

from deniable.protocol.tally import Tally

from ..number_results import NumberEstimates
from ..results import Estimates
from .drift import Seen, between_periods
from .noise import in_one_period

_Estimates = TypeVar("_Estimates", Estimates, NumberEstimates)


def with_warnings(
    made: tuple[_Estimates, ...], chosen: Sequence[Sequence[Tally]]
) -> tuple[_Estimates, ...]:
    """Add to each period's estimates what honest devices would hardly give.

    A warning of one kind is false in one period with odds of at most 1e-6, if all devices follow
    the protocol; ``drift`` and ``crowd`` say that something changed, which may be the truth.

    Parameters
    ----------
    made : tuple of Estimates or of NumberEstimates
        Of one question and version, oldest period first.
    chosen : sequence of sequence of Tally
        The tallies they were made from.

    Raises
    ------
    MissingExtraError
        If numpy or scipy is absent.
    """
    seen: list[Seen] = [Seen(tallies, one) for tallies, one in zip(chosen, made, strict=True)]
    alone = [tuple(in_one_period(one.tallies)) for one in seen]
    since = [(), *(tuple(between_periods(before, now)) for before, now in pairwise(seen))]
    return tuple(
        replace(one, warnings=own + changed)
        for one, own, changed in zip(made, alone, since, strict=True)
    )
