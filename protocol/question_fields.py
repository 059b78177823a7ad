"""Reads one question: from the table an author wrote, or as the compiler resolved it.

Both are held to the same rules. A compiled question must agree with what its own fields resolve
to, so no edited threshold gets past.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from .errors import ParameterError, Problem, SurveyError
from .exact import canonical
from .fields import ID, Fields
from .limits import EPSILON_MAX, EPSILON_MIN, MAX_GRACE_DAYS, MAX_K, MAX_RESPONSE_BYTES
from .mechanisms import MECHANISMS, Mechanism, build, choose
from .periods import KINDS, PeriodKind
from .question import Question, QuestionType, Value, mechanism_document, nfc

QUESTION_KEYS = (
    "version", "ask", "type", "choices", "mechanism", "epsilon", "epsilon_first", "period",
    "grace", "min_crowd", "default", "owner", "expires",
)  # fmt: skip
COMPILED_KEYS = (*QUESTION_KEYS, "id", "hash")
_TYPES = ("boolean", "choice")


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
    choices: tuple[str, ...] = ()
    if kind == "choice":
        choices = fields.texts("choices", 2, MAX_K, limit=200)
    elif fields.raw("choices") not in (None, []):
        fields.problem("choices", "a boolean question has none", "remove it")
    period = cast("PeriodKind", fields.one_of("period", KINDS))
    question = Question(
        survey=survey,
        id=key,
        version=fields.integer("version", 1, 10**6),
        ask=fields.text("ask"),
        type=kind,
        choices=choices,
        mechanism=_mechanism(fields, max(2, len(choices)), linkable=linkable, compiled=compiled),
        period=period,
        grace=_grace(fields, period),
        min_crowd=fields.integer("min_crowd", 1, 10**12, 1000),
        default=_default(fields, kind, choices, period),
        owner=fields.text("owner", "nobody"),
        expires=fields.day("expires"),
    )
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


def _mechanism(fields: Fields, k: int, *, linkable: bool, compiled: bool) -> Mechanism:
    epsilon = fields.epsilon("epsilon") or EPSILON_MAX
    first = fields.epsilon("epsilon_first") if fields.has("epsilon_first") else None
    if first is not None and first >= epsilon:
        fields.problem(
            "epsilon_first", f"must be less than epsilon ({canonical(epsilon)})", "lower it"
        )
        first = None
    name = _mechanism_name(fields, compiled)
    try:
        if name == "auto":
            mechanism = choose(k, epsilon, first, linkable=linkable)
        else:
            mechanism = build(name, k, epsilon, first)
    except ParameterError as exc:
        fields.problem("mechanism", str(exc), "correct it")
        return build("grr", 2, EPSILON_MIN)
    if mechanism.shape.size > MAX_RESPONSE_BYTES:
        fields.problem("mechanism", f"responses exceed {MAX_RESPONSE_BYTES} bytes", "lower k")
    return mechanism


def _mechanism_name(fields: Fields, compiled: bool) -> str:
    """Read a word of an author, or the table the compiler made of it."""
    if not compiled:
        return fields.one_of("mechanism", ("auto", *MECHANISMS), "auto")
    table = fields.raw("mechanism")
    name = table.get("name") if isinstance(table, Mapping) else None
    if isinstance(name, str) and name in MECHANISMS:
        return name
    fields.problem("mechanism", "names none that is known here", "upgrade, or compile it again")
    return "auto"


def _grace(fields: Fields, period: str) -> int:
    if period != "once":
        return fields.integer("grace", 1, MAX_GRACE_DAYS, 3)
    if fields.raw("grace") not in (None, 0):
        fields.problem("grace", "a once question closes when it expires", "remove it")
    return 0


def _default(fields: Fields, kind: str, choices: tuple[str, ...], period: str) -> Value | None:
    value = fields.raw("default")
    if value is None:
        return None
    if period == "once":
        fields.problem("default", "a once question has no end to decide it at", "remove it")
    elif kind == "boolean" and isinstance(value, bool):
        return value
    elif kind == "choice" and isinstance(value, str) and nfc(value) in choices:
        return nfc(value)
    else:
        options = "true or false" if kind == "boolean" else "one of the choices"
        fields.problem("default", "is no answer to the question", f"write {options}")
    return None
