"""A server on asyncio whose loop never waits for the client: not for its disk, nor its network.

``record(..., wait=False)`` hands the answer to a thread. Everything else that reads or writes the
store goes through ``asyncio.to_thread``.

::

    python asyncio_app.py
    echo "export pdf" | nc 127.0.0.1 8020     # also: privacy, privacy yes, privacy no
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

from deniable.client import Client

SURVEY = Path(__file__).with_name("survey.toml")
COLLECTOR = os.environ.get("NOTES_COLLECTOR", "https://telemetry.acme.example")
FORMATS = {"html", "markdown", "pdf"}


class Notes:
    """Exports notes, one command a line."""

    def __init__(self, telemetry: Client) -> None:
        self._telemetry = telemetry

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the commands of one connection, to its end or to a line that is too long."""
        with suppress(ValueError, ConnectionError, asyncio.CancelledError):
            async for line in reader:
                reply = await self.obey(line.decode(errors="replace").split())
                writer.write(f"{reply}\n".encode())
                await writer.drain()
        writer.close()

    async def obey(self, words: list[str]) -> str:
        """Do what a command says."""
        match words:
            case ["export", name] if name in FORMATS:
                self._telemetry.record("export", name, wait=False)  # no await: it never waits
                return "exported"
            case ["privacy"]:
                return (await asyncio.to_thread(self._telemetry.status)).state
            case ["privacy", "yes"]:
                stored = await asyncio.to_thread(self._telemetry.opt_in)
            case ["privacy", "no"]:
                stored = await asyncio.to_thread(self._telemetry.opt_out)
            case _:
                return "unknown command"
        return "stored" if stored else "not stored"


async def main(port: int = 8020) -> None:
    telemetry = await asyncio.to_thread(Client, SURVEY, COLLECTOR)
    try:
        server = await asyncio.start_server(Notes(telemetry).serve, "127.0.0.1", port)
        async with server:
            print(f"serving on port {server.sockets[0].getsockname()[1]}", flush=True)
            await server.serve_forever()
    finally:
        await asyncio.to_thread(telemetry.close)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main(int(os.environ.get("PORT", "8020"))))
