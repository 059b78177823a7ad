"""What other mechanisms would make of a question: the runners-up, and what each would lose."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, ClassVar

from deniable.protocol.mechanisms import Rival, compared, rivals
from deniable.protocol.question import Question

from .render import Section
from .totals.longitudinal import change_reveals


@dataclass(frozen=True, slots=True)
class Alternative:
    """One mechanism that could answer a question, beside the one that does.

    Attributes
    ----------
    question : str
    mechanism : str
    asked : bool
        Whether it is the one that the survey uses.
    standard_error_ratio : float
        Of its estimates to those of the one that the survey uses, for the same devices: the
        square root of the ratio of their variances at a frequency of 1/k, of a text that nobody
        has, or of numbers where they are worst.
    lifetime_changing : float or None
        Epsilon of all reports about answers that change, if it is public when what is remembered
        of the answer changes.
    change_reveals : float or None
        Epsilon between two histories that differ on one day, the rest known; None is unbounded.
    fingerprint_bits : float
        At most so many bits of the permanent response tell devices apart.
    against : str
        Why ``auto`` leaves it out; empty if it does not.
    """

    question: str
    mechanism: str
    asked: bool
    standard_error_ratio: float
    lifetime_changing: float | None
    change_reveals: float | None
    fingerprint_bits: float
    against: str

    columns: ClassVar[tuple[str, ...]] = (
        "question", "mechanism", "standard error", "answers that change", "a change reveals",
        "bits", "auto",
    )  # fmt: skip

    def record(self) -> dict[str, Any]:
        """Return one flat row."""
        return asdict(self)

    def row(self) -> tuple[str, ...]:
        """Return the row for people."""
        error = "asked" if self.asked else f"x {self.standard_error_ratio:.3g}"
        return (
            self.question,
            self.mechanism,
            error,
            _bound(self.lifetime_changing),
            _bound(self.change_reveals),
            f"{self.fingerprint_bits:.1f}",
            f"no: {self.against}" if self.against else "yes",
        )


def alternatives(question: Question, *, linkable: bool) -> tuple[Alternative, ...]:
    """Return every mechanism for a question, in the order in which ``auto`` would take them.

    Parameters
    ----------
    question : Question
    linkable : bool
        Whether its survey accepts that answers may recognise a device.
    """
    used = question.mechanism
    own = compared(used)
    found = rivals(
        used.k,
        used.epsilon,
        used.epsilon_first,
        asks=used.asks,
        linkable=linkable,
        given=question.given,
    )
    return tuple(_alternative(question, rival, own) for rival in found)


def alternatives_section(found: tuple[Alternative, ...]) -> Section:
    """Return the table of alternatives for people."""
    notes = (
        "standard error: of an estimate with the same devices, in those of the mechanism asked "
        "for; at a frequency of 1/k, of a text that nobody has, of numbers where they are worst.",
        "auto: whether the rule would consider it; it takes the first that it considers.",
    )
    title = "Other mechanisms for the same epsilons"
    return Section(title, Alternative.columns, [one.row() for one in found], notes)


def _alternative(question: Question, rival: Rival, own: Fraction) -> Alternative:
    mechanism, used = rival.mechanism, question.mechanism
    asked = mechanism.name == used.name
    shown = used if asked else mechanism
    classes = shown.classes
    return Alternative(
        question=question.id,
        mechanism=shown.described(),
        asked=asked,
        standard_error_ratio=1.0 if asked else math.sqrt(rival.variance / own),
        lifetime_changing=None if classes is None else classes * float(question.epsilon),
        change_reveals=change_reveals(shown),
        fingerprint_bits=shown.fingerprint_bits,
        against=rival.against,
    )


def _bound(value: float | None) -> str:
    return "no bound" if value is None else f"{value:.4g}"
