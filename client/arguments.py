"""What an app hands to its client, read with care: anything can come, and a mistake is named.

What must never change: no message repeats what was handed over.
"""

from __future__ import annotations

import math
import os
from decimal import Decimal
from numbers import Real
from pathlib import Path

from deniable.protocol.errors import ParameterError
from deniable.protocol.survey import Survey, load_survey


def survey_of(survey: object) -> Survey:
    """Return a survey, loaded if it is the path of one.

    Raises
    ------
    ParameterError
        If it is neither, or a survey with mistakes.
    """
    return survey if isinstance(survey, Survey) else load_survey(path_of("survey", survey))


def path_of(name: str, path: object) -> Path:
    """Return an absolute path.

    Raises
    ------
    ParameterError
        If it is none that any file could have.
    """
    try:
        text = os.fspath(path)  # type: ignore[call-overload]
        if isinstance(text, str) and b"\0" not in os.fsencode(text):
            return Path(text).absolute()
    except Exception:  # no path, not to be encoded, or no folder that it would be relative to
        pass
    raise ParameterError(f"{name} must be the path of a file, as text or Path")


def seconds_of(timeout: object) -> float:
    """Return a number of seconds.

    Raises
    ------
    ParameterError
        If it is no number, or not finite.
    """
    seconds = math.nan
    if isinstance(timeout, (Real, Decimal)) and not isinstance(timeout, bool):
        try:
            seconds = float(timeout)
        except (ArithmeticError, ValueError):  # beyond every float, or a signalling NaN
            pass
    if not math.isfinite(seconds):
        raise ParameterError("timeout must be a number of seconds, and finite, such as 1.0")
    return seconds


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
