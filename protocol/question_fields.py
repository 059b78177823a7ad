"""Reads one question: from the table an author wrote, or as the compiler resolved it.

Both are held to the same rules. A compiled question must agree with what its own fields resolve
to, so no edited threshold gets past.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from .errors import ParameterError, SurveyError
from .fields import ID, Fields
from .limits import MAX_GRACE_DAYS
from .mechanism_fields import has_second_round, read_mechanism
from .mechanisms import Mechanism
from .periods import KINDS, PeriodKind, midnight, period_at
from .problems import Problem
from .question import Question, QuestionType, Value, mechanism_document
from .text_form import OTHER
from .type_fields import UNKNOWN, read_answers

QUESTION_KEYS = (
    "version", "ask", "type", "choices", "range", "mechanism", "epsilon", "epsilon_first",
    "period", "grace", "min_crowd", "default", "owner", "expires",
    "sealed", "max_items", "text", "parts", "horizon",
)  # fmt: skip
COMPILED_KEYS = (*QUESTION_KEYS, "id", "hash")
_TYPES = ("boolean", "choice", "number", "set", "text", "joint")

_DEFAULTS: Mapping[QuestionType, str] = {
    "boolean": "write true or false",
    "choice": "write one of the choices",
    "set": "write a list of some of the choices",
    "text": "write a text",
    "joint": "write one choice of each part, in order",
}


def parse_question(survey: str, document: object) -> Question:
    """Check one compiled question, as tallies carry it.

    Raises
    ------
    SurveyError
        With every mistake found.
    """
    problems: list[Problem] = []
    fields = Fields(document, "question", COMPILED_KEYS, problems)
    if not ID.fullmatch(survey):
        fields.problem("survey", "must be like acme-editor", "use a-z, 0-9, - and _, 64 at most")
    question = read_question(survey, name_of(document), fields, linkable=True, compiled=True)
    if problems:
        raise SurveyError(problems)
    return question


def read_question(
    survey: str, key: str, fields: Fields, *, linkable: bool, compiled: bool
) -> Question:
    """Read the question ``key``; mistakes are noted in ``fields``, whose result is then void."""
    if not ID.fullmatch(key):
        fields.problem("", "its name must be like dark_mode", "use a-z, 0-9, - and _")
    before = fields.mistakes
    kind = cast("QuestionType", fields.one_of("type", _TYPES))
    typed = fields.mistakes == before
    period = cast("PeriodKind", fields.one_of("period", KINDS))
    answers = read_answers(fields, kind, period, compiled=compiled) if typed else UNKNOWN
    version, ask = fields.integer("version", 1, 10**6), fields.text("ask")
    mechanism = read_mechanism(fields, kind, answers, linkable=linkable, compiled=compiled)
    asked = Question(
        survey=survey,
        id=key,
        version=version,
        ask=ask,
        type=kind,
        choices=answers.choices,
        range=answers.range,
        mechanism=mechanism,
        period=period,
        grace=_grace(fields, period),
        min_crowd=fields.integer("min_crowd", 1, 10**12, 1000),
        default=None,
        owner=fields.text("owner", "nobody"),
        expires=fields.day("expires"),
        sealed=_sealed(fields, mechanism),
        max_items=answers.max_items,
        text=answers.text,
        parts=answers.parts,
        horizon=answers.horizon,
    )
    _check_start(fields, asked)
    if not answers.known:
        return asked  # whether the default is one of the answers cannot be told
    question = replace(asked, default=_default(fields, asked))
    if compiled:
        _check_compiled(fields, question)
    return question


def _check_compiled(fields: Fields, question: Question) -> None:
    """Refuse a compiled question that is not what its own fields resolve to."""
    if fields.sound and fields.raw("mechanism") != mechanism_document(question.mechanism):
        fields.problem("mechanism", "does not match the epsilons", "compile the survey again")
    if fields.sound and fields.raw("hash") != question.hash:
        fields.problem("hash", "does not match the question", "compile the survey again")


def name_of(table: object) -> str:
    """Return the id of a compiled question, or nothing."""
    name = table.get("id") if isinstance(table, Mapping) else None
    return name if isinstance(name, str) else ""


def _grace(fields: Fields, period: str) -> int:
    if period != "once":
        return fields.integer("grace", 1, MAX_GRACE_DAYS, 3)
    if fields.raw("grace") not in (None, 0):
        fields.problem("grace", "a once question closes when it expires", "remove it")
    return 0


def _sealed(fields: Fields, mechanism: Mechanism) -> bool:
    sealed = fields.flag("sealed")
    if not sealed or fields.has("epsilon_first"):
        return sealed
    problem = (
        "needs epsilon_first: whoever opens a report sees it whole, and without fresh noise the "
        "same one in every period"
    )
    if has_second_round(mechanism.asks):
        fix = "add epsilon_first, the epsilon of one report, or remove sealed"
        fields.problem("sealed", problem, fix)
    else:
        none = "no mechanism for such a question has that second round"
        fields.problem("sealed", f"{problem}; {none}", "remove it")
    return sealed


def _check_start(fields: Fields, question: Question) -> None:
    """Refuse a horizon that begins when the question is no longer asked."""
    if question.horizon is None or not fields.sound:
        return
    first = period_at(question.period, midnight(question.horizon.start))
    if first.start.date() > question.expires:
        fix = "write an earlier day, or a later one for expires"
        fields.problem("horizon.start", "is after the question expires", fix)


def _default(fields: Fields, question: Question) -> Value | None:
    value = fields.raw("default")
    if value is None:
        return None
    if question.horizon is not None:
        fields.problem(
            "default", "a question with a horizon goes on with the answer before", "remove it"
        )
        return None
    if question.period == "once":
        fields.problem("default", "a once question has no end to decide it at", "remove it")
        return None
    if question.range is not None:
        number = fields.number("default")
        if number is not None and question.range.low <= number <= question.range.high:
            return number
        if number is not None:
            fields.problem("default", "is outside the range", "write a number inside it")
        return None
    return _chosen_default(fields, question, value)


def _chosen_default(fields: Fields, question: Question, value: object) -> Value | None:
    """Read a default that is not a number."""
    try:
        symbol = question.encode(value)
    except ParameterError:
        fields.problem("default", "is no answer to the question", _DEFAULTS[question.type])
        return None
    if question.type == "boolean":
        return value is True
    if question.text is not None:
        if symbol == OTHER:
            fields.problem("default", "does not fit the form of the text", "write one that fits")
        return question.text.decode(symbol)
    if question.max_items is not None:
        if symbol.bit_count() > question.max_items:
            fields.problem("default", "has more than max_items choices", "remove some")
        return tuple(c for i, c in enumerate(question.choices) if symbol >> i & 1)
    if question.parts:
        one, two = question.parts
        i, j = divmod(symbol, len(two.choices))
        return one.choices[i], two.choices[j]
    return question.choices[symbol]
