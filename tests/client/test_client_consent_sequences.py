"""Whatever happens in whatever order: what a collector hears was recorded after the latest yes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from client_kit import NOON, Clock, Collector, choice, collector, rows, survey
from hypothesis import example, given
from hypothesis import strategies as st

from deniable.client import Client
from deniable.client.uploader import Uploader
from deniable.protocol.derivation import permanent_response
from deniable.protocol.periods import parse_period

SIDES = [f"side {number}" for number in range(256)]
WIDE = {"mechanism": "oue", "grace": 5}
ASKED = survey(
    {"linkable": True},
    daily=choice(*SIDES, **WIDE),
    often=choice(*SIDES, default=SIDES[0], **WIDE),
    once=choice(*SIDES, period="once", mechanism="oue"),
)
MODES = ("ask", "on", "off")


@dataclass
class World:
    """A device, its person, and what a collector may hear of them.

    Attributes
    ----------
    given : dict
        When each response was recorded, in steps, by question and response. Every answer is
        another one, and responses of 256 bits differ.
    yes : int
        The step of the latest yes; ``moment`` is what the clock showed then.
    """

    folder: Path
    heard: Collector
    clock: Clock = field(default_factory=Clock)
    mode: Any = "ask"
    decision: str | None = None
    step: int = 0
    yes: int = 0
    moment: datetime = NOON
    read: int = 0
    given: dict[tuple[str, Any], int] = field(default_factory=dict)
    sendable: set[tuple[str, str]] = field(default_factory=set)
    sides: Iterator[str] = field(default_factory=lambda: iter(SIDES[1:]))
    client: Any = None

    @property
    def consent(self) -> str:
        return self.decision or self.mode

    def start(self) -> Client:
        return Client(
            ASKED,
            self.heard.url,
            self.folder / "acme.db",
            consent=self.mode,
            strict=True,
            _clock=self.clock,
        )

    def record(self, name: str, *, wait: bool = True) -> None:
        side, question = next(self.sides), ASKED.questions[name]
        ((secret,),) = rows(self.folder / "acme.db", "SELECT secret FROM device")
        response = permanent_response(secret, question, question.encode(side))
        assert response is not None
        self.given[name, question.mechanism.shape.pack(response)] = self.step
        if self.consent == "on":
            period = "once" if name == "once" else self.clock.now.date().isoformat()
            self.sendable.add((period, name))
        self.client.record(name, side, wait=wait)

    def decide(self, decision: str, *, elsewhere: bool) -> None:
        decider = self.start() if elsewhere else self.client
        self.become(self.mode, decision)
        assert (decider.opt_in if decision == "on" else decider.opt_out)()
        if elsewhere:
            decider.close()

    def become(self, mode: str, decision: str | None) -> None:
        before = self.consent
        self.mode, self.decision = mode, decision
        if self.consent == "on" != before:
            self.yes, self.moment = self.step, self.clock.now

    def restart(self, mode: str) -> None:
        self.client.close()
        self.become(mode, self.decision)
        self.client = self.start()

    def check(self) -> None:
        """Look at what arrived in this step."""
        for period, name, response in self.heard.reports[self.read :]:
            assert self.consent == "on"
            recorded = self.given.get((name, response))
            if recorded is None:
                assert name == "often"
                assert parse_period(period).end >= self.moment
            else:
                assert recorded > self.yes
        answered = [(period, name) for period, name, _ in self.heard.reports]
        assert len(answered) == len(set(answered))
        self.read = len(answered)


ACTS: dict[str, Any] = {
    **{f"record {name}": lambda w, n=name: w.record(n) for name in ASKED.questions},
    "record daily later": lambda w: w.record("daily", wait=False),
    "yes": lambda w: w.decide("on", elsewhere=False),
    "no": lambda w: w.decide("off", elsewhere=False),
    "yes elsewhere": lambda w: w.decide("on", elsewhere=True),
    "no elsewhere": lambda w: w.decide("off", elsewhere=True),
    **{f"restart, {mode}": lambda w, m=mode: w.restart(m) for mode in MODES},
    "hours pass": lambda w: w.clock.advance(timedelta(hours=7)),
    "days pass": lambda w: w.clock.advance(timedelta(days=2)),
    "flush": lambda w: w.client.flush(),
    "flush all": lambda w: w.client.flush(force=True),
    "the thread looks": lambda w: w.client._engine._uploader._round(),
}


@pytest.fixture(scope="module")
def listening() -> Iterator[Collector]:
    """A collector, and no thread that sends: that is an act, so that each is over when it ends."""
    with collector() as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Uploader, "wake", lambda uploader: None)
        yield server


@given(acts=st.lists(st.sampled_from(sorted(ACTS)), min_size=4, max_size=16))
@example(acts=["record daily", "record once", "yes", "flush all", "record once", "flush all"])
@example(acts=["restart, on", "record daily", "restart, ask", "restart, on", "flush all"])
@example(acts=["hours pass", "hours pass", "yes", "flush all", "days pass", "flush all"])
@example(acts=["record daily", "no elsewhere", "yes elsewhere", "record daily", "flush all"])
@example(acts=["yes", "record daily later", "no", "yes", "flush all", "flush all"])
def test_what_is_heard_was_recorded_after_the_latest_yes(
    listening: Collector, tmp_path_factory: pytest.TempPathFactory, acts: list[str]
) -> None:
    """Or it is the default of a period that ended after it; and after a yes, answers are heard."""
    listening.requests.clear()
    numbered = itertools.count(1)
    world = World(tmp_path_factory.mktemp("device"), listening)
    world.client = world.start()
    with ExitStack() as stack:
        stack.callback(lambda: world.client.close())
        for act in acts:
            world.step = next(numbered)
            ACTS[act](world)
            world.check()
        world.step = next(numbered)
        world.decide("on", elsewhere=False)
        world.check()
        world.step = next(numbered)
        today = world.clock.now.date().isoformat()
        for period, name in ((today, "daily"), ("once", "once")):
            new = (period, name) not in world.sendable
            world.record(name)
            world.client.flush(force=True)
            world.check()
            assert not new or (period, name) in {report[:2] for report in world.heard.reports}
