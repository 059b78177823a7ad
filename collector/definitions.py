"""What a survey is as a document: the structs that describe one, and the types they share.

Surveys, tallies and batches travel as texts that the protocol wrote and checks; these structs
only describe them, in ``openapi``. What must never change within ``/v1``: a field's name, its type
and its meaning.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from deniable.protocol.fields import ID
from deniable.protocol.sealing import SUITES, KeyState

Identifier: TypeAlias = Annotated[str, Meta(extra_json_schema={"pattern": f"^{ID.pattern}$"})]
"""Of a survey or a question."""

_YEAR, _MONTH, _WEEK = "2[0-9]{3}", "(0[1-9]|1[0-2])", "W(0[1-9]|[1-4][0-9]|5[0-3])"
_DAY = "(0[1-9]|[12][0-9]|3[01])"

PeriodText: TypeAlias = Annotated[
    str,
    Meta(
        description="A day, a week of ISO 8601, a month, or once; in UTC.",
        extra_json_schema={"pattern": f"^({_YEAR}-({_MONTH}(-{_DAY})?|{_WEEK})|once)$"},
        examples=["2026-11-30", "2026-W49", "2026-11", "once"],
    ),
]

Segment: TypeAlias = Annotated[
    str | None, Meta(description="null: of the devices that named none.")
]
BatchName: TypeAlias = Annotated[
    str | None, Meta(description="Of a once question: the week that released it; null otherwise.")
]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
Version: TypeAlias = Annotated[int, Meta(ge=1)]
FullHash: TypeAlias = Annotated[
    str, Meta(description="The privacy hash.", extra_json_schema={"pattern": "^[0-9a-f]{64}$"})
]
DecimalText: TypeAlias = Annotated[
    str, Meta(description="A decimal number as text, exact.", examples=["0.5", "2"])
]


class Shape(msgspec.Struct):
    """How a response travels and is counted."""

    kind: Literal["symbol", "bits"]
    width: Annotated[int, Meta(ge=1, description="Symbols or bits.")]
    rows: Annotated[int, Meta(ge=1, description="Hash rows, cohorts or levels.")]
    weight: Annotated[int | None, Meta(description="Bits that are set in each response.")]


class Mechanism(msgspec.Struct):
    """A mechanism, resolved; p and q are the thresholds divided by 2^64."""

    name: str
    k: Annotated[int, Meta(ge=2, description="Size of the domain.")]
    derivation: Annotated[str, Meta(description="How the keyed draws are derived.")]
    options: dict[str, int]
    shape: Shape
    thresholds: dict[str, str]


class Range(msgspec.Struct):
    """The grid of a number question: steps equal steps from low to high."""

    low: DecimalText
    high: DecimalText
    steps: Annotated[int, Meta(ge=1)]


class Question(msgspec.Struct):
    """A question's whole definition."""

    id: Identifier
    version: Version
    hash: FullHash
    ask: str
    type: Literal["boolean", "choice", "number"]
    choices: list[str]
    range: Range | None
    mechanism: Mechanism
    epsilon: Annotated[
        str, Meta(description="Of one device, from all its reports about one unchanging answer.")
    ]
    epsilon_first: Annotated[
        str | None, Meta(description="Of one device, from one report; null: no second round.")
    ]
    period: Literal["day", "week", "month", "once"]
    grace: Annotated[int, Meta(ge=0, description="Days.")]
    min_crowd: Annotated[int, Meta(ge=1, description="Devices.")]
    default: bool | str | None
    owner: str
    expires: Annotated[str, Meta(extra_json_schema={"format": "date"})]
    sealed: Annotated[
        bool, Meta(description="Whether devices encrypt each response to the analyst's key.")
    ] = False


class SealingKey(msgspec.Struct):
    """A public key of the analyst, for which devices seal their responses."""

    id: Identifier
    suite: Annotated[str, Meta(extra_json_schema={"enum": [*SUITES]})]
    public: Annotated[str, Meta(description="As base64url.")]
    state: KeyState


class Survey(msgspec.Struct):
    """A survey as `deniable survey compile` writes it."""

    format: Literal[1]
    id: Identifier
    max_epsilon: DecimalText
    segments: list[str]
    batch: Literal["survey", "question"]
    linkable: bool
    questions: list[Question]
    sealing_keys: list[SealingKey] = []
