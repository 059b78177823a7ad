"""The local, the shuffled and the central model side by side, as they are handed out.

What must never change within a major version: the field names of ``document()`` and
``records()``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, ClassVar

from deniable.protocol.exact import canonical

from ..estimators import FAKE_SHARE
from ..figures import at_most, counted, percent_at_most
from ..render import Record, Section

NEIGHBOURS = "replacement: two populations of the same size that differ in one person's answer"

CURATOR = (
    "the collector, with everybody's true answers, to keep them to itself and to add the noise once"
)


def sensitivity(asks: str, changed: int) -> str:
    """Say what one answer changes, which decides how much noise a trusted collector adds.

    Parameters
    ----------
    asks : "choice", "number", "set" or "text"
    changed : int
        How many counts at most.
    """
    if changed > 1:
        many = "two" if changed == 2 else f"at most {changed}"
        counts = f"{many} counts of {'items' if asks == 'set' else 'the histogram'}"
        return (
            f"One answer changes {counts} by 1: the scale of Laplace noise is {changed}/epsilon in "
            f"each count, and sigma is for a distance of sqrt({changed})."
        )
    what = "the sum, scaled to 0..1," if asks == "number" else "the count"
    return f"One answer changes {what} by at most 1: the scale of Laplace noise is 1/epsilon."


@dataclass(frozen=True, slots=True)
class Model:
    """One way to ask the same question.

    Attributes
    ----------
    model : "local", "shuffled", "central Laplace" or "central Gaussian"
    noise : str
        What is added where.
    local_epsilon : float or None
        Of one report of one device, as it leaves the device; None if the answer leaves it as it
        is, which has no epsilon.
    epsilon : float
        Of one device, from what is published about one period.
    delta : float
        Probability with which that may fail.
    standard_error : float
        Of one frequency, of the noise alone, at the worst frequency.
    users : int
        For the margin, of the noise alone: of sampled devices it takes more.
    advantage_cap : float
        The most by which true accusations of one device can exceed false ones, from what is
        published.
    fake_bias : float
        By how much 1 % of fake devices could move the frequency.
    trusted : str
        Who, with what.
    """

    model: str
    noise: str
    local_epsilon: float | None
    epsilon: float
    delta: float
    standard_error: float
    users: int
    advantage_cap: float
    fake_bias: float
    trusted: str


@dataclass(frozen=True)
class Comparison:
    """The same question in each model.

    Attributes
    ----------
    epsilon : Decimal
        Of one device in one period, in every model.
    delta : float
        Of the shuffled model and of Gaussian noise.
    devices, values : int
    mechanism : str
        Of the local model.
    domain : str
        What it is over, in words.
    margin, standard_errors : float
        For which users were counted: so many standard errors.
    confidence : float or None
        Two-sided, of a normal interval, if that was asked for.
    sensitivity : str
        What one answer can change, in words.
    models : tuple of Model
    caveats : tuple of str
    """

    epsilon: Decimal
    delta: float
    devices: int
    values: int
    mechanism: str
    domain: str
    margin: float
    standard_errors: float
    confidence: float | None
    sensitivity: str
    models: tuple[Model, ...]
    caveats: tuple[str, ...]

    columns: ClassVar[tuple[str, ...]] = (
        "model", "noise", "local_epsilon", "epsilon", "delta", "standard_error", "users",
        "advantage_cap", "fake_bias", "trusted",
    )  # fmt: skip

    def records(self) -> list[Record]:
        """Return one flat row for each model."""
        return [asdict(model) for model in self.models]

    def document(self) -> dict[str, Any]:
        """Return the comparison as JSON."""
        return {
            "epsilon": float(self.epsilon),
            "epsilon_unit": "of one device, from what is published about one period",
            "delta": self.delta,
            "devices": self.devices,
            "values": self.values,
            "mechanism": self.mechanism,
            "margin": self.margin,
            "standard_errors": self.standard_errors,
            "confidence": self.confidence,
            "neighbours": NEIGHBOURS,
            "sensitivity": self.sensitivity,
            "models": self.records(),
            "caveats": list(self.caveats),
        }

    def sections(self) -> tuple[Section, ...]:
        """Return the comparison for people."""
        columns = ("model", "a report", "published", "delta", "standard error",
                   f"users for ±{self.margin:g} of noise alone", "advantage", "fakes")  # fmt: skip
        rows = [
            (
                model.model,
                "no bound" if model.local_epsilon is None else f"{model.local_epsilon:.4g}",
                f"{model.epsilon:.4g}",
                f"{model.delta:.3g}",
                at_most(model.standard_error, 3),
                f"{model.users:,}",
                percent_at_most(model.advantage_cap),
                at_most(model.fake_bias, 2),
            )
            for model in self.models
        ]
        title = (
            f"Epsilon {canonical(self.epsilon)} of one device in one period, "
            f"{counted(self.devices, 'device')}, {self.domain}"
        )
        return (Section(title, columns, rows, tuple(self._notes())),)

    def _notes(self) -> Iterator[str]:
        yield (
            "a report: epsilon of one report as it leaves the device; published: epsilon of one "
            "device from what is published, except with probability delta."
        )
        yield (
            "standard error: of one frequency among these devices, of the noise alone, at the "
            f"worst frequency; margin: {self.standard_errors:.6g} of them."
        )
        yield (
            "users: with so many the noise alone stays within the margin; what sampling adds is "
            "left out here, and counted by users-needed."
        )
        yield (
            "advantage: the most by which true accusations of one device can exceed false ones; "
            f"fakes: by how much {100 * FAKE_SHARE:g} % fake devices could move a frequency."
        )
        yield f"Neighbours: {NEIGHBOURS}. {self.sensitivity}"
        for model in self.models:
            yield f"{model.model}: {model.noise}. Trusted: {model.trusted}."
        for caveat in self.caveats:
            yield f"Warning: {caveat}."
