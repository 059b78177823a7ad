"""What is audited: versions, place, and every question as it was resolved here.

What must never change: numbers travel as text, for they have more digits than one in JSON.
"""

from __future__ import annotations

import sys
from decimal import Decimal
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import Any

from deniable.protocol.exact import canonical
from deniable.protocol.question import Question
from deniable.protocol.specimens import Specimen, specimens
from deniable.protocol.survey import Survey

from . import rehearsal


def described(survey: Survey) -> dict[str, Any]:
    """Return it as JSON."""
    return {
        "deniable": _version(),
        "python": ".".join(map(str, sys.version_info[:3])),
        "client": str(Path(__file__).parent.parent),
        "questions": [_question(question) for question in survey.questions.values()],
    }


def _question(question: Question) -> dict[str, Any]:
    return {
        "id": question.id,
        "k": question.mechanism.k,
        "type": question.type,
        "values": [_written(value) for value in specimens(question)],
        "mechanism": question.mechanism.described(),
        "rounds": 1 if question.epsilon_first is None else 2,
        "epsilon": canonical(question.epsilon),
        "epsilon_first": None
        if question.epsilon_first is None
        else canonical(question.epsilon_first),
        "period": question.period,
        "hash": question.hash,
        "askable": rehearsal.askable(question),
    }


def _written(value: Specimen) -> object:
    return str(value) if isinstance(value, Decimal | Fraction) else value


def _version() -> str:
    try:
        return metadata.version("deniable")
    except metadata.PackageNotFoundError:
        return "unknown"
