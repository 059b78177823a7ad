"""Clients in a process that forks: no transaction is cut in half, no connection shared.

What must never change: the handler of a signal may raise in any line here, and no lock stays taken
by that; what one hook could not give back, the next one does.
"""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import suppress
from typing import Protocol


class Forkable(Protocol):
    """What a fork must not catch in the middle of something."""

    def before_fork(self) -> None:
        """In the parent: come to rest; what raises may have come before or after that."""

    def after_fork_in_parent(self) -> None:
        """Go on, if it rests."""

    def after_fork_in_child(self) -> None:
        """Forget locks, threads and connections of the parent."""


_living: weakref.WeakSet[Forkable] = weakref.WeakSet()
_resting: list[Forkable] = []
_one_fork = threading.RLock()


def watch(client: Forkable) -> None:
    """Keep a client whole over forks, for as long as it lives."""
    with suppress(RuntimeError), _one_fork:  # of a handler that forks here
        _living.add(client)


def unwatch(client: Forkable) -> None:
    """Forget a client that was closed."""
    with suppress(RuntimeError), _one_fork:
        _living.discard(client)


def _before() -> None:
    _one_fork.acquire()
    _go_on()
    for client in list(_living):
        _resting.append(client)  # first, since what is raised may come amid the next line
        client.before_fork()


def _in_parent() -> None:
    try:
        _go_on()
    except BaseException:
        _go_on()
        raise
    finally:
        with suppress(RuntimeError):  # it was not taken
            _one_fork.release()


def _go_on() -> None:
    for client in _resting:
        client.after_fork_in_parent()
    _resting.clear()


def _in_child() -> None:
    global _one_fork
    _one_fork = threading.RLock()
    for client in {*_resting, *_living}:
        client.after_fork_in_child()
    _resting.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
    # Once more: a signal that comes amid the fork is handled before the first line of the first.
    os.register_at_fork(after_in_parent=_in_parent)
