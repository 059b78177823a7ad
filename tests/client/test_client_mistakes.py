"""Wrong arguments, and values that misbehave: each is counted or raised, and silences nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from client_kit import choice, question, responses, survey

from deniable.client import Client
from deniable.client.arguments import seconds_of
from deniable.client.engine import Engine
from deniable.client.testing import MemoryClient
from deniable.protocol.errors import ParameterError, StoreError

TWO = survey(dark=question(), theme=choice("red", "green"))


class Absent:
    """Stands for an object that is not there, as web frameworks have them."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        raise RuntimeError("working outside of request context")

    def __bool__(self) -> bool:
        raise RuntimeError("working outside of request context")


class Sly(dict[str, object]):
    """A mapping whose items cannot be had."""

    def items(self) -> Any:
        raise KeyError("the true value")


ABSENT: Any = Absent()
NEITHER: Any = np.array([1, 2])
WRONG_TIMEOUTS: list[Any] = ["1", None, math.nan, math.inf, 10**400, True, [1], ABSENT]
WRONG_TIMEOUTS += [Decimal("sNaN"), Decimal("Infinity"), Decimal("1e999")]


# --- how long, and whether


@pytest.mark.parametrize("which", range(len(WRONG_TIMEOUTS)))
def test_a_wrong_timeout_silences_nothing(start: Any, which: int) -> None:
    timeout = WRONG_TIMEOUTS[which]
    client, strict = start(TWO, consent="on", strict=False), start(TWO, consent="on")
    client.record("dark", True)
    assert client.flush(timeout=timeout).kept == 1
    with pytest.raises(ParameterError, match="timeout must be a number of seconds"):
        strict.flush(timeout=timeout)
    assert (client.status().state, strict.status().state) == ("on", "on")


