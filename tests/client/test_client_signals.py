"""A handler of a signal that raises amid a call: the app hears that, and never learns an answer."""

from __future__ import annotations

import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from client_kit import Clock, Collector, choice, rows, survey

from deniable.client import Client, recorder
from deniable.client.answers import Answer
from deniable.client.foreign import foreign
from deniable.protocol.derivation import permanent_response
from deniable.protocol.errors import StoreError

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="there are no such signals here"),
    pytest.mark.skipif(
        threading.current_thread() is not threading.main_thread(), reason="signals come elsewhere"
    ),
]

VALUE = "the true value, 7f3a9c"
ILL = survey(ill=choice("flu", VALUE, "none"))


class DeadlineError(Exception):
    """Of the app."""


ERRORS = [DeadlineError, TimeoutError, SystemExit, KeyboardInterrupt]


@pytest.fixture(params=ERRORS)
def error(request: pytest.FixtureRequest) -> Iterator[type[BaseException]]:
    """What the app's handler raises."""

    def handler(*_: object) -> None:
        raise request.param

    before = signal.signal(signal.SIGUSR1, handler)
    yield request.param
    signal.signal(signal.SIGUSR1, before)


def meanwhile(go_on: Callable[..., Any]) -> Callable[..., Any]:
    """Let the signal come just before something is done."""

    def act(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGUSR1)
        return go_on(*arguments)

    return act


def variables(error: BaseException | None) -> Iterator[tuple[str, object]]:
    """What an error reporter sends of the frames of the client, of the causes as well."""
    if error is None:
        return
    traceback = error.__traceback__
    while traceback is not None:
        if Path(traceback.tb_frame.f_code.co_filename).name != Path(__file__).name:
            yield from traceback.tb_frame.f_locals.items()
        traceback = traceback.tb_next
    yield from variables(error.__cause__)
    yield from variables(error.__context__)


HOLDERS = {"value", "symbol", "answer", "answers", "pairs", "permanent", "wire"}
ANSWERS: dict[str, Callable[[Client], object]] = {
    "record": lambda c: c.record("ill", VALUE),
    "record_many": lambda c: c.record_many([("ill", VALUE)]),
    "preview": lambda c: c.preview("ill", VALUE),  # type: ignore[arg-type,unused-ignore]
}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", ANSWERS)
def test_what_a_handler_raises_reaches_the_app_without_the_answer(
    start: Any,
    store: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: type[BaseException],
    name: str,
    strict: bool,
) -> None:
    """It comes while the true value and the permanent response are variables."""
    client = start(ILL, consent="on", strict=strict)
    monkeypatch.setattr(recorder, "permanent_response", meanwhile(permanent_response))
    with pytest.raises(error) as caught:
        ANSWERS[name](client)
    found = dict(variables(caught.value))
    assert not HOLDERS & set(found)
    assert VALUE not in repr(found)
    assert not any(isinstance(value, Answer) for value in found.values())
    monkeypatch.undo()
    assert rows(store, "SELECT * FROM ledger") == [], "and nothing is kept of it"
    client.record("ill", VALUE)
    status = client.status()
    assert (status.state, status.queued, status.dropped) == ("on", 1, {})


CALLS: dict[str, Callable[[Client], object]] = {
    "flush": lambda c: c.flush(),
    "status": lambda c: c.status(),
    "opt_in": lambda c: c.opt_in(),
    "opt_out": lambda c: c.opt_out(),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_other_call_lets_it_through_and_goes_on(
    start: Any, clock: Clock, error: type[BaseException], name: str
) -> None:
    """The signal comes as the clock is read."""
    armed = False
    tell = meanwhile(clock)
    client = start(ILL, strict=False, consent="on", _clock=lambda: (tell if armed else clock)())
    client._engine._uploader.stop(5)
    armed = True
    with pytest.raises(error):
        CALLS[name](client)
    armed = False
    assert client.status().state == ("off" if name == "opt_out" else "on")


def test_a_signal_just_after_a_transaction_began_leaves_none_open(
    start: Any, heard: Collector, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    """Otherwise no process could write to the store until this one ends."""
    client = start(ILL, strict=False, consent="on")
    patiently = client._engine._db._patiently

    def interrupted(act: Callable[[], Any]) -> Any:
        done = patiently(act)
        if client._engine._db._db.in_transaction:
            signal.raise_signal(signal.SIGUSR1)
        return done

    monkeypatch.setattr(client._engine._db, "_patiently", interrupted)
    with pytest.raises(error):
        client.record("ill", VALUE)
    monkeypatch.undo()
    client.record("ill", VALUE)
    assert (client.status().queued, client.status().dropped) == (1, {})


def test_a_signal_amid_the_apps_own_iterator_is_not_its_mistake(
    start: Any, error: type[BaseException]
) -> None:
    client = start(ILL, strict=False, consent="on")

    def answers() -> Iterator[tuple[str, str]]:
        yield "ill", VALUE
        signal.raise_signal(signal.SIGUSR1)

    with pytest.raises(error) as caught:
        client.record_many(answers())
    assert VALUE not in repr(dict(variables(caught.value)))
    assert client.status().queued == 0


def error_of(module: str) -> Exception:
    return type("AppError", (Exception,), {"__module__": module})()


@pytest.mark.parametrize("error", [error_of("__main__"), error_of("app.jobs"), SystemExit()])
def test_an_error_of_the_apps_own_is_the_apps(error: BaseException) -> None:
    """A script defines its own in `__main__`."""
    assert foreign(error)


@pytest.mark.parametrize("error", [StoreError(), sqlite3.Error(), KeyError(), MemoryError()])
def test_an_error_that_the_client_may_meet_is_its_own(error: BaseException) -> None:
    assert not foreign(error)


class Handler:
    """An object of the app that handles signals."""

    def __call__(self, *_: object) -> None:
        raise TimeoutError

    def method(self, reason: str, *_: object) -> None:
        raise TimeoutError(reason)


HANDLERS: dict[str, Callable[..., Any]] = {
    "object": Handler(),
    "method": partial(Handler().method, "late"),
    "partial": partial(Handler().__call__),
    "of a partial": partial(partial(Handler.__call__, Handler())),
    "of an object": partial(Handler()),
}


@pytest.mark.parametrize("name", HANDLERS)
def test_a_handler_of_any_kind_is_known_by_what_it_raises(
    start: Any, clock: Clock, name: str
) -> None:
    armed = False
    tell = meanwhile(clock)
    client = start(ILL, strict=False, consent="on", _clock=lambda: (tell if armed else clock)())
    client._engine._uploader.stop(5)
    before = signal.signal(signal.SIGUSR1, HANDLERS[name])
    try:
        armed = True
        with pytest.raises(TimeoutError):
            client.record("ill", VALUE)
        with pytest.raises(TimeoutError):
            client.status()
        armed = False
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert client.status().state == "on"
    assert not foreign(TimeoutError()), "which came from no handler"
