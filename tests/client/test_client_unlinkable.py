"""What a request gives away besides its responses: a size of four, and nothing else."""

from __future__ import annotations

import gzip
import hashlib
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from client_kit import DAY, Clock, Collector, choice, question, survey
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from deniable.client.bodies import bodies
from deniable.client.pending import Queued
from deniable.client.transport import Transport
from deniable.protocol.limits import BODY_SIZES, MAX_INFLATED, MAX_REPORTS
from deniable.protocol.question import Question
from deniable.protocol.response import Response, Shape

SIDES = [f"side {number}" for number in range(1024)]
MANY = [f"side {number}" for number in range(4096)]


@cache
def kinds() -> tuple[Question, ...]:
    """Questions of every wire form: symbols, bits narrow and wide, with rows and without."""
    head = {"linkable": True, "max_epsilon": Decimal(1000)}
    asked = survey(
        head,
        boolean=question(),
        twice=question(epsilon_first=Decimal(1)),
        grr=choice(*SIDES[:5], mechanism="grr"),
        oue=choice(*SIDES, mechanism="oue"),
        wide=choice(*MANY, mechanism="oue", epsilon=Decimal("0.01")),
        olh=choice(*SIDES, mechanism="olh"),
        rappor=choice(*SIDES[:64], mechanism="rappor"),
        hadamard=choice(*SIDES, mechanism="hr"),
        number=question(type="number", range={"low": 0, "high": 100}),
    )
    return tuple(asked.questions.values())


def some_response(shape: Shape, seed: bytes, sparse: int) -> Response:
    """A response of a shape, with fewer bits the sparser it is, which compress the better."""
    bits = -1
    for number in range(sparse):
        digest = hashlib.shake_128(seed + bytes([number])).digest(-(-shape.width // 8))
        bits &= int.from_bytes(digest, "big")
    row = bits % shape.rows
    if shape.kind == "symbol":
        return Response(bits % shape.width, row)
    return Response(bits % (1 << shape.width), row)


@given(
    chosen=st.lists(st.tuples(st.integers(0, 8), st.integers(1, 4)), min_size=1, max_size=20),
    copies=st.integers(1, 20),
    seed=st.binary(min_size=1, max_size=8),
    segments=st.lists(st.sampled_from([None, "beta"]), min_size=1, max_size=3),
)
def test_every_body_has_one_of_four_sizes(
    chosen: list[tuple[int, int]], copies: int, seed: bytes, segments: list[str | None]
) -> None:
    """Whatever is asked, answered and drawn; and each report is in one of them."""
    reports = []
    for number, (kind, sparse) in enumerate(chosen * copies):
        asked, name = kinds()[kind], f"q{number}"
        shape = asked.mechanism.shape
        wire = shape.pack(some_response(shape, seed + name.encode(), sparse))
        segment = segments[number % len(segments)]
        report = Queued("2026-11-30", name, 1, False, False, segment, asked.wire_hash, wire)
        reports.append(report)
    made = list(bodies("acme", "2026-11-30", "d" * 22, reports))
    carried = []
    for inside, body in made:
        assert len(body) in BODY_SIZES
        text = gzip.decompress(body)
        assert len(text) <= MAX_INFLATED
        document = json.loads(text)
        assert len(document["reports"]) == len(inside) <= MAX_REPORTS
        carried += [(each["question"], each["response"]) for each in document["reports"]]
    assert sorted(carried, key=str) == sorted(((r.question, r.response) for r in reports), key=str)


@dataclass
class Wire:
    """A raw listener: the bytes of every connection."""

    port: int = 0
    heads: list[bytes] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    requests: list[int] = field(default_factory=list)
    reused: list[bool] = field(default_factory=list)


def serve(connection: socket.socket, wire: Wire) -> None:
    """Answer each request of one connection as a collector does."""
    count = 0
    with connection, connection.makefile("rb") as stream:
        if isinstance(connection, ssl.SSLSocket):
            wire.reused.append(bool(connection.session_reused))
        while first := stream.readline():
            lines = [first]
            while lines[-1] not in (b"\r\n", b""):
                lines.append(stream.readline())
            (length,) = (int(x[15:]) for x in lines if x.lower().startswith(b"content-length:"))
            reports = json.loads(gzip.decompress(stream.read(length)))["reports"]
            wire.heads.append(b"".join(lines))
            wire.sizes.append(length)
            text = json.dumps({"accepted": len(reports), "duplicate": 0, "rejected": []}).encode()
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)
            )
            count += 1
    wire.requests.append(count)


