"""What a collector knows of its surveys, and how it hears of what another process has loaded.

What must never change: nothing is refused as unknown before the store was asked, for a device does
not send again what was refused.
"""

from __future__ import annotations

import time

from deniable.protocol.errors import StoreError
from deniable.protocol.periods import Period

from .catalogue import Catalogue
from .outages import Outages
from .problems import HTTPProblem
from .rules import Rules
from .store import Store
from .store.base import Reader
from .turns import Turns

_MAX_RULES = 1024
_MAX_LOOKS = 10
"""How often a second the store is asked about surveys that nobody here knows."""


class Editions:
    """The newest catalogue of a store that this process has read, and the rules made of it.

    Parameters
    ----------
    store : Store
    reader : Reader
        Of that store, for the first look.
    outages : Outages

    Attributes
    ----------
    catalogue : Catalogue
        Replaced, never changed.
    """

    def __init__(self, store: Store, reader: Reader, outages: Outages) -> None:
        self._store = store
        self._outages = outages
        self._rules: dict[tuple[str, str], Rules] = {}
        self._edition, self.catalogue = reader.edition(), Catalogue.read(reader)
        self._turns = Turns("the store")
        self._looked = time.monotonic()
        self._fault: str | None = None
        self._looks = 0, 0

    def learn(self) -> None:
        """Read the catalogue again if any process changed it before this was called.

        All who ask while one looks at the store share the next look, and its failure; no one waits
        for a store that does not answer.

        Raises
        ------
        StoreError
        """
        asked = time.monotonic()
        with self._turns.turn():
            if self._looked < asked:
                self._looked = time.monotonic()
                self._fault = self._look()
                self._outages.tell("reading the surveys", self._fault)
            if self._fault is not None:
                raise StoreError(self._fault)

    def knows(self, survey: str) -> bool:
        """Return whether any process knows a survey.

        Raises
        ------
        StoreError
            If the survey is not known here, and the store cannot be asked.
        HTTPProblem
            429 if it was asked too often.
        """
        if survey not in self.catalogue.surveys:
            self._count_look()
            self.learn()
        return survey in self.catalogue.surveys

    def rules(self, survey: str, period: Period) -> Rules:
        """Return the rules for a period of a survey that is known."""
        key = (survey, period.key)
        made = self._rules  # before the catalogue is read, so that old rules join no newer ones
        rules = made.get(key)
        if rules is None:
            if len(made) >= _MAX_RULES:
                made = self._rules = {}
            rules = made[key] = Rules(self.catalogue, survey, period)
        return rules

    def _count_look(self) -> None:
        """Count a look, and refuse what is more than there may be in a second."""
        second = int(time.monotonic())
        before, looks = self._looks
        if before != second:
            looks = 0
        if looks >= _MAX_LOOKS:
            text = "more surveys are asked for that nobody loaded than are looked up; wait"
            raise HTTPProblem(429, text, {"Retry-After": "1"})
        self._looks = second, looks + 1

    def _look(self) -> str | None:
        """Read the catalogue again if it changed; return why it cannot be read, or None."""
        try:
            with self._store.read() as reader:
                edition = reader.edition()
                if edition != self._edition:
                    self.catalogue = Catalogue.read(reader)
                    self._rules = {}
                    self._edition = edition
        except StoreError as exc:
            return str(exc)
        return None
