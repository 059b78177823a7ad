"""Waitress as the collector needs it: a bounded number of connections, bodies in memory."""

from __future__ import annotations

import errno
import logging
import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from flask import Flask
from waitress.server import BaseWSGIServer, create_server

from deniable.protocol.errors import ParameterError
from deniable.protocol.limits import MAX_COMPRESSED

from .begun import BEGUN
from .channels import Channel

THREADS = 8
"""None of them waits for a commit; more would wait for the interpreter, and so for each other."""

SWITCH_SECONDS = 0.001
"""How long a thread may keep the interpreter from the writer, for whose commit all others wait."""

CONNECTIONS = 1000
MAX_HEADER = 16 * 1024


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on the first address of a host.

    Raises
    ------
    ParameterError
        If it cannot.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address, family=family, backlog=CONNECTIONS)
    except OSError as exc:
        text = f"cannot listen on {host}:{port}: {exc.strerror}"
        raise ParameterError(f"{text}; {_listening_fix(exc)}") from exc


def _listening_fix(exc: OSError) -> str:
    if isinstance(exc, socket.gaierror) or exc.errno == errno.EADDRNOTAVAIL:
        return "give an address of this machine: --host 127.0.0.1, or 0.0.0.0 for all"
    if exc.errno == errno.EADDRINUSE:
        return "choose another --port, or stop what listens there"
    if exc.errno == errno.EACCES:
        return "choose a --port above 1023"
    return "check --host and --port"


def socket_url(listening: socket.socket) -> str:
    """Return the URL under which a socket is reached."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _maintain(server: Any, close_idle: Callable[[float], None], now: float) -> None:
    """Do once a second what no request brings about."""
    close_idle(now)
    for channel in list(server.active_channels.values()):
        channel.check_patience()


def make_server(app: Flask, listening: socket.socket) -> BaseWSGIServer:
    """Return a server of an application, ready to run.

    Its input buffer holds more than the largest body, so no body is spooled to a file.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    server: Any = create_server(
        app,
        sockets=[listening],
        threads=THREADS,
        connection_limit=CONNECTIONS,
        max_request_body_size=MAX_COMPRESSED + 1,
        inbuf_overflow=4 * MAX_COMPRESSED,
        max_request_header_size=MAX_HEADER,
        ident="",
        clear_untrusted_proxy_headers=False,  # nothing here reads them
        log_socket_errors=False,
        asyncore_use_poll=True,
        cleanup_interval=1,
    )
    server.channel_class = Channel
    server.begin = app.extensions.get(BEGUN)
    server.maintenance = partial(_maintain, server, server.maintenance)
    logging.getLogger("waitress.queue").disabled = True  # a line for every request under load
    return cast("BaseWSGIServer", server)
