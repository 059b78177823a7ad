"""What travels between the analysis and the probe of the audited environment, read and written.

What must never change: an answer that is not as agreed accuses the audited environment, in one
line, and never ends the audit with anything else.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from deniable.protocol.errors import ParameterError

from .observed import Answers, Asked, Device, History, Life, Request, Value
from .workers import AuditError


class as_agreed:
    """Whatever is missing in an answer is the audited environment's fault."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, LookupError | TypeError | ValueError | AttributeError):
            raise AuditError(f"the probe's answer is not as agreed ({error!r})") from error


def read_asked(said: dict[str, Any]) -> Asked:
    number = said["type"] == "number"
    first = said["epsilon_first"]
    return Asked(
        said["id"],
        int(said["k"]),
        tuple(Fraction(value) if number else _value(value) for value in said["values"]),
        said["mechanism"],
        int(said["rounds"]),
        Decimal(said["epsilon"]),
        None if first is None else Decimal(first),
        said["period"],
        said["hash"],
        bool(said["askable"]),
    )


def _value(said: Any) -> Value:
    if isinstance(said, list):
        return tuple(map(str, said))
    return said if isinstance(said, bool) else str(said)


def read_device(said: dict[str, Any]) -> Device:
    reports = {name: tuple(map(hashable, each)) for name, each in said["reports"].items()}
    return Device(bytes.fromhex(said["secret"]), reports)


def read_history(said: dict[str, Any]) -> History:
    reports = {int(t): hashable(wire) for t, wire in said["reports"]}
    return History(bytes.fromhex(said["secret"]), reports)


def read_life(said: dict[str, Any]) -> Life:
    requests = tuple(
        Request(
            int(each["line"]),
            int(each["day"]),
            each["period"],
            each["device"],
            {name: hashable(wire) for name, wire in each["reports"].items()},
            bool(each["due"]),
            None if each["of"] is None else int(each["of"]),
            str(each["path"]),
            tuple((str(name), str(value)) for name, value in each["headers"]),
            bytes.fromhex(each["body"]),
        )
        for each in said["requests"]
    )
    secrets = tuple(tuple(map(bytes.fromhex, day)) for day in said["secrets"])
    return Life(requests, secrets)


def read_ratio(said: list[str] | None) -> Fraction | None:
    return None if said is None else Fraction(int(said[0]), int(said[1]))


def write_answers(values: Answers) -> dict[str, bool | str | list[str]]:
    """Return answers as they travel: numbers as the text of a fraction."""
    return {name: write_answer(name, value) for name, value in values.items()}


def write_answer(name: str, value: object) -> bool | str | list[str]:
    if isinstance(value, bool | str):
        return value
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, int | float | Decimal | Fraction):
        return str(Fraction(value))
    raise ParameterError(f"{name}: the value must be true or false, a choice, several or a number")


def hashable(wire: Any) -> Hashable:
    """Return what can be counted: lists as tuples, and what no report may be as its text."""
    if isinstance(wire, list):
        return tuple(map(hashable, wire))
    return json.dumps(wire, sort_keys=True) if isinstance(wire, dict) else wire
