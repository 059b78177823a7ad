"""Text questions, and what crowds of given texts answer to them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from survey_documents import choice_table, make_survey

from deniable.analysis.simulation import Population
from deniable.protocol.derivation import permanent_response
from deniable.protocol.draws import KeyedDraws
from deniable.protocol.question import Question
from deniable.protocol.tally import Tally

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def text_question(mechanism: object = "cms", **changes: Any) -> Question:
    """A question for a word of up to eight letters."""
    table = choice_table(**{"epsilon": 4, "period": "week", **changes})
    del table["choices"]
    table |= {
        "type": "text",
        "text": {"alphabet": LETTERS, "max_length": 8, "fold": True},
        "mechanism": mechanism,
    }
    return make_survey({"word": table}, max_epsilon=16, linkable=True).questions["word"]


def zipf(strings: int, devices: int, rng: np.random.Generator) -> tuple[Population, np.ndarray]:
    """Devices with random strings, the r-th of which is as frequent as 1/r; and how frequent."""
    codes = rng.choice(27**8 - 1, strings, replace=False) + 1
    shares = 1 / np.arange(1, strings + 1)
    shares /= shares.sum()
    return Population(codes.astype(object), rng.multinomial(devices, shares)), shares


def answered(question: Question, people: Mapping[str, int], period: str = "2026-W49") -> Tally:
    """The tally of real devices with given texts, each with a secret of its own."""
    shape, number = question.mechanism.shape, 0
    cells = [0] * shape.cells
    for text, devices in people.items():
        symbol = question.encode(text)
        for _ in range(devices):
            number += 1
            secret = number.to_bytes(32, "big")
            permanent = permanent_response(secret, question, symbol)
            assert permanent is not None
            fresh = KeyedDraws(secret, period.encode())
            shape.fold(cells, question.mechanism.instant(permanent, fresh))
    return Tally(question, period, None, number, tuple(cells))


def epsilons(epsilon: str, first: str | None) -> dict[str, Any]:
    """The epsilons of a question, the second one only if there is one."""
    found: dict[str, Any] = {"epsilon": Decimal(epsilon)}
    return found if first is None else {**found, "epsilon_first": Decimal(first)}
