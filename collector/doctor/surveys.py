"""Survey files: would they load, and what would change; and what is asked though it expired."""

from __future__ import annotations

from pathlib import Path

from deniable.protocol.diff import diff_surveys
from deniable.protocol.errors import SurveyError
from deniable.protocol.survey import Survey, load_survey

from ..catalogue import Catalogue, contradiction, key_contradiction, newest_edition
from .contents import Contents
from .findings import Case, Finding, Findings, fault, ok, warning

_CHECK = "survey"


def files(case: Case, contents: Contents | None) -> Findings:
    """Each survey file loads into the store; or is valid, if nothing is known of that."""
    for path in case.surveys:
        try:
            survey = load_survey(Path(path))
        except SurveyError as exc:
            fix = f"deniable survey check {path}"
            yield fault(_CHECK, f"{path}: {exc.problems[0]}", fix)
            continue
        if contents is None:
            yield ok(_CHECK, f"{path}: is valid; it was not compared with the store")
        else:
            yield _compared(path, survey, contents.catalogue)


def _compared(path: str, survey: Survey, catalogue: Catalogue) -> Finding:
    known = catalogue.questions.get(survey.id, {})
    for question in survey.questions.values():
        if why := contradiction(question, known.get(question.id, {})):
            fix = "correct the file; serve refuses it as it is"
            return fault(_CHECK, f"{path}: question {question.id}: {why}", fix)
    if why := key_contradiction(survey, catalogue):
        return fault(_CHECK, f"{path}: {why}", "correct the file; serve refuses it as it is")
    if survey.id not in catalogue.surveys:
        return ok(_CHECK, f"{path}: {survey.id} is new to the store and would load")
    before = newest_edition(catalogue.surveys[survey.id])
    changes = [
        f"{change.question or survey.id}: {change.change}"
        for change in diff_surveys(before, survey)
    ]
    hashes = {question.hash for question in survey.questions.values()}
    same = {question.hash for question in before.questions.values()} == hashes
    if changes or before != survey:
        told = "; ".join(changes) or "what no device notices"
        kept = "every hash is the store's" if same else "the hashes of some questions are new"
        return ok(_CHECK, f"{path}: would load, {kept}; would change {told}")
    return ok(_CHECK, f"{path}: is what the store has; every hash is the same")


def expired(case: Case, contents: Contents) -> Findings:
    """No question of a newest edition has expired."""
    today = case.now.date()
    past = [
        f"{survey.id}: {question.id} on {question.expires}"
        for survey in map(newest_edition, contents.catalogue.surveys.values())
        for question in survey.questions.values()
        if question.expires < today
    ]
    if past:
        fix = "take it out of the survey, or give it a later date, and load the new edition"
        yield warning("expired questions", f"still in the survey, expired: {'; '.join(past)}", fix)
    else:
        yield ok("expired questions", "none is in a survey")
