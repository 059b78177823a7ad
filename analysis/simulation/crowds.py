"""The tallies of a crowd whose answers do not change, over one period or several.

Permanent responses are drawn once, for they are remembered: without a second round the tallies
of all periods are the same, and with one they are independent given the permanent responses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import Mechanism
from deniable.protocol.mechanisms.dyadic import Dyadic

from .changing import draw_unchanging
from .registry import simulator
from .reports import Counted, Open, Population, Simulator, count

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

MAX_BY_REPORT = 10**9
"""Devices that are drawn one by one at most."""

_CHUNK = 1 << 24
"""Cells of working memory for the reports of as many devices as are drawn at once."""


def draw_tallies(
    mechanism: Mechanism,
    population: NDArray[np.int64] | Population,
    rng: np.random.Generator,
    periods: int = 1,
) -> list[NDArray[np.int64]]:
    """Return the tally of each period: those of one crowd whose answers do not change.

    Jointly distributed as those of real devices. Where a tally's cells follow from binomial and
    multinomial draws, any number of devices takes the same time; the others are drawn report by
    report, as many at a time as fit in memory.

    Parameters
    ----------
    mechanism : Mechanism
    population : array of int, shape (k,), or Population
        How many devices have each symbol; of sets and texts always the latter.
    rng : Generator
    periods : int
        At least 1.

    Returns
    -------
    list of arrays of int, shape (cells,)
        One for each period, as the mechanism's shape lays them out.

    Raises
    ------
    ParameterError
        If this version cannot simulate the mechanism, or not so many devices.
    """
    if isinstance(mechanism, Dyadic):
        if isinstance(population, Population):
            population = population.by_symbol(mechanism.k)
        return draw_unchanging(mechanism, population, rng, periods)
    drawn = simulator(mechanism)
    repeats = periods if drawn.second else 1
    if isinstance(drawn, Open):
        if not isinstance(population, Population):
            raise ParameterError(f"{mechanism.name} takes a Population: its symbols are no list")
        permanent = drawn.cells_of(population, rng)
        tallies = [drawn.instant_cells(permanent, rng) for _ in range(repeats)]
        return tallies if drawn.second else [tallies[0].copy() for _ in range(periods)]
    if isinstance(population, Population):
        population = population.by_symbol(mechanism.k)
    if isinstance(drawn, Counted):
        permanent = drawn.permanent_cells(population, rng)
        tallies = [drawn.instant_cells(permanent, rng) for _ in range(repeats)]
    else:
        tallies = _by_report(drawn, population, rng, repeats)
    return tallies if drawn.second else [tallies[0].copy() for _ in range(periods)]


def _by_report(
    drawn: Simulator[Any], population: Integers, rng: np.random.Generator, periods: int
) -> list[Integers]:
    import numpy as np

    if population.sum() > MAX_BY_REPORT:
        raise ParameterError(
            f"{drawn.mechanism.name} is drawn report by report; ask for {MAX_BY_REPORT} devices "
            "at most"
        )
    shape = drawn.mechanism.shape
    tallies = [np.zeros(shape.cells, dtype=np.int64) for _ in range(periods)]
    width = shape.width if shape.kind == "bits" else 8
    for symbols in _chunks(population, max(1, _CHUNK // width)):
        permanent = drawn.permanent(symbols, rng)
        for tally in tallies:
            tally += count(shape, drawn.instant(permanent, rng))
    return tallies


def _chunks(population: Integers, size: int) -> Iterator[Integers]:
    """Yield the symbols of all devices, ``size`` devices at a time."""
    import numpy as np

    ends = np.cumsum(population)
    total = int(ends[-1])
    for start in range(0, total, size):
        places = np.arange(start, min(start + size, total))
        yield np.searchsorted(ends, places, side="right").astype(np.int64, copy=False)
