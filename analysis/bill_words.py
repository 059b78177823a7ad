"""What a bill says in words of questions whose answers are no single values.

What must never change: an epsilon of another thing than one unchanging answer says of which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable.protocol.exact import canonical
from deniable.protocol.question import Question

from .domains import collisions, epsilon_unit
from .results import EPSILON_UNIT

if TYPE_CHECKING:
    from .bills import QuestionCost

_COUNTED = {"set": "{} items", "joint": "{} pairs", "text": "texts"}

_OF = {"set": "an item", "text": "a named text", "joint": "a pair"}


def counted_values(cost: QuestionCost) -> str:
    """Say how many answers there are to choose from."""
    return _COUNTED.get(cost.type, "{}").format(cost.values)


def of_what(cost: QuestionCost) -> str:
    """Say what a standard error is of."""
    found = cost.standard_error_of
    if cost.type in _OF:
        found += f" of {_OF[cost.type]}"
    return found if cost.epsilon_unit == EPSILON_UNIT else f"{found}, worst period"


def remark(question: Question) -> str:
    """Say what a bill cannot say in a number; nothing of a question with single values."""
    mechanism = question.mechanism
    if question.horizon is not None:
        return f"epsilon {canonical(question.epsilon)} is {epsilon_unit(mechanism)}"
    if question.type == "set":
        return (
            "one epsilon covers all items of a set, and how many they are; a set is remembered as "
            "a whole, so every other set costs another epsilon, and there are too many for a bound"
        )
    if question.type == "text":
        return (
            "any text can be an answer, of which its bucket in the device's hash row is "
            f"remembered, or a sign of that; {collisions(mechanism)}"
        )
    return ""
