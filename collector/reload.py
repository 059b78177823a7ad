"""New editions of the survey files, and of the app keys, while the service runs: all or none.

A file that cannot be read, or contradicts what was loaded before, is refused with one line in the
log, and everything stays as it was.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from queue import SimpleQueue

from deniable.protocol.errors import DeniableError, ParameterError
from deniable.protocol.survey import Survey

from .files import Files
from .problems import where
from .service import Collector

LOG = logging.getLogger("deniable.collector")


class Reloader:
    """Reads the files again when it is told to, on a thread of its own.

    Parameters
    ----------
    collector : Collector
    files : Files
    """

    def __init__(self, collector: Collector, files: Files) -> None:
        self._collector = collector
        self._files = files
        self._wishes: SimpleQueue[bool] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="collector-reload", daemon=True)
        self._thread.start()

    def ask(self) -> None:
        """Wish for a reload; may be called from a signal handler, and any number of times."""
        self._wishes.put(True)

    def close(self) -> None:
        """End after a reload that is under way."""
        self._wishes.put(False)
        self._thread.join()

    def _run(self) -> None:
        while self._wishes.get():
            try:
                self._reload()
            except DeniableError as exc:
                self._refuse(" / ".join(str(exc).splitlines()))
            except Exception as exc:
                self._refuse(where(exc))

    def _reload(self) -> None:
        surveys, app_keys = self._files.load_surveys(), self._files.load_app_keys()
        try:
            self._collector.load(surveys)
        except ParameterError as exc:
            raise ParameterError(f"{self._named(str(exc), surveys)}{exc}") from exc
        self._collector.app_keys = app_keys
        for survey in surveys:
            LOG.info(
                "survey %s: %d questions", survey.id, len(survey.questions),
                extra={"event": "reload", "survey": survey.id},
            )  # fmt: skip

    def _named(self, message: str, surveys: Sequence[Survey]) -> str:
        """Return the file that a message about a survey is about."""
        for path, survey in zip(self._files.surveys, surveys, strict=True):
            if message.startswith(f"survey {survey.id}: "):
                return f"{path}: "
        return ""

    def _refuse(self, reason: str) -> None:
        text = "nothing was reloaded, the surveys of before go on: %s"
        LOG.error(text, reason, extra={"event": "reload"})
