"""Where tallies are read from: a collector's SQLite store, its HTTP interface, or a JSON file.

All give the same two things, the states of periods and the released tallies of a question, and
trust nothing they read: every tally goes through :func:`deniable.protocol.tally.parse_tally` and
must be of the question that was asked for.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Protocol

from deniable.protocol.errors import DocumentError, ParameterError, SourceError
from deniable.protocol.period_state import PeriodState
from deniable.protocol.periods import parse_period
from deniable.protocol.tally import Tally, parse_tally

from .render import Record, Section

STATES = ("pending", "released", "destroyed")
_BUSY_SECONDS = 5.0
_HINT = "is it a collector's store, and may you read it?"
_HINTS = {
    "SQLITE_BUSY": "somebody is writing to it; try again",
    "SQLITE_READONLY_ROLLBACK": "its collector was killed; deniable-collector status repairs it",
}


@dataclass(frozen=True)
class PeriodStates:
    """The states of all periods a source knows.

    Attributes
    ----------
    states : tuple of PeriodState
        By survey, question, version, time and segment.
    """

    states: tuple[PeriodState, ...]

    columns: ClassVar[tuple[str, ...]] = (
        "survey", "question", "version", "period", "batch", "segment", "state", "crowd",
    )  # fmt: skip

    def records(self) -> list[Record]:
        """Return one flat row for each period, question and segment."""
        return [state.record() for state in self.states]

    def document(self) -> dict[str, Any]:
        """Return the states as JSON."""
        return {"periods": self.records()}

    def sections(self) -> tuple[Section, ...]:
        """Return the states for people."""
        rows = [
            tuple("" if cell is None else str(cell) for cell in record.values())
            for record in self.records()
        ]
        title = "Periods, and how many devices are in each" if rows else "There is no period."
        return (Section(title, self.columns, rows),)


class Source(Protocol):
    """A place that holds tallies."""

    def states(self, survey: str | None = None) -> tuple[PeriodState, ...]:
        """Return what became of every question and period, of one survey or of all."""

    def tallies(self, survey: str, question: str) -> tuple[Tally, ...]:
        """Return every released tally of a question, of all versions and periods."""


def open_source(location: str, token: str | None = None) -> Source:
    """Return the source at a path or URL.

    Parameters
    ----------
    location : str
        Path of a collector's SQLite store, which is only read, or of a ``.json`` file of tallies,
        or the collector's ``https://`` address (``http://`` on this machine).
    token : str, optional
        For HTTP; created by ``deniable-collector token create``.

    Raises
    ------
    SourceError
        If there is no such file, or the address cannot be used.
    """
    scheme, separator, _ = location.partition("://")
    if not separator and location.lower().endswith(".json"):
        from .documents import DocumentSource

        return DocumentSource(Path(location))
    if not separator:
        return SqliteSource(Path(location))
    if scheme.lower() in ("http", "https"):
        from .remote import HttpSource

        return HttpSource(location, token)
    raise SourceError(f"{scheme}:// cannot be read; give a SQLite store's path or an https:// URL")


class SqliteSource:
    """The views that analysts may read of a collector's SQLite store, opened read-only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            found = path.is_file()
        except OSError as exc:
            raise SourceError(f"{path} cannot be read ({exc.strerror}); check the path") from exc
        if not found:
            raise SourceError(f"{path}: there is no such file; give the collector's --store")

    def states(self, survey: str | None = None) -> tuple[PeriodState, ...]:
        """Read the view ``period_states``."""
        query = f"SELECT {', '.join(PeriodStates.columns)} FROM period_states"  # noqa: S608
        rows = self._rows(f"{query} WHERE ?1 IS NULL OR survey = ?1", survey)
        return parse_states(dict(zip(PeriodStates.columns, row, strict=True)) for row in rows)

    def tallies(self, survey: str, question: str) -> tuple[Tally, ...]:
        """Read the view ``released_tallies``."""
        query = "SELECT document FROM released_tallies WHERE survey = ? AND question = ?"
        documents = (parse_json(row[0]) for row in self._rows(query, survey, question))
        return parse_tallies(documents, survey, question)

    def _rows(self, query: str, *parameters: str | int | None) -> list[tuple[Any, ...]]:
        address = f"{self._path.absolute().as_uri()}?mode=ro"
        try:
            with closing(sqlite3.connect(address, timeout=_BUSY_SECONDS, uri=True)) as connection:
                return connection.execute(query, parameters).fetchall()
        except sqlite3.OperationalError as exc:
            self._fail(exc, _HINTS.get(exc.sqlite_errorname, _HINT))
        except sqlite3.DatabaseError as exc:
            self._fail(exc, "it is no collector's store")

    def _fail(self, exc: Exception, hint: str) -> NoReturn:
        raise SourceError(f"{self._path} cannot be read ({exc}); {hint}") from exc


