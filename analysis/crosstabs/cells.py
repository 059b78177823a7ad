"""The frequencies of a cross table: pairs, their sums, and either part given the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from deniable.protocol.parts import Part

from ..estimators import Raw
from .conditionals import Ratio, ratio
from .results import CrosstabCell

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]


def pairs(one: Part, two: Part, raw: Sequence[Raw]) -> Iterator[CrosstabCell]:
    """Yield the raw estimate of every pair."""
    estimates = iter(raw)
    for first in one.choices:
        for second in two.choices:
            f = next(estimates)
            yield CrosstabCell(
                "pair", None, first, second, f.frequency, f.standard_error, f.low, f.high
            )


def sums(one: Part, two: Part, table: Array, spread: Array, z: float) -> Iterator[CrosstabCell]:
    """Yield the marginals of both parts, then the conditionals given the one and the other.

    Parameters
    ----------
    one, two : Part
    table : array of shape (a, b)
        Raw estimates of the pairs.
    spread : array of shape (a b, a b)
        Their covariance.
    z : float
        Standard errors to either side of an estimate.
    """
    a, b = table.shape
    cube = spread.reshape(a, b, a, b)
    turned = cube.transpose(1, 0, 3, 2)
    for first, sum_ in zip(one.choices, _marginals(table, cube, z), strict=True):
        yield CrosstabCell("marginal", None, first, None, *sum_)
    for second, sum_ in zip(two.choices, _marginals(table.T, turned, z), strict=True):
        yield CrosstabCell("marginal", None, None, second, *sum_)
    for i, j, made in _conditionals(table, cube, z):
        yield _conditional(one.name, one.choices[i], two.choices[j], made)
    for j, i, made in _conditionals(table.T, turned, z):
        yield _conditional(two.name, one.choices[i], two.choices[j], made)


def _marginals(table: Array, cube: Array, z: float) -> Iterator[tuple[float, float, float, float]]:
    """Yield the sum of each row, its standard error and normal interval."""
    variances = cube.sum(axis=(1, 3)).diagonal().clip(0.0)
    for f, variance in zip(table.sum(axis=1).tolist(), variances.tolist(), strict=True):
        error = variance**0.5
        yield f, error, f - z * error, f + z * error


def _conditionals(table: Array, cube: Array, z: float) -> Iterator[tuple[int, int, Ratio | None]]:
    """Yield each cell's share of its row, if it can be told."""
    for i, row in enumerate(table):
        spread, total = cube[i, :, i, :], float(row.sum())
        of_total, of_both = float(spread.sum()), spread.sum(axis=1)
        for j, x in enumerate(row.tolist()):
            yield i, j, ratio(x, total, float(spread[j, j]), of_total, float(of_both[j]), z)


def _conditional(given: str, first: str, second: str, made: Ratio | None) -> CrosstabCell:
    if made is None:
        return CrosstabCell("conditional", given, first, second, None, None, None, None)
    told = (made.estimate, made.standard_error, made.low, made.high)
    return CrosstabCell("conditional", given, first, second, *told)
