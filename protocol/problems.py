"""A mistake in a survey, as it is told to its author."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a survey: where it is, what is wrong, and what to write instead."""

    key: str
    problem: str
    fix: str

    def __str__(self) -> str:
        return f"{self.key}: {self.problem}; {self.fix}"
