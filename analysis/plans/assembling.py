"""From the plan of each question to the plan of their survey."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from deniable.protocol.exact import total
from deniable.protocol.question import Question

from .asked import Asked
from .editions import Draft, edition
from .proposals import proposal
from .survey_results import QuestionPlan, SurveyPlan

Planner = Callable[[Question, Asked], QuestionPlan]


def plan_each(draft: Draft, plan: Planner) -> tuple[QuestionPlan, ...]:
    """Plan every question of a survey."""
    return tuple(
        plan(question, draft.asked(question)) for question in draft.survey.questions.values()
    )


def planned(question: Question, asked: Asked, epsilon: Decimal, why: str = "") -> QuestionPlan:
    """Return a question with an epsilon; as the survey has it if it is the same."""
    same = bool(why) or epsilon == question.epsilon
    mechanism = question.mechanism if same else asked.at(epsilon)
    version = question.version + (0 if same else 1)
    return QuestionPlan(question.id, version, question.epsilon, proposal(mechanism), why=why)


def assembled(
    draft: Draft,
    unknown: str,
    target: str,
    questions: tuple[QuestionPlan, ...],
    notes: tuple[str, ...],
    ceiling: Decimal | None = None,
    crowd: int | None = None,
) -> SurveyPlan:
    """Return the plan of a survey, its lines tried.

    Parameters
    ----------
    ceiling : Decimal, optional
        What max_epsilon should be at most.
    crowd : int, optional
        What min_crowd should be at least.
    """
    changed = {q.question: q.proposal.mechanism for q in questions if not q.why}
    lines = edition(draft.survey, changed, ceiling, crowd)
    return SurveyPlan(
        survey=draft.survey.id,
        unknown=unknown,
        target=target,
        questions=questions,
        total_epsilon=total(q.proposal.epsilon for q in questions),
        lines=lines,
        problems=draft.problems(lines) if lines else (),
        notes=notes,
    )
