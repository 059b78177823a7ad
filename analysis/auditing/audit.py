"""An installed client against its survey: the code, what it sends, and what it remembers."""

from __future__ import annotations

import os
import secrets
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import SupportsIndex

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import Mechanism
from deniable.protocol.question import Question
from deniable.protocol.survey import Survey, load_survey

from .. import inputs
from ..extras import extra
from ..inputs import Number
from .devices import Description, Devices, Leakage
from .findings import Finding
from .histories import audit_histories
from .linking import audit_links
from .longitudinal import Longitudinal, longitudinal
from .memo import audit_memo
from .requests import check_requests
from .results import Audit, QuestionAudit
from .sharing import devices_taken
from .verdicts import Promise, judge
from .workers import AuditError

with extra():
    from .bounds import ceiling
    from .trials import NOTHING, Measured, Trials

TRIALS = 8000
CONFIDENCE = 0.999

Progress = Callable[[int, int], None]

_SEEDS = 2**63
_FEWEST, _MOST = 100, 10**8
_MOST_WORKERS = 8


def audit(
    survey: str | PathLike[str],
    *,
    questions: Sequence[str] = (),
    trials: SupportsIndex = TRIALS,
    confidence: Number = CONFIDENCE,
    python: str | PathLike[str] = sys.executable,
    seed: SupportsIndex | None = None,
    progress: Progress = lambda done, total: None,
) -> Audit:
    """Refute, or fail to refute, what a survey promises of the client that is installed.

    For each of Q questions: the exact epsilon of the installed code; a lower bound from what
    fresh devices send, and the same as a null control, each wrong with probability
    ``(1 - confidence)/(2 Q)`` at most; and what repeated reports reveal. Then what devices
    remember, and what links their requests. A sound client is accused with probability
    1 - confidence at most, and 1e-9 for each statistical check of what devices remember. The
    command ends with status 1 if there is a violation, and also if the audit could not be run.

    Parameters
    ----------
    survey : str or path
        Of a survey, TOML or compiled.
    questions : sequence of str
        Those to audit; all of the survey if empty.
    trials : int
        Devices on each side of a comparison, at least 100: half choose an event, half test it.
        Where more than two answers are compared, those that choose are shared among them.
    confidence : number
        Of all lower bounds and null controls together.
    python : str or path
        The interpreter in whose environment the client is installed.
    seed : int
        Chooses which answers are compared, where a question has many. Devices are never seeded.
    progress : callable
        Told how many devices are done, and of how many.

    Returns
    -------
    Audit

    Raises
    ------
    SurveyError
        With every mistake of the survey.
    ParameterError
        If an option is out of range, or the survey has no such question.
    AuditError
        If the client cannot be run.
    """
    whole = load_survey(Path(survey))
    chosen = _chosen(whole, questions)
    half = inputs.integer("trials", trials, _FEWEST, _MOST) // 2
    certain = _below_one(inputs.between("confidence", confidence, "0", "1"))
    alpha = float((1 - certain) / (2 * len(chosen.questions)))
    drawn = secrets.randbelow(_SEEDS) if seed is None else inputs.integer("seed", seed, 0, _SEEDS)
    workers = max(1, min(_MOST_WORKERS, os.cpu_count() or 1))
    with Devices(Path(survey), python=str(python), workers=workers) as devices:
        about = devices.describe()
        _require_asked(about, chosen)
        asked = _asked(about, chosen)
        measured: dict[str, Measured] = {}
        checks: list[Finding] = []
        if asked.questions:
            trial = Trials(
                devices,
                list(asked.questions.values()),
                half=half,
                alpha=alpha,
                seed=drawn,
                progress=_counted(progress, devices_taken(asked.questions, half)),
            )
            measured = trial.run()
            checks += trial.oddities()
        found = _questions(devices, chosen, measured, alpha)
        checks += audit_memo(devices, asked)
        checks += audit_histories(devices, chosen)
        checks += check_requests(devices, asked)
        checks += audit_links(devices, asked)
    return Audit(
        survey=whole.id,
        deniable=about.deniable,
        python=about.python,
        client=about.client,
        trials=2 * half,
        confidence=float(certain),
        seed=drawn,
        questions=found,
        checks=tuple(checks),
    )


