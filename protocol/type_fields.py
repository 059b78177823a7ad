"""Reads which answers a question takes, that is, what only some types of questions have.

A mistake in them is told once: what rests on them, such as the default, is then not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date

from .exact import canonical
from .fields import ID, Fields
from .horizon import MAX_CHANGES, MAX_PERIODS, Horizon
from .limits import MAX_CHOICE, MAX_K, MAX_NUMBER, MAX_STEPS
from .mechanisms.privset import MAX_ITEMS
from .normal import nfc
from .parts import Part, joint_choices
from .periods import PeriodKind
from .question import QuestionType
from .ranges import Range
from .text_form import TextForm

MAX_ALPHABET = 500
MAX_LENGTH = 64
MAX_PART_CHOICE = 100
"""Letters of a choice of a part, so that a pair is no longer than a choice may be."""

_STEPS = 100

_ANY_RANGE = Range(MAX_NUMBER.copy_negate(), MAX_NUMBER, _STEPS)
"""Read in place of a mistaken range; so are the others in place of theirs."""

_ANY_TEXT = TextForm("a", 1, False)
_ANY_HORIZON = Horizon(date(2000, 1, 1), 2, 1)


@dataclass(frozen=True)
class Answers:
    """Which answers there are.

    Attributes
    ----------
    choices, range, max_items, text, parts, horizon
        As of :class:`~.question.Question`.
    typed : bool
        Whether the question's type is one.
    known : bool
        Whether no mistake was found in any of these.
    """

    choices: tuple[str, ...] = ()
    range: Range | None = None
    max_items: int | None = None
    text: TextForm | None = None
    parts: tuple[Part, ...] = ()
    horizon: Horizon | None = None
    typed: bool = True
    known: bool = True

    @property
    def k(self) -> int:
        """Domain size, of what is a choice or a number."""
        return max(2, len(self.choices) if self.range is None else self.range.steps + 1)


UNKNOWN = Answers(typed=False, known=False)
"""Of a question whose type is mistaken."""


def read_answers(
    fields: Fields, kind: QuestionType, period: PeriodKind, *, compiled: bool
) -> Answers:
    """Read what a question of this type has, and refuse what it has not."""
    before = fields.mistakes
    parts = _parts(fields, kind, compiled=compiled)
    choices = _choices(fields, kind, parts, compiled=compiled)
    most = len(choices) if fields.mistakes == before else MAX_ITEMS
    answers = Answers(
        choices=choices,
        range=_range(fields, kind),
        max_items=_max_items(fields, kind, most),
        text=_text_form(fields, kind),
        parts=parts,
        horizon=_horizon(fields, kind, period),
    )
    return replace(answers, known=fields.mistakes == before)


def _choices(
    fields: Fields, kind: QuestionType, parts: tuple[Part, ...], *, compiled: bool
) -> tuple[str, ...]:
    if kind in ("choice", "set"):
        return fields.texts("choices", 2, MAX_K, limit=MAX_CHOICE)
    pairs = joint_choices(parts) if parts else ()
    if compiled and kind == "joint":
        if parts and fields.raw("choices") != list(pairs):
            fields.problem("choices", "are not the pairs of parts", "compile the survey again")
        return pairs
    if fields.raw("choices") not in (None, []):
        fields.problem("choices", f"a {kind} question has none", "remove it")
    return pairs


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


def _max_items(fields: Fields, kind: QuestionType, most: int) -> int | None:
    """Read how many choices of a set count."""
    if kind != "set":
        _none(fields, "max_items", kind)
        return None
    return fields.integer("max_items", 1, min(MAX_ITEMS, most))


def _text_form(fields: Fields, kind: QuestionType) -> TextForm | None:
    """Read the form of a text."""
    if kind != "text":
        _none(fields, "text", kind)
        return None
    if not isinstance(fields.raw("text"), Mapping):
        problem = "must be a table" if fields.has("text") else "missing"
        fix = 'write it like text = { alphabet = "abc", max_length = 12, fold = true }'
        fields.problem("text", problem, fix)
        return _ANY_TEXT
    table = fields.table("text", ("alphabet", "max_length", "fold"))
    length = table.integer("max_length", 1, MAX_LENGTH)
    fold = table.flag("fold")
    alphabet = table.raw("alphabet")
    if not isinstance(alphabet, str) or not 1 <= len(alphabet) <= MAX_ALPHABET:
        table.problem("alphabet", f"must be text of 1..{MAX_ALPHABET} letters", "correct it")
        return _ANY_TEXT
    form = TextForm(alphabet, length, fold)
    if fault := _alphabet_fault(form):
        table.problem("alphabet", *fault)
        return _ANY_TEXT
    return form


def _alphabet_fault(form: TextForm) -> tuple[str, str] | None:
    """Return what is wrong with an alphabet, and the fix."""
    letters = form.alphabet
    if len(set(letters)) != len(letters):
        return "has the same letter twice", "remove one"
    if not letters.isprintable():
        return "has a character that cannot be printed", "remove it"
    if nfc(letters) != letters:
        return "is not composed", "write letters that are one character in NFC"
    if any(form.normalised(f"x{letter}x") != f"x{letter}x" for letter in letters):
        return "has a letter that no normalised text has", "remove it, or set fold = false"
    return None


def _parts(fields: Fields, kind: QuestionType, *, compiled: bool) -> tuple[Part, ...]:
    """Read the two questions of a joint one, and that their pairs have different texts."""
    if kind != "joint":
        _none(fields, "parts", kind)
        return ()
    named = _compiled_parts(fields) if compiled else fields.raw("parts")
    if not isinstance(named, Mapping) or len(named) != 2:
        fields.problem(
            "parts",
            "must be a table of two" if fields.has("parts") else "missing",
            'write it like parts = { theme = ["dark", "light"], plan = ["free", "pro"] }',
        )
        return ()
    table = fields.table("parts", [str(name) for name in named], named)
    for name in named:
        if not isinstance(name, str) or not ID.fullmatch(name):
            table.problem(str(name), "its name must be like dark_mode", "use a-z, 0-9, - and _")
    parts = tuple(
        Part(str(name), table.texts(str(name), 2, MAX_K // 2, limit=MAX_PART_CHOICE))
        for name in named
    )
    if not table.sound:
        return ()
    pairs = joint_choices(parts)
    if len(pairs) > MAX_K:
        fields.problem("parts", f"have more than {MAX_K} pairs: {len(pairs)}", "leave out some")
        return ()
    if len(set(pairs)) != len(pairs):
        fields.problem("parts", "have pairs that look the same", 'leave out " / " in the choices')
        return ()
    return parts


def _compiled_parts(fields: Fields) -> object:
    """Return the list of a compiled question as the table of an author."""
    raw = fields.raw("parts")
    if not isinstance(raw, list) or not all(isinstance(part, Mapping) for part in raw):
        return None
    named = {str(part.get("name")): part.get("choices") for part in raw}
    return named if raw == [{"name": name, "choices": named[name]} for name in named] else None


def _horizon(fields: Fields, kind: QuestionType, period: PeriodKind) -> Horizon | None:
    """Read over how many periods one epsilon holds, of a yes/no or a number."""
    if kind not in ("boolean", "number"):
        _none(fields, "horizon", kind)
        return None
    if not fields.has("horizon"):
        return None
    if not isinstance(fields.raw("horizon"), Mapping):
        fix = "write it like horizon = { start = 2026-12-01, periods = 30, changes = 2 }"
        fields.problem("horizon", "must be a table", fix)
        return _ANY_HORIZON
    table = fields.table("horizon", ("start", "periods", "changes"))
    start = table.day("start")
    before = table.mistakes
    periods = table.integer("periods", 2, MAX_PERIODS)
    changes = None
    if kind == "number":
        if table.has("changes"):
            table.problem("changes", "a number only rises", "remove it")
    else:
        changes = table.integer("changes", 1, MAX_CHANGES)
        if changes >= periods and table.mistakes == before:
            table.problem("changes", f"must be less than periods ({periods})", "lower it")
    if period == "once":
        fields.problem("horizon", "a once question has one period", "write another period")
    return Horizon(start, periods, changes)


def _none(fields: Fields, key: str, kind: QuestionType) -> None:
    if fields.has(key):
        fields.problem(key, f"a {kind} question has none", "remove it")
