"""Why an answer was refused or a report dropped: the names that are counted, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping

from deniable.protocol.report import CODES

REFUSED: Mapping[str, str] = {
    "no_such_question": "the app named a question the survey does not have",
    "wrong_value": "the app gave a value that is no answer to the question",
    "before_consent": "it was given before the person decided",
    "expired": "the question was no longer asked",
    "ceiling": "it would have passed the ceiling of epsilon",
    "changed": "the question had been changed under the same version",
    "erased": "the question's secret was erased, and a second one would spend twice",
    "limits": "the question was beyond what any device accepts",
    "clock": "the device's clock showed a time that could not be",
    "full": "too many reports were waiting",
    "cannot_seal": "it must be sealed, and the app ships without what that takes",
    "not_asked": "the question is not asked in this period: its survey asks it over others",
    "forgotten": "the answer before was erased with a no, and to begin anew would spend twice",
    "busy": "another process held the store for too long, or the app had no memory or stack left",
}
"""Answers that became no report."""

DROPPED: Mapping[str, str] = {
    **{code: f"the collector said: {text}" for code, text in CODES.items()},
    "period_closed": "the period had closed before the report could be counted",
    "rejected": "the collector gave a reason that is none",
    "http_400": "the collector did not understand the request",
    "http_404": "the collector does not know the survey",
}
"""Reports that can never count; other ``http_`` names are the statuses they got."""


def in_words(reason: str) -> str:
    """Return what a counted name means."""
    words = REFUSED.get(reason) or DROPPED.get(reason)
    return words or f"the collector refused the request ({reason.replace('_', ' ')})"
