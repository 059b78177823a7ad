"""A released batch of sealed reports, part by part, as the collector gives it to the analyst.

Format 1, JSON: ``format``, ``survey``, ``period``, ``batch``, ``segment``, ``n`` (reports in the
whole batch), ``part`` (from 0), ``parts``, ``reports`` and ``question``, the question's whole
definition. What must never change: a field's meaning within a format, and the order of
``reports``, by ciphertext through all parts, which tells nothing of who came when.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from .errors import DocumentError, ReportError
from .fields import ID
from .limits import MAX_DEVICES
from .question import Question
from .released import FORMAT, parse_released
from .response import decode_base64url
from .sealing import SUITES, SealedResponse, sealed_size

MAX_PART: Final = 10_000
"""Reports in one part; every part but the last has so many."""

_WHAT = "sealed batch"
_KEYS = {
    "format", "survey", "question", "period", "batch", "segment", "n", "part", "parts", "reports",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SealedBatch:
    """One part of the sealed reports of one question in one period and segment.

    Attributes
    ----------
    question : Question
    period : str
        Its key, such as ``2026-11-30`` or ``once``.
    segment : str or None
    n : int
        Reports in all parts together.
    reports : tuple of SealedResponse
        Of this part, sorted by ciphertext.
    part, parts : int
        Which part, from 0, of how many.
    batch : str or None
        Of a ``once`` question: the week in which this batch of devices was released.
    """

    question: Question
    period: str
    segment: str | None
    n: int
    reports: tuple[SealedResponse, ...]
    part: int = 0
    parts: int = 1
    batch: str | None = None

    def document(self) -> dict[str, Any]:
        """Return the part as self-describing JSON."""
        return {
            "format": FORMAT,
            "survey": self.question.survey,
            "period": self.period,
            "batch": self.batch,
            "segment": self.segment,
            "n": self.n,
            "part": self.part,
            "parts": self.parts,
            "reports": [report.pack() for report in self.reports],
            "question": self.question.document(),
        }


def parse_sealed_batch(document: object) -> SealedBatch:
    """Check one part of a batch, as far as it can be checked without a key.

    Raises
    ------
    DocumentError
        If a field is missing or malformed, the question is not sealed or does not match its own
        hash, or the reports are not those of such a part.
    """
    where, fields = parse_released(document, _WHAT, _KEYS)
    if not where.question.sealed:
        raise DocumentError(f"{_WHAT}: its question is not sealed")
    n, part, parts = (_integer(fields, name) for name in ("n", "part", "parts"))
    if not 1 <= n <= MAX_DEVICES or parts != -(-n // MAX_PART) or part >= parts:
        raise DocumentError(f"{_WHAT}: n, part and parts do not go together")
    reports = _reports(fields["reports"], where.question)
    if len(reports) != min(MAX_PART, n - part * MAX_PART):
        raise DocumentError(f"{_WHAT}: reports must be as many as n says for this part")
    return SealedBatch(
        where.question, where.period, where.segment, n, reports, part, parts, where.batch
    )


def _integer(fields: Mapping[str, object], name: str) -> int:
    value = fields[name]
    if type(value) is not int or value < 0:
        raise DocumentError(f"{_WHAT}: {name} must be a whole number, not negative")
    return value


def _reports(wires: object, question: Question) -> tuple[SealedResponse, ...]:
    if not isinstance(wires, list):
        raise DocumentError(f"{_WHAT}: reports must be a list")
    sizes = {sealed_size(question, suite) for suite in SUITES}
    reports = tuple(_report(wire) for wire in wires)
    if any(len(report.ciphertext) not in sizes for report in reports):
        raise DocumentError(f"{_WHAT}: each report must have a size of its question")
    if any(a.ciphertext > b.ciphertext for a, b in pairwise(reports)):
        raise DocumentError(f"{_WHAT}: reports must be sorted by ciphertext")
    return reports


def _report(wire: object) -> SealedResponse:
    if not isinstance(wire, list) or len(wire) != 2 or not all(type(x) is str for x in wire):
        raise DocumentError(f"{_WHAT}: each report must be [key id, sealed response]")
    if not ID.fullmatch(wire[0]):
        raise DocumentError(f"{_WHAT}: a report names a key by what is no id")
    try:
        return SealedResponse(wire[0], decode_base64url(wire[1]))
    except ReportError as exc:
        raise DocumentError(f"{_WHAT}: a report {exc.detail.removeprefix('response ')}") from exc
