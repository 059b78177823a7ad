"""Reads the fields of a survey document and collects every mistake with its key and the fix.

One reader serves the TOML an author writes and the JSON the compiler wrote, so that there is
one set of rules; compiled numbers are canonical decimal text, dates ISO text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from .exact import canonical, fits
from .limits import (
    EPSILON_MAX,
    EPSILON_MIN,
    EPSILON_PLACES,
    MAX_NUMBER,
    MAX_TEXT,
    NUMBER_PLACES,
)
from .normal import nfc
from .problems import Problem

ID = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_NUMBER = re.compile(r"-?[0-9]{1,16}(\.[0-9]{1,18})?")

# A key is shown as it stands, for its author to find it, unless it could hurt a terminal or log.
_MAX_SHOWN = 200

T = TypeVar("T")


class Fields:
    """One table of a document; reading a field notes its problems and gives a usable value."""

    def __init__(
        self, table: object, path: str, known: Collection[str], problems: list[Problem]
    ) -> None:
        self._path = path
        self._problems = problems
        self._before = len(problems)
        self._table: Mapping[str, object] = {}
        if isinstance(table, Mapping):
            self._table = table
        else:
            self.problem("", "must be a table", f"write it as [{path}]" if path else "correct it")
        for key in self._table:
            if key not in known:
                fix = f"use one of {', '.join(sorted(known))}" if known else "remove it"
                self.problem(str(key), "unknown key", fix)

    def problem(self, key: str, problem: str, fix: str) -> None:
        """Note a mistake."""
        where = ".".join(part for part in (self._path, key) if part) or "document"
        shown = where if where.isprintable() else ascii(where)[1:-1]
        self._problems.append(Problem(shown[:_MAX_SHOWN], problem, fix))

    @property
    def sound(self) -> bool:
        """Whether no mistake was found since this table was opened."""
        return len(self._problems) == self._before

    @property
    def mistakes(self) -> int:
        """How many were found so far, in this table and in others."""
        return len(self._problems)

    def has(self, key: str) -> bool:
        """Return whether the field is present and not null."""
        return self._table.get(key) is not None

    def raw(self, key: str) -> object:
        """Return the field as it stands."""
        return self._table.get(key)

    def text(self, key: str, default: str | None = None, *, limit: int = MAX_TEXT) -> str:
        """Read one line of text, composed to NFC."""
        value = self._present(key, default)
        if value is None:
            return ""
        if not isinstance(value, str):
            self.problem(key, "must be text", 'put it in "quotes"')
            return ""
        composed = nfc(value)
        if fault := text_fault(composed, limit):
            self.problem(key, fault, f"write one line of 1..{limit} characters")
            return ""
        return composed

    def integer(self, key: str, low: int, high: int, default: int | None = None) -> int:
        """Read an integer in low..high."""
        value = self._present(key, default)
        if value is None:
            return low
        if type(value) is not int or not low <= value <= high:
            self.problem(key, f"must be a whole number in {low}..{high}", "correct it")
            return low
        return value

    def flag(self, key: str) -> bool:
        """Read true or false, false if absent."""
        value = self._table.get(key, False)
        if not isinstance(value, bool):
            self.problem(key, "must be true or false", "write it without quotes")
            return False
        return value

    def one_of(self, key: str, options: Collection[str], default: str | None = None) -> str:
        """Read one of a few words."""
        value = self._present(key, default)
        if value is None or not isinstance(value, str) or value not in options:
            if value is not None:
                self.problem(key, "unknown", f"use one of {', '.join(options)}")
            return next(iter(options))
        return value

    def epsilon(self, key: str, *, high: Decimal = EPSILON_MAX) -> Decimal | None:
        """Read an epsilon as the exact decimal that was written; None if it is unusable."""
        value = self._present(key, None)
        if value is None:
            return None
        number = _decimal(value)
        if number is None or not EPSILON_MIN <= number <= high:
            self.problem(key, f"must be a number in {EPSILON_MIN}..{high}", "correct it")
            return None
        if not fits(number, EPSILON_PLACES):
            self.problem(key, f"has more than {EPSILON_PLACES} decimal places", "round it")
            return None
        return Decimal(canonical(number))

    def number(self, key: str) -> Decimal | None:
        """Read a number as the exact decimal that was written; None if it is unusable."""
        value = self._present(key, None)
        if value is None:
            return None
        number = _decimal(value)
        if number is None or not MAX_NUMBER.copy_negate() <= number <= MAX_NUMBER:
            self.problem(key, f"must be a number within {MAX_NUMBER} of 0", "correct it")
            return None
        if not fits(number, NUMBER_PLACES):
            self.problem(key, f"has more than {NUMBER_PLACES} decimal places", "round it")
            return None
        return Decimal(canonical(number))  # a million trailing zeros make slow fractions

    def table(self, key: str, known: Collection[str], content: object = None) -> Fields:
        """Open a table within this one; mistakes in it are noted under its key.

        With ``content``, that is read as if it stood there.
        """
        path = f"{self._path}.{key}" if self._path else key
        found = self._table.get(key) if content is None else content
        return Fields(found, path, known, self._problems)

    def day(self, key: str) -> date:
        """Read a date."""
        value = self._present(key, None)
        if isinstance(value, str):
            with suppress(ValueError):
                value = date.fromisoformat(value)
        in_reach = isinstance(value, date) and 2000 <= value.year <= 2998
        if isinstance(value, date) and not isinstance(value, datetime) and in_reach:
            return value
        if value is not None:
            self.problem(key, "must be a date", "write it like 2027-06-30")
        return date(2000, 1, 1)

    def texts(self, key: str, low: int, high: int, *, limit: int) -> tuple[str, ...]:
        """Read a list of different texts."""
        value = self._table.get(key, [])
        if low and not self.has(key):
            self.problem(key, "missing", 'add it, like ["a", "b"]')
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.problem(key, "must be a list of texts", 'write it like ["a", "b"]')
            return ()
        composed = tuple(nfc(item) for item in value)
        if not low <= len(composed) <= high:
            self.problem(key, f"must have {low}..{high} entries: {len(composed)}", "correct it")
        if len(set(composed)) != len(composed):
            self.problem(key, "has the same entry twice", "remove one")
        for index, item in enumerate(composed):
            if fault := text_fault(item, limit):
                self.problem(f"{key}[{index}]", fault, f"write 1..{limit} characters")
        return composed

    def _present(self, key: str, default: T) -> object | T:
        value = self._table.get(key, default)
        if value is None:
            self.problem(key, "missing", "add it")
        return value


def text_fault(text: str, limit: int) -> str:
    """Say what is wrong with a line of text, or nothing."""
    if not text.strip():
        return "is empty"
    if len(text) > limit:
        return f"is longer than {limit} characters"
    if not text.isprintable():
        return "has a character that cannot be printed"
    return ""


def _decimal(value: object) -> Decimal | None:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return Decimal(value)
    if isinstance(value, Decimal) and value.is_finite():
        return value
    if type(value) is int:
        try:
            return Decimal(value)
        except InvalidOperation:
            return None
    return None