def test_no_mistake_of_the_app_ends_the_client(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it is noticed."""
    client, strict = start(TWO, strict=False), start(TWO)

    def fail(*arguments: object, **options: object) -> None:
        raise ParameterError("an argument")

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "flush", fail)
        assert client.flush().kept == 0
        with pytest.raises(ParameterError):
            strict.flush()
    assert (client.status().state, strict.status().state) == ("local", "local")


@pytest.mark.parametrize(
    "timeout", [0, 2, 0.5, Decimal("0.5"), Fraction(1, 2), np.float32(0.5), np.int8(1), -1, 1e300]
)
def test_every_finite_number_is_a_timeout(start: Any, timeout: Any) -> None:
    assert seconds_of(timeout) == max(0.0, float(timeout))
    client = start(TWO, consent="on")
    client.record("dark", True)
    assert client.flush(timeout=timeout).kept == 1


def test_what_is_neither_true_nor_false_silences_nothing(start: Any) -> None:
    client, strict = start(TWO, strict=False), start(TWO)
    client.record("dark", True, wait=NEITHER)
    client.flush(force=NEITHER)
    with pytest.raises(ParameterError, match=r"^wait must be True or False$"):
        strict.record("theme", "red", wait=NEITHER)
    with pytest.raises(ParameterError, match=r"^force must be True or False$"):
        strict.flush(force=NEITHER)
    status = strict.status()
    assert (client.status().state, status.state, status.queued) == ("local", "local", 1)


# --- values


@pytest.mark.parametrize("name", ["dark", "theme", "nothing"])
def test_what_fails_when_it_is_looked_at_is_a_wrong_value(start: Any, name: str) -> None:
    given = (ABSENT, True) if name == "nothing" else (name, ABSENT)
    client, strict = start(TWO, strict=False), start(TWO)
    client.record(*given)
    client.record(*given, wait=False)
    assert client.preview(*given) is None
    client.record("dark", True)
    status = client.status()
    assert (status.state, status.queued, status.dropped) == ("local", 1, {"wrong_value": 2})
    with pytest.raises(ParameterError, match="cannot be read; pass plain ones") as caught:
        strict.record(*given)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("value", [False, True])
def test_numpys_truth_is_one(start: Any, store: Path, value: bool) -> None:
    client = start(survey(dark=question(epsilon=Decimal(16))))
    client.record("dark", np.bool_(value))
    (kept,) = responses(store, "dark")
    assert client.preview("dark", value).request["reports"][0]["response"] == kept


def test_other_things_of_numpys_are_none(start: Any) -> None:
    client = start(TWO, strict=False)
    for value in (np.int64(1), np.float64(0), np.array(True), np.array([True])):
        client.record("dark", value)
    assert client.status().dropped == {"wrong_value": 4}


def failing(*pairs: Any) -> Iterator[Any]:
    yield from pairs
    raise LookupError("the true value")


MANY: dict[str, tuple[Callable[[], Any], int, int]] = {
    "fails after two": (lambda: failing(("dark", True), ("theme", "red")), 2, 1),
    "fails at once": (failing, 0, 1),
    "number": (lambda: 7, 0, 1),
    "nothing": (lambda: None, 0, 1),
    "other sizes": (lambda: [("dark",), ("theme", "red"), 7, ("dark", True, 1)], 1, 3),
    "one absent": (lambda: [ABSENT, ("dark", True)], 1, 1),
    "all absent": (lambda: ABSENT, 0, 1),
    "no items": (lambda: Sly(dark=True), 0, 1),
    "wrong value": (lambda: {"dark": True, "theme": "pink"}, 1, 1),
}


@pytest.mark.parametrize(("answers", "queued", "wrong"), MANY.values(), ids=MANY)
def test_a_mistake_among_several_costs_no_other(
    start: Any, answers: Callable[[], Any], queued: int, wrong: int
) -> None:
    client = start(TWO, strict=False)
    client.record_many(answers())
    status = client.status()
    counted = {"wrong_value": wrong}
    assert (status.state, status.queued, status.dropped) == ("local", queued, counted)


@pytest.mark.parametrize("answers", [lambda: failing(("dark", True)), lambda: [("dark", True), 7]])
def test_strict_raises_when_the_others_are_kept(start: Any, answers: Callable[[], Any]) -> None:
    client = start(TWO)
    with pytest.raises(ParameterError, match="record_many takes a mapping") as caught:
        client.record_many(answers())
    assert caught.value.__context__ is None
    assert client.status().queued == 1


# --- whatever the person decided


def said_no(client: Client) -> Client:
    client.opt_out()
    return client


OFF: dict[str, Callable[[Any], Client]] = {
    "by the environment": lambda start: start(TWO, _environ={"CI": "true"}),
    "by the app": lambda start: start(TWO, consent="off"),
    "by the person": lambda start: said_no(start(TWO)),
    "in memory": lambda start: said_no(MemoryClient(TWO)),
}
MISTAKES: dict[str, Callable[[Client], object]] = {
    "value": lambda client: client.record("dark", "yes"),
    "question": lambda client: client.record("dork", True, wait=False),
    "one of several": lambda client: client.record_many({"dark": True, "theme": "pink"}),
    "no pair": lambda client: client.record_many([("dark", True), ("dark",)]),  # type: ignore[list-item]
    "preview": lambda client: client.preview("dark", 1),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
@pytest.mark.parametrize("off", OFF.values(), ids=OFF)
def test_strict_finds_mistakes_while_off(
    start: Any, off: Callable[[Any], Client], mistake: Callable[[Client], object]
) -> None:
    client = off(start)
    client.record("dark", True)
    client.record_many({"dark": True, "theme": "red"})
    with pytest.raises(ParameterError) as caught:
        mistake(client)
    assert caught.value.__context__ is None
    status = client.status()
    assert (status.state, status.queued, status.dropped) == ("off", 0, {})
    assert getattr(client, "recorded", []) == []


def test_others_are_not_told_while_off(start: Any) -> None:
    client = start(TWO, consent="off", strict=False)
    client.record("dark", "yes")
    client.record_many(7)
    assert client.status().dropped == {}


# --- the constructor, and the clock of tests

WRONG: list[tuple[str, Any]] = [
    *(("survey", each) for each in (None, 7, "a\0b", ABSENT)),
    *(("store", each) for each in ("\0", "\ud800", b"acme.db", 7, ABSENT)),
    *(("consent", each) for each in (None, np.array(["ask", "on"]))),
    ("segment", np.array(["a", "b"])),
    *(("collector_url", each) for each in (None, 7, b"https://collector.example")),
    ("app_key", 7),
]


@pytest.mark.parametrize("which", range(len(WRONG)))
def test_strict_names_the_argument(store: Path, which: int) -> None:
    name, value = WRONG[which]
    options = {"survey": TWO, "collector_url": "https://collector.example", "store": store}
    with pytest.raises(ParameterError, match=f"^{name} must be "):
        Client(**{**options, name: value, "strict": True})
    with Client(**{**options, name: value}) as client:
        client.record("dark", True)
        assert client.status().state == "silent"
        assert client.status().reason.startswith(f"{name} must be ")


def test_a_folder_is_no_store(start: Any, tmp_path: Path) -> None:
    words = f"{tmp_path.name} is a folder; name a file in it"
    with pytest.raises(StoreError, match=f"^{words}$"):
        start(store=tmp_path)
    client = start(store=tmp_path, strict=False)
    assert (client.opt_in(), client.opt_out()) == (False, False)
    assert client.status().reason == words


def test_a_name_that_is_too_long_is_told(start: Any, tmp_path: Path) -> None:
    client = start(store=tmp_path / f"{'a' * 300}.db")
    assert (client.opt_in(), client.opt_out()) == (False, False)
    assert "File name too long; check its path" in client.status().reason


@pytest.mark.parametrize("moment", [None, "2026-01-05", 7])
def test_the_clock_of_a_test_shows_moments(moment: Any) -> None:
    with pytest.raises(ParameterError, match="now: must be a datetime"):
        MemoryClient(TWO, now=moment)
    with MemoryClient(TWO) as client, pytest.raises(ParameterError, match="now: must be"):
        client.set_clock(moment)


@pytest.mark.parametrize("days", ["1", None, math.nan, 10**9, 10**400])
def test_the_clock_of_a_test_goes_on_by_numbers(days: Any) -> None:
    with MemoryClient(TWO) as client, pytest.raises(ParameterError, match="days, hours: must be"):
        client.advance(days=days)


def test_the_client_in_memory_notes_values_of_every_type() -> None:
    with MemoryClient(TWO) as client:
        client.record("dark", np.bool_(True))  # type: ignore[arg-type]
        assert client.recorded == [("dark", True)]


# --- what fails when it is looked at


class UnboundError(Exception):
    """Of a library of the app."""


class Lazy:
    """Stands for what is not there, and says so even when asked what it is."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        raise UnboundError("the true value")


class Unsure:
    def __bool__(self) -> bool:
        raise UnboundError("the true value")


class Sour(str):
    """Text that fails when it is compared."""

    def __eq__(self, other: object) -> bool:
        raise UnboundError("the true value")

    __hash__ = str.__hash__


LAZY: Any = Lazy()
SOUR: Any = Sour("on")
UNSURE: Any = Unsure()
NOWHERE = "http://127.0.0.1:9"
ARGUMENTS = ["survey", "collector_url", "store", "consent", "segment", "app_key"]


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_that_cannot_be_looked_at_is_a_mistake(tmp_path: Path, name: str) -> None:
    usual = {"survey": TWO, "collector_url": NOWHERE, "store": tmp_path / "acme.db"}
    changed: Any = {**usual, name: LAZY}
    with Client(**changed) as client:
        status = client.status()
    assert status.state == "silent"
    assert name in status.reason
    with pytest.raises(ParameterError, match=name) as caught:
        Client(**changed, strict=True)
    assert "true value" not in repr((caught.value, caught.value.__context__))


@pytest.mark.parametrize(
    ("consent", "message"),
    [(LAZY, 'consent must be "ask"'), (SOUR, "consent or segment cannot be used")],
    ids=["lazy", "sour"],
)
def test_a_strange_consent_is_named(store: Path, consent: Any, message: str) -> None:
    with Client(TWO, NOWHERE, store, consent) as client:
        assert client.status().reason.startswith(message)


def test_flags_that_cannot_be_looked_at_raise_nothing(start: Any) -> None:
    client = start(TWO, consent="on", strict=False)
    client._engine._uploader.stop(5)
    client.record("dark", True, wait=LAZY)
    client.record("theme", "red", wait=UNSURE)
    assert client.flush(force=UNSURE).kept == 2
    client.flush(force=LAZY)
    assert (client.status().state, client.status().queued) == ("on", 2)


def test_whoever_is_unsure_about_strict_is_not(store: Path) -> None:
    with Client("/no/such/survey.toml", NOWHERE, store, strict=UNSURE) as client:
        client.record("dark", True)
        assert client.status().state == "silent"
    with pytest.raises(ParameterError):
        Client("/no/such/survey.toml", NOWHERE, store, strict=LAZY)
