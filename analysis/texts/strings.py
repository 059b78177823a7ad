"""The strings that an analyst names: in the form that devices give them, each once.

What is estimated is of normalised strings, so two that look alike to devices are one; and all
that do not fit the form of the question are counted together, under a name that none can have.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from deniable.protocol.errors import ParameterError, SurveyError
from deniable.protocol.problems import Problem
from deniable.protocol.text_form import OTHER, TextForm

MAX_STRINGS = 10**6
MAX_BYTES = 1 << 28
STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Strings:
    """Strings by the numbers that devices give them.

    Attributes
    ----------
    names : tuple of str
        Normalised; the last one stands for all that do not fit.
    codes : tuple of int
        Of each, all different; the last is :data:`OTHER`.
    """

    names: tuple[str, ...]
    codes: tuple[int, ...]


def named(form: TextForm, strings: Iterable[str]) -> Strings:
    """Check strings against the form of a question.

    Parameters
    ----------
    form : TextForm
    strings : iterable of str
        Written in any way that the form normalises.

    Raises
    ------
    SurveyError
        With every string that does not fit or comes twice, by its place, from line 1 on.
    """
    found: dict[int, int] = {}
    problems = []
    for line, string in enumerate(strings, start=1):
        if line > MAX_STRINGS:
            raise ParameterError(f"strings must be at most {MAX_STRINGS}; name fewer")
        code = form.code(string)
        if code is None:
            problems.append(_unfit(line, form))
        elif code in found:
            same = f"is to devices the same string as line {found[code]}"
            problems.append(Problem(f"line {line}", same, "remove one"))
        else:
            found[code] = line
    if problems:
        raise SurveyError(problems)
    if not found:
        raise ParameterError("strings must hold at least one; write one a line")
    return Strings((*map(form.decode, found), other_name(form)), (*found, OTHER))


def _unfit(line: int, form: TextForm) -> Problem:
    problem = (
        f"does not fit the question: 1 to {form.max_length} letters of its alphabet "
        f"{_shown(form.alphabet)}"
    )
    return Problem(f"line {line}", problem, "correct or remove it; devices count it as other")


def _shown(alphabet: str) -> str:
    return f'"{alphabet}"' if len(alphabet) <= 40 else f'"{alphabet[:40]}…"'


def other_name(form: TextForm) -> str:
    """Return what stands for all texts that do not fit; a text of that form never does.

    >>> other_name(TextForm("abc", 5, True))
    '(other)'
    """
    name = "(other)"
    while form.code(name) is not None:
        name = f"({name})"
    return name


def read_strings(path: str | PathLike[str]) -> list[str]:
    """Read one string a line, in UTF-8; ``-`` is standard input.

    Raises
    ------
    ParameterError
        If it cannot be read, or is not UTF-8.
    """
    where = "standard input" if path == STANDARD_INPUT else str(path)
    try:
        raw = _bytes(path)
        if len(raw) > MAX_BYTES:
            raise ParameterError(f"{where} has more than {MAX_BYTES} bytes; name fewer strings")
        text = raw.decode("utf-8-sig")
    except OSError as exc:
        raise ParameterError(f"{where} cannot be read ({exc.strerror}); check the path") from exc
    except UnicodeDecodeError as exc:
        raise ParameterError(f"{where} is not UTF-8 ({exc.reason}); save it as that") from exc
    return list(_lines(text))


def _bytes(path: str | PathLike[str]) -> bytes:
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    with Path(path).open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _lines(text: str) -> Iterator[str]:
    """Yield the lines as editors number them; the last one needs no end."""
    for line in text.removesuffix("\n").split("\n"):
        yield line.removesuffix("\r")