@contextmanager
def listening(context: ssl.SSLContext | None = None) -> Iterator[Wire]:
    wire = Wire()
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        wire.port = server.getsockname()[1]

        def accept() -> None:
            while True:
                connection, _ = server.accept()
                try:
                    if context is not None:
                        connection = context.wrap_socket(connection, server_side=True)
                    serve(connection, wire)
                except (OSError, ValueError):
                    connection.close()
                    if over.is_set():
                        return

        over = threading.Event()
        thread = threading.Thread(target=accept)
        thread.start()
        yield wire
        over.set()
        with closing(socket.create_connection(("127.0.0.1", wire.port))) as last:
            last.sendall(b"\r\n\r\n")
        thread.join(20)
        assert not thread.is_alive()


def test_headers_are_the_same_byte_for_byte(start: Any, clock: Clock, tmp_path: Path) -> None:
    """On devices with other surveys, secrets and segments, in other periods."""
    surveys = [
        survey({"id": "a"}),
        survey({"id": "b", "segments": ["x"]}, **{f"q{n}": question() for n in range(6)}),
    ]
    with listening() as wire:
        for number, asked in enumerate(surveys):
            segment = "x" if asked.segments else None
            client = start(asked, f"http://127.0.0.1:{wire.port}", store=tmp_path / f"{number}.db",
                           segment=segment, consent="on")  # fmt: skip
            client._engine._uploader.stop(5)
            for _ in range(2):
                for name in asked.questions:
                    client.record(name, True)
                clock.advance(DAY)
            assert client.flush(force=True).sent == 2 * len(asked.questions)
            client.close()
    assert wire.sizes == [1024] * 4
    assert len(set(wire.heads)) == 1
    assert wire.heads[0].startswith(b"POST /v1/reports HTTP/1.1\r\n")
    assert wire.requests[:4] == [1] * 4, "each period has a connection of its own"


def certificate(folder: Path) -> Path:
    """A key and a certificate for 127.0.0.1, signed by itself."""
    from ipaddress import ip_address

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "collector")])
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    start = datetime.now(UTC) - timedelta(days=1)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=9))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "collector.pem"
    path.write_bytes(private + signed.public_bytes(pem))
    return path


def resumes(port: int, authority: Path) -> bool:
    """Whether the server lets a client resume a session, and is seen to do it."""
    context = ssl.create_default_context(cafile=str(authority))
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    session = None
    for _ in range(2):
        raw = socket.create_connection(("127.0.0.1", port))
        with context.wrap_socket(raw, server_hostname="127.0.0.1", session=session) as secure:
            session, reused = secure.session, secure.session_reused
    return bool(reused)


def test_no_tls_session_is_resumed(
    start: Any, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ticket would tell that two connections are of one device."""
    pem = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    connect = Transport.connection

    def trusting(transport: Transport) -> Any:
        connection = connect(transport)
        connection.verify = str(pem)
        return connection

    monkeypatch.setattr(Transport, "connection", trusting)
    with listening(context) as wire:
        client = start(survey(), f"https://127.0.0.1:{wire.port}", consent="on")
        client._engine._uploader.stop(5)
        for _ in range(3):
            client.record("dark", True)
            clock.advance(DAY)
        assert client.flush(force=True).sent == 3
        client.close()
        assert wire.reused == [False] * 3
        assert resumes(wire.port, pem), "the watch does not work"


def test_questions_that_travel_alone_share_nothing_but_the_address(
    start: Any, clock: Clock, heard: Collector
) -> None:
    """Each has its pseudonym, its request and its connection, and its time even if it is late.

    Eleven pauses of up to 30 s, to the millisecond, are all equal with odds of 30001^-10.
    """
    asked = survey({"batch": "question"}, **{f"q{n}": question() for n in range(12)})
    client = start(asked, heard.url, consent="on")
    client._engine._uploader.stop(5)
    client.record_many(dict.fromkeys(asked.questions, True))
    clock.advance(2 * DAY)
    times = []
    while len(heard.requests) < 12:
        until = client._engine._uploader._round()
        times.append(clock.now)
        assert len(heard.requests) == len(times), "one request at a time"
        clock.now = until or clock.now
    pauses = [after - before for before, after in pairwise(times)]
    assert len(set(pauses)) > 1
    assert max(pauses) <= timedelta(seconds=30)
    assert all(len(request.questions) == 1 for request in heard.requests)
    assert len({request.document["device"] for request in heard.requests}) == 12
    assert len({request.port for request in heard.requests}) == 12
    order = [request.questions[0] for request in heard.requests]
    assert order != sorted(order), "in no order but for odds of 1 / 12!"
