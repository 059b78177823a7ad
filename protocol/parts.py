"""Joint questions: two choice questions asked as one, over every pair of their choices.

What must never change: the symbol of a pair, ``i * len(second.choices) + j``, and the text that
stands for it, which both are in the question's hash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import ParameterError
from .normal import choice_form

BETWEEN = " / "
"""Between the choices of a pair."""


@dataclass(frozen=True)
class Part:
    """One of the questions that are asked together.

    Attributes
    ----------
    name : str
        Like a question's id.
    choices : tuple of str
        In order.
    """

    name: str
    choices: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Return the part as JSON."""
        return {"name": self.name, "choices": list(self.choices)}


def joint_choices(parts: Sequence[Part]) -> tuple[str, ...]:
    """Return the text that stands for each pair of choices, in the order of symbols.

    >>> joint_choices([Part("theme", ("dark", "light")), Part("plan", ("free", "pro"))])
    ('dark / free', 'dark / pro', 'light / free', 'light / pro')
    """
    one, two = parts
    return tuple(f"{a}{BETWEEN}{b}" for a in one.choices for b in two.choices)


def joint_symbol(name: str, parts: Sequence[Part], value: object) -> int:
    """Return the symbol of an answer: a choice by the name of each part, or one of each in order.

    Raises
    ------
    ParameterError
        If it is no answer. The message never contains the value.
    """
    names = " and ".join(part.name for part in parts)
    wanted = f"{name}: the value must have a choice for each of {names}"
    if isinstance(value, Mapping):
        if len(value) != len(parts) or any(part.name not in value for part in parts):
            raise ParameterError(wanted)
        given = [value[part.name] for part in parts]
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        if len(value) != len(parts):
            raise ParameterError(wanted)
        given = [value[at] for at in range(len(parts))]
    else:
        raise ParameterError(wanted)
    symbol = 0
    for part, choice in zip(parts, given, strict=True):
        form = choice_form(choice)
        if form is None or form not in part.choices:
            shown = ", ".join(part.choices[:8]) + (", …" if len(part.choices) > 8 else "")
            raise ParameterError(f"{name}: {part.name} must be one of its choices: {shown}")
        symbol = symbol * len(part.choices) + part.choices.index(form)
    return symbol
