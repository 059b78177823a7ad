"""The documents the collector answers with: one struct each, which encodes and describes it.

``openapi`` derives its schemas from these structs. What must never change within ``/v1``: a
field's name, its type and its meaning. Fields, and words of an enumeration, may be added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from deniable.protocol.limits import MAX_CELLS
from deniable.protocol.period_state import PeriodState
from deniable.protocol.report import CODES
from deniable.protocol.sealed_batch import MAX_PART

from .definitions import BatchName, Count, Identifier, PeriodText, Question, Segment, Version
from .store.base import BatchEntry


class Problem(msgspec.Struct):
    """Why a whole request was refused (RFC 9457); it repeats nothing of the request."""

    type: Annotated[str, Meta(description="Always about:blank: the status says what kind it is.")]
    title: Annotated[str, Meta(description="The status in words.")]
    status: Annotated[int, Meta(ge=400, le=599)]
    detail: Annotated[str, Meta(description="What is wrong and what to do about it; for people.")]


class Rejection(msgspec.Struct, frozen=True):
    """Why one report of a request does not count."""

    index: Annotated[int, Meta(ge=0, description="Of the report in the request.")]
    code: Annotated[
        str,
        Meta(
            description="Only period_future is worth sending again. Codes may be added; treat one "
            "that you do not know as final.",
            extra_json_schema={"enum": [*CODES]},
        ),
    ]
    detail: Annotated[str, Meta(description="The code in words, for people.")]


class Outcome(msgspec.Struct):
    """What became of each report of a request; durable when it is sent."""

    accepted: Annotated[int, Meta(ge=0, description="Reports that count from now on.")]
    duplicate: Annotated[
        int, Meta(ge=0, description="Reports whose question the device had answered: a success.")
    ]
    rejected: Annotated[
        list[Rejection], Meta(description="Reports that do not count, by their index.")
    ]


class Tally(msgspec.Struct):
    """A released tally; it can be decoded years later without the survey file."""

    format: Literal[1]
    survey: Identifier
    period: PeriodText
    batch: BatchName
    segment: Segment
    n: Annotated[int, Meta(ge=1, description="Devices counted.")]
    cells: Annotated[
        list[Count],
        Meta(max_length=MAX_CELLS, description="As the mechanism's shape lays them out."),
    ]
    question: Question


class Tallies(msgspec.Struct):
    """Released tallies of a question, oldest period first."""

    tallies: list[
        Annotated[msgspec.Raw, Meta(extra_json_schema={"$ref": "#/components/schemas/Tally"})]
    ]


class State(msgspec.Struct):
    """Where one tally stands."""

    survey: Identifier
    question: Identifier
    version: Version
    period: PeriodText
    batch: BatchName
    segment: Segment
    state: Literal["pending", "released", "destroyed"]
    crowd: Annotated[
        str,
        Meta(
            description="Devices. Released: exact. Pending: a bucket, such as 100-999. Destroyed: "
            "fewer than the crowd that was needed."
        ),
    ]


class Periods(msgspec.Struct):
    """Where tallies stand, by survey, question and period; never a count below min_crowd."""

    periods: list[State]

    @classmethod
    def of(cls, states: Sequence[PeriodState]) -> Periods:
        """Return the document of what a store says."""
        return cls(msgspec.convert(states, list[State], from_attributes=True))


MAX_ID = 10**18 - 1
"""The largest id a document may have."""


class BatchPart(msgspec.Struct):
    """One document of a released batch of sealed reports."""

    id: Annotated[int, Meta(ge=1, description="By which it is fetched.")]
    version: Version
    period: PeriodText
    batch: BatchName
    segment: Segment
    n: Annotated[int, Meta(ge=1, description="Devices in the whole batch.")]
    part: Annotated[int, Meta(ge=0, description="Counted from 0.")]
    parts: Annotated[int, Meta(ge=1)]


class Batches(msgspec.Struct):
    """Released batches of a sealed question, part by part, oldest period first."""

    batches: list[BatchPart]

    @classmethod
    def of(cls, parts: Sequence[BatchEntry]) -> Batches:
        """Return the document of what a store says."""
        return cls(msgspec.convert(parts, list[BatchPart], from_attributes=True))


class Batch(msgspec.Struct):
    """A part of a released batch: reports that only the analyst's private key opens."""

    format: Literal[1]
    survey: Identifier
    period: PeriodText
    batch: BatchName
    segment: Segment
    n: Annotated[int, Meta(ge=1, description="Devices in the whole batch.")]
    part: Annotated[int, Meta(ge=0, description="Counted from 0.")]
    parts: Annotated[int, Meta(ge=1)]
    reports: Annotated[
        list[tuple[str, str]],
        Meta(
            max_length=MAX_PART,
            description="[key id, encapsulated key and ciphertext as base64url], sorted by the "
            "latter, so that the order says nothing.",
        ),
    ]
    question: Question
