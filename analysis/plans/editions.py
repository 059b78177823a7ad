"""The lines that turn a survey into the one that was planned, and a proof that they load.

A changed epsilon is a new version of its question, and a new version is a new spend.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from deniable.protocol.errors import ParameterError, SurveyError
from deniable.protocol.exact import canonical, total
from deniable.protocol.mechanisms import NO_OPTIONS, Mechanism
from deniable.protocol.problems import Problem
from deniable.protocol.question import Question
from deniable.protocol.survey import Survey, load_survey, parse_survey

from .asked import Asked


@dataclass(frozen=True)
class Draft:
    """A valid survey as its author wrote it.

    Attributes
    ----------
    survey : Survey
    document : dict
        The tables of the file.
    """

    survey: Survey
    document: dict[str, Any]

    def asked(self, question: Question) -> Asked:
        """Return a question as its author left it, its epsilon open again."""
        raw = self.document["questions"][question.id].get("mechanism", "auto")
        own = {key: value for key, value in raw.items() if key != "name"} if _table(raw) else {}
        first = question.epsilon_first
        return Asked(
            name=raw["name"] if _table(raw) else raw,
            k=question.mechanism.k,
            options=own or NO_OPTIONS,
            asks=question.mechanism.asks,
            linkable=self.survey.linkable,
            first=None if first is None else Fraction(first) / Fraction(question.epsilon),
            given=question.given,
        )

    def problems(self, lines: Iterable[str]) -> tuple[Problem, ...]:
        """Return what is wrong with the survey once the lines are pasted; nothing, mostly."""
        merged = deepcopy(self.document)
        changes = tomllib.loads("\n".join(lines), parse_float=Decimal)
        merged["survey"].update(changes.get("survey", {}))
        for name, table in changes.get("questions", {}).items():
            merged["questions"][name].update(table)
        try:
            parse_survey(merged)
        except SurveyError as exc:
            return tuple(exc.problems)
        return ()


def read_draft(path: Path) -> Draft:
    """Read a survey that lines can be pasted into.

    Raises
    ------
    SurveyError
        With every mistake found.
    ParameterError
        If it is a compiled one.
    """
    if path.suffix == ".json":
        raise ParameterError(
            "survey must be the TOML as it was written, for only that tells what its author left "
            "to auto, and takes the lines of a plan; a compiled one has neither"
        )
    survey = load_survey(path)
    return Draft(survey, tomllib.loads(path.read_text("utf-8"), parse_float=Decimal))


def edition(
    survey: Survey,
    planned: Mapping[str, Mechanism],
    ceiling: Decimal | None = None,
    crowd: int | None = None,
) -> tuple[str, ...]:
    """Return the lines for what changes, as TOML.

    Parameters
    ----------
    planned : mapping of str to Mechanism
        By question; what is left out stays as it is.
    ceiling : Decimal, optional
        What max_epsilon should be at most; it is never less than the questions' epsilons together.
    crowd : int, optional
        What min_crowd of the planned questions should be at least.
    """
    tables = [("survey", list(_head(survey, planned, ceiling)))]
    for name, mechanism in planned.items():
        question = survey.questions[name]
        tables.append((f"questions.{name}", list(_changes(question, mechanism, crowd or 0))))
    lines: list[str] = []
    for name, changes in tables:
        if changes:
            lines += ["", f"[{name}]", *changes]
    return tuple(lines[1:])


def _head(
    survey: Survey, planned: Mapping[str, Mechanism], ceiling: Decimal | None
) -> Iterator[str]:
    after = {q.id: planned.get(q.id, q.mechanism).epsilon for q in survey.questions.values()}
    spent = total(after.values())
    most = survey.max_epsilon if ceiling is None else min(ceiling, survey.max_epsilon)
    if max(spent, most) != survey.max_epsilon:
        yield f"max_epsilon = {canonical(max(spent, most))}  # of one device, all questions"


def _changes(question: Question, mechanism: Mechanism, crowd: int) -> Iterator[str]:
    first = mechanism.epsilon_first
    if (mechanism.epsilon, first) != (question.epsilon, question.epsilon_first):
        yield f"version = {question.version + 1}"
        of = "about one answer" if question.horizon is None else "of all periods together"
        yield f"epsilon = {canonical(mechanism.epsilon)}  # of all reports {of}"
        if first is not None:
            yield f"epsilon_first = {canonical(first)}  # of one report"
    if crowd > question.min_crowd:
        yield f"min_crowd = {crowd}"


def _table(raw: object) -> bool:
    return isinstance(raw, Mapping)
