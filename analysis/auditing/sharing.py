"""Which answers are compared, and how many devices it takes.

What must never change: the seed decides what is compared, and nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from deniable.protocol.question import Question
from deniable.protocol.specimens import specimens

MOST_ANSWERS = 4
"""Answers of each question that are compared, each with each; all of a question with so few."""

_BROKEN = 400


def compared(questions: Mapping[str, Question], seed: int) -> dict[str, tuple[int, ...]]:
    """Return which answers of each question are compared, by their places among its specimens.

    All, or the ends and some others.
    """
    chooser = random.Random(seed)
    symbols = {}
    for name, question in questions.items():
        k = len(specimens(question))
        inner = chooser.sample(range(1, k - 1), min(k, MOST_ANSWERS) - 2)
        symbols[name] = (0, k - 1, *sorted(inner))
    return symbols


def chooses(half: int, groups: int) -> int:
    """Return how many devices of each group choose: at least twice ``half`` in all."""
    return -(-2 * half // groups)


def broken_half(half: int) -> int:
    """Return how many broken devices a side are the positive control, at first."""
    return min(half, _BROKEN)


def devices_taken(questions: Mapping[str, Question], half: int) -> int:
    """Return how many devices :meth:`Trials.run` makes, if the positive control is caught."""
    groups = max(min(len(specimens(question)), MOST_ANSWERS) for question in questions.values())
    few = broken_half(half)
    return groups * chooses(half, groups) + 3 * half + 2 * (few + (few + 1) // 2)
