"""What an app hands to its client, read with care: anything can come, and a mistake is named.

What must never change: no message repeats what was handed over; and its type is looked at, not what
it says it is.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import TypeVar, cast

from deniable.protocol.errors import DeniableError, ParameterError
from deniable.protocol.survey import Survey, load_survey

from .foreign import interrupts

T = TypeVar("T")


def read(name: str, check: Callable[[], T]) -> T:
    """Return what a check makes of an argument, of whatever kind that is.

    Raises
    ------
    ParameterError
        If it is a mistake, or fails while it is looked at.
    """
    try:
        return check()
    except DeniableError:
        raise
    except Exception as exc:
        if interrupts(exc):
            raise
    raise ParameterError(f"{name} cannot be used: it fails when it is looked at")


def survey_of(survey: object) -> Survey:
    """Return a survey, loaded if it is the path of one.

    Raises
    ------
    ParameterError
        If it is neither, or a survey with mistakes.
    """
    if issubclass(type(survey), Survey):
        return cast("Survey", survey)
    return load_survey(path_of("survey", survey))


def path_of(name: str, path: object) -> Path:
    """Return an absolute path.

    Raises
    ------
    ParameterError
        If it is none that any file could have.
    """
    with suppress(Exception):  # no path, not to be encoded, or relative to a folder that is gone
        text = os.fspath(cast("os.PathLike[str]", path))
        if b"\0" not in os.fsencode(text):
            return Path(text).absolute()  # which takes no bytes
    raise ParameterError(f"{name} must be the path of a file, as text or Path")


def seconds_of(timeout: object) -> float:
    """Return a number of seconds, 0 for less.

    Raises
    ------
    ParameterError
        If it is no number, or not finite.
    """
    seconds, kind = math.nan, type(timeout)
    if kind is not bool and issubclass(kind, (Real, Decimal)):
        with suppress(ArithmeticError, ValueError):  # beyond every float, or a signalling NaN
            seconds = float(cast("Real", timeout))
    if not math.isfinite(seconds):
        raise ParameterError("timeout must be a number of seconds, and finite, such as 1.0")
    return max(0.0, seconds)


def flag_of(name: str, value: object) -> bool:
    """Return yes or no.

    Raises
    ------
    ParameterError
        If it is neither true nor false, such as an array.
    """
    try:
        return bool(value)
    except Exception:
        raise ParameterError(f"{name} must be True or False") from None
