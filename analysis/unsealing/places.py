"""Where batches of sealed reports are read from: a collector's store, its address, or files.

All give the same thing, a list of the parts there are, each of which is read only when its turn
comes. Nothing is trusted: every part goes through
:func:`deniable.protocol.sealed_batch.parse_sealed_batch`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from deniable.protocol.errors import DocumentError, ParameterError, SourceError
from deniable.protocol.fields import text_fault
from deniable.protocol.limits import MAX_DEVICES, MAX_SEGMENT
from deniable.protocol.periods import parse_period
from deniable.protocol.sealed_batch import MAX_PART, SealedBatch, parse_sealed_batch

from ..remote import HttpSource
from ..sources import SqliteSource, parse_json, read_json

_MOST_VERSIONS = 10**6
_MOST_PARTS = MAX_DEVICES // MAX_PART


@dataclass(frozen=True, slots=True)
class BatchName:
    """Which batch of a question: its version, period, week of release, and segment."""

    version: int
    period: str
    batch: str | None
    segment: str | None

    def order(self) -> tuple[Any, ...]:
        """Return what batches are sorted by: time first."""
        start = parse_period(self.period).start
        return start, self.batch or "", self.version, self.segment or ""

    @classmethod
    def of(cls, part: SealedBatch) -> BatchName:
        """Return the name of the batch that a part is of."""
        return cls(part.question.version, part.period, part.batch, part.segment)


@dataclass(frozen=True, slots=True)
class Part:
    """One part that a place holds, not read yet."""

    name: BatchName
    part: int
    parts: int
    load: Callable[[], object]

    def read(self) -> SealedBatch:
        """Read and check it.

        Raises
        ------
        SourceError
            If the place does not answer.
        DocumentError
            If it is malformed, or another part than the place said.
        """
        batch = parse_sealed_batch(self.load())
        if (BatchName.of(batch), batch.part, batch.parts) != (self.name, self.part, self.parts):
            raise DocumentError("sealed batch: is another one than the list says; fetch it again")
        return batch


class Place(Protocol):
    """A place that holds batches."""

    def surveys(self, question: str) -> list[str]:
        """Return the surveys that ask a question of this name."""

    def parts(self, survey: str, question: str) -> list[Part]:
        """Return every part of every batch of a question."""


def open_place(locations: Sequence[str], token: str | None) -> Place:
    """Return the place at a path or URL, or in ``.json`` files, of which there may be several.

    Raises
    ------
    SourceError
        If there is no such file, or the address cannot be used.
    """
    if not locations:
        raise ParameterError("source must name at least one place")
    if all(location.lower().endswith(".json") for location in locations):
        return FileBatches([Path(location) for location in locations])
    if len(locations) > 1:
        raise ParameterError("source must be one store, one address, or .json files only")
    scheme, separator, _ = locations[0].partition("://")
    if not separator:
        return StoreBatches(Path(locations[0]))
    if scheme.lower() in ("http", "https"):
        return HttpBatches(locations[0], token)
    raise SourceError(f"{scheme}:// cannot be read; give a SQLite store's path or an https:// URL")


class StoreBatches(SqliteSource):
    """The view ``released_batches`` of a collector's SQLite store."""

    def surveys(self, question: str) -> list[str]:
        """Read the view."""
        query = "SELECT DISTINCT survey FROM released_batches WHERE question = ? ORDER BY 1"
        return [str(survey) for (survey,) in self._rows(query, question)]

    def parts(self, survey: str, question: str) -> list[Part]:
        """Read the view, but for the documents."""
        query = """SELECT version, period, batch, segment, part, parts FROM released_batches
            WHERE survey = ? AND question = ?"""
        names = ("version", "period", "batch", "segment", "part", "parts")
        return [
            _listed(dict(zip(names, row, strict=True)), self._loader(survey, question, row))
            for row in self._rows(query, survey, question)
        ]

    def _loader(self, survey: str, question: str, row: Sequence[Any]) -> Callable[[], object]:
        query = """SELECT document FROM released_batches WHERE survey = ? AND question = ?
            AND version = ? AND period = ? AND batch IS ? AND segment IS ? AND part = ?"""

        def load() -> object:
            found = self._rows(query, survey, question, *row[:5])
            if len(found) != 1:
                raise SourceError("sealed batch: a part is gone, or there twice; try again")
            return parse_json(found[0][0])

        return load


