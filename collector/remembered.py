"""What left the shuffler, remembered beside the keys: so an older copy of the database is known.

While a period's key lives, for a question with a longer grace or the next batch of a ``once``
question, a copy of the database from before a release could be released again, and what two
versions of a tally differ by would be told. So the key store, of which there is no copy, bears a
name for all that left. What must never change: these names, that they are there after a release
whose scope stays open, and that they go after the scope's key, never before it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from .catalogue import Catalogue
from .keystore.base import KeyStore
from .keystore.checks import KEY_BYTES
from .store.base import Reader, Scope

PREFIX = "collector.left."
"""A scope's name has two parts or four, and no ``left`` for its period."""

_NAME = re.compile(
    r"collector\.left\.([a-z0-9_-]+)\.([0-9W-]+|once)\.([a-z0-9_-]+)\.([0-9]+)(?:\.([0-9W-]+))?"
)


class Remembered(NamedTuple):
    """What left at once: a question version in a period, every segment of it, as which batch."""

    survey: str
    period: str
    question: str
    version: int
    batch: str

    @property
    def name(self) -> str:
        """What it is called in the key store."""
        parts = (self.survey, self.period, self.question, str(self.version), self.batch)
        return PREFIX + ".".join(filter(None, parts))

    @property
    def scope(self) -> Scope:
        """The scope it left."""
        if self.period == "once":
            return Scope(self.survey, self.period, self.question, self.version)
        return Scope(self.survey, self.period)


def remembered(places: KeyStore) -> set[Remembered]:
    """Return what a key store remembers."""
    found = filter(None, map(_NAME.fullmatch, places.names()))
    return {Remembered(m[1], m[2], m[3], int(m[4]), m[5] or "") for m in found}


def settled(store: Reader, catalogue: Catalogue, scopes: Collection[Scope]) -> set[Remembered]:
    """Return what left these scopes according to the database."""
    places = [(entry.id, scope.period) for scope in scopes for entry in catalogue.within(scope)]
    found = set()
    for number, period, batch in store.left(places):
        question = catalogue.by_id[number].question
        one = Remembered(question.survey, period, question.id, question.version, batch or "")
        found.add(one)
    return found


def stale_scopes(store: Reader, catalogue: Catalogue, places: KeyStore) -> set[Scope]:
    """Return the open scopes of which more has left than the database knows: it is a copy."""
    scopes = set(store.open_scopes())
    lost = remembered(places) - settled(store, catalogue, scopes)
    return {one.scope for one in lost} & scopes


def remember(places: KeyStore, left: Collection[Remembered]) -> None:
    """Remember what left, durably."""
    for one in sorted(left):
        places.put_if_absent(one.name, bytes(KEY_BYTES))


def forget(places: KeyStore, gone: Collection[Remembered]) -> None:
    """Remember no longer what left scopes whose keys are destroyed."""
    for one in sorted(gone):
        places.delete(one.name)
