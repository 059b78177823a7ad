"""Estimates of a set question in one period: how many have each item, and how many items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Final

from deniable.protocol.errors import DocumentError, ParameterError
from deniable.protocol.mechanisms.privset import PrivSet
from deniable.protocol.question import Value
from deniable.protocol.tally import Tally

from .. import inputs
from ..decode import Supports, add
from ..estimators import Level, Raw, Raws, estimate_supports, fake_bias
from ..inputs import Number
from ..postprocess import post_process as processed
from ..postprocess import require_step
from ..results import Estimate
from ..tallies import check_same, devices_in, provenance
from .results import MeanSize, SetEstimates
from .sizes import estimate_sizes

STEPS: Final = ("none", "clip")
"""Of :mod:`deniable.analysis.postprocess`; the others make frequencies add up to one."""


def estimate_sets(
    tallies: Sequence[Tally],
    *,
    confidence: Number = 0.95,
    simultaneous: bool = False,
    post_process: str = "none",
    notes: tuple[str, ...] = (),
) -> SetEstimates:
    """Estimate the items and the sizes of the answers to a set question in one period.

    Parameters
    ----------
    tallies : sequence of Tally
        As for :func:`deniable.analysis.estimate_tallies`.
    confidence : float
        Of each interval, two-sided, in (0, 1); of all together if ``simultaneous``.
    simultaneous : bool
        Widen the intervals so that those of all items, all sizes and the mean size hold at once
        (Bonferroni).
    post_process : str
        ``none`` or ``clip``, of the frequencies of items and of sizes.
    notes : tuple of str
        To hand on with the result.

    Returns
    -------
    SetEstimates
        Unbiased unless post-processed; ``estimates`` has one for each item.

    Raises
    ------
    ParameterError
        If there is no tally, they do not belong together, the question is not for a set, or
        another step is asked for.
    DocumentError
        If this version cannot decode the mechanism.
    """
    check_same(tallies)
    question = tallies[0].question
    mechanism = question.mechanism
    if question.type != "set":
        raise ParameterError(f"{question.id} does not ask for a set; use estimate_tallies")
    if not isinstance(mechanism, PrivSet):
        raise DocumentError(f"decoder {mechanism.decoder} is unknown; upgrade deniable to read it")
    require_step(post_process)
    if post_process not in STEPS:
        raise ParameterError(
            f"{question.id} asks for a set, whose items do not add up to one; post_process must "
            f"be one of {', '.join(STEPS)}: {post_process}"
        )
    chance = inputs.between("confidence", confidence, "0", "1")
    n = devices_in(tallies)
    family = mechanism.k + mechanism.items + 2 if simultaneous else 1
    level = Level(float(1 - Fraction(chance)), family)
    items, dummies = estimate_symbols(mechanism, add([tally.cells for tally in tallies]), level)
    sizes = estimate_sizes(mechanism, dummies)
    return SetEstimates(
        n=n,
        mechanism=mechanism.name,
        options=mechanism.chosen,
        epsilon=mechanism.epsilon,
        epsilon_first=mechanism.epsilon_first,
        confidence=float(chance),
        simultaneous=simultaneous,
        post_process=post_process,
        fake_bias=fake_bias(mechanism),
        notes=(*_counted(mechanism), *notes),
        estimates=_estimates(question.choices, items, n, post_process),
        sizes=_estimates(range(mechanism.items + 1), sizes.each, n, post_process),
        mean_size=MeanSize.of(sizes.mean),
        max_items=mechanism.items,
        **provenance(tallies),
    )


def estimate_symbols(mechanism: PrivSet, cells: Sequence[int], level: Level) -> tuple[Raws, Raws]:
    """Return the raw frequencies of the k items, and of the m dummies."""
    n = mechanism.shape.reports(cells)
    supports = Supports(cells[: mechanism.symbols], (n,) * mechanism.symbols)
    made = estimate_supports(mechanism, supports, level)
    k = mechanism.k
    columns = (made.frequency, made.standard_error, made.low, made.high)
    return Raws(*(one[:k] for one in columns)), Raws(*(one[k:] for one in columns))


def _estimates(
    values: Iterable[Value | int], raws: Sequence[Raw], n: int, how: str
) -> tuple[Estimate, ...]:
    frequencies = processed([raw.frequency for raw in raws], how)
    return tuple(
        Estimate(value, frequency * n, frequency, raw.standard_error, raw.low, raw.high)
        for value, frequency, raw in zip(values, frequencies, raws, strict=True)
    )


def _counted(mechanism: PrivSet) -> Iterator[str]:
    """Say what becomes of sets that are too large, if there can be any."""
    items = mechanism.items
    if items < mechanism.k:
        some = "1 item counts as 1" if items == 1 else f"{items} items counts as {items}"
        yield (
            f"A set of more than {some} of its own, drawn at random on the device: its size is "
            f"taken as {items}, and each of its items is counted only as often as it is drawn."
        )
