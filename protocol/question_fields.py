"""Reads one question: from the table an author wrote, or as the compiler resolved it.

Both are held to the same rules. A compiled question must agree with what its own fields resolve
to, so no edited threshold gets past.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import cast

from .errors import ParameterError, SurveyError
from .exact import canonical
from .fields import ID, Fields
from .horizon import Horizon
from .limits import (
    EPSILON_MAX,
    EPSILON_MIN,
    MAX_CELLS,
    MAX_CHOICE,
    MAX_GRACE_DAYS,
    MAX_K,
    MAX_NUMBER,
    MAX_RESPONSE_BYTES,
    MAX_STEPS,
)
from .mechanisms import MECHANISMS, NO_OPTIONS, Mechanism, Options, build, choose, named
from .mechanisms.base import Asks
from .parts import Part, joint_choices
from .periods import KINDS, PeriodKind
from .problems import Problem
from .question import Question, QuestionType, Value, given_options, mechanism_document
from .ranges import Range
from .text_form import OTHER, TextForm
from .type_fields import read_horizon, read_max_items, read_parts, read_text_form

QUESTION_KEYS = (
    "version", "ask", "type", "choices", "range", "mechanism", "epsilon", "epsilon_first",
    "period", "grace", "min_crowd", "default", "owner", "expires",
    "sealed", "max_items", "text", "parts", "horizon",
)  # fmt: skip
COMPILED_KEYS = (*QUESTION_KEYS, "id", "hash")
_TYPES = ("boolean", "choice", "number", "set", "text", "joint")
_STEPS = 100
_ANY_RANGE = Range(MAX_NUMBER.copy_negate(), MAX_NUMBER, _STEPS)
"""Read in place of a mistaken range: no default lies outside it."""

_DEFAULTS: Mapping[QuestionType, str] = {
    "boolean": "write true or false",
    "choice": "write one of the choices",
    "set": "write a list of some of the choices",
    "text": "write a text",
    "joint": "write one choice of each part, in order",
}
_COMPILED_MECHANISM = ("name", "k", "derivation", "options", "shape", "thresholds")


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
    kind = cast("QuestionType", fields.one_of("type", _TYPES))
    parts = read_parts(fields, kind, compiled=compiled)
    choices = _choices(fields, kind, parts)
    interval = _range(fields, kind)
    period = cast("PeriodKind", fields.one_of("period", KINDS))
    items = read_max_items(fields, kind, len(choices))
    form = read_text_form(fields, kind)
    horizon = read_horizon(fields, kind, period)
    k = len(choices) if interval is None else interval.steps + 1
    asks = _asks(kind, horizon)
    given = given_options(items, form, horizon)
    asked = Question(
        survey=survey,
        id=key,
        version=fields.integer("version", 1, 10**6),
        ask=fields.text("ask"),
        type=kind,
        choices=choices,
        range=interval,
        mechanism=_mechanism(fields, asks, max(2, k), given, linkable=linkable, compiled=compiled),
        period=period,
        grace=_grace(fields, period),
        min_crowd=fields.integer("min_crowd", 1, 10**12, 1000),
        default=None,
        owner=fields.text("owner", "nobody"),
        expires=fields.day("expires"),
        sealed=_sealed(fields),
        max_items=items,
        text=form,
        parts=parts,
        horizon=horizon,
    )
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


def _asks(kind: QuestionType, horizon: Horizon | None) -> Asks:
    """Return what kind of mechanism serves a question."""
    if horizon is not None:
        return "counter" if kind == "number" else "trajectory"
    if kind in ("set", "text", "number"):
        return cast("Asks", kind)
    return "choice"


def _choices(fields: Fields, kind: QuestionType, parts: tuple[Part, ...]) -> tuple[str, ...]:
    if kind in ("choice", "set"):
        return fields.texts("choices", 2, MAX_K, limit=MAX_CHOICE)
    if kind == "joint" and parts:
        return joint_choices(parts)
    if fields.raw("choices") not in (None, []):
        fields.problem("choices", f"a {kind} question has none", "remove it")
    return ()


def _range(fields: Fields, kind: QuestionType) -> Range | None:
    if kind != "number":
        if fields.has("range"):
            fields.problem("range", f"a {kind} question has none", "remove it")
        return None
    if not isinstance(fields.raw("range"), Mapping):
        problem = "must be a table" if fields.has("range") else "missing"
        fields.problem("range", problem, "write it like range = { low = 0, high = 100 }")
        return _ANY_RANGE
    table = fields.table("range", ("low", "high", "steps"))
    low, high = table.number("low"), table.number("high")
    steps = table.integer("steps", 1, MAX_STEPS, _STEPS)
    if low is None or high is None:
        return _ANY_RANGE
    if low >= high:
        fix = "raise it" if low == high else "turn them round"
        table.problem("high", f"must be more than low ({canonical(low)})", fix)
        return _ANY_RANGE
    return Range(low, high, steps)


def _mechanism(
    fields: Fields, asks: Asks, k: int, given: Options, *, linkable: bool, compiled: bool
) -> Mechanism:
    epsilon = fields.epsilon("epsilon") or EPSILON_MAX
    first = fields.epsilon("epsilon_first") if fields.has("epsilon_first") else None
    if first is not None and first >= epsilon:
        fields.problem(
            "epsilon_first", f"must be less than epsilon ({canonical(epsilon)})", "lower it"
        )
        first = None
    name, options = _named(fields, asks, compiled)
    try:
        if name == "auto":
            mechanism = _chosen(k, epsilon, first, asks, linkable, tuple(given.items()))
        else:
            own = {option: given[option] for option in MECHANISMS[name].given}
            mechanism = _built(name, k, epsilon, first, tuple({**options, **own}.items()))
    except ParameterError as exc:
        fields.problem("mechanism", str(exc), "correct it")
        return choose(2, EPSILON_MIN)
    if mechanism.shape.size > MAX_RESPONSE_BYTES:
        fields.problem("mechanism", f"responses exceed {MAX_RESPONSE_BYTES} bytes", "lower k")
    if mechanism.shape.cells > MAX_CELLS:
        fields.problem("mechanism", f"tallies exceed {MAX_CELLS} counts", "lower k or its options")
    return mechanism


@lru_cache(maxsize=64)
def _chosen(
    k: int,
    epsilon: Decimal,
    first: Decimal | None,
    asks: Asks,
    linkable: bool,
    given: tuple[tuple[str, int], ...],
) -> Mechanism:
    """Return what "auto" means; questions often ask for the same, and it takes milliseconds."""
    return choose(k, epsilon, first, asks=asks, linkable=linkable, given=dict(given))


@lru_cache(maxsize=64)
def _built(
    name: str, k: int, epsilon: Decimal, first: Decimal | None, options: tuple[tuple[str, int], ...]
) -> Mechanism:
    """Return a mechanism of this name, as :func:`_chosen` does."""
    return build(name, k, epsilon, first, dict(options))


def _named(fields: Fields, asks: Asks, compiled: bool) -> tuple[str, Options]:
    """Read a word of an author, or a table with options, or the table the compiler made."""
    known = named(asks)
    raw = fields.raw("mechanism")
    if not isinstance(raw, Mapping) and not compiled:
        return fields.one_of("mechanism", ("auto", *known), "auto"), NO_OPTIONS
    name = raw.get("name") if isinstance(raw, Mapping) else None
    if not isinstance(name, str) or name not in known:
        if compiled:
            fields.problem("mechanism", "names none that is known here", "upgrade, or recompile")
        else:
            fields.problem("mechanism.name", "unknown", f"use one of {', '.join(known)}")
        return "auto", NO_OPTIONS
    cls = MECHANISMS[name]
    bounds = cls.options if compiled else _open(cls)
    if compiled:
        table = fields.table("mechanism", _COMPILED_MECHANISM).table("options", tuple(bounds))
    else:
        table = fields.table("mechanism", ("name", *bounds))
    options = {
        option: table.integer(option, allowed.start, allowed.stop - 1)
        for option, allowed in bounds.items()
        if table.has(option)
    }
    return name, options if table.sound else NO_OPTIONS


def _open(cls: type[Mechanism]) -> dict[str, range]:
    """Return the options that an author may set."""
    return {name: bounds for name, bounds in cls.options.items() if name not in cls.given}


def _grace(fields: Fields, period: str) -> int:
    if period != "once":
        return fields.integer("grace", 1, MAX_GRACE_DAYS, 3)
    if fields.raw("grace") not in (None, 0):
        fields.problem("grace", "a once question closes when it expires", "remove it")
    return 0


def _sealed(fields: Fields) -> bool:
    sealed = fields.flag("sealed")
    if sealed and not fields.has("epsilon_first"):
        fields.problem(
            "sealed",
            "needs epsilon_first: whoever opens a report sees it whole, and without fresh noise "
            "the same one in every period",
            "add epsilon_first, the epsilon of one report, or remove sealed",
        )
    return sealed


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
