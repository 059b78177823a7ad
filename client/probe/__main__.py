"""The far end of an audit: run in the audited environment, told what to do line by line.

``python -P -m deniable.client.probe SURVEY FOLDER`` reads one JSON object a line, ``{"do": ...}``,
and answers each with one line, ``{"error": "..."}`` if it cannot. Whoever audits an installed
client runs this of that very installation, as a process of its own. What must never change:
importing :mod:`deniable.client` does not load this module, and nothing here decides how a
device answers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from deniable.protocol.errors import DeniableError, ParameterError
from deniable.protocol.horizon import Horizon
from deniable.protocol.proofs.leakage import leakage
from deniable.protocol.question import Question
from deniable.protocol.survey import load_survey

from ..client import Client
from . import histories, rehearsal
from .described import described
from .lifetime import EVENTS, Day, Lifetime, listening

Document = dict[str, Any]


class Probe:
    """One survey, one folder for the stores of devices, and what can be asked about them."""

    def __init__(self, survey_path: Path, folder: Path) -> None:
        self._survey_path = survey_path
        self._survey = load_survey(survey_path)
        self._folder = folder
        self._made = 0

    def obey(self, order: Document) -> Document:
        """Do what one line says.

        Raises
        ------
        DeniableError
            If it cannot be done.
        """
        act = _ORDERS.get(str(order.pop("do", "")))
        if act is None:
            raise ParameterError(f"do must be one of {', '.join(_ORDERS)}")
        return act(self, **order)

    def describe(self) -> Document:
        """Say what is audited: versions, place, and every question as it was resolved here."""
        return described(self._survey)

    def sample(self, count: int, days: list[Document], broken: bool = False) -> Document:
        """Let new devices live, answer the same, and return what would leave them.

        Parameters
        ----------
        count : int
            How many devices.
        days : list of dict
            For each period, the answers by question.
        broken : bool
            Break the randomizer on purpose.
        """
        if broken:
            with rehearsal.broken(self._survey):
                return self.sample(count, days)
        asked = [self._values(day) for day in days]
        return {"devices": [self._device(asked) for _ in range(count)]}

    def lives(self, plans: list[list[Document]]) -> Document:
        """Let a new device live for each plan, and return its secret too.

        Parameters
        ----------
        plans : list of list of dict
            For each device, for each period, the answers by question.
        """
        asked = [[self._values(day) for day in days] for days in plans]
        return {"devices": [self._device(days, secrets=True) for days in asked]}

    def live(self, plans: list[list[Document]]) -> Document:
        """Let a new device live through the days of each plan; return what they sent.

        Parameters
        ----------
        plans : list of list of dict
            For each device, for each day, ``answers`` by question and ``events`` before them.
        """
        lived = []
        with listening() as ear:
            for days in plans:
                self._made += 1
                name = f"life-{self._made}"
                life = Lifetime(self._survey_path, self._folder, name, ear.url)
                lived.append(life.live([self._day(**day) for day in days], ear))
                for store in self._folder.glob(f"{name}-*"):
                    store.unlink()
        return {"lives": lived}

    def _day(self, answers: Document, events: list[str]) -> Day:
        if unknown := set(events).difference(EVENTS):
            raise ParameterError(f"events must be of {', '.join(EVENTS)}: {min(unknown)}")
        return Day(self._values(answers), answers, tuple(events))

    def answer(self, store: str, moment: str, answers: Document) -> Document:
        """Answer on a device that other processes have open too."""
        now = datetime.fromisoformat(moment)
        clock = rehearsal.Hand(now)
        with Client(
            self._survey, rehearsal.NOWHERE, store, "on", strict=True, _clock=clock, _environ={}
        ) as client:
            for name, value in self._values(answers).items():
                client.record(name, value)
        return {}

    def leakage(self, question: str) -> Document:
        """Return the largest ratios of one question's mechanism, from the code that is here."""
        found = leakage(self._question(question).mechanism)
        return {
            "permanent": _fraction(found.permanent),
            "report": _fraction(found.report),
            "by": found.by,
        }

    def draws(self, kind: str, material: list[str], calls: list[list[Any]]) -> Document:
        """Return what draws decide from given bytes, which come in hex."""
        known = [bytes.fromhex(each) for each in material]
        return {"answers": rehearsal.decided(kind, known, [(call, n) for call, n in calls])}

    def histories(self, question: str, plans: list[list[tuple[int, Any]]]) -> Document:
        """Let a new device go through the horizon of a question for each plan, if clocks can.

        Parameters
        ----------
        question : str
        plans : list of list of [int, value]
            For each device, the periods in which it records something, and what.
        """
        asked = self._question(question)
        if asked.horizon is None:
            raise ParameterError(f"question: {question} has no horizon")
        if not histories.passable(asked, asked.horizon):
            return {"devices": []}
        return {"devices": [self._history(asked, asked.horizon, plan) for plan in plans]}

    def _history(
        self, question: Question, horizon: Horizon, plan: list[tuple[int, Any]]
    ) -> Document:
        answers = [(t, self._value(question.id, value)) for t, value in plan]
        with self._store() as store:
            reports = histories.go_through(self._survey, question, horizon, store, answers)
            return {"secret": rehearsal.secret_of(store), "reports": reports}

    def _device(self, days: list[Document], secrets: bool = False) -> Document:
        with self._store() as store:
            reports = rehearsal.live(self._survey, store, days)
            kept: Document = {"secret": rehearsal.secret_of(store)} if secrets else {}
            return {**kept, "reports": reports}

    @contextmanager
    def _store(self) -> Iterator[Path]:
        """Give a new device's store a place, for as long as it lives."""
        self._made += 1
        store = self._folder / f"device-{self._made}.db"
        try:
            yield store
        finally:
            for left in (store, store.with_name(f"{store.name}-journal")):
                left.unlink(missing_ok=True)

    def _values(self, answers: Document) -> Document:
        """Return answers as an app would give them; numbers come as the text of a fraction."""
        return {name: self._value(name, value) for name, value in answers.items()}

    def _value(self, name: str, value: object) -> object:
        question = self._question(name)
        return Fraction(str(value)) if question.type == "number" else value

    def _question(self, name: str) -> Question:
        if name not in self._survey.questions:
            raise ParameterError(f"question: the survey has no such question: {name}")
        return self._survey.questions[name]


def _fraction(number: Fraction | None) -> list[str] | None:
    """Write a rational as text, for it has more digits than a number in JSON."""
    return None if number is None else [str(number.numerator), str(number.denominator)]


_ORDERS: dict[str, Callable[..., Document]] = {
    "describe": Probe.describe,
    "sample": Probe.sample,
    "lives": Probe.lives,
    "live": Probe.live,
    "histories": Probe.histories,
    "answer": Probe.answer,
    "leakage": Probe.leakage,
    "draws": Probe.draws,
}


def main(arguments: list[str]) -> int:
    """Obey every line of stdin until it ends."""
    try:
        survey, folder = arguments
        probe = Probe(Path(survey), Path(folder))
    except (ValueError, DeniableError) as exc:
        _say({"error": _in_a_line(exc)})
        return 1
    for line in sys.stdin:
        try:
            _say(probe.obey(json.loads(line)))
        except Exception as exc:
            _say({"error": _in_a_line(exc)})
    return 0


def _in_a_line(exc: Exception) -> str:
    text = " ".join(str(exc).split())
    return text if isinstance(exc, DeniableError) else f"{type(exc).__name__}: {text}"


def _say(document: Document) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
