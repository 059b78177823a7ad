"""What a client says about itself, and about an attempt to send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a client; of one that was closed or fell silent, the numbers it had last.

    Attributes
    ----------
    state : "on", "local", "off" or "silent"
        Reports are sent; are kept until the person says yes; nothing is done because the person
        said no; nothing can be done, for the reason given.
    reason : str
        Why, in words; empty while all is well. While "on", also how the last exchange of this
        process with the collector failed, if it did, such as (no connection), (HTTP 503) or
        (garbled reply), never with an address; why nothing can be sent, if the store's disk knows
        no locks; and whether every question has expired. While "on" or "local", also why sealed
        questions cannot be answered, if they cannot.
    queued : int
        Reports of this survey that wait.
    sent : int
        Reports that collectors have acknowledged.
    dropped : dict
        Answers that were refused and reports that can never count any more, by reason; the names
        are explained in :mod:`deniable.client.reasons`.
    decided_on : str or None
        The day on which the person said yes or no; None if they have not.
    epsilon_spent : Decimal
        Permanent epsilon of every question version this store ever answered, erased ones
        included; for answers that never change it bounds what all reports together reveal.
    epsilon_ceiling : Decimal
        What ``epsilon_spent`` will never pass.
    """

    state: Literal["on", "local", "off", "silent"]
    reason: str = ""
    queued: int = 0
    sent: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    epsilon_spent: Decimal = Decimal(0)
    epsilon_ceiling: Decimal = Decimal(0)
    decided_on: str | None = None


@dataclass(frozen=True, slots=True)
class Flushed:
    """What sending achieved.

    Attributes
    ----------
    sent : int
        Reports the collector has, from this attempt or an earlier one.
    kept : int
        Reports that still wait.
    dropped : int
        Reports that can never count any more.
    """

    sent: int = 0
    kept: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Sent:
    """One entry of the journal: that a question was answered in a period, never how.

    Attributes
    ----------
    survey, question : str
    version : int
    period : str
        Such as ``2026-11-30``.
    epsilon : Decimal
        Permanent epsilon of the question version: what all reports of an answer that never changes
        reveal together. It was spent once, with the first of them.
    state : "waiting", "sent", or a reason
        Of the reasons explained in :mod:`deniable.client.reasons`.
    response : int, str, list or None
        What was sent, as it travelled, if the person wants it kept.
    """

    survey: str
    question: str
    version: int
    period: str
    epsilon: Decimal
    state: str
    response: int | str | list[int | str] | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """What would be sent if a value were recorded now. Nothing was kept or sent.

    Attributes
    ----------
    outcome : str
        "queued" if a report would come of it, "answered" if the period has its answer, "off" if
        nothing is recorded, or one of :data:`deniable.client.reasons.REFUSED`.
    question : str
    version : int
    period : str
    epsilon : Decimal
        Permanent epsilon of the question: what all reports of an answer that never changes reveal.
    epsilon_first : Decimal
        Epsilon of this one report.
    earliest, latest : datetime or None
        Between which the report could first leave, and None for what never will.
    request : dict
        The request that would carry the report if it travelled alone.
    example : bool
        Whether it was made with a secret of the moment, since the store has none.
    """

    outcome: str
    question: str
    version: int
    period: str
    epsilon: Decimal
    epsilon_first: Decimal
    earliest: datetime | None
    latest: datetime | None
    request: Mapping[str, Any]
    example: bool
