"""Answers to try a question with: all of them where they are few enough, else some of every kind.

For rehearsals and audits, which have to know what can be answered without being told.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from .question import Question
from .text_form import TextForm

Specimen = bool | str | Decimal | Fraction | tuple[str, ...]

_TEXTS = 24


def specimens(question: Question) -> tuple[Specimen, ...]:
    """Return answers that :meth:`~deniable.protocol.question.Question.encode` takes, all different.

    Of a yes/no, a choice, a pair or a number all there are, in the order of their symbols. Of a set
    the empty one, each item by itself, the first so many items up to more than count, and all. Of
    texts some of different letters and lengths, and one that does not fit.
    """
    if question.text is not None:
        return _texts(question.text)
    if question.range is not None:
        steps = question.range.steps
        return tuple(question.range.at(Fraction(step, steps)) for step in range(steps + 1))
    if question.parts:
        one, two = question.parts
        return tuple((a, b) for a in one.choices for b in two.choices)
    if question.max_items is not None:
        return _sets(question.choices, question.max_items)
    return (False, True) if question.type == "boolean" else question.choices


def _sets(choices: tuple[str, ...], most: int) -> tuple[tuple[str, ...], ...]:
    singles = [(choice,) for choice in choices]
    growing = [choices[:size] for size in range(2, min(most + 1, len(choices)) + 1)]
    return tuple(dict.fromkeys([(), *singles, *growing, choices]))


def _texts(form: TextForm) -> tuple[str, ...]:
    """Return texts evenly spread over all numbers there are; the last does not fit."""
    count = min(_TEXTS, form.size)
    numbers = (at * (form.size - 1) // (count - 1) for at in range(count))
    texts = (form.decode(number) for number in numbers)
    too_long = form.alphabet[0] * (form.max_length + 1)
    fitting = (text for text in texts if text and form.code(text) is not None)
    return (*dict.fromkeys(fitting), too_long)
