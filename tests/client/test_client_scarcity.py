"""An app that has used up its stack or its memory: that may cost an answer, not the client."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from client_kit import question, rows, survey

from deniable.client.recorder import Recorder

NAMES = [f"q{number}" for number in range(110)]
MANY = survey(
    {"linkable": True, "max_epsilon": 110}, **{name: question(epsilon=1) for name in NAMES}
)


def least_limit() -> int:
    """The limit that leaves a caller next to no room."""
    usual, limit = sys.getrecursionlimit(), 10
    while True:
        try:
            sys.setrecursionlimit(limit)
        except RecursionError:
            limit += 1
        else:
            sys.setrecursionlimit(usual)
            return limit


@pytest.mark.parametrize("wait", [True, False])
def test_answers_near_the_end_of_the_stack(start: Any, quick_store: Path, wait: bool) -> None:
    """With room for ever more calls: an answer is kept, or counted, or not even asked for."""
    client = start(MANY, store=quick_store, strict=False)
    usual, least, called = sys.getrecursionlimit(), least_limit(), 0
    gc.collect()  # what other tests left has finalizers, which need room too
    for more, name in enumerate(NAMES[:100]):
        sys.setrecursionlimit(least + more)
        try:
            client.record(name, True, wait=wait)
            called += 1
        except RecursionError:  # there was no room for the call itself
            assert more < 20
        finally:
            sys.setrecursionlimit(usual)
        assert client.status().state == "local"
    status = client.status()
    lost = status.dropped["busy"]
    assert called - lost <= status.queued <= len(NAMES)
    assert status.queued + lost >= called
    assert 0 < lost < called
    client.record("q109", True)
    assert client.status().queued == status.queued + 1
    assert rows(quick_store, "SELECT count(*) FROM ledger") == [(status.queued + 1,)]


@pytest.mark.parametrize("error", [MemoryError, RecursionError])
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("wait", [True, False])
def test_an_answer_that_finds_no_memory_is_counted(
    start: Any, monkeypatch: pytest.MonkeyPatch, error: type[Exception], strict: bool, wait: bool
) -> None:
    """In the middle of its transaction, which is undone."""
    client = start(strict=strict)

    def fail(*arguments: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "_departure", fail)
        client.record("dark", True, wait=wait)
        status = client.status()
        assert (status.state, status.queued, status.dropped) == ("local", 0, {"busy": 1})
        assert status.epsilon_spent == 0
    client.record("dark", True, wait=wait)
    assert client.status().queued == 1


@pytest.mark.parametrize("error", [MemoryError, RecursionError])
@pytest.mark.parametrize(
    "act", [lambda client: client.flush(), lambda client: client.sent(), lambda c: c.status()]
)
def test_looking_without_memory_ends_nothing(
    start: Any, monkeypatch: pytest.MonkeyPatch, error: type[Exception], act: Callable[[Any], Any]
) -> None:
    client = start()

    def fail(*arguments: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(type(client._engine._db), "rows", fail)
        act(client)
    assert client.status().state == "local"