class HttpBatches(HttpSource):
    """A collector's HTTP interface."""

    def surveys(self, question: str) -> list[str]:
        """Return the surveys among the states of periods."""
        return sorted({state.survey for state in self.states() if state.question == question})

    def parts(self, survey: str, question: str) -> list[Part]:
        """Return the answer of ``GET /v1/batches/<survey>/<question>``."""
        path = f"/v1/batches/{quote(survey, safe='')}/{quote(question, safe='')}"
        return [_listed(one, self._loader(path, one)) for one in self._list(path, "batches")]

    def _loader(self, path: str, record: object) -> Callable[[], object]:
        number = record.get("id") if isinstance(record, Mapping) else None
        if type(number) is not int:
            raise DocumentError("batches: each must be an object with an id")
        return lambda: parse_json(self._get(f"{path}/{number}"))


class FileBatches:
    """Parts in JSON files: each holds one, or ``{"parts": [...]}``, and is read when it is due."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._held: tuple[Path, list[object]] | None = None
        self._parts = [listed for path in paths for listed in self._list(path)]

    def surveys(self, question: str) -> list[str]:
        """Return the surveys of the parts."""
        return sorted({survey for (survey, asked), _ in self._parts if asked == question})

    def parts(self, survey: str, question: str) -> list[Part]:
        """Return the parts of one question."""
        return [part for asked, part in self._parts if asked == (survey, question)]

    def _list(self, path: Path) -> Iterator[tuple[tuple[str, str], Part]]:
        """Check every part of a file, and keep what they are called."""
        for place, document in enumerate(self._read(path)):
            try:
                part = parse_sealed_batch(document)
            except DocumentError as exc:
                raise DocumentError(f"{path}: {exc}") from exc
            asked = (part.question.survey, part.question.id)
            load = partial(self._load, path, place)
            yield asked, Part(BatchName.of(part), part.part, part.parts, load)

    def _load(self, path: Path, place: int) -> object:
        documents = self._read(path)
        if place >= len(documents):
            raise SourceError(f"{path} was changed meanwhile; try again")
        return documents[place]

    def _read(self, path: Path) -> list[object]:
        """Return what a file holds; the last one of several parts is kept for the next of them."""
        if self._held and self._held[0] == path:
            return self._held[1]
        self._held = None
        documents = _documents(path)
        if len(documents) > 1:
            self._held = path, documents
        return documents


def _documents(path: Path) -> list[object]:
    document = read_json(path)
    several = document.get("parts") if isinstance(document, dict) else None
    return several if isinstance(several, list) else [document]


def _listed(record: object, load: Callable[[], object]) -> Part:
    """Check one line of a list of parts."""
    if not isinstance(record, Mapping):
        raise DocumentError("batches: each must be an object")
    version, period, part, parts = (record.get(x) for x in ("version", "period", "part", "parts"))
    batch, segment = record.get("batch"), record.get("segment")
    if type(version) is not int or type(part) is not int or type(parts) is not int:
        raise DocumentError("batches: version, part and parts must be whole numbers")
    if not isinstance(batch, str | None) or not isinstance(segment, str | None):
        raise DocumentError("batches: batch and segment must be text or null")
    if segment is not None and text_fault(segment, MAX_SEGMENT):
        raise DocumentError("batches: segment must be one line of text")
    try:
        key = parse_period(period if isinstance(period, str) else "").key
        week = None if batch is None else parse_period(batch).key
    except ParameterError as exc:
        raise DocumentError(f"batches: {exc}") from exc
    if not 1 <= version <= _MOST_VERSIONS or not 0 <= part < parts <= _MOST_PARTS:
        raise DocumentError("batches: version, part or parts is out of range")
    return Part(BatchName(version, key, week, segment), part, parts, load)
