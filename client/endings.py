"""Clients of a process that ends: what waits for the disk is stored, the network is not awaited."""

from __future__ import annotations

import atexit
import sys
import weakref
from contextlib import suppress
from typing import Protocol


class Closable(Protocol):
    """What is closed when a process ends without having closed it."""

    def close(self) -> object:
        """Come to an end within a fraction of a second."""


_living: weakref.WeakSet[Closable] = weakref.WeakSet()


def watch(client: Closable) -> None:
    """Close a client at the end of the process, if it still lives then; once in each process.

    A child of ``multiprocessing`` runs no ``atexit``, but an end of its own.
    """
    _living.add(client)
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        util.Finalize(None, _close_all, exitpriority=0)


def unwatch(client: Closable) -> None:
    """Forget a client that was closed."""
    _living.discard(client)


def _close_all() -> None:
    for client in list(_living):
        with suppress(Exception):
            client.close()


atexit.register(_close_all)
