"""An engine that remembers what it was told, which no engine of an app may do."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import NamedTuple, cast

from deniable.protocol.response import Wire

from ..answers import Answer
from ..database import Database
from ..engine import Engine
from ..setting import Setting
from ..transport import Carrier

Value = bool | str | float | Decimal


class Recorded(NamedTuple):
    """One answer that the app gave; equal to the tuple of both.

    Attributes
    ----------
    question : str
    value : bool, str, int, float or Decimal
        The true one.
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
        self._recorded.append(Recorded(answer.question.id, cast("Value", value)))
        return answer
