"""Clients in a process that forks: no transaction is cut in half, no connection shared."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol


class Forkable(Protocol):
    """What a fork must not catch in the middle of something."""

    def before_fork(self) -> None:
        """In the parent: come to rest."""

    def after_fork_in_parent(self) -> None:
        """Go on."""

    def after_fork_in_child(self) -> None:
        """Forget locks, threads and connections of the parent."""


_living: weakref.WeakSet[Forkable] = weakref.WeakSet()
_resting: list[Forkable] = []
_one_fork = threading.RLock()


def watch(client: Forkable) -> None:
    """Keep a client whole over forks, for as long as it lives."""
    with _one_fork:
        _living.add(client)


def unwatch(client: Forkable) -> None:
    """Forget a client that was closed."""
    with _one_fork:
        _living.discard(client)


def _before() -> None:
    _one_fork.acquire()
    _resting.extend(_living)
    for client in _resting:
        client.before_fork()


def _in_parent() -> None:
    for client in _resting:
        client.after_fork_in_parent()
    _resting.clear()
    _one_fork.release()


def _in_child() -> None:
    global _one_fork
    _one_fork = threading.RLock()
    for client in _resting or list(_living):
        client.after_fork_in_child()
    _resting.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
