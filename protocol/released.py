"""What every released document says first: of which question, period, batch and segment it is.

What must never change within a format: the names of these fields and what they mean.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from .errors import DocumentError, ParameterError, SurveyError
from .fields import text_fault
from .limits import MAX_SEGMENT
from .periods import parse_period
from .question import Question
from .question_fields import parse_question

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Released:
    """Where a released document belongs.

    Attributes
    ----------
    question : Question
    period : str
        Its key, such as ``2026-11-30`` or ``once``.
    segment : str or None
    batch : str or None
        Of a ``once`` question: the week in which this batch of devices was released.
    """

    question: Question
    period: str
    segment: str | None
    batch: str | None


def parse_released(
    document: object, what: str, fields: Collection[str]
) -> tuple[Released, Mapping[str, object]]:
    """Check where a released document belongs; return that and its fields.

    Parameters
    ----------
    document : object
        A JSON value, which may be anything.
    what : str
        What it is called in complaints.
    fields : collection of str
        The fields it must have, and no others.

    Raises
    ------
    DocumentError
        If a field is missing or malformed, or the question does not match its own hash.
    """
    if not isinstance(document, Mapping) or set(document) != set(fields):
        raise DocumentError(f"{what}: must have exactly the fields {', '.join(sorted(fields))}")
    if type(document["format"]) is not int or document["format"] != FORMAT:
        raise DocumentError(f"{what}: unknown format; upgrade deniable to read it")
    survey, name, segment, batch = _texts(document, what)
    try:
        question = parse_question(survey, document["question"])
        period = parse_period(name)
        released_in = None if batch is None else parse_period(batch).kind
    except SurveyError as exc:
        raise DocumentError(f"{what}: {exc.problems[0]}") from exc
    except ParameterError as exc:
        raise DocumentError(f"{what}: {exc}") from exc
    if period.kind != question.period:
        raise DocumentError(f"{what}: its period is of another kind than its question asks by")
    if released_in != ("week" if period.kind == "once" else None):
        raise DocumentError(f"{what}: batch must be a week for a once question, null for others")
    return Released(question, period.key, segment, batch), document


def _texts(document: Mapping[str, object], what: str) -> tuple[str, str, str | None, str | None]:
    survey, name = document["survey"], document["period"]
    segment, batch = document["segment"], document["batch"]
    if not isinstance(survey, str) or not isinstance(name, str):
        raise DocumentError(f"{what}: survey and period must be text")
    if not isinstance(segment, str | None) or not isinstance(batch, str | None):
        raise DocumentError(f"{what}: segment and batch must be text or null")
    if segment is not None and text_fault(segment, MAX_SEGMENT):
        raise DocumentError(f"{what}: segment must be one line of text")
    return survey, name, segment, batch
