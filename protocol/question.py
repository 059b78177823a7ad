"""One question: what is asked, how it is perturbed, and the hash that pins both.

What must never change for a given question: its privacy hash. It covers everything that decides
what a response reveals, and nothing else. A device or collector that meets the same (question,
version) under another hash refuses it: a changed question is a new version, and a new version
is a new spend. min_crowd, grace, owner and expires are outside, for they reveal nothing more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

from .digests import sha256
from .draws import DERIVATION
from .errors import ParameterError, ReportError
from .exact import canonical
from .horizon import Horizon
from .mechanisms import Mechanism, Options
from .mechanisms.dyadic import Dyadic
from .normal import choice_form
from .parts import Part, joint_symbol
from .periods import Period, PeriodKind, midnight
from .ranges import Range
from .response import Response, Shape
from .text_form import TextForm

Value = bool | str | Decimal | tuple[str, ...]
"""An answer: true or false, one of the choices, a number, text, or several choices; of a joint
question one choice of each part, as the choice that stands for both."""

QuestionType = Literal["boolean", "choice", "number", "set", "text", "joint"]

MAX_ENTRIES = 1 << 16
"""Of a set that is looked at: so that one without end comes to an end."""

WIRE_HASH = 32
"""Hex digits of the privacy hash that travel with a report."""


@dataclass(frozen=True)
class Question:
    """A question as every part of the system sees it; immutable and already checked.

    Attributes
    ----------
    survey, id : str
        Which question.
    version : int
        Rises with every change of the privacy hash.
    ask : str
        The question in words.
    type : "boolean", "choice", "number", "set", "text" or "joint"
    choices : tuple of str
        Of a choice question, in order; symbol i is ``choices[i]``. Of a set question, bit i of a
        symbol is ``choices[i]``. Of a joint question, every pair of its parts' choices. Empty for
        the others.
    range : Range or None
        Of a number question; symbol i is the i-th point of its grid.
    mechanism : Mechanism
        Resolved, with its thresholds; carries both epsilons.
    period : "day", "week", "month" or "once"
        One report per device in each.
    grace : int
        Days after a period's end in which late reports still count; 0 for ``once``.
    min_crowd : int
        Devices below which no count is released.
    default : bool, str or None
        Answered when nothing was recorded.
    owner : str
        Whom to ask.
    expires : date
        The last day on which it is asked.
    sealed : bool
        Whether devices encrypt each response to the analyst's key.
    max_items : int or None
        Of a set question: the most choices of an answer that count.
    text : TextForm or None
        Of a text question.
    parts : tuple of Part
        Of a joint question, two.
    horizon : Horizon or None
        Of a yes/no or number question whose one epsilon covers all periods of it.
    """

    survey: str
    id: str
    version: int
    ask: str
    type: QuestionType
    choices: tuple[str, ...]
    range: Range | None
    mechanism: Mechanism
    period: PeriodKind
    grace: int
    min_crowd: int
    default: Value | None
    owner: str
    expires: date
    sealed: bool = False
    max_items: int | None = None
    text: TextForm | None = None
    parts: tuple[Part, ...] = ()
    horizon: Horizon | None = None

    @property
    def epsilon(self) -> Decimal:
        """Permanent loss about one unchanging value."""
        return self.mechanism.epsilon

    @property
    def epsilon_first(self) -> Decimal | None:
        """Loss of one report, if there is a second round."""
        return self.mechanism.epsilon_first

    @property
    def values(self) -> tuple[Value, ...]:
        """The value of each symbol, in order: of a set question, of each bit of a symbol.

        None of a number or text question, see ``range`` and ``text``.
        """
        return (False, True) if self.type == "boolean" else self.choices

    @property
    def given(self) -> Options:
        """The options of a mechanism that the question decides."""
        return given_options(self.max_items, self.text, self.horizon)

    def encode(self, value: object) -> int:
        """Return the symbol of an answer; a number outside the range is clipped to it.

        Raises
        ------
        ParameterError
            If it is no answer to this question. The message never contains the value.
        """
        if self.type == "boolean":
            if not isinstance(value, bool) and not _is_numpy_bool(value):
                raise ParameterError(f"{self.id}: the value must be True or False")
            return int(bool(value))
        if self.range is not None:
            return self.range.nearest(self.id, value)
        if self.text is not None:
            return self.text.encode(self.id, value)
        if self.parts:
            return joint_symbol(self.id, self.parts, value)
        if self.type == "set":
            return self._mask(value)
        symbol = self._symbol(value)
        if symbol is None:
            raise ParameterError(f"{self.id}: the value must be one of its choices: {self._shown}")
        return symbol

    def _mask(self, value: object) -> int:
        """Return a bit for each choice of a set; an entry that comes twice counts once."""
        entries = _entries(value)
        if entries is None:
            raise ParameterError(f"{self.id}: the value must be a list or set of its choices")
        mask = 0
        for count, item in enumerate(entries):
            symbol = self._symbol(item)
            if symbol is None or count == MAX_ENTRIES:
                raise ParameterError(
                    f"{self.id}: every entry must be one of its choices: {self._shown}"
                )
            mask |= 1 << symbol
        return mask

    def _symbol(self, value: object) -> int | None:
        form = choice_form(value)
        return None if form is None else self._symbols.get(form)

    @property
    def _shown(self) -> str:
        return ", ".join(self.choices[:8]) + (", …" if len(self.choices) > 8 else "")

    @cached_property
    def _symbols(self) -> dict[str, int]:
        return {choice: symbol for symbol, choice in enumerate(self.choices)}

    def unpack(self, wire: object) -> Response:
        """Return the response of a JSON value, which may be anything, if a device could give it.

        Raises
        ------
        ReportError
            ``bad_response``: not the one wire form of a response, or see :meth:`check`.
        """
        return self.check(self._shape.unpack(wire))

    @cached_property
    def _shape(self) -> Shape:
        return self.mechanism.shape

    def check(self, response: Response) -> Response:
        """Return a response that is of the mechanism's shape, if a device could have given it.

        Raises
        ------
        ReportError
            ``bad_response``: more or fewer bits are set than all but one in 10^12 honest responses
            have. The message says nothing of the response.
        """
        counts = self.mechanism.popcounts
        if counts is not None and response.out.bit_count() not in counts:
            expected = f"{counts.start} to {counts.stop - 1} bits set, as devices' have"
            raise ReportError("bad_response", f"response must have {expected}")
        return response

    def unpack_in(self, period: Period, wire: object) -> Response:
        """Return what :meth:`unpack` does, if devices of its level report in ``period``.

        Raises
        ------
        ReportError
            ``bad_response``, also if the question has a horizon in which they report in others.
        """
        response = self.unpack(wire)
        t = None if self.horizon is None else self.horizon.index(period)
        mechanism = self.mechanism
        if t is not None and isinstance(mechanism, Dyadic) and not mechanism.due(response.row, t):
            raise ReportError("bad_response", "response must be of a level that reports then")
        return response

    @cached_property
    def hash(self) -> str:
        """The privacy hash, 64 hex digits: SHA-256 of the canonical privacy document."""
        return sha256(canonical_json(self.privacy_document()).encode()).hexdigest()

    @property
    def wire_hash(self) -> str:
        """The digits of the hash that travel."""
        return self.hash[:WIRE_HASH]

    def privacy_document(self) -> dict[str, Any]:
        """Return what the privacy hash covers: all that decides what a response reveals."""
        document = {
            "survey": self.survey,
            "question": self.id,
            "version": str(self.version),
            "ask": self.ask,
            "type": self.type,
            "choices": list(self.choices),
            "range": None if self.range is None else self.range.document(),
            "mechanism": mechanism_document(self.mechanism),
            "epsilon": canonical(self.epsilon),
            "epsilon_first": _canonical_or_none(self.epsilon_first),
            "period": self.period,
            "default": answer_document(self.default),
        }
        return document | self._extra() | ({"sealed": True} if self.sealed else {})

    def _extra(self) -> dict[str, Any]:
        """Return what only some types have; so that the hashes of the others stay."""
        found: dict[str, Any] = {}
        if self.max_items is not None:
            found["max_items"] = self.max_items
        if self.text is not None:
            found["text"] = self.text.document()
        if self.parts:
            found["parts"] = [part.document() for part in self.parts]
        if self.horizon is not None:
            found["horizon"] = self.horizon.document()
        return found

    def document(self) -> dict[str, Any]:
        """Return the question's whole definition as JSON, hash and thresholds included."""
        return {
            "id": self.id,
            "version": self.version,
            "hash": self.hash,
            "ask": self.ask,
            "type": self.type,
            "choices": list(self.choices),
            "range": None if self.range is None else self.range.document(),
            "mechanism": mechanism_document(self.mechanism),
            "epsilon": canonical(self.epsilon),
            "epsilon_first": _canonical_or_none(self.epsilon_first),
            "period": self.period,
            "grace": self.grace,
            "min_crowd": self.min_crowd,
            "default": answer_document(self.default),
            "owner": self.owner,
            "expires": self.expires.isoformat(),
            "sealed": self.sealed,
            **self._extra(),
        }

    def asks_in(self, period: Period) -> bool:
        """Return whether the question is asked in ``period``: not expired when it begins.

        And within the horizon, if it has one.
        """
        if self.horizon is not None and self.horizon.index(period) is None:
            return False
        return period.kind == "once" or period.start.date() <= self.expires

    def closes(self, period: Period) -> datetime:
        """Return the moment from which no report of ``period`` counts any more."""
        if period.kind == "once":
            return midnight(self.expires + timedelta(days=1))
        return period.end + timedelta(days=self.grace)


