"""From a place with sealed batches to a file with tallies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from os import PathLike, fspath

from deniable.protocol.errors import DocumentError, ParameterError, SourceError
from deniable.protocol.question import Question
from deniable.protocol.sealed_batch import SealedBatch
from deniable.protocol.survey import Survey, load_survey
from deniable.protocol.tally import Tally

from .. import inputs
from .opening import REASONS, Opener
from .places import BatchName, Part, open_place
from .private_keys import PrivateKey, read
from .results import BatchResult, Unsealed
from .store import OpenedStore, Settled

_SHOWN = 8
"""Missing parts that are named; a list may say that there are any number."""

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]


def unseal(
    question: str,
    source: Paths,
    *,
    keys: Paths,
    to: str | PathLike[str],
    token: str | None = None,
    survey: str | None = None,
    survey_file: str | PathLike[str] | None = None,
) -> Unsealed:
    """Open the released batches of a sealed question, and fold them into tallies.

    Each batch is opened once, in one transaction; one that was opened before is left as it is. A
    report is dropped and counted if it is sealed for a key that was not given, does not open,
    holds no response to the question, or repeats an encapsulation of this or any earlier batch.
    If fewer than ``min_crowd`` reports are left, none of them is kept.

    Parameters
    ----------
    question : str
        Its id.
    source : str, path, or several
        A collector's SQLite store or its ``https://`` address, or ``.json`` files of parts.
    keys : str, path, or several
        Files of private keys: of every key that reports may be sealed for.
    to : str or path
        The file that the tallies go to, made if there is none; :func:`deniable.analysis.estimate`
        reads it.
    token : str, optional
        For an address.
    survey : str, optional
        Needed only where several surveys ask a question of that name.
    survey_file : str or path, optional
        The survey as the analyst knows it, TOML or compiled: then the batches must be of this
        very question, the keys those of the survey, and its ``min_crowd`` holds as well.

    Raises
    ------
    SourceError
        If the source cannot be read, or has no batch of the question.
    StoreError
        If a key file cannot be read or is open to others, or ``to`` cannot be used.
    DocumentError
        If a part or a key file is malformed.
    ParameterError
        If an option is out of range.
    MissingExtraError
        If ``cryptography`` is not installed.
    """
    private = _keys(_paths("keys", keys))
    known = None if survey_file is None else load_survey(inputs.path("survey_file", survey_file))
    asked = None if known is None else _asked(known, question, private)
    if known is not None and survey not in (None, known.id):
        raise ParameterError(f"survey must be the id of the survey file, {known.id}")
    place = open_place([fspath(path) for path in _paths("source", source)], token)
    name = survey or (known.id if known else _only(place.surveys(question), question))
    batches: dict[BatchName, list[Part]] = {}
    for part in place.parts(name, question):
        batches.setdefault(part.name, []).append(part)
    if not batches:
        raise SourceError(f"there is no released batch of {question} in survey {name}")
    target = inputs.path("to", to)
    with OpenedStore(target) as store:
        unsealing = _Unsealing((name, question), asked, Opener(private), store)
        results = [
            unsealing.one(each, batches[each]) for each in sorted(batches, key=BatchName.order)
        ]
    return Unsealed(name, question, target, tuple(results))


class _Unsealing:
    """Opens batches of one question into one store."""

    def __init__(
        self,
        question: tuple[str, str],
        asked: Question | None,
        opener: Opener,
        store: OpenedStore,
    ) -> None:
        self._question = question
        self._asked = asked
        self._opener = opener
        self._store = store

    def one(self, name: BatchName, parts: Sequence[Part]) -> BatchResult:
        """Open one batch, unless it was opened before, or is not whole."""
        with self._store.transaction():
            before = self._store.settled(self._question, name)
            if before is not None:
                return BatchResult(name, before, new=False)
            if why := _incomplete(parts):
                return BatchResult(name, None, why=why)
            return self._open(name, sorted(parts, key=lambda part: part.part))

    def _open(self, name: BatchName, parts: Sequence[Part]) -> BatchResult:
        with self._store.attempt() as attempt:
            opened = self._opener.open_batch(map(self._read, parts), self._store.remember)
            if opened.dropped["unknown_key"] == opened.released:
                attempt.give_up()
                wanted = ", ".join(sorted(opened.unknown))
                why = f"every report is sealed for another key ({wanted}); give its file with --key"
                return BatchResult(name, None, why=why)
            needed = self._min_crowd(opened.question)
            enough = opened.n >= needed
            if not enough:
                attempt.give_up()
        dropped = {reason: opened.dropped[reason] for reason in REASONS}
        state, by_key = ("released", dict(opened.by_key)) if enough else ("destroyed", {})
        settled = Settled(state, opened.released, opened.n, by_key, dropped, needed)
        where = (name.period, name.segment, opened.n, opened.cells, name.batch)
        tally = Tally(opened.question, *where) if enough else None
        self._store.settle(opened.question, name, settled, tally)
        return BatchResult(name, settled)

    def _read(self, part: Part) -> SealedBatch:
        batch = part.read()
        found = batch.question
        if (found.survey, found.id) != self._question:
            raise DocumentError(f"sealed batch: is of another question than {self._question[1]}")
        asked = self._asked
        if asked and asked.version == found.version and asked.hash != found.hash:
            raise DocumentError(
                f"sealed batch: its definition of {found.id} differs from the survey file's; "
                "give the survey that devices have"
            )
        return batch

    def _min_crowd(self, question: Question) -> int:
        return max(question.min_crowd, self._asked.min_crowd if self._asked else 0)


def _incomplete(parts: Sequence[Part]) -> str:
    """Say why parts are not a whole batch, or nothing."""
    counts = {part.parts for part in parts}
    if len(counts) > 1:
        return "its parts do not agree on how many there are; fetch them again"
    there = {part.part for part in parts}
    missing = list(islice((n for n in range(counts.pop()) if n not in there), _SHOWN + 1))
    if missing:
        shown = ", ".join(map(str, missing[:_SHOWN])) + (", …" if len(missing) > _SHOWN else "")
        return f"of its {parts[0].parts} parts, {shown} (from 0) are missing; fetch every part"
    if len(parts) > parts[0].parts:
        return "a part is there twice; give each once"
    return ""


def _keys(paths: Sequence[str | PathLike[str]]) -> tuple[PrivateKey, ...]:
    keys = tuple(read(inputs.path("keys", path)) for path in paths)
    names = {key.id for key in keys}
    if not keys or len(names) < len(keys):
        raise ParameterError("keys must be one file or several, each of a key of its own id")
    return keys


def _asked(survey: Survey, question: str, keys: Iterable[PrivateKey]) -> Question:
    """Return the question as the analyst's survey has it, and hold the keys against it."""
    asked = survey.questions.get(question)
    if asked is None or not asked.sealed:
        raise ParameterError(f"survey_file: {survey.id} has no sealed question {question}")
    publics = {key.id: key.public for key in survey.sealing_keys}
    for key in keys:
        if publics.get(key.id, key.public) != key.public:
            raise ParameterError(f"keys: {key.id} is another key than the survey's of that id")
    return asked


def _only(surveys: Sequence[str], question: str) -> str:
    if len(surveys) > 1:
        raise SourceError(
            f"{question} is asked in {', '.join(surveys[:8])}; say which with --survey-id"
        )
    if not surveys:
        raise SourceError(f"there is no released batch of a question {question}")
    return surveys[0]


def _paths(name: str, paths: Paths) -> Sequence[str | PathLike[str]]:
    several = [paths] if isinstance(paths, str | PathLike) else list(paths)
    for path in several:
        inputs.path(name, path)
    return several
