"""What devices answer on which day, so that every value has its turn.

What must never change: the first and the last day have the same answers, and between them each
question has others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .observed import Answers, Asked

if TYPE_CHECKING:
    from deniable.protocol.question import Question

_VALUES = 3


def plans(questions: Sequence[Asked], devices: int) -> list[list[Answers]]:
    """Return four days of answers for each device, which spread over all values evenly."""
    turns = [
        {asked.id: turn(len(asked.values), device, devices) for asked in questions}
        for device in range(devices)
    ]
    return [
        [
            {asked.id: asked.values[turns[device][asked.id][day]] for asked in questions}
            for day in (*range(_VALUES), 0)
        ]
        for device in range(devices)
    ]


def turn(k: int, device: int, devices: int) -> tuple[int, ...]:
    """Return the three symbols of one of so many devices; all of them, with k/3 devices or more.

    >>> [turn(3, device, 2) for device in range(2)]
    [(0, 2, 1), (1, 0, 2)]
    """
    slots = _VALUES * devices
    if k > slots:
        return tuple((device + devices * day) * k // slots for day in range(_VALUES))
    step = devices if k > devices else max(1, k // _VALUES)
    return tuple((device + step * day) % k for day in range(_VALUES))


def symbols_of(question: Question, days: Sequence[Answers]) -> list[int]:
    """Return the symbols of a device's answers to one question."""
    return [question.encode(day[question.id]) for day in days]
