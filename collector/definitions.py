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


class TextForm(msgspec.Struct):
    """The texts of a text question: their letters, and how many at most."""

    alphabet: str
    max_length: Annotated[int, Meta(ge=1, description="Characters, after normalisation.")]
    fold: Annotated[bool, Meta(description="Whether capitals and compatible forms count as one.")]


class Part(msgspec.Struct):
    """One of the two questions that a joint question asks together."""

    name: Identifier
    choices: list[str]


class Horizon(msgspec.Struct):
    """The periods that one epsilon covers, from the one with the day start on."""

    start: Annotated[str, Meta(extra_json_schema={"format": "date"})]
    periods: Annotated[int, Meta(ge=2)]
    changes: Annotated[
        int | None,
        Meta(description="How often a device's answer may change; null: a number only rises."),
    ]


class Question(msgspec.Struct):
    """A question's whole definition; the last fields are there only if its type has them."""

    id: Identifier
    version: Version
    hash: FullHash
    ask: str
    type: Literal["boolean", "choice", "number", "set", "text", "joint"]
    choices: Annotated[
        list[str],
        Meta(description="Of a joint question, every pair of its parts' choices; or empty."),
    ]
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
    default: Annotated[
        bool | str | list[str] | None,
        Meta(description="Of a set, its choices; of a joint question, one choice of each part."),
    ]
    owner: str
    expires: Annotated[str, Meta(extra_json_schema={"format": "date"})]
    sealed: Annotated[
        bool, Meta(description="Whether devices encrypt each response to the analyst's key.")
    ] = False
    max_items: Annotated[
        int | msgspec.UnsetType,
        Meta(description="Of a set: the most choices of an answer that count."),
    ] = msgspec.UNSET
    text: TextForm | msgspec.UnsetType = msgspec.UNSET
    parts: list[Part] | msgspec.UnsetType = msgspec.UNSET
    horizon: Horizon | msgspec.UnsetType = msgspec.UNSET


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
