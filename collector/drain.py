"""The life of a server: it serves until it is told to stop, then finishes what was begun.

What must never change: once told to stop it takes no new connection, and no request that was
begun is cut off before the timeout. A connection that waits for its next request is closed, which
loses nothing: nothing of that request was read.
"""

from __future__ import annotations

import time
from typing import Any

from waitress import wasyncore
from waitress.server import BaseWSGIServer

_POLL_SECONDS = 1.0
_DRAIN_SECONDS = 0.02


class Lifetime:
    """Runs a server in the thread that calls it.

    Parameters
    ----------
    server : BaseWSGIServer
        As ``make_server`` returns it.
    """

    def __init__(self, server: BaseWSGIServer) -> None:
        self._server: Any = server
        self._stopping = False

    def stop(self) -> None:
        """Begin to stop; may be called from a signal handler."""
        self._stopping = True
        self._server.pull_trigger()

    def run(self) -> None:
        """Serve until :meth:`stop`."""
        while not self._stopping:
            self._poll(_POLL_SECONDS)

    def drain(self, timeout: float) -> int:
        """Finish what is under way; return how many requests were not done in time."""
        give_up = time.monotonic() + timeout
        wasyncore.dispatcher.close(self._server)  # listens no more; the connections go on
        left = self._under_way()
        while self._server.active_channels and time.monotonic() < give_up:
            self._poll(_DRAIN_SECONDS)
            left = self._under_way()
        self._server.task_dispatcher.shutdown(timeout=0 if left else _POLL_SECONDS)
        return left

    def _under_way(self) -> int:
        """Count the connections with a request under way, and close the others."""
        busy = 0
        for channel in list(self._server.active_channels.values()):
            if channel.is_busy():
                channel.draining = True
                busy += 1
            else:
                channel.will_close = True
        return busy

    def _poll(self, seconds: float) -> None:
        server = self._server
        use_poll = server.adj.asyncore_use_poll
        wasyncore.loop(timeout=seconds, use_poll=use_poll, map=server._map, count=1)
