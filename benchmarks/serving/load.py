"""The load: one thread that keeps many connections busy and asks little of the machine."""

from __future__ import annotations

import selectors
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import cast

from .traffic import QUESTIONS, Requests

_ACCEPTED = b'"accepted":%d' % QUESTIONS


@dataclass(frozen=True)
class Answers:
    """How requests were answered: how many, how many a second, after how many milliseconds."""

    count: int
    rate: float
    p50: float
    p99: float


class _Client:
    """One connection, and the request that is under way on it."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reply = bytearray()
        self.sent = 0.0

    def send(self, request: bytes) -> None:
        self.sent = time.perf_counter()
        self.socket.sendall(request)

    def receive(self) -> bool:
        """Read what came and return whether the reply is whole; any but success ends it all."""
        self.reply += self.socket.recv(65536)
        if not self.reply.endswith(b"}"):
            if not self.reply:
                sys.exit("the server closed a connection")
            return False
        if not self.reply.startswith(b"HTTP/1.1 200") or _ACCEPTED not in self.reply:
            sys.exit(f"unexpected reply: {self.reply.decode(errors='replace')}")
        self.reply.clear()
        return True


def drive(
    ports: Sequence[int],
    requests: Requests,
    connections: int,
    *,
    seconds: float = float("inf"),
    count: float = float("inf"),
) -> Answers:
    """Keep every connection busy, for so long or so many requests, then let the last ones end."""
    waits: list[float] = []
    with ExitStack() as stack, selectors.DefaultSelector() as selector:
        for number in range(connections):
            client = _Client(ports[number % len(ports)])
            stack.enter_context(client.socket)
            selector.register(client.socket, selectors.EVENT_READ, client)
            client.send(requests.next())
        started = now = time.perf_counter()
        sent, under_way, answered = connections, connections, 0
        while under_way:
            for key, _ in selector.select():
                client = cast("_Client", key.data)
                if not client.receive():
                    continue
                now = time.perf_counter()
                waits.append(now - client.sent)
                if now - started < seconds and sent < count:
                    client.send(requests.next())
                    sent += 1
                else:
                    under_way -= 1
            if now - started < seconds:
                answered, ended = len(waits), now
        return _summary(waits, answered / (ended - started))


def _summary(waits: list[float], rate: float) -> Answers:
    waits.sort()
    p50, p99 = (1000 * waits[int(len(waits) * share)] for share in (0.5, 0.99))
    return Answers(len(waits), rate, p50, p99)
