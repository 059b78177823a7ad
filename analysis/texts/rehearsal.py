"""Which strings of a truth are estimated when a survey is rehearsed: the most frequent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import nlargest

from deniable.protocol.text_form import OTHER, TextForm

SHOWN = 100
"""Strings of one question beside which their estimates are set."""


def most_frequent(form: TextForm, shares: Mapping[int, float]) -> list[str]:
    """Return the strings with the largest shares, the largest first."""
    fitting = (code for code in shares if code != OTHER)
    return [form.decode(code) for code in nlargest(SHOWN, fitting, key=shares.__getitem__)]


def not_all(question: str, shares: Mapping[int, float]) -> Iterator[str]:
    """Say how many strings of a truth are left out."""
    strings = len(shares) - (OTHER in shares)
    if strings > SHOWN:
        yield f"{question}: the {SHOWN} most frequent of {strings:,} strings are named."
