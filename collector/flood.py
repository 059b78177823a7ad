"""The flood limit: how often one pseudonym may send, counted under names that tell nothing."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import threading
import time

import limits
from flask import Flask
from flask_limiter import Limiter
from limits.errors import ConfigurationError, StorageError
from limits.storage import Storage

from deniable.protocol.draws import length_prefixed
from deniable.protocol.errors import MissingExtraError, ParameterError

from .config import Config
from .problems import HTTPProblem, unavailable


class WindowStorage(Storage):
    """Fixed windows in memory, swept once a window.

    The library's own ``memory://`` starts a thread a hundred times a second that walks over
    every key; with a hundred thousand devices a minute that is all the collector would do.
    """

    STORAGE_SCHEME = ["deniable+memory"]  # noqa: RUF012

    def __init__(self, uri: str | None = None, wrap_exceptions: bool = False, **_: str) -> None:
        super().__init__(uri, wrap_exceptions=wrap_exceptions)
        self._lock = threading.Lock()
        self._windows: dict[str, tuple[int, float]] = {}
        self._sweep_at = 0.0

    @property
    def base_exceptions(self) -> type[Exception]:
        """Nothing of the kind is raised here."""
        return StorageError

    def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        """Count in the key's window, which begins with its first request."""
        now = time.time()
        with self._lock:
            if now >= self._sweep_at:
                self._windows = {k: w for k, w in self._windows.items() if w[1] > now}
                self._sweep_at = now + expiry
            count, ends = self._windows.get(key, (0, 0.0))
            if ends <= now:
                count, ends = 0, now + expiry
            self._windows[key] = (count + amount, ends)
            return count + amount

    def get(self, key: str) -> int:
        """Return the count of the key's window."""
        count, ends = self._windows.get(key, (0, 0.0))
        return count if ends > time.time() else 0

    def get_expiry(self, key: str) -> float:
        """Return when the key's window ends."""
        return self._windows.get(key, (0, time.time()))[1]

    def check(self) -> bool:
        """Memory is always there."""
        return True

    def reset(self) -> int:
        """Forget every window."""
        with self._lock:
            count = len(self._windows)
            self._windows = {}
            return count

    def clear(self, key: str) -> None:
        """Forget one window."""
        with self._lock:
            self._windows.pop(key, None)


class FloodLimit:
    """Counts the requests of each pseudonym with flask-limiter's storage and strategy.

    The names it counts under are an HMAC with a key that lives as long as this process.
    """

    def __init__(self, config: Config) -> None:
        self._item = limits.parse(config.flood_limit)
        self._key = os.urandom(32)
        uri = config.flood_storage
        limiter = Limiter(
            _no_key,
            storage_uri="deniable+memory://" if uri == "memory://" else uri,
            storage_options={"wrap_exceptions": True},
            strategy="fixed-window",
        )
        logging.getLogger("flask-limiter").disabled = True
        try:
            # An app of its own: the hooks it gets are for limits on whole routes, and here the
            # pseudonym is known only after the body was read.
            limiter.init_app(Flask(__name__))
        except (ConfigurationError, StorageError, ValueError) as exc:
            if "prerequisite" in str(exc):
                text = "redis is not installed; pip install 'deniable[redis]'"
                raise MissingExtraError(text) from exc
            raise ParameterError("flood_storage must be memory:// or redis://HOST") from exc
        self._limiter = limiter

    def check(self, survey: str, device: bytes) -> None:
        """Count one request of a device.

        Raises
        ------
        HTTPProblem
            429 if it sent too many, 503 if they cannot be counted.
        """
        message = length_prefixed(survey.encode(), device)
        name = hmac.digest(self._key, message, hashlib.sha256).hex()
        try:
            if self._limiter.limiter.hit(self._item, name):
                return
            reset = self._limiter.limiter.get_window_stats(self._item, name).reset_time
        except StorageError:
            raise unavailable("the flood limit cannot be checked") from None
        seconds = max(1, int(reset - time.time()) + 1)
        text = f"more than {self._item} from this device; wait"
        raise HTTPProblem(429, text, {"Retry-After": str(seconds)})


def _no_key() -> str:
    return ""
