"""Bounds on shuffled reports as they are handed out.

What must never change within a major version: the field names of ``document()`` and
``records()``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from deniable.protocol.exact import canonical
from deniable.protocol.mechanisms import Mechanism

from ..deltas import delta_caveats
from ..domains import epsilon_unit, over
from ..figures import at_least, at_most, percent_at_most
from ..reading import NO_GUARANTEE, read
from ..render import Record, Section
from ..results import FIRST_UNIT, units
from .classes import LARGEST_CROWD
from .closed_forms import ClosedForm
from .trust import NEIGHBOURS, assumptions


@dataclass(frozen=True)
class ShuffleEpsilon:
    """What the tally of a shuffled crowd reveals of each device in it.

    Attributes
    ----------
    upper, lower : float, float or None
        Epsilon of one device: certainly holds, rounded up; and cannot be improved upon beyond
        this, rounded down, None where no data set is known that shows it.
    method : str
        Which argument gave ``upper``.
    closed_forms : tuple of ClosedForm
        Published formulas, of one day; none for several.
    mechanism : Mechanism
    crowd, honest : int
        Devices, and those of them that hide each other.
    fake_share : float
    delta : float
        With which ``upper`` may fail.
    days : int
        Tallies, one report of each device in each.
    """

    upper: float
    lower: float | None
    method: str
    closed_forms: tuple[ClosedForm, ...]
    mechanism: Mechanism
    crowd: int
    fake_share: float
    honest: int
    delta: float
    days: int

    columns: ClassVar[tuple[str, ...]] = (
        "upper", "lower", "method", "delta", "crowd", "fake_share", "honest", "days", "mechanism",
        "values", "epsilon", "epsilon_first", "unit",
    )  # fmt: skip

    @property
    def unit(self) -> str:
        """What ``upper`` and ``lower`` are of."""
        if self.days == 1:
            return "of one device, from the shuffled reports of one period, one of each device"
        return (
            f"of one device, from the counts of {self.days:,} periods, one report of each device "
            "in each, about an answer that stays the same"
        )

    def records(self) -> list[Record]:
        """Return the one flat row."""
        m = self.mechanism
        return [
            {
                "upper": self.upper,
                "lower": self.lower,
                "method": self.method,
                "delta": self.delta,
                "crowd": self.crowd,
                "fake_share": self.fake_share,
                "honest": self.honest,
                "days": self.days,
                "mechanism": m.name,
                "values": m.k,
                "epsilon": float(m.epsilon),
                "epsilon_first": None if m.epsilon_first is None else float(m.epsilon_first),
                "unit": self.unit,
            }
        ]

    def document(self) -> dict[str, Any]:
        """Return the bounds as JSON."""
        m = self.mechanism
        return {
            **self.records()[0],
            **units(m.epsilon_first, epsilon_unit(m)),
            "options": dict(m.chosen),
            "closed_forms": [asdict(form) for form in self.closed_forms],
            "reading": read(self.upper, self.delta).document(),
            "neighbours": NEIGHBOURS,
            "assumption": list(assumptions(self.crowd, self.honest)),
            "notes": list(self._warnings()),
        }

    def sections(self) -> tuple[Section, ...]:
        """Return the bounds for people."""
        m = self.mechanism
        title = (
            f"Shuffled, a crowd of {self.crowd:,}: {m.described()} {over(m)}, epsilon "
            f"at most {at_most(self.upper)} {self.unit}"
        )
        forms = [
            (form.name, "–" if form.epsilon is None else at_most(form.epsilon), form.valid)
            for form in self.closed_forms
        ]
        found = [Section(title, (), (), tuple(self._notes()))]
        if forms:
            heading = f"Closed forms, epsilon {self.unit}; – where not proven"
            found.append(Section(heading, ("theorem", "epsilon", "proven for"), forms))
        return tuple(found)

    def _notes(self) -> Iterator[str]:
        m, fail = self.mechanism, f"delta = {self.delta:g}"
        yield f"Certified, except with probability {fail}, by: {self.method}."
        if self.lower is None and self.honest > LARGEST_CROWD:
            yield f"No lower bound is computed for more than {LARGEST_CROWD:,} devices."
        elif self.lower is None:
            yield "No lower bound is known for this mechanism."
        else:
            yield (
                f"No analysis can promise less than epsilon {at_least(self.lower)} {self.unit}: a "
                "crowd is known that needs it."
            )
        first = m.epsilon_first
        one = "" if first is None else f"; {canonical(first)} {FIRST_UNIT}"
        yield f"Unshuffled: epsilon {canonical(m.epsilon)} {epsilon_unit(m)}{one}."
        cap = read(self.upper, self.delta).success_cap
        yield (
            f"Whoever sees the shuffled result alone is right about two equally likely answers in "
            f"{percent_at_most(cap)} of all cases at most."
        )
        yield f"It assumes ({NEIGHBOURS}):"
        yield from (f"- {line}." for line in assumptions(self.crowd, self.honest))
        yield from self._warnings()

    def _warnings(self) -> Iterator[str]:
        m = self.mechanism
        if self.days == 1:
            yield (
                "Of one period alone: memoized noise is the same again in the next, and over "
                f"several only epsilon {canonical(m.epsilon)} {epsilon_unit(m)} holds "
                "for certain."
            )
        if not read(self.upper).meaningful:
            yield f"Epsilon above 10 is {NO_GUARANTEE}."
        for caveat in delta_caveats(self.delta, self.crowd):
            yield f"Warning: {caveat}."
