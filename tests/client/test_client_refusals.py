"""Counting what was refused: by several threads, by handlers of signals, over a busy store."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from deniable.client.refusals import Refusals


def in_a_thread(act: Callable[[], None]) -> None:
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


@pytest.mark.parametrize("how", [in_a_thread, lambda act: act()], ids=["thread", "handler"])
def test_a_count_in_the_middle_of_another_is_not_lost(how: Callable[..., None]) -> None:
    """The name counts one more each time it is looked up: between reading a sum and writing it."""
    refusals, meanwhile = Refusals(), 0

    class Busy(str):
        def __hash__(self) -> int:
            nonlocal meanwhile
            meanwhile += 1
            how(lambda: refusals.add("busy"))
            return hash(str(self))

    for _ in range(3):
        refusals.add(Busy("busy"))
        refusals.sums()
    assert meanwhile >= 3
    assert refusals.take() == {"busy": 3 + meanwhile}
    assert refusals.take() == {}


def test_few_wait_to_be_added_up() -> None:
    refusals = Refusals()
    for _ in range(1000):
        refusals.add("busy")
    assert len(refusals._news) <= 100
    assert refusals.sums() == {"busy": 1000}


def test_what_could_not_be_stored_is_still_counted(start: Any, store: Path) -> None:
    client = start(strict=False)
    client.record("dark", "yes")
    client._engine._db.hurry()
    with closing(sqlite3.connect(store, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        client.flush()
        assert client.status().dropped == {"wrong_value": 1}
    client.flush()
    assert client._engine._refused.sums() == {}
    assert client.status().dropped == {"wrong_value": 1}