def _chosen(survey: Survey, names: Sequence[str]) -> Survey:
    for name in names:
        if name not in survey.questions:
            known = ", ".join(survey.questions)
            raise ParameterError(f"question: the survey asks no {name!r}; use one of {known}")
    kept: Mapping[str, Question] = {
        name: question for name, question in survey.questions.items() if not names or name in names
    }
    for question in kept.values():
        if question.sealed:
            raise ParameterError(
                f"question: {question.id} is sealed, and no audit can read what it sends; audit a "
                "copy of the survey without sealed, whose answers are perturbed alike"
            )
    return replace(survey, questions=kept)


def _below_one(certain: Decimal) -> Decimal:
    """Refuse a confidence that would be printed as certainty."""
    if f"{float(certain):.15g}" == "1":
        raise ParameterError(
            f"confidence must be at most 0.999999999999999, for {certain} rounds to 1"
        )
    return certain


def _asked(about: Description, survey: Survey) -> Survey:
    """Leave out what expired before any device could answer it."""
    askable = {asked.id for asked in about.asked(survey.questions)}
    kept = {name: each for name, each in survey.questions.items() if name in askable}
    return replace(survey, questions=kept)


def _require_asked(about: Description, survey: Survey) -> None:
    """Refuse a client that does not ask what is to be audited."""
    known = {asked.id: asked for asked in about.questions}
    for name, question in survey.questions.items():
        if name not in known or known[name].k != question.mechanism.k:
            raise ParameterError(
                f"{name}: the audited client reads another question in the survey; "
                "install the version that it was written for"
            )


def _counted(progress: Progress, total: int) -> Callable[[int], None]:
    """Return what adds up the devices that are done, whichever thread tells of them."""
    lock = threading.Lock()
    done = 0

    def more(count: int) -> None:
        nonlocal done
        with lock:
            done += count
            progress(done, total)

    return more


def _questions(
    devices: Devices, survey: Survey, measured: Mapping[str, Measured], alpha: float
) -> tuple[QuestionAudit, ...]:
    """Return what was found of each question; histories are alike for the same mechanism."""
    histories: dict[Mechanism, Longitudinal | None] = {}
    found = []
    for name, question in survey.questions.items():
        if question.mechanism not in histories:
            histories[question.mechanism] = longitudinal(question.mechanism)
        history = histories[question.mechanism]
        shown = measured.get(name) or replace(NOTHING, event=_expired(question))
        found.append(_question(devices, question, shown, alpha, history))
    return tuple(found)


def _expired(question: Question) -> str:
    if question.horizon is not None:
        return "not sampled, for one epsilon covers all reports of a device; see exact, and history"
    return f"not audited: expired on {question.expires}, so no device answers it any more"


def _question(
    devices: Devices,
    question: Question,
    measured: Measured,
    alpha: float,
    history: Longitudinal | None,
) -> QuestionAudit:
    leakage = _leakage(devices, question.id)
    promise = Promise(
        report=question.epsilon_first or question.epsilon,
        permanent=question.epsilon,
        exact_report=leakage.report,
        exact_permanent=leakage.permanent,
        by=leakage.by,
    )
    highest = ceiling(measured.tests, alpha)
    stays = None if history is None else history.stays_within
    return QuestionAudit(
        question=question.id,
        mechanism=question.mechanism.described(),
        promise=promise,
        measured=measured,
        ceiling=highest,
        longitudinal=history,
        verdict=judge(promise, measured, highest, alpha, stays),
    )


def _leakage(devices: Devices, name: str) -> Leakage:
    """Return what the code reveals; code that cannot be run step by step says nothing."""
    try:
        return devices.leakage(name)
    except AuditError as exc:
        return Leakage(None, None, f"not found: {exc}")
