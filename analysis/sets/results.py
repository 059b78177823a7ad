"""Estimates of a set question as they are handed out: its items, and how many an answer has.

What must never change within a major version: the field names of ``document()`` and
``records()``; analysts' programs read them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from ..estimators import Raw
from ..render import Record, Section
from ..results import Estimate, Estimates, decimals, row


@dataclass(frozen=True, slots=True)
class MeanSize:
    """How many items an answer has on average: unbiased, with an interval."""

    estimate: float
    standard_error: float
    low: float
    high: float

    @classmethod
    def of(cls, raw: Raw) -> MeanSize:
        """Return the mean that was estimated."""
        return cls(raw.frequency, raw.standard_error, raw.low, raw.high)


@dataclass(frozen=True, kw_only=True)
class SetEstimates(Estimates):
    """The items of one set question in one period, and the sizes of its answers.

    Attributes
    ----------
    estimates : tuple of Estimate
        One for each item: how many devices have it in their set. They do not add up to one.
    sizes : tuple of Estimate
        One for each size 0..max_items: how many devices have a set of it. They add up to one.
    mean_size : MeanSize
        Raw, also where frequencies were post-processed. It is the sum of all items' raw frequencies
        as well.
    max_items : int
        Of a larger set the device keeps so many items, a uniform subset: its size is counted as
        ``max_items``.
    """

    sizes: tuple[Estimate, ...]
    mean_size: MeanSize
    max_items: int

    NAMES: ClassVar[tuple[str, ...]] = (
        "question", "version", "period", "segment", "n", "mechanism", "epsilon", "epsilon_first",
        "confidence", "simultaneous", "post_process",
        "statistic", "value", "count", "estimate", "standard_error", "low", "high",
    )  # fmt: skip

    @property
    def items(self) -> tuple[Estimate, ...]:
        """The items, which are the ``estimates``."""
        return self.estimates

    def records(self) -> list[Record]:
        """Return one flat row for each item and each size, and one for the mean size."""
        context = self.which() | self._how()
        crowd = self.of_crowd()
        rows = [("item", one) for one in self.items] + [("size", one) for one in self.sizes]
        found = [{**context, "statistic": what, **_flat(one), **crowd} for what, one in rows]
        mean = {"value": None, "count": None, **asdict(self.mean_size)}
        return [*found, {**context, "statistic": "mean size", **mean, **crowd}]

    def document(self) -> dict[str, Any]:
        """Return items and sizes as JSON."""
        return {
            **super().document(),
            "max_items": self.max_items,
            "sizes": [asdict(one) for one in self.sizes],
            "mean_size": asdict(self.mean_size),
        }

    def sections(self) -> tuple[Section, ...]:
        """Return the items for people, then the sizes."""
        (items,) = super().sections()
        columns = ("items", *items.columns[1:])
        rows = [row(one, self.n) for one in self.sizes]
        return items, Section("Items in a set", columns, rows, tuple(self._of_sizes()))

    def _of_sizes(self) -> Iterator[str]:
        mean = self.mean_size
        places = decimals(mean.standard_error)
        ends = (f"{end:z.{places}f}" for end in (mean.low, mean.high))
        yield (
            f"{mean.estimate:z.{places}f} items on average, standard error "
            f"{mean.standard_error:.{places}f}, {100 * self.confidence:g} % interval "
            f"{' to '.join(ends)}."
        )


def _flat(one: Estimate) -> Record:
    """Return an estimate as a flat row, in which means and frequencies have one column."""
    found = asdict(one)
    return {"estimate" if name == "frequency" else name: found[name] for name in found}
