"""Which reports count: the rules, in order, without any input or output.

unknown_question, wrong_version, wrong_hash, wrong_period, expired, period_future, period_closed,
segment, sealing_key, bad_response: the first that applies is the report's code. Closing is decided
again, and for good, inside the transaction that counts the report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from deniable.protocol.errors import ReportError
from deniable.protocol.periods import Period
from deniable.protocol.question import WIRE_HASH, Question
from deniable.protocol.report import CODES
from deniable.protocol.response import Response, Shape
from deniable.protocol.sealing import SealingKey, unpack_sealed

from .batches import pack, packed_size
from .catalogue import Catalogue
from .documents import Rejection
from .store.base import Registered, Scope
from .wire import Report

Counted = Response | bytes
"""What a tally takes: a response, or a sealed one as it waits."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A question version as one period's reports meet it, laid out for the hot path."""

    id: int
    bit: int
    shape: Shape
    unpack: Callable[[object], Counted]
    closes: datetime
    once: bool
    scope: Scope
    hash: str
    sealed: bool


Entry = tuple[int, Slot, Counted]
"""A report that may count: its index in the request, what it answers, and how."""


class Rules:
    """The rules for one survey and period; made once, used by every request that names them.

    A question is laid out for the first report that may count, so that a period nobody may report
    for costs nothing, whoever names it.
    """

    def __init__(self, catalogue: Catalogue, survey: str, period: Period) -> None:
        self._known = catalogue.questions.get(survey, {})
        self._segments = catalogue.surveys[survey].segments
        self._sealing_keys = partial(catalogue.sealing_keys, survey)
        self._period = period
        self._slots: dict[tuple[str, int, str], Slot] = {}

    def judge(
        self,
        reports: Sequence[Report | None],
        segment: str | None,
        now: datetime,
        watermark: datetime,
    ) -> tuple[list[Entry], list[Rejection]]:
        """Part the reports of a request into those that may count and those that do not.

        Parameters
        ----------
        reports : sequence of Report or None
            None stands for a report that is not even of the right form.
        segment : str or None
        now : datetime
            A period that begins later is in the future.
        watermark : datetime
            The last one known; what closes at or before it is closed.
        """
        entries: list[Entry] = []
        rejections: list[Rejection] = []
        future = self._period.kind != "once" and self._period.start > now
        stranger = segment is not None and segment not in self._segments
        for index, report in enumerate(reports):
            if report is None:
                rejections.append(malformed(index))
                continue
            slot = self._slots.get((report.question, report.version, report.hash))
            if slot is None or future or stranger or slot.closes <= watermark:
                code = self._why(report, future, stranger, watermark)
                if code:
                    rejections.append(reject(index, code))
                    continue
                slot = self._lay_out(report)
            try:
                entries.append((index, slot, slot.unpack(report.response)))
            except ReportError as exc:
                rejections.append(Rejection(index, exc.code, exc.detail))
        return entries, rejections

    def _why(self, report: Report, future: bool, stranger: bool, watermark: datetime) -> str:
        """Return the code of a report that cannot count, whatever its response, or nothing."""
        versions = self._known.get(report.question)
        if versions is None:
            return "unknown_question"
        entry = versions.get(report.version)
        if entry is None:
            return "wrong_version"
        if report.hash != entry.question.hash[:WIRE_HASH]:
            return "wrong_hash"
        if entry.question.period != self._period.kind:
            return "wrong_period"
        if not entry.question.asks_in(self._period):
            return "expired"
        if future:
            return "period_future"
        if entry.question.closes(self._period) <= watermark:
            return "period_closed"
        return "segment" if stranger else ""

    def _lay_out(self, report: Report) -> Slot:
        """Return the slot of a report that may count."""
        entry = self._known[report.question][report.version]
        keys = self._sealing_keys() if entry.question.sealed else ()
        slot = _slot(entry, self._period, keys)
        self._slots[report.question, report.version, report.hash] = slot
        return slot


def reject(index: int, code: str) -> Rejection:
    """Return a rejection that says no more than its code means."""
    return Rejection(index, code, CODES[code])


def malformed(index: int) -> Rejection:
    """Return the rejection of a report that is not of the right form."""
    detail = "the report must have exactly question, version, hash and response, of their types"
    return Rejection(index, "bad_response", detail)


def _unpack_sealed(
    question: Question, keys: tuple[SealingKey, ...], size: int, wire: object
) -> bytes:
    return pack(unpack_sealed(wire, question, keys), size)


def _unpacker(
    question: Question, period: Period, keys: tuple[SealingKey, ...]
) -> Callable[[object], Counted]:
    """Return what checks the response to a question, and brings it into the form that counts."""
    if question.horizon is not None:
        return partial(question.unpack_in, period)
    if not question.sealed:
        return question.unpack
    return partial(_unpack_sealed, question, keys, packed_size(question, keys))


def _slot(entry: Registered, period: Period, keys: tuple[SealingKey, ...]) -> Slot:
    question = entry.question
    shape = question.mechanism.shape
    return Slot(
        entry.id,
        1 << entry.bit,
        shape,
        _unpacker(question, period, keys),
        question.closes(period),
        period.kind == "once",
        Scope.of(question, period.key),
        question.hash,
        question.sealed,
    )
