"""What one period's tally shows that noise does not explain: too few supports, odd popcounts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from deniable.protocol.mechanisms import FrequencyOracle, Mechanism
from deniable.protocol.mechanisms.band import Band
from deniable.protocol.mechanisms.one_bit import OneBitMean
from deniable.protocol.mechanisms.privset import PrivSet
from deniable.protocol.mechanisms.rappor import Rappor
from deniable.protocol.mechanisms.sketch import Sketch
from deniable.protocol.question import Question
from deniable.protocol.tally import Tally

from ..decode import add, decode
from ..extras import extra
from ..results import text
from ..texts.tables import table_of
from .tails import off_the_mean, too_few
from .warning import ODDS, TESTED, Suspicion

_MEANS = "fake or broken reports, or devices that randomize in another way"


@dataclass(frozen=True, slots=True)
class Floors:
    """Counts of which each is a sum of independent reports that count with ``chance`` or more.

    Attributes
    ----------
    counts, trials : arrays of int
    chance : float
        Of a report, if nobody had the value.
    """

    counts: Any
    trials: Any
    chance: float


def in_one_period(tallies: Sequence[Tally]) -> Iterator[Suspicion]:
    """Yield what is odd about the tallies of one question and period, taken together.

    Parameters
    ----------
    tallies : sequence of Tally
        Of different devices, with one report at least that says something about each value.
    """
    question, period = tallies[0].question, tallies[0].period
    cells = add([tally.cells for tally in tallies])
    negative = _negative(question, cells)
    if negative:
        yield Suspicion("negative", period, f"{period}: {negative}")
    popcount = _popcount(question.mechanism, cells)
    if popcount:
        yield Suspicion("popcount", period, f"{period}: {popcount}")


def _negative(question: Question, cells: Sequence[int]) -> str:
    with extra():
        import numpy as np
    floors = floors_of(question.mechanism, cells)
    if floors is None:
        return ""
    odds = too_few(floors.counts, floors.trials, floors.chance)
    beyond = int((odds < TESTED).sum())
    if not beyond:
        return ""
    worst = int(np.argmin(odds))
    count, trials = int(floors.counts[worst]), int(floors.trials[worst])
    others = f"; so {_are(beyond - 1)} of {len(odds):,} counts" if beyond > 1 else ""
    return (
        f"{_name(question, worst)} is counted {count:,} times in {trials:,} reports, and noise "
        f"alone gives {trials * floors.chance:,.0f} on average, so that what is estimated from it "
        f"is more negative than noise allows (odds below {ODDS:g}){others}: {_MEANS}."
    )


def _are(others: int) -> str:
    return "is 1 other" if others == 1 else f"are {others:,} others"


def floors_of(mechanism: Mechanism, cells: Sequence[int]) -> Floors | None:
    """Return the counts of a tally that have a floor, or None if this version knows none.

    Supports of each value, of each item and dummy of sets, or of each bucket of texts; the bits of
    Bloom filters, and the outputs of a number's mechanism.
    """
    with extra():
        import numpy as np
    if isinstance(mechanism, Sketch):
        rows = table_of(mechanism, cells)
        trials = np.repeat(rows.reports, rows.supports.shape[1])
        return Floors(rows.supports.ravel(), trials, float(rows.q))
    if isinstance(mechanism, PrivSet):
        counted = np.asarray(cells[: mechanism.symbols], dtype=np.int64)
        return Floors(counted, np.full_like(counted, cells[-1]), float(mechanism.q))
    if isinstance(mechanism, FrequencyOracle):
        supports = decode(mechanism, cells)
        counts, trials = np.asarray(supports.counts), np.asarray(supports.trials)
        return Floors(counts, trials, float(mechanism.q))
    counted = np.asarray(cells, dtype=np.int64)
    if isinstance(mechanism, Rappor):
        table = counted.reshape(mechanism.shape.rows, mechanism.bits + 1)
        trials = np.repeat(table[:, -1], mechanism.bits)
        return Floors(table[:, :-1].ravel(), trials, float(mechanism.q))
    if isinstance(mechanism, Band):
        return Floors(counted, np.full_like(counted, counted.sum()), float(mechanism.b))
    if isinstance(mechanism, OneBitMean):
        return Floors(counted, np.full_like(counted, counted.sum()), float(mechanism.q))
    return None


def _name(question: Question, at: int) -> str:
    """Name a count of :func:`floors_of`."""
    mechanism = question.mechanism
    if isinstance(mechanism, Rappor):
        cohort, bit = divmod(at, mechanism.bits)
        return f"bit {bit} of cohort {cohort}"
    if isinstance(mechanism, Sketch):
        row, bucket = divmod(at, mechanism.k)
        return f"bucket {bucket} of row {row}"
    if question.range is not None:
        return f"output {at}"
    if isinstance(mechanism, PrivSet) and at >= mechanism.k:
        return f"a size of at most {at - mechanism.k}"
    return text(question.values[at])


def _popcount(mechanism: Mechanism, cells: Sequence[int]) -> str:
    mean = mechanism.mean_popcount
    if mean is None:
        return ""
    shape = mechanism.shape
    n = shape.reports(cells)
    total = sum(cells) - n
    if off_the_mean(total, n * shape.width, n * mean) >= TESTED:
        return ""
    return (
        f"reports have {total / n:.4g} bits set on average, and {float(mean):.4g} if each device "
        f"answers with one value (odds of such a difference below {ODDS:g}): {_MEANS}."
    )
