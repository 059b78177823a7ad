"""Clients of a process that ends: what waits for the disk is stored, the network is not awaited.

What must never change: what the app still answers afterwards, from an ``atexit`` of its own that
runs later or a finalizer, is stored as well, and starts no thread.
"""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from contextlib import suppress
from typing import Any, Protocol


class Settling(Protocol):
    """What comes to rest when a process ends without having closed it."""

    def settle(self) -> None:
        """Come to rest within a fraction of a second; start no thread from now on."""


_living: weakref.WeakSet[Settling] = weakref.WeakSet()
_over = False
_child_end: tuple[int, Any] | None = None


def watch(client: Settling) -> None:
    """Settle a client at the end of the process, if it still lives then; once in each process.

    A child of ``multiprocessing`` runs no ``atexit``, but an end of its own.
    """
    _living.add(client)
    _watch_child()
    if _over:
        client.settle()


def _watch_child() -> None:
    """Tell ``multiprocessing``, unless this process has; its children begin by forgetting it."""
    global _child_end
    util = sys.modules.get("multiprocessing.util")
    if util is None:
        return
    if _child_end is None or _child_end[0] != os.getpid() or not _child_end[1].still_active():
        _child_end = os.getpid(), util.Finalize(None, _settle_all, exitpriority=0)


def unwatch(client: Settling) -> None:
    """Forget a client that was closed."""
    _living.discard(client)


def _settle_all() -> None:
    global _over
    _over = True
    for client in list(_living):
        with suppress(Exception):
            client.settle()


atexit.register(_settle_all)
