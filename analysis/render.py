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
    with extra():
        from tabulate import tabulate
    blocks = []
    for section in result.sections():
        lines = [section.title, ""]
        if section.rows:
            aligned = [_alignment(column) for column in zip(*section.rows, strict=True)]
            lines += [
                tabulate(section.rows, section.columns, disable_numparse=True, colalign=aligned),
                "",
            ]
        notes = [textwrap.fill(note, _WIDTH, subsequent_indent="  ") for note in section.notes]
        blocks.append("\n".join([*lines, *notes]).rstrip() + "\n")
    return "\n".join(blocks)


FORMATS: Final[Mapping[str, Callable[[Result], str]]] = {
    "table": as_table,
    "json": as_json,
    "csv": as_csv,
}
"""Every form there is."""

_NUMERIC = re.compile(r"[-+]?[0-9][0-9,. ]*(e[-+]?[0-9]+)?|–|")


def _alignment(column: Sequence[str]) -> str:
    return "right" if all(_NUMERIC.fullmatch(cell) for cell in column) else "left"


def _field(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value
