"""A process in the audited environment: started, asked, timed, and killed.

What must never change: whatever the process does, the one who asks gets an answer or one
:class:`~deniable.protocol.errors.DeniableError`, in bounded time.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

from deniable.protocol.errors import DeniableError

MODULE = "deniable.client.probe"

_START_SECONDS = 60.0


class AuditError(DeniableError):
    """The audited environment did not do as it was asked."""


class Worker:
    """One probe. Answers one question at a time.

    Parameters
    ----------
    python : str
        The interpreter of the audited environment.
    survey, folder : Path
        What is audited, and where its devices keep their stores.
    """

    def __init__(self, python: str, survey: Path, folder: Path) -> None:
        self._python = python
        self._lock = threading.Lock()
        self._replies: queue.Queue[str | None] = queue.Queue()
        folder.mkdir(parents=True)
        self._complaints = folder / "stderr"
        command = [python, "-P", "-m", MODULE, str(survey.absolute()), str(folder)]
        try:
            with self._complaints.open("wb") as complaints:
                self._process = subprocess.Popen(  # noqa: S603
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=complaints,
                    text=True,
                    encoding="utf-8",
                    start_new_session=True,
                )
        except OSError as exc:
            raise AuditError(f"{python}: cannot be started ({exc.strerror})") from exc
        self._orders = cast("IO[str]", self._process.stdin)
        self._answers = cast("IO[str]", self._process.stdout)
        threading.Thread(target=self._listen, daemon=True).start()

    def ask(self, do: str, seconds: float = _START_SECONDS, **order: object) -> dict[str, Any]:
        """Return the answer to one order.

        Raises
        ------
        AuditError
            If the probe says that it cannot, dies, hangs or speaks nonsense.
        """
        with self._lock:
            with suppress(OSError, ValueError):  # if it has ended, what it said is read below
                self._orders.write(json.dumps({"do": do, **order}) + "\n")
                self._orders.flush()
            try:
                line = self._replies.get(timeout=seconds)
            except queue.Empty:
                self.stop()
                raise AuditError(f"{self._python}: no answer to {do!r} in {seconds:g} s") from None
            return self._understood(do, line)

    def _understood(self, do: str, line: str | None) -> dict[str, Any]:
        if line is None:
            self._replies.put(None)  # for whoever asks next
            raise AuditError(f"{self._python}: ended before it answered {do!r}{self._last_words()}")
        try:
            reply = json.loads(line)
        except ValueError:
            reply = None
        if not isinstance(reply, dict):
            self.stop()
            raise AuditError(f"{self._python}: answered {do!r} with nonsense")
        if "error" in reply:
            raise AuditError(f"{self._python}: {reply['error']}")
        return reply

    def stop(self) -> None:
        """End the process, and what it started."""
        if sys.platform != "win32":
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End the process, and free what it took."""
        self.stop()
        for stream in (self._orders, self._answers):
            with suppress(OSError):
                stream.close()

    def _listen(self) -> None:
        with suppress(ValueError):  # closed, or not even text
            for line in self._answers:
                self._replies.put(line)
        self._replies.put(None)

    def _last_words(self) -> str:
        text = self._complaints.read_text(encoding="utf-8", errors="replace").strip()
        return f": {text.splitlines()[-1][:200]}" if text else ""
