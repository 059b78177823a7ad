"""Reports in bulk, and how they are counted; shared by all mechanisms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from deniable.protocol.mechanisms import Mechanism
from deniable.protocol.response import Shape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

M = TypeVar("M", bound=Mechanism)

_ROWS_ADDED = 255
"""So many bits can be added up in a byte."""


class Reports(NamedTuple):
    """Responses of n devices.

    Attributes
    ----------
    rows : array of int, shape (n,), or None
        Of each device; None where the mechanism has one row only.
    outs : array of int, shape (n,), or array of bool, shape (n, width)
        A symbol or a bit vector of each.
    """

    rows: NDArray[np.int64] | None
    outs: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Population:
    """How many devices have which symbol, of a domain that may be too large to list.

    Attributes
    ----------
    symbols : array of object, shape (s,)
        Whole numbers, which may exceed 64 bits; no two alike.
    people : array of int, shape (s,)
    """

    symbols: NDArray[np.object_]
    people: Integers

    @classmethod
    def of(cls, counted: Mapping[int, int]) -> Population:
        """Return the population of which so many have each symbol."""
        import numpy as np

        symbols = np.empty(len(counted), dtype=object)
        symbols[:] = list(counted)
        return cls(symbols, np.array(list(counted.values()), dtype=np.int64))

    def by_symbol(self, k: int) -> Integers:
        """Return how many have each of the symbols 0..k-1."""
        import numpy as np

        listed = np.zeros(k, dtype=np.int64)
        listed[self.symbols.astype(np.int64)] = self.people
        return listed


class Simulator(ABC, Generic[M]):
    """What devices with one mechanism answer; one subclass for each.

    Attributes
    ----------
    mechanism : Mechanism
    """

    def __init__(self, mechanism: M) -> None:
        self.mechanism = mechanism

    @abstractmethod
    def permanent(self, symbols: Integers, rng: np.random.Generator) -> Reports:
        """Return the permanent response of devices with these symbols."""

    def instant(self, permanent: Reports, rng: np.random.Generator) -> Reports:
        """Return one report of each of these devices, through the second round if there is one."""
        return permanent

    @property
    def second(self) -> bool:
        """Whether each report has fresh noise of its own."""
        return self.mechanism.epsilon_first is not None


class Counted(Simulator[M]):
    """A mechanism whose tally can be drawn without its reports.

    The tally of the permanent responses must be all that the distribution of the reports' tally
    depends on.
    """

    @abstractmethod
    def permanent_cells(self, population: Integers, rng: np.random.Generator) -> Integers:
        """Return the tally of the permanent responses of so many devices with each symbol."""

    def instant_cells(self, permanent: Integers, rng: np.random.Generator) -> Integers:
        """Return the tally of one report of each device, given that of their permanent ones."""
        return permanent


class Open(Simulator[M]):
    """A mechanism with a domain too large to list, whose tally can be drawn without its reports.

    As for :class:`Counted`, but for a second round if there is one.
    """

    @abstractmethod
    def cells_of(self, population: Population, rng: np.random.Generator) -> Integers:
        """Return the tally of the permanent responses of these devices."""

    def instant_cells(self, permanent: Integers, rng: np.random.Generator) -> Integers:
        """Return the tally of one report of each device, given that of their permanent ones."""
        return permanent


def count(shape: Shape, reports: Reports) -> Integers:
    """Return the tally of the reports, as ``shape.fold`` counts them one by one.

    Returns
    -------
    array of int, shape (shape.cells,)
    """
    import numpy as np

    rows, outs = reports
    if shape.kind == "symbol":
        places = outs if rows is None else rows * shape.width + outs
        return np.bincount(places, minlength=shape.cells).astype(np.int64, copy=False)
    if rows is None:
        return np.append(columns(outs), len(outs))
    order = np.argsort(rows, kind="stable")
    ends = np.cumsum(np.bincount(rows, minlength=shape.rows))
    sorted_outs, start = outs[order], 0
    cells = np.zeros((shape.rows, shape.width + 1), dtype=np.int64)
    for row, end in enumerate(ends):
        if end > start:
            cells[row] = np.append(columns(sorted_outs[start:end]), end - start)
        start = end
    return cells.ravel()


def columns(bits: NDArray[np.bool_]) -> Integers:
    """Return the sum of each column."""
    import numpy as np

    whole = len(bits) // _ROWS_ADDED * _ROWS_ADDED
    stacked = bits[:whole].view(np.uint8).reshape(-1, _ROWS_ADDED, bits.shape[1])
    sums: Integers = np.add.reduce(stacked, axis=1, dtype=np.uint8).sum(axis=0, dtype=np.int64)
    sums += bits[whole:].sum(axis=0, dtype=np.int64)
    return sums
