"""The inverse questions, asked of every question of a survey at once."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from typing import SupportsIndex

from deniable.protocol.errors import ParameterError
from deniable.protocol.exact import canonical, total
from deniable.protocol.limits import EPSILON_MAX
from deniable.protocol.question import Question

from .. import inputs
from ..figures import counted
from ..inputs import Number
from ..reading import beyond
from ..totals.spans import touched
from .asked import Asked
from .assembling import assembled, plan_each, planned
from .digits import rounded_down
from .editions import read_draft
from .margins import epsilon_for
from .precision import precision
from .shares import MAX_DEVICES_PER_PERSON, affordable
from .survey_results import QuestionPlan, SurveyPlan

SHARINGS = ("equal", "proportional")


def plan_survey_shares(
    path: str | PathLike[str],
    *,
    total_epsilon: Number,
    sharing: str = "equal",
    days: SupportsIndex | None = None,
    changes: SupportsIndex | None = None,
    devices_per_person: SupportsIndex = 1,
) -> SurveyPlan:
    """Share a total epsilon of one person out over the questions of a survey.

    Question i may cost ``s_i E / M``, over the answers d_i that it may have, as in
    :func:`plan_shares`; s_i is 1/Q, or in proportion to the present epsilons.

    Parameters
    ----------
    path : str or path
        Of a survey, as TOML.
    total_epsilon : Decimal, int, float or str
        E, of one person: all reports of all their devices about all questions.
    sharing : "equal" or "proportional"
    days : int, optional
        Calendar days, of which each of a question's periods takes one report, as of
        :func:`deniable.analysis.survey_total_epsilon`; otherwise for ever. A question asked once
        has one report either way.
    changes, devices_per_person
        As of :func:`plan_shares`.

    Returns
    -------
    SurveyPlan

    Raises
    ------
    SurveyError
        With every mistake found.
    ParameterError
        If a parameter is out of range, or devices accept no epsilon so small.
    """
    if sharing not in SHARINGS:
        raise ParameterError(f"sharing must be one of {', '.join(SHARINGS)}: {sharing}")
    allowed = inputs.between("total_epsilon", total_epsilon, "0", "1e6")
    t = None if days is None else inputs.integer("days", days, 1, inputs.MAX_DAYS)
    c = None if changes is None else inputs.integer("changes", changes, 0, inputs.MAX_DAYS)
    m = inputs.integer("devices_per_person", devices_per_person, 1, MAX_DEVICES_PER_PERSON)
    draft = read_draft(inputs.path("survey", path))
    questions = draft.survey.questions.values()
    together = Fraction(total(question.epsilon for question in questions))
    most: list[int] = []

    def plan(question: Question, asked: Asked) -> QuestionPlan:
        share = Fraction(1, len(questions))
        if sharing == "proportional":
            share = Fraction(question.epsilon) / together
        each = share * Fraction(allowed) / m
        reports = _reports(question, t)
        epsilon, d = affordable(asked, each, reports, c, f" for {question.id}")
        most.append(d)
        capped = epsilon == EPSILON_MAX and epsilon * d < each
        return replace(planned(question, asked, epsilon), capped=capped)

    answers = "no answer changes" if c is None else f"an answer has at most {c} changes, all public"
    lasting = "any number of days" if t is None else counted(t, "day")
    target = (
        f"total epsilon {canonical(allowed)} of one person from all reports of "
        f"{'their device' if m == 1 else f'all their {m:,} devices'} in {lasting}, one in each "
        "period of a question"
    )
    excess = beyond(allowed)
    notes = (
        f"Shared {'equally' if sharing == 'equal' else 'in proportion'}; {answers}",
        *([f"Of the total: {excess}"] if excess else []),
    )
    ready = plan_each(draft, plan)
    ceiling = rounded_down(Fraction(allowed) / m) if max(most) == 1 else Decimal(0)
    return assembled(draft, "epsilon_per_question", target, ready, notes, ceiling)


def _reports(question: Question, days: int | None) -> int | None:
    """Return how many reports of one device a question can take; None if ever more."""
    if question.period == "once":
        return 1
    return None if days is None else touched(question.period, days)


def plan_survey_margins(
    path: str | PathLike[str],
    *,
    devices: SupportsIndex,
    margin: Number | None = None,
    confidence: Number = 0.95,
    sigmas: Number | None = None,
    frequency: Number | None = None,
    fixed_population: bool = False,
) -> SurveyPlan:
    """Return every question's margin of error, or the least epsilon that reaches a given one.

    Parameters
    ----------
    path : str or path
        Of a survey, as TOML.
    devices : int
        That answer each question in one period.
    margin : Decimal, float or str, optional
        Of a frequency, or of a mean as a share of its range.
    confidence, sigmas, frequency, fixed_population
        As of :func:`deniable.analysis.users_needed`.

    Returns
    -------
    SurveyPlan

    Raises
    ------
    SurveyError
        With every mistake found.
    ParameterError
        If a parameter is out of range.
    """
    within = None if margin is None else inputs.between("margin", margin, "1e-9", "1")
    n = inputs.integer("devices", devices, 1, inputs.MAX_REPORTS)
    wanted = precision(
        confidence=confidence,
        sigmas=sigmas,
        frequency=frequency,
        fixed_population=fixed_population,
    )

    def plan(question: Question, asked: Asked) -> QuestionPlan:
        epsilon, why = question.epsilon, ""
        if within is not None:
            try:
                epsilon = epsilon_for(asked, within, n, wanted)
            except ParameterError as exc:
                why = str(exc)
        found = planned(question, asked, epsilon, why)
        reached = wanted.margin(found.proposal.mechanism, n)
        return replace(found, devices=n, margin=reached)

    draft = read_draft(inputs.path("survey", path))
    sure = f"{float(wanted.z):.4g} standard errors"
    who = "of a fixed population" if fixed_population else "sampled independently"
    where = "the worst frequency" if frequency is None else f"frequency {frequency}"
    goal = "margins" if within is None else f"margin ±{canonical(within)}"
    target = f"{goal} with {counted(n, 'device')} in one period"
    notes = (
        f"margin: {sure} of one frequency, or of a mean as a share of its range, at {where}; "
        f"devices {who}",
    )
    unknown = "margin" if within is None else "epsilon"
    return assembled(draft, unknown, target, plan_each(draft, plan), notes)
