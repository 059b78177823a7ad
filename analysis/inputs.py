"""Numbers as people write them: checked, exact, and named in every complaint.

A number arrives as text from the command line or as a Python number from a notebook; either way
it becomes an exact ``Decimal`` or ``int`` here and nowhere else. A float means the shortest
decimal that denotes it, so ``0.1`` is one tenth.
"""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import SupportsIndex

from deniable.protocol.errors import ParameterError
from deniable.protocol.limits import MAX_DEVICES

Number = Decimal | SupportsIndex | float | str
"""An exact decimal, its text, or a Python number."""

EPSILON_RANGE = (Decimal("0.000001"), Decimal(44))
"""Epsilons the analysis computes with. Devices accept less, see ``protocol.limits``.

Beyond the upper end some probability is less than 2^-64, and no threshold of 64 bits expresses it.
"""

MAX_VALUES = 10**6
MAX_REPORTS = MAX_DEVICES
MAX_DAYS = 10**6

_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_LONGEST = 48


def parse_decimal(text: str) -> Decimal:
    """Read a decimal number in ASCII digits.

    Raises
    ------
    ValueError
        If the text is anything else: NaN and infinities, other digits, underscores, spaces.
    """
    if len(text) > _LONGEST or not _DECIMAL.fullmatch(text):
        raise ValueError("must be a decimal number like 0.95")
    return Decimal(text)


def parse_integer(text: str) -> int:
    """Read a whole number in ASCII digits.

    Raises
    ------
    ValueError
        If the text is anything else.
    """
    if len(text) > _LONGEST or not _INTEGER.fullmatch(text):
        raise ValueError("must be a whole number like 400")
    return int(text)


def parse_option(text: str) -> tuple[str, int]:
    """Read an option of a mechanism, such as ``g=4``.

    Raises
    ------
    ValueError
        If it is no name and whole number.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier() or not _INTEGER.fullmatch(value[:_LONGEST]):
        raise ValueError("must be a name and a whole number, like g=4")
    return name, parse_integer(value)


def parse_counts(text: str) -> tuple[int, ...]:
    """Read whole numbers with commas between them.

    Raises
    ------
    ValueError
        If one of them is none.
    """
    try:
        return tuple(parse_integer(part.strip(" ")) for part in text.split(","))
    except ValueError:
        raise ValueError("must be whole numbers with commas between them, like 240,160") from None


def parse_levels(text: str) -> tuple[Decimal, ...]:
    """Read decimal numbers with commas between them.

    Raises
    ------
    ValueError
        If one of them is none.
    """
    try:
        return tuple(parse_decimal(part.strip(" ")) for part in text.split(","))
    except ValueError:
        raise ValueError("must be decimals with commas between them, like 0.5,0.9") from None


def exact(name: str, value: Number) -> Decimal:
    """Return the decimal that ``value`` denotes.

    Raises
    ------
    ParameterError
        If it denotes no finite number; True and False are none.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        if isinstance(value, str):
            return parse_decimal(value)
        if isinstance(value, float):
            value = Decimal(float.__repr__(value))
        if not isinstance(value, Decimal):
            value = Decimal(operator.index(value))
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be a number, written like 0.95") from None
    if not value.is_finite():
        raise ParameterError(f"{name} must be finite: {value}")
    return value


def epsilon(name: str, value: Number) -> Decimal:
    """Return an epsilon within :data:`EPSILON_RANGE`, exactly as it was written.

    Raises
    ------
    ParameterError
        If it is out of range.
    """
    number = exact(name, value)
    low, high = EPSILON_RANGE
    if not low <= number <= high:
        why = "; the 64-bit thresholds of devices cannot express more" if number > high else ""
        raise ParameterError(f"{name} must be in {low}..{high}: {number}{why}")
    return number


def between(name: str, value: Number, low: str, high: str) -> Decimal:
    """Return a number strictly between two others.

    Raises
    ------
    ParameterError
        If it is not.
    """
    number = exact(name, value)
    if not Decimal(low) < number < Decimal(high):
        raise ParameterError(f"{name} must be above {low} and below {high}: {number}")
    return number


def proportion(name: str, value: Number) -> Decimal:
    """Return a number in [0, 1].

    Raises
    ------
    ParameterError
        If it is not.
    """
    number = exact(name, value)
    if not 0 <= number <= 1:
        raise ParameterError(f"{name} must be in 0..1: {number}")
    return number


def integer(name: str, value: SupportsIndex, low: int, high: int) -> int:
    """Return a whole number in low..high.

    Raises
    ------
    ParameterError
        If it is none, or out of range.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise ParameterError(f"{name} must be a whole number") from None
    if isinstance(value, bool) or not low <= number <= high:
        raise ParameterError(f"{name} must be a whole number in {low}..{high}: {number}")
    return number


def path(name: str, value: str | os.PathLike[str]) -> Path:
    """Return where a file is.

    Raises
    ------
    ParameterError
        If it is no path.
    """
    try:
        return Path(value)
    except TypeError:
        raise ParameterError(f"{name} must be the path of a file") from None


def counts(name: str, values: Iterable[SupportsIndex]) -> tuple[int, ...]:
    """Return at least two whole numbers, none of them negative.

    Raises
    ------
    ParameterError
        If they are not.
    """
    checked = tuple(integer(name, value, 0, MAX_REPORTS) for value in values)
    if not 2 <= len(checked) <= MAX_VALUES:
        raise ParameterError(f"{name} must be one for each value, two at least: {len(checked)}")
    return checked