def parse_json(text: object) -> Any:
    """Return the JSON value of a text that may be anything.

    Raises
    ------
    DocumentError
        If it is no JSON, or has numbers or a depth that no document has.
    """
    try:
        return json.loads(str(text), parse_constant=_no_constant)
    except (ValueError, RecursionError) as exc:
        raise DocumentError("the source does not hold valid JSON") from exc


def read_json(path: Path) -> Any:
    """Return the JSON value of a file.

    Raises
    ------
    SourceError
        If it cannot be read.
    DocumentError
        If it is not UTF-8, or no JSON.
    """
    try:
        return parse_json(path.read_text(encoding="utf-8-sig"))
    except OSError as exc:
        raise SourceError(f"{path} cannot be read ({exc.strerror}); check the path") from exc
    except UnicodeDecodeError as exc:
        raise DocumentError(f"{path} is not UTF-8; save it as UTF-8") from exc
    except DocumentError as exc:
        raise DocumentError(f"{path}: {exc}") from exc


def parse_states(records: Iterable[object]) -> tuple[PeriodState, ...]:
    """Check period states and put them in order.

    Raises
    ------
    DocumentError
        If one is malformed.
    """
    with _documents("period states"):
        states = [_state(record) for record in records]
        return tuple(sorted(states, key=_order))


def parse_tallies(documents: Iterable[object], survey: str, question: str) -> tuple[Tally, ...]:
    """Check tally documents, and that all are of the question asked for.

    Raises
    ------
    DocumentError
        If one is malformed or of another question.
    """
    tallies = tuple(parse_tally(document) for document in documents)
    for tally in tallies:
        if (tally.question.survey, tally.question.id) != (survey, question):
            raise DocumentError(f"tally: is of another question than {question} of {survey}")
    return tallies


def _state(record: object) -> PeriodState:
    if not isinstance(record, Mapping):
        raise DocumentError("period states: each must be an object")
    fields: dict[str, Any] = {name: record[name] for name in PeriodStates.columns}
    for name, value in fields.items():
        if name == "version":
            fits = type(value) is int
        elif value is None:
            fits = name in ("batch", "segment")
        else:
            fits = isinstance(value, str) and value.isprintable()
        if not fits:
            raise DocumentError(f"period states: {name} is malformed")
    if fields["state"] not in STATES:
        raise DocumentError(f"period states: state must be one of {', '.join(STATES)}")
    return PeriodState(**fields)


def _order(state: PeriodState) -> tuple[Any, ...]:
    start = parse_period(state.period).start
    return (
        state.survey, state.question, state.version, start, state.batch or "", state.segment or "",
    )  # fmt: skip


@contextmanager
def _documents(what: str) -> Iterator[None]:
    try:
        yield
    except KeyError as exc:
        raise DocumentError(f"{what}: the field {exc} is missing") from exc
    except ParameterError as exc:
        raise DocumentError(f"{what}: {exc}") from exc


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
