"""The production service: quiet, and stopped without losing anything."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from types import FrameType

from .app import close_app, create_app
from .config import Config
from .problems import where
from .server import listen, make_server, socket_url


class DiscreetHandler(logging.Handler):
    """Writes what this package logs, and of others only the kind and place of an exception."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line to standard error."""
        if record.name.startswith("deniable."):
            text = record.getMessage()
        elif record.exc_info and record.exc_info[1] is not None:
            text = where(record.exc_info[1])
        else:
            return
        sys.stderr.write(f"deniable-collector: {record.levelname.lower()}: {text}\n")
        sys.stderr.flush()


def serve(config: Config, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT; then finish the requests under way and commit them.

    Parameters
    ----------
    config : Config
    host : str
    port : int
        0: any that is free.
    announce : callable
        Told the URL once requests are accepted.

    Raises
    ------
    StoreError
        If the store cannot be used.
    ParameterError
        If the address cannot be used, or a survey contradicts what was loaded before.
    """
    logging.basicConfig(level=logging.WARNING, handlers=[DiscreetHandler()], force=True)
    with closing(listen(host, port)) as listening:
        app = create_app(config)
        try:
            server = make_server(app, listening)
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, _stop)
            announce(socket_url(listening))
            server.run()
        finally:
            close_app(app)


def _stop(number: int, frame: FrameType | None) -> None:
    for known in (signal.SIGTERM, signal.SIGINT):
        signal.signal(known, signal.SIG_IGN)
    raise SystemExit(0)
