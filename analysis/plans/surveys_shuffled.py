"""A central epsilon after shuffling, for every question of a survey."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import SupportsIndex

from deniable.protocol.errors import ParameterError
from deniable.protocol.exact import canonical
from deniable.protocol.limits import EPSILON_MAX
from deniable.protocol.question import Question

from .. import inputs
from ..deltas import delta_caveats
from ..inputs import Number
from .asked import Asked
from .assembling import assembled, plan_each, planned
from .editions import read_draft
from .shuffled import honest, planned_local
from .shuffled_results import CENTRAL_UNIT, trust
from .survey_results import QuestionPlan, SurveyPlan


def plan_survey_local(
    path: str | PathLike[str],
    *,
    central_epsilon: Number,
    delta: Number,
    crowd: SupportsIndex,
    fake_share: Number = 0,
) -> SurveyPlan:
    """Return for every question the largest local epsilon for a central one after shuffling.

    Each question by itself, in one period of it; as :func:`plan_local`. With a second round the
    bound is that of one report, both rounds of it; epsilon_first keeps its share of epsilon.

    Parameters
    ----------
    path : str or path
        Of a survey, as TOML.
    central_epsilon, delta, crowd, fake_share
        As of :func:`plan_local`.

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
    central = inputs.epsilon("central_epsilon", central_epsilon)
    fail = float(inputs.between("delta", delta, "1e-100", "1"))
    n = inputs.integer("crowd", crowd, 1, inputs.MAX_REPORTS)
    fake = inputs.proportion("fake_share", fake_share)
    hiding = honest(n, fake)

    def plan(question: Question, asked: Asked) -> QuestionPlan:
        try:
            local = planned_local(asked, central, fail, n, float(fake), hiding)
        except ParameterError as exc:
            return planned(question, asked, question.epsilon, str(exc))
        found = planned(question, asked, local.epsilon)
        capped = local.epsilon == EPSILON_MAX and local.upper < central
        return replace(found, devices=n, central_epsilon=local.upper, capped=capped)

    draft = read_draft(inputs.path("survey", path))
    target = (
        f"central epsilon {canonical(central)} of one device in each question, delta = {fail:g}"
    )
    notes = (
        f"central epsilon: a certified bound, {CENTRAL_UNIT}, except with probability delta; "
        "what a device answers to several questions adds up, and min_crowd has to see to the crowd",
        *(line.rstrip(".") for line in trust(n, hiding)),
        *(f"Warning: {caveat}" for caveat in delta_caveats(fail, n)),
    )
    return assembled(draft, "local_epsilon", target, plan_each(draft, plan), notes, crowd=n)
