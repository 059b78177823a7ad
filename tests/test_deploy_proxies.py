"""nginx and Caddy, if they are installed, in front of a server that writes down what reaches it."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DEPLOY = Path(__file__).resolve().parent.parent / "deploy"
HEADERS = {
    "Content-Type": "application/json",
    "Content-Encoding": "gzip",
    "Authorization": "Bearer token",
    "Deniable-App-Key": "key",
    "Cookie": "who=me",
    "User-Agent": "acme/1 (a very special device)",
    "Referer": "https://acme.example/me",
    "Accept-Language": "eo",
    "Forwarded": "for=198.51.100.7",
    "X-Forwarded-For": "198.51.100.7",
    "X-Real-IP": "198.51.100.7",
}
PASSED = {
    "accept-encoding", "authorization", "content-encoding", "content-length", "content-type",
    "deniable-app-key", "host", "user-agent",
}  # fmt: skip
OPEN = [("POST", "/v1/reports"), ("GET", "/v1/survey/acme"), ("GET", "/livez"),
        ("GET", "/v1/tallies/acme/q"), ("GET", "/v1/batches/acme/q/1"), ("GET", "/v1/periods"),
        ("GET", "/metrics"), ("GET", "/readyz"), ("GET", "/openapi.json")]  # fmt: skip
SHUT = [("GET", "/v1/reports"), ("PUT", "/v1/reports"), ("POST", "/v1/survey/acme"),
        ("POST", "/v1/tallies/acme/q"), ("GET", "/"), ("GET", "/v2/reports"),
        ("GET", "/v1/reports/x"), ("DELETE", "/v1/tallies/acme/q")]  # fmt: skip


def installed(name: str) -> str | None:
    """A program on the path, or beside the interpreter."""
    return shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))


@dataclass
class Upstream:
    """Stands for a collector; it reads each request and answers 200, or hangs up before."""

    server: ThreadingHTTPServer
    seen: list[tuple[str, str, dict[str, str], bytes]]
    hang_up: bool = False

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server.server_address[1]}"


@contextmanager
def upstream() -> Iterator[Upstream]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            if self.path != "/livez":  # which Caddy asks for by itself
                kept.seen.append((self.command, self.path, headers, body))
                if kept.hang_up:
                    self.close_connection = True
                    return
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        do_GET = do_POST = do_PUT = do_DELETE = answer

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        kept = Upstream(server, [])
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield kept
        server.shutdown()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    paths = folder / "tls.crt", folder / "tls.key"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return paths


@dataclass
class Proxy:
    """A proxy that runs, what is behind it, and everything it writes."""

    port: int
    certificate: Path
    first: Upstream
    second: Upstream
    folder: Path

    def ask(self, method: str, path: str, body: bytes = b"") -> int:
        context = ssl.create_default_context(cafile=str(self.certificate))
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, context=context, timeout=20
        )
        try:
            connection.request(method, path, body or None, HEADERS)
            response = connection.getresponse()
            response.read()
            return response.status
        finally:
            connection.close()

    @property
    def seen(self) -> list[tuple[str, str, dict[str, str], bytes]]:
        return self.first.seen + self.second.seen

    def written(self) -> str:
        """Return the text of every file there is but what the test itself wrote."""
        own = {"nginx.conf", "nginx.pid", "Caddyfile"}
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        texts = [path.read_text("utf-8", "replace") for path in files if path.name not in own]
        return "\n".join(texts)


def nginx(folder: Path, port: int, tls: tuple[Path, Path], behind: list[Upstream]) -> list[str]:
    """Prepare nginx; only what a machine decides is changed: addresses, files, the port."""
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    changes = {
        "/etc/nginx/tls/telemetry.crt": str(tls[0]),
        "/etc/nginx/tls/telemetry.key": str(tls[1]),
        "/run/nginx.pid": str(folder / "nginx.pid"),
        "listen 443 ": f"listen 127.0.0.1:{port} ",
        "        listen [::]:443 ssl http2 default_server;\n": "",
        "127.0.0.1:8080": behind[0].address,
        "127.0.0.1:8081": behind[1].address,
    }
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    spools = "".join(
        f"    {kind}_temp_path {folder}/spool-{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    text = text.replace("http {\n", "http {\n" + spools)
    path = folder / "nginx.conf"
    path.write_text(text, encoding="utf-8")
    program = installed("nginx") or ""
    subprocess.run([program, "-t", "-q", "-c", str(path), "-e", "stderr"], check=True)
    return [program, "-c", str(path), "-e", "stderr", "-g", "daemon off;"]


def caddy(folder: Path, port: int, tls: tuple[Path, Path], behind: list[Upstream]) -> list[str]:
    """Prepare Caddy with a certificate of the test's own."""
    text = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    program = installed("caddy") or ""
    done = subprocess.run(
        [program, "fmt", "-"], input=text, capture_output=True, text=True, check=True
    )
    assert done.stdout == text, "caddy fmt"
    assert text.count("\ttls {\n") == 1
    text = text.replace("\ttls {\n", f"\ttls {tls[0]} {tls[1]} {{\n")
    name, collectors = "{$DENIABLE_HOST:", "{$DENIABLE_COLLECTORS:"
    assert (text.count(name), text.count(collectors)) == (1, 1)
    (folder / "Caddyfile").write_text(text, encoding="utf-8")
    os.environ["DENIABLE_HOST"] = f"https://127.0.0.1:{port}"
    os.environ["DENIABLE_COLLECTORS"] = " ".join(one.address for one in behind)
    options = ["--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    subprocess.run([program, "validate", *options], check=True, capture_output=True)
    return [program, "run", *options]


@pytest.fixture(params=["nginx", "caddy"])
def proxy(
    request: pytest.FixtureRequest,
    tls: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Proxy]:
    if installed(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "DENIABLE_HOST", "DENIABLE_COLLECTORS"):
        monkeypatch.setenv(name, str(tmp_path))
    tmp_path.chmod(0o755)
    prepare = {"nginx": nginx, "caddy": caddy}[request.param]
    with upstream() as first, upstream() as second:
        process, port = _start(
            lambda port: prepare(tmp_path, port, tls, [first, second]), tmp_path / "log"
        )
        try:
            yield Proxy(port, tls[0], first, second, tmp_path)
        finally:
            process.terminate()
            process.wait(20)


def _start(prepare: Callable[[int], list[str]], log: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Start a proxy; on another port if somebody was faster to take the first."""
    for _ in range(5):
        port = free_port()
        with log.open("wb") as written:
            process = subprocess.Popen(prepare(port), stdout=written, stderr=written)
        if _listens(port, process):
            return process, port
    raise AssertionError(log.read_text())


def _listens(port: int, process: subprocess.Popen[bytes]) -> bool:
    """Wait until it takes connections, or has ended."""
    deadline = time.monotonic() + 30
    while process.poll() is None:
        assert time.monotonic() < deadline
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return process.poll() is None
    return False


def test_what_a_proxy_lets_through(proxy: Proxy) -> None:
    body = gzip.compress(json.dumps({"survey": "acme"}).encode())
    for method, path in OPEN:
        assert proxy.ask(method, path, body if method == "POST" else b"") == 200, path
    passed = [(method, path) for method, path, _, _ in proxy.seen]
    assert sorted(passed) == sorted(one for one in OPEN if one[1] != "/livez")
    for _, path, headers, received in proxy.seen:
        assert set(headers) <= PASSED, path
        assert headers.get("user-agent", "proxy") == "proxy"
        assert headers["authorization"] == "Bearer token"
        assert headers["deniable-app-key"] == "key"
        assert received == (body if path == "/v1/reports" else b"")
    for method, path in SHUT:
        assert proxy.ask(method, path) in {403, 404, 405}, path
    assert len(proxy.seen) == len(OPEN) - 1


def test_a_large_body_is_refused_and_a_permitted_one_stays_in_memory(proxy: Proxy) -> None:
    largest = os.urandom(64 * 1024)
    assert proxy.ask("POST", "/v1/reports", largest) == 200
    assert proxy.seen[-1][3] == largest
    assert proxy.ask("POST", "/v1/reports", largest + b"x") == 413
    assert len(proxy.seen) == 1
    spooled = [path for path in proxy.folder.rglob("spool-*/*") if path.is_file()]
    assert not spooled


def test_a_request_goes_to_the_other_collector_if_one_hangs_up(proxy: Proxy) -> None:
    """It may have been counted: the ledger is there for that."""
    proxy.first.hang_up = True
    for _ in range(4):
        assert proxy.ask("POST", "/v1/reports", b"{}") == 200
    assert len(proxy.second.seen) == 4


def test_no_address_is_written_anywhere(proxy: Proxy) -> None:
    proxy.ask("POST", "/v1/reports", b"{}")
    proxy.ask("GET", "/nowhere")
    proxy.ask("POST", "/v1/reports", bytes(70_000))
    with socket.create_connection(("127.0.0.1", proxy.port)) as plain:
        plain.sendall(b"not TLS at all\r\n\r\n")
        plain.recv(1000)
    proxy.first.hang_up = proxy.second.hang_up = True
    assert proxy.ask("POST", "/v1/reports", b"{}") in {502, 503}
    text = proxy.written()
    for word in ("client", "remote", "198.51.100.7", "very special", "who=me", "/v1/reports"):
        assert word not in text, text
    upstreams = [proxy.first.address, proxy.second.address]
    for address in upstreams:
        text = text.replace(address, "")
    assert "127.0.0.1" not in text.replace(f'127.0.0.1:{proxy.port}"', ""), text
