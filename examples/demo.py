"""The whole path on real data: 20 190 devices, a collector, the estimates beside the truth.

Everything here is what a user would run: the client library in worker processes, the collector's
and the analyst's commands as processes of their own, HTTP between them.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniable.protocol.periods import period_at
from deniable.protocol.survey import Survey, load_survey

sys.path.append(str(Path(__file__).resolve().parent))  # python -P leaves it out

import days
from commands import run
from devices import Answers, Arrived, answer_all, device_folder, people
from embedded import Embedded
from truth import beside_the_truth

if TYPE_CHECKING:
    from cluster import Cluster

QUIET_BEFORE_PERIOD_END = timedelta(minutes=4)
LIMIT_IN_STANDARD_ERRORS = 6.0


@dataclass(frozen=True)
class Outcome:
    """What the demo found.

    Attributes
    ----------
    devices, expected, arrived : int
        How many devices there are, and reports of them.
    counted : bool
        Whether every estimate is of as many devices as there are.
    worst : float
        How far an estimate is off, in its own standard errors.
    """

    devices: int
    expected: int
    arrived: int
    counted: bool
    worst: float

    @property
    def good(self) -> bool:
        """Whether the demo shows what it is to show."""
        within = self.worst <= LIMIT_IN_STANDARD_ERRORS
        return self.arrived == self.expected and self.counted and within

    def __str__(self) -> str:
        if self.good:
            return f"every estimate is within {self.worst:.1f} standard errors of the truth"
        arrived = f"demo: {self.arrived} of {self.expected} reports"
        twice = "" if self.counted else ", not every device counted once"
        return f"{arrived}{twice}, worst estimate {self.worst:.1f} SEs off"


def main() -> int:
    """Run the demo and return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, help="only the first so many people")
    parser.add_argument(
        "--cluster",
        action="store_true",
        help="two collectors on PostgreSQL and Valkey, one of which is killed; sealed reports",
    )
    arguments = parser.parse_args()
    if arguments.devices is not None and arguments.devices < 1:
        parser.error("--devices must be at least 1")
    stop_in_good_order()
    rows = people(arguments.devices)
    with (
        tempfile.TemporaryDirectory(prefix="deniable-demo-") as folder,
        opened(Path(folder), arguments.cluster, len(rows)) as collector,
    ):
        outcome = show(collector, rows)
    if arguments.cluster and outcome.good:
        click.echo(f"each of {outcome.devices} devices counts once: nothing lost, nothing twice")
    click.echo(outcome)
    return 0 if outcome.good else 1


def stop_in_good_order() -> None:
    """Let what was started be stopped also if the demo is told to end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: sys.exit(128 + number))


@contextmanager
def opened(folder: Path, cluster: bool, devices: int) -> Iterator[Embedded | Cluster]:
    """Yield what takes the reports; what it needs is stopped at the end."""
    if cluster:
        from cluster import Cluster

        with Cluster(folder, devices) as several:
            yield several
    else:
        yield Embedded(folder)


def show(collector: Embedded | Cluster, rows: Sequence[Answers]) -> Outcome:
    """Let everybody answer, release, and print the estimates beside the truth."""
    survey = load_survey(collector.survey)
    wait_out_period_end(survey)
    begin, some = time.monotonic(), rows[: days.PEOPLE]
    with (
        tempfile.TemporaryDirectory(prefix="deniable-devices-", dir=device_folder()) as folder,
        collector.serving() as urls,
    ):
        arrived = answer_all(rows, collector.survey, urls, Path(folder), collector.halfway)
        changing = Arrived()
        if collector.days is not None:
            changing = days.answer_all_days(some, collector.days, urls, Path(folder))
    expected = len(rows) * len(survey.questions)
    seconds = time.monotonic() - begin
    click.echo(f"{arrived.reports} of {expected} reports arrived in {seconds:.0f} s")
    if arrived.moved:
        click.echo(f"{arrived.moved} devices found a collector gone and went to the other")
    asked = [survey] if collector.days is None else [survey, load_survey(collector.days)]
    collector.release(f"{closing(asked):%Y-%m-%dT%H:%M:%SZ}")
    worst, counted = 0.0, True
    for name, question in survey.questions.items():
        place = collector.tallies(name)
        found = "estimate" if question.text is None else "heavy-hitters"
        estimate = json.loads(run("deniable", found, name, "--from", place, "--format", "json"))
        counted &= estimate["n"] == len(rows)
        worst = max(worst, beside_the_truth(question, estimate, rows))
        if question.parts:
            click.echo(run("deniable", "crosstab", name, "--from", place))
    if collector.days is not None:
        counted &= days.counted(collector.tallies(days.QUESTION)) == changing.reports
        worst = max(worst, days.beside_the_truth(collector.tallies(days.QUESTION), some))
    print_costs(survey)
    return Outcome(len(rows), expected, arrived.reports, counted, worst)


def closing(surveys: Sequence[Survey]) -> datetime:
    """Return the moment at which every question's present period has closed."""
    now = datetime.now(UTC)
    every = [question for survey in surveys for question in survey.questions.values()]
    return max(question.closes(period_at(question.period, now)) for question in every)


def wait_out_period_end(survey: Survey) -> None:
    """Begin after a period's end rather than let it cut the population in two."""
    kinds = {question.period for question in survey.questions.values()}
    for kind in kinds:
        left = period_at(kind, datetime.now(UTC)).end - datetime.now(UTC)
        if left < QUIET_BEFORE_PERIOD_END:
            click.echo(f"the {kind} ends in {left.seconds} s; waiting for the next one")
            time.sleep(left.total_seconds() + 1)


def print_costs(survey: Survey) -> None:
    """Print how many users yes/no, choices and numbers need, and what a year of them costs."""
    for question in survey.questions.values():
        if question.type not in ("boolean", "choice", "number"):
            continue
        mechanism = question.mechanism
        flags = ["--epsilon", f"{question.epsilon}", "--values", str(mechanism.k)]
        flags += ["--mechanism", mechanism.name]
        if question.epsilon_first is not None:
            flags += ["--epsilon-first", f"{question.epsilon_first}"]
        click.echo(run("deniable", "users-needed", *flags, "--margin", "0.01"))
        click.echo(run("deniable", "total-epsilon", *flags, "--days", "52"))


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())
