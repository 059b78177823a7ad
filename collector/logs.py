"""What is logged, and how: one line for each event, of this package's own words.

What must never change: a line holds no address, pseudonym, body or answer. Of what libraries log
only the kind and place of an exception is kept, for their messages may hold anything.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TextIO

from .problems import where

FORMATS = ("text", "json")

_PACKAGE = "deniable."
_PUBLIC = ("survey", "period", "released", "destroyed", "store", "keys", "flood")
"""Fields that a line may have beside its message; of JSON, fields of the object."""


class DiscreetHandler(logging.Handler):
    """Writes what this package logs, and of others only the kind and place of an exception.

    Parameters
    ----------
    form : str
        One of ``FORMATS``.
    stream : file, optional
        Standard error, if it is not given.
    """

    def __init__(self, form: str = "text", stream: TextIO | None = None) -> None:
        super().__init__()
        self._stream = stream
        self._write = _WRITERS[form]

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        if record.name.startswith(_PACKAGE):
            text = record.getMessage()
        elif record.exc_info and record.exc_info[1] is not None:
            text = where(record.exc_info[1])
        else:
            return
        stream = self._stream or sys.stderr
        try:
            stream.write(self._write(record, " / ".join(text.splitlines())) + "\n")
            stream.flush()
        except (OSError, ValueError):
            return  # nobody reads the log any more; the service goes on


def install_logging(form: str = "text") -> None:
    """Log to standard error, one line for each event, and silence what could tell more.

    For any server that runs the application: ``serve`` calls it, and so may a module that
    gunicorn loads.
    """
    logging.basicConfig(level=logging.WARNING, handlers=[DiscreetHandler(form)], force=True)
    logging.getLogger(_PACKAGE.rstrip(".")).setLevel(logging.INFO)
    threading.excepthook = _log_uncaught


def _log_uncaught(failure: threading.ExceptHookArgs) -> None:
    """Say where a thread ended, and not with what values."""
    if failure.exc_value is not None:
        logging.getLogger("deniable.collector").error("%s", where(failure.exc_value))


def event_of(record: logging.LogRecord) -> str:
    """Return what a record is about: its event, or else the module it comes from."""
    event: str = getattr(record, "event", record.module)
    return event


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _text(record: logging.LogRecord, message: str) -> str:
    level = record.levelname.lower()
    return f"{_time(record)} deniable-collector: {level}: {event_of(record)}: {message}"


def _json(record: logging.LogRecord, message: str) -> str:
    document = {
        "time": _time(record),
        "level": record.levelname.lower(),
        "event": event_of(record),
        "message": message,
    }
    document |= {name: getattr(record, name) for name in _PUBLIC if hasattr(record, name)}
    return json.dumps(document, ensure_ascii=False)


_WRITERS: MappingProxyType[str, Callable[[logging.LogRecord, str], str]] = MappingProxyType(
    {"text": _text, "json": _json}
)
