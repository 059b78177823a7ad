"""A local epsilon for a central one, as it is handed out.

What must never change within a major version: the field names of ``document()`` and
``records()``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from deniable.protocol.exact import canonical

from ..deltas import delta_caveats
from ..domains import over
from ..figures import at_least, at_most, counted, percent_at_most
from ..reading import read
from ..render import Record, Section
from . import proposals
from .proposals import Proposal

CENTRAL_UNIT = (
    "of one device, from the shuffled reports of one period, to those who see nothing else"
)


@dataclass(frozen=True)
class LocalPlan:
    """The local epsilon that becomes a central one in a crowd.

    Attributes
    ----------
    proposal : Proposal
        The mechanism with its local epsilon, of one round.
    central_epsilon : Decimal
        As asked for.
    upper, lower : float
        Certified bounds on what the shuffled reports reveal; upper is at most as asked for, lower
        None where no data set is known that needs so much.
    method : str
        Which theorem the upper bound is from.
    delta : float
        With which the central bound may fail.
    crowd : int
        Devices whose reports are shuffled.
    fake_share : float
        Of them, that hides nobody.
    honest : int
        Those that do.
    """

    proposal: Proposal
    central_epsilon: Decimal
    upper: float
    lower: float | None
    method: str
    delta: float
    crowd: int
    fake_share: float
    honest: int

    columns: ClassVar[tuple[str, ...]] = (
        *proposals.COLUMNS, "central_epsilon", "upper", "lower", "method", "delta", "crowd",
        "fake_share", "honest",
    )  # fmt: skip

    @property
    def epsilon(self) -> Decimal:
        """Of one device, from its one report, to whoever sees it unshuffled."""
        return self.proposal.epsilon

    def records(self) -> list[Record]:
        """Return the one flat row."""
        own = {
            "central_epsilon": float(self.central_epsilon),
            "upper": self.upper,
            "lower": self.lower,
            "method": self.method,
            "delta": self.delta,
            "crowd": self.crowd,
            "fake_share": self.fake_share,
            "honest": self.honest,
        }
        return [self.proposal.record() | own]

    def document(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        own = {
            "unknown": "local_epsilon",
            "central_epsilon_unit": CENTRAL_UNIT,
            "central_reading": read(self.upper, self.delta).document(),
            "trust": list(trust(self.crowd, self.honest)),
            "caveats": list(delta_caveats(self.delta, self.crowd)),
        }
        return {**self.records()[0], **self.proposal.document(), **own}

    def sections(self) -> tuple[Section, ...]:
        """Return the plan for people."""
        title = (
            f"local epsilon {canonical(self.epsilon)} of one device, for a central epsilon of at "
            f"most {canonical(self.central_epsilon)} in a crowd of {self.crowd:,}"
        )
        return (Section(title, (), (), tuple(self._notes())),)

    def _notes(self) -> Iterator[str]:
        mechanism = self.proposal.mechanism
        yield f"Mechanism {mechanism.described()} {over(mechanism)}."
        least = "" if self.lower is None else f", at least {at_least(self.lower)}"
        success = percent_at_most(read(self.upper, self.delta).success_cap)
        yield (
            f"Central: epsilon at most {at_most(self.upper)} (by {self.method}){least}, "
            f"{CENTRAL_UNIT}, except with probability delta = {self.delta:g}. They are right about "
            f"two equally likely answers in {success} of all cases at most."
        )
        yield from trust(self.crowd, self.honest)
        yield f"A survey's min_crowd has to be {self.crowd:,} at least: a smaller crowd hides less."
        yield from self.proposal.notes()
        for caveat in delta_caveats(self.delta, self.crowd):
            yield f"Warning: {caveat}."


def trust(crowd: int, honest: int) -> Iterator[str]:
    """Say who must be trusted with what for a bound on shuffled reports to hold."""
    share = f"{honest:,} of {counted(crowd, 'device')}"
    if honest == crowd:
        share = "the 1 device" if crowd == 1 else f"all {crowd:,} devices"
    yield (
        "Trusted: the shuffler, to mix the reports and to forget order, time and sender before "
        f"anybody looks; and {share}, to answer once each, with noise of their own that "
        "nobody knows."
    )
    yield (
        "Without that trust, and over more periods of memoized answers, whose noise is the same "
        "again, only the local epsilon holds."
    )
