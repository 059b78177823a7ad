"""How a result leaves the program: a table for people, JSON or CSV for programs.

What must never change within a major version: the names in JSON and CSV. They come from a
result's ``document()`` and ``records()``; only ``sections()``, which people read, may be reworded.
"""

from __future__ import annotations

import csv
import io
import json
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol
from unicodedata import category, east_asian_width

from .extras import extra

Record = dict[str, Any]

_WIDTH = 98


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a result for people: a heading, rows of text under column names, remarks."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    notes: tuple[str, ...] = ()


class Result(Protocol):
    """What every public function of the analysis returns."""

    def document(self) -> Any:
        """Return the result as JSON: numbers are finite, names are stable."""

    def records(self) -> list[Record]:
        """Return the result as flat rows, ready for a data frame."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the flat rows, whether there are any rows or not."""

    def sections(self) -> Sequence[Section]:
        """Return the result for people."""


def render(result: Result, form: str) -> str:
    """Return the result as ``table``, ``json`` or ``csv``, ending in a newline."""
    return FORMATS[form](result)


def as_json(result: Result) -> str:
    """Write the document, ASCII only; a NaN or an infinity in it would be a defect here."""
    return json.dumps(result.document(), indent=2, allow_nan=False) + "\n"


def as_csv(result: Result) -> str:
    """Write the flat rows with a header; null is an empty field."""
    text = io.StringIO()
    writer = csv.DictWriter(text, result.columns, lineterminator="\n")
    writer.writeheader()
    for record in result.records():
        writer.writerow({name: _field(value) for name, value in record.items()})
    return text.getvalue()


def as_table(result: Result) -> str:
    """Write every section: heading, table, remarks."""
    blocks = []
    for section in result.sections():
        lines = [section.title, ""]
        if section.rows:
            lines += [_tabulated(section), ""]
        notes = [textwrap.fill(note, _WIDTH, subsequent_indent="  ") for note in section.notes]
        blocks.append("\n".join([*lines, *notes]).rstrip() + "\n")
    return "\n".join(blocks)


FORMATS: Final[Mapping[str, Callable[[Result], str]]] = {
    "table": as_table,
    "json": as_json,
    "csv": as_csv,
}
"""Every form there is."""

_FILLER = "\0"
_STAND_IN = re.compile(f"{_FILLER}+")
_NUMERIC = re.compile(r"[-+]?[0-9][0-9,. ]*(e[-+]?[0-9]+)?|–|")


def _alignment(column: Sequence[str]) -> str:
    return "right" if all(_NUMERIC.fullmatch(cell) for cell in column) else "left"


def _tabulated(section: Section) -> str:
    """Lay out the rows under their columns; stand-ins hold the places of cells of wide letters."""
    with extra():
        from tabulate import tabulate
    cells = (section.columns, *section.rows)
    columns, *rows = [[_stand_in(cell) for cell in row] for row in cells]
    aligned = [_alignment(column) for column in zip(*section.rows, strict=True)]
    table = tabulate(rows, columns, disable_numparse=True, colalign=aligned)
    wide = (cell for row in cells for cell in row if _stand_in(cell) != cell)
    return _STAND_IN.sub(lambda _: next(wide), table)


def _stand_in(cell: str) -> str:
    """Return what takes as many characters as the cell takes columns of a terminal."""
    width = _width(cell)
    return cell if width == len(cell) else _FILLER * max(1, width)


def _width(text: str) -> int:
    """Return the columns of a terminal: two of a wide letter, none of a mark on another.

    >>> _width("café"), _width("日本語"), _width("e\u0323\u0302")
    (4, 6, 1)
    """
    if text.isascii():
        return len(text)
    marks = sum(category(letter) in ("Mn", "Me", "Cf") for letter in text)
    return len(text) - marks + sum(east_asian_width(letter) in "WF" for letter in text)


def _field(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value
