"""Every question a collector knows, and how a new edition of a survey joins them.

What was loaded once stays accepted until it expires, for devices run last year's app. What must
never change: a (question, version) keeps its hash, and its min_crowd only rises; a sealing key
keeps its bytes, and one that expired stays expired.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal

from deniable.protocol.errors import ParameterError
from deniable.protocol.periods import parse_period
from deniable.protocol.question import Question
from deniable.protocol.sealing import SealingKey
from deniable.protocol.survey import Survey, parse_compiled

from .store.base import KnownSurvey, Reader, Registered, Scope, Transaction


class Catalogue:
    """What a collector accepts; does not change while it runs.

    Attributes
    ----------
    surveys : dict
        By id: the newest edition and every segment.
    questions : dict
        By survey, then by question id, then by version.
    """

    def __init__(self, surveys: Iterable[KnownSurvey], questions: Iterable[Registered]) -> None:
        self.surveys: Mapping[str, KnownSurvey] = {survey.id: survey for survey in surveys}
        self.questions: dict[str, dict[str, dict[int, Registered]]] = {}
        self.by_id: dict[int, Registered] = {}
        self._sealing_keys: dict[str, tuple[SealingKey, ...]] = {}
        for entry in questions:
            question = entry.question
            versions = self.questions.setdefault(question.survey, {}).setdefault(question.id, {})
            versions[question.version] = entry
            self.by_id[entry.id] = entry

    @classmethod
    def read(cls, store: Reader) -> Catalogue:
        """Return what the store knows."""
        return cls(store.surveys(), store.questions())

    def sealing_keys(self, survey: str) -> tuple[SealingKey, ...]:
        """Return the public keys of a survey's newest edition."""
        keys = self._sealing_keys.get(survey)
        if keys is None:
            keys = self._sealing_keys[survey] = newest_edition(self.surveys[survey]).sealing_keys
        return keys

    def closes(self, scope: Scope) -> datetime | None:
        """Return when the last question of a scope closes; None if no question fits it."""
        period = parse_period(scope.period)
        return max((entry.question.closes(period) for entry in self.within(scope)), default=None)

    def within(self, scope: Scope) -> list[Registered]:
        """Return the question versions that may have answers in a scope.

        One that expires sooner than it did is among them: what was counted before counts.
        """
        kind = parse_period(scope.period).kind
        known = self.questions.get(scope.survey, {})
        if scope.question:
            versions = known.get(scope.question, {})
            entries = [versions[scope.version]] if scope.version in versions else []
        else:
            entries = [entry for versions in known.values() for entry in versions.values()]
        return [entry for entry in entries if entry.question.period == kind]


def newest_edition(known: KnownSurvey) -> Survey:
    """Return a survey as it was last loaded."""
    return parse_compiled(json.loads(known.document, parse_float=Decimal))


def register(tx: Transaction, survey: Survey) -> None:
    """Add an edition of a survey to the store.

    Raises
    ------
    ParameterError
        If a question changed under its version, its version fell, or its min_crowd fell, or a
        sealing key came back or became another.
    """
    catalogue = Catalogue.read(tx)
    if fault := key_contradiction(survey, catalogue):
        raise ParameterError(f"survey {survey.id}: {fault}")
    known = catalogue.questions.get(survey.id, {})
    for question in survey.questions.values():
        if fault := contradiction(question, known.get(question.id, {})):
            raise ParameterError(f"survey {survey.id}: question {question.id}: {fault}")
        tx.put_question(question)
    before = catalogue.surveys.get(survey.id)
    segments = dict.fromkeys((*(before.segments if before else ()), *survey.segments))
    tx.put_survey(survey, tuple(segments))


def contradiction(question: Question, versions: Mapping[int, Registered]) -> str:
    """Say why a question cannot join the versions that were loaded before, or nothing."""
    newest = max(versions, default=0)
    if question.version < newest:
        return (
            f"version {question.version} is older than {newest}, which was loaded before; keep it"
        )
    if question.version not in versions:
        return ""
    before = versions[question.version].question
    if question.hash != before.hash:
        return f"changed under version {question.version}; raise the version"
    if question.min_crowd < before.min_crowd:
        fell = f"min_crowd fell from {before.min_crowd} to {question.min_crowd}; it may only rise"
        return f"{fell}: write {before.min_crowd} again"
    return ""


def key_contradiction(survey: Survey, catalogue: Catalogue) -> str:
    """Say why an edition's sealing keys cannot follow those of the last one, or nothing.

    So a replica that starts with an older file brings no key back that was given up.
    """
    if survey.id not in catalogue.surveys:
        return ""
    before = {key.id: key for key in catalogue.sealing_keys(survey.id)}
    for key in survey.sealing_keys:
        known = before.get(key.id, key)
        if (key.suite, key.public) != (known.suite, known.public):
            return (
                f"sealing_keys: {key.id} is another key than the one loaded before under that id;"
                " give it an id of its own"
            )
        if key.live and not known.live:
            return (
                f"sealing_keys: {key.id} is {key.state} here and expired in the edition loaded"
                " before, which is for good; load the newest file, or make a new key"
            )
    return ""
