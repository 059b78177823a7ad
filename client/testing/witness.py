"""An engine that remembers what it was told, which no engine of an app may do."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

from deniable.protocol.response import Wire

from ..answers import Answer, Value
from ..database import Database
from ..engine import Engine
from ..setting import Setting
from ..transport import Carrier


class Recorded(NamedTuple):
    """One answer that the app gave; equal to the tuple of both.

    Attributes
    ----------
    question : str
    value
        The true one, as it was given; but of a set question, the frozenset of its choices, and of
        a joint one, the tuple of its parts' choices in their order.
    """

    question: str
    value: Value


class Report(NamedTuple):
    """One report that would have left the device.

    Attributes
    ----------
    period : str
        Such as ``2026-01-05``.
    question : str
    response : int, str or list
        What the mechanism made of the answer, as it travels.
    """

    period: str
    question: str
    response: Wire


class Witness(Engine):
    """An engine that writes right answers into a list."""

    def __init__(
        self,
        setting: Setting,
        carrier: Carrier,
        db: Database,
        on_fault: Callable[[Exception], None],
        recorded: list[Recorded],
    ) -> None:
        self._recorded = recorded
        super().__init__(setting, carrier, db, on_fault)

    def _read(self, name: object, value: object) -> Answer:
        answer = super()._read(name, value)
        self._recorded.append(Recorded(answer.question.id, _kept(answer, value)))
        return answer


def _kept(answer: Answer, value: object) -> Value:
    """Return the true value in a form that outlives the call: not what an app iterates over."""
    question, symbol = answer.question, answer.symbol
    if question.type == "set":
        return frozenset(c for bit, c in enumerate(question.choices) if symbol >> bit & 1)
    if question.parts:
        one, two = question.parts
        first, second = divmod(symbol, len(two.choices))
        return one.choices[first], two.choices[second]
    return cast("Value", value)
