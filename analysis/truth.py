"""The truth of a rehearsal: a CSV file of kinds of people, and what each would answer.

The header names questions of the survey. Each row is one kind of person; ``weight``, if there is
such a column, says how many there are of it beside the others. An empty field is a person who
records nothing: the question's default is answered, or nothing at all. The choices of a set have
``|`` between them; a field that begins with a bracket is a JSON array of them, such as ``[]`` for
the empty set.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import NoReturn

from deniable.protocol.errors import ParameterError
from deniable.protocol.normal import nfc
from deniable.protocol.question import Question
from deniable.protocol.survey import Survey

from .inputs import parse_decimal

WEIGHT = "weight"
MAX_ROWS = 10**6
ABSENT = -1
"""The symbol of one who does not answer."""

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_FIXES = {
    "boolean": "write true or false",
    "number": "write a number like 12.5",
    "choice": "write one of the question's choices",
    "set": "write its choices like a|b, or [] for none, or a JSON array",
    "joint": "write a choice of each part, like dark / free",
    "text": "write text",
}


@dataclass(frozen=True)
class Truth:
    """Kinds of people.

    Attributes
    ----------
    weights : tuple of float
        How many there are of each kind beside the others.
    symbols : dict
        By question id, in the survey's order: the symbol of each kind's answer, or ABSENT.
    ignored : tuple of str
        Columns that no question of the survey has the name of.
    """

    weights: tuple[float, ...]
    symbols: dict[str, tuple[int, ...]]
    ignored: tuple[str, ...]

    def shares(self, question: Question) -> dict[int, float]:
        """Return the frequency of each symbol that occurs, among those who answer a question."""
        sums: dict[int, float] = {}
        for symbol, weight in zip(self.symbols[question.id], self.weights, strict=True):
            if symbol != ABSENT:
                sums[symbol] = sums.get(symbol, 0.0) + weight
        answering = math.fsum(sums.values())
        return {symbol: total / answering for symbol, total in sums.items()}


@dataclass(frozen=True)
class _Table:
    """A CSV file as it is written."""

    name: str
    header: list[str]
    rows: list[list[str]]

    def fail(self, row: int, column: str, problem: str) -> NoReturn:
        """Name the place and the problem; the header is row 1."""
        raise ParameterError(f"{self.name}: row {row + 2}, column {column}: {problem}")

    def column(self, name: str) -> list[str]:
        at = self.header.index(name)
        return [row[at].strip() for row in self.rows]


def read_truth(path: str | PathLike[str], survey: Survey, only: Sequence[str] = ()) -> Truth:
    """Read a truth file and check it against a survey.

    Parameters
    ----------
    path : str or path
        Of a CSV file with a header. Values are true, false, 1 or 0 for a yes/no, a choice as
        the survey spells it, a number, which is clipped as a device would, text, and the choices
        of a set as ``a|b``.
    survey : Survey
    only : sequence of str
        Questions to read; all of the survey's if empty.

    Raises
    ------
    ParameterError
        Naming row, column, problem and fix.
    """
    table = _read(Path(path))
    asked = _asked(survey, only)
    for question in asked:
        if question not in table.header:
            raise ParameterError(
                f"{table.name}: there is no column {question}; add it, or name the questions to "
                "simulate with --question"
            )
    weighted = WEIGHT in table.header and WEIGHT not in survey.questions
    weights = _weights(table) if weighted else (1.0,) * len(table.rows)
    return Truth(
        weights,
        {question: _symbols(table, survey.questions[question]) for question in asked},
        tuple(
            name
            for name in table.header
            if name not in survey.questions and not (weighted and name == WEIGHT)
        ),
    )


def _read(path: Path) -> _Table:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file, strict=True) if row]
    except OSError as exc:
        raise ParameterError(f"{path} cannot be read ({exc.strerror}); check the path") from exc
    except (UnicodeDecodeError, csv.Error) as exc:
        raise ParameterError(f"{path} is not CSV in UTF-8 ({exc}); save it as that") from exc
    if len(rows) < 2:
        raise ParameterError(f"{path}: has no row under a header; write one for each kind")
    if len(rows) > MAX_ROWS:
        raise ParameterError(f"{path}: has more than {MAX_ROWS} rows; merge some by weight")
    table = _Table(str(path), [name.strip() for name in rows[0]], rows[1:])
    for name in table.header:
        if table.header.count(name) > 1:
            raise ParameterError(f"{path}: the column {name!r} is there twice; remove one")
    for number, row in enumerate(table.rows):
        if len(row) != len(rows[0]):
            raise ParameterError(
                f"{path}: row {number + 2} has {len(row)} fields and the header {len(rows[0])}; "
                "put text with commas in quotes"
            )
    return table


def _asked(survey: Survey, only: Sequence[str]) -> list[str]:
    for name in only:
        if name not in survey.questions:
            raise ParameterError(
                f"the survey asks no question {name}; it asks {', '.join(survey.questions)}"
            )
    return [name for name in survey.questions if not only or name in only]


def _weights(table: _Table) -> tuple[float, ...]:
    weights = []
    for row, text in enumerate(table.column(WEIGHT)):
        try:
            weight = float(parse_decimal(text))
        except ValueError:
            weight = 0.0
        if not 0 < weight < float("inf"):
            table.fail(row, WEIGHT, "not a positive number; write one like 2.5")
        weights.append(weight)
    largest = max(weights, default=1.0)
    return tuple(weight / largest for weight in weights)


def _symbols(table: _Table, question: Question) -> tuple[int, ...]:
    known: dict[str, int] = {}
    symbols = []
    for row, text in enumerate(table.column(question.id)):
        if text not in known:
            try:
                known[text] = _symbol(question, text)
            except ValueError:  # ParameterError is one
                fix = _FIXES[question.type]
                table.fail(row, question.id, f"no answer to the question; {fix}")
        symbols.append(known[text])
    return tuple(symbols)


def _symbol(question: Question, text: str) -> int:
    if text == "":
        return ABSENT if question.default is None else question.encode(question.default)
    if question.type == "joint":
        return question.choices.index(nfc(text))
    value: bool | str | Decimal | list[str] = text
    if question.type == "boolean":
        if text.lower() not in _BOOLEANS:
            raise ValueError
        value = _BOOLEANS[text.lower()]
    elif question.type == "number":
        value = parse_decimal(text)
    elif question.type == "set":
        value = _entries(text)
    return question.encode(value)


def _entries(text: str) -> list[str]:
    """Read a set: a JSON array, or entries with ``|`` between them."""
    if not text.startswith("["):
        return [entry.strip() for entry in text.split("|")]
    try:
        entries = json.loads(text)
    except RecursionError as exc:
        raise ValueError from exc
    if not isinstance(entries, list):
        raise ValueError
    return entries
