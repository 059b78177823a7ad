"""Reads what only some types of questions have: sets, texts, pairs of choices, and a horizon."""

from __future__ import annotations

from collections.abc import Mapping

from .fields import ID, Fields
from .horizon import MAX_CHANGES, MAX_PERIODS, Horizon
from .limits import MAX_K
from .mechanisms.privset import MAX_ITEMS
from .normal import nfc
from .parts import Part, joint_choices
from .periods import PeriodKind
from .question import QuestionType
from .text_form import TextForm

MAX_ALPHABET = 500
MAX_LENGTH = 64

_ANY_TEXT = TextForm("a", 1, False)
"""Read in place of a mistaken form."""

_ANY_HORIZON = 2


def read_max_items(fields: Fields, kind: QuestionType, choices: int) -> int | None:
    """Read how many choices of a set count."""
    if kind != "set":
        _none(fields, "max_items", kind)
        return None
    return fields.integer("max_items", 1, min(MAX_ITEMS, max(1, choices)))


def read_text_form(fields: Fields, kind: QuestionType) -> TextForm | None:
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


def read_parts(fields: Fields, kind: QuestionType, *, compiled: bool) -> tuple[Part, ...]:
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
        Part(str(name), table.texts(str(name), 2, MAX_K // 2, limit=100)) for name in named
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
    return {part.get("name"): part.get("choices") for part in raw}


def read_horizon(fields: Fields, kind: QuestionType, period: PeriodKind) -> Horizon | None:
    """Read over how many periods one epsilon holds, of a yes/no or a number."""
    if kind not in ("boolean", "number"):
        _none(fields, "horizon", kind)
        return None
    if not fields.has("horizon"):
        return None
    if not isinstance(fields.raw("horizon"), Mapping):
        fix = "write it like horizon = { start = 2026-12-01, periods = 30, changes = 2 }"
        fields.problem("horizon", "must be a table", fix)
        return None
    table = fields.table("horizon", ("start", "periods", "changes"))
    start = table.day("start")
    periods = table.integer("periods", 2, MAX_PERIODS)
    changes = None
    if kind == "boolean":
        changes = table.integer("changes", 1, min(MAX_CHANGES, max(1, periods - 1)))
    elif table.has("changes"):
        table.problem("changes", "a number only rises", "remove it")
    if period == "once":
        fields.problem("horizon", "a once question has one period", "write another period")
    return Horizon(start, periods, changes)


def _none(fields: Fields, key: str, kind: QuestionType) -> None:
    if fields.has(key):
        fields.problem(key, f"a {kind} question has none", "remove it")
