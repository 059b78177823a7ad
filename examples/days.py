"""Four days of some of the people, whose answer changes: one epsilon for all of them together.

A device answers on each day; here the four days before today pass in a moment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from commands import run
from devices import Answers, Arrived, answer_all
from truth import Line, printed

from deniable.client import Client
from deniable.protocol.periods import midnight
from deniable.protocol.survey import Survey

HERE = Path(__file__).resolve().parent
START = "2026-01-01"
DAYS = 4
PEOPLE = 500
QUESTION = "seen"


def write_survey(file: Path) -> Path:
    """Write the survey, whose days are the last before today."""
    text = (HERE / "demo_days_survey.toml").read_text("utf-8")
    begins = datetime.now(UTC).date() - timedelta(days=DAYS)
    file.write_text(text.replace(START, begins.isoformat()), "utf-8")
    return file


def first_noon(survey: Survey) -> datetime:
    """Return noon of the first day."""
    horizon = survey.questions[QUESTION].horizon
    if horizon is None:
        raise ValueError(f"{QUESTION} has no horizon")
    return midnight(horizon.start) + timedelta(hours=12)


def course(answers: Answers) -> list[bool]:
    """Return, for each day, whether a person has seen a doctor by then, who did so often or not."""
    first = DAYS // (int(str(answers["visits"])) + 1)
    return [day >= first for day in range(DAYS)]


def answer_all_days(
    rows: Sequence[Answers], survey: Path, urls: Sequence[str], folder: Path
) -> Arrived:
    """Let every device go through all the days."""
    return answer_all(rows, survey, urls, folder, lambda: None, live_days)


def live_days(
    survey: Survey, answers: Answers, store: Path, urls: Iterable[str]
) -> tuple[int, int]:
    """Be one device on all the days, then send everything; as :class:`devices.Live`."""
    clock = _Clock(first_noon(survey))
    with Client(
        survey,
        next(iter(urls)),
        store=store,
        consent="on",
        strict=True,
        _clock=clock,
        _environ={},
    ) as client:
        for yes in course(answers):
            client.record(QUESTION, yes)
            clock.now += timedelta(days=1)
        client.flush(force=True)
        return client.status().sent, 1


class _Clock:
    """A clock that is set."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def counted(place: Path) -> int:
    """Return how many reports were released."""
    states = json.loads(run("deniable", "periods", "--from", place, "--format", "json"))["periods"]
    return sum(int(state["crowd"]) for state in states if state["question"] == QUESTION)


def beside_the_truth(place: Path, rows: Sequence[Answers]) -> float:
    """Print the estimates of every day beside the truth; return the worst error in SEs."""
    estimates = run("deniable", "estimate", QUESTION, "--from", place, "--all", "--format", "json")
    return printed(QUESTION, _lines(json.loads(estimates), rows))


def _lines(estimates: Sequence[dict[str, Any]], rows: Sequence[Answers]) -> Iterator[Line]:
    for day, estimate in enumerate(estimates):
        (item,) = estimate["estimates"]
        true = sum(course(row)[day] for row in rows) / len(rows)
        yield estimate["period"], true, item, item["frequency"]