def given_options(items: int | None, form: TextForm | None, horizon: Horizon | None) -> Options:
    """Return the options of a mechanism that a question with these fields decides."""
    given: dict[str, int] = {}
    if items is not None:
        given["items"] = items
    if form is not None:
        given |= {"letters": len(form.alphabet), "length": form.max_length}
    if horizon is not None:
        given["periods"] = horizon.periods
        if horizon.changes is not None:
            given["changes"] = horizon.changes
    return given


def mechanism_document(mechanism: Mechanism) -> dict[str, Any]:
    """Return a mechanism as JSON; thresholds are decimal text, for they exceed a double."""
    shape = mechanism.shape
    return {
        "name": mechanism.name,
        "k": mechanism.k,
        "derivation": DERIVATION,
        "options": dict(mechanism.chosen),
        "shape": {
            "kind": shape.kind,
            "width": shape.width,
            "rows": shape.rows,
            "weight": shape.weight,
        },
        "thresholds": {name: str(value) for name, value in mechanism.thresholds.items()},
    }


def canonical_json(document: object) -> str:
    """Write JSON in one form: sorted keys, no spaces, text as it is."""
    return json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def answer_document(value: Value | None) -> bool | str | list[str] | None:
    """Return an answer as JSON; a number is canonical decimal text."""
    if isinstance(value, tuple):
        return list(value)
    return canonical(value) if isinstance(value, Decimal) else value


def _entries(value: object) -> Iterator[object] | None:
    """Return what is in a collection, or None if it is none; a text or mapping is none here."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return None
    try:
        return iter(value)
    except TypeError:  # as an array of no dimension
        return None


def _is_numpy_bool(value: object) -> bool:
    """Return whether a value is numpy's true or false, which is no ``bool``; nothing is loaded."""
    kind = type(value)
    return kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_")


def _canonical_or_none(number: Decimal | None) -> str | None:
    return None if number is None else canonical(number)
