"""The flood limit: how often one pseudonym may send, counted under names that tell nothing."""

from __future__ import annotations

import hashlib
import hmac
import logging
import threading
import time
from collections.abc import Callable

import limits
from limits.errors import StorageError
from limits.storage import Storage

from deniable.protocol.draws import length_prefixed
from deniable.protocol.errors import StoreError

from .config import Config
from .flood_key import DailyKey, ProcessKey
from .flood_storage import MEMORY, open_limiter
from .keystore.base import KeyStore
from .places import without_password
from .problems import HTTPProblem, unavailable

LOG = logging.getLogger("deniable.collector")

_UNCOUNTED = "the flood limit cannot be checked"


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

    Parameters
    ----------
    config : Config
    key : callable
        Returns the key of the HMAC that it counts under; processes that count together have the
        same one, which :func:`flood_key` sees to.
    """

    def __init__(self, config: Config, key: Callable[[], bytes]) -> None:
        self._item = limits.parse(config.flood_limit)
        self._key = key
        self._limiter = open_limiter(config.flood_storage)
        self._place = without_password(config.flood_storage)
        self._down = False
        self._trying = threading.Lock()

    def check(self, survey: str, device: bytes) -> None:
        """Count one request of a device.

        Raises
        ------
        HTTPProblem
            429 if it sent too many, 503 if they cannot be counted.
        """
        if not self._down:
            self._count(survey, device)
        elif self._trying.acquire(blocking=False):  # so that not every thread waits in vain
            try:
                self._count(survey, device)
            finally:
                self._trying.release()
        else:
            raise unavailable(_UNCOUNTED)

    def _count(self, survey: str, device: bytes) -> None:
        message = length_prefixed(survey.encode(), device)
        try:
            name = hmac.digest(self._key(), message, hashlib.sha256).hex()
            free = self._limiter.limiter.hit(self._item, name)
            reset = 0.0 if free else self._window_end(name)
        except (StorageError, StoreError) as exc:
            self._tell(exc)
            raise unavailable(_UNCOUNTED) from None
        self._tell(None)
        if free:
            return
        seconds = max(1, int(reset - time.time()) + 1)
        text = f"more than {self._item} from this device; wait"
        raise HTTPProblem(429, text, {"Retry-After": str(seconds)})

    def reachable(self) -> bool:
        """Return whether requests can be counted now."""
        return self._limiter.storage.check()

    def _window_end(self, name: str) -> float:
        return self._limiter.limiter.get_window_stats(self._item, name).reset_time

    def _tell(self, exc: StorageError | StoreError | None) -> None:
        """Log that counting stopped, and that it goes on: once each, not at every request."""
        if self._down == (exc is not None):
            return
        self._down = exc is not None
        if exc is None:
            LOG.warning("%s: floods are counted again", self._place)
        else:
            reason = exc if isinstance(exc, StoreError) else type(exc.__cause__ or exc).__name__
            text = "%s: floods cannot be counted, so reports are answered 503 (%s)"
            LOG.error(text, self._place, reason)


def flood_key(config: Config, places: KeyStore) -> Callable[[], bytes]:
    """Return the key to count floods under: shared through the key store if the counts are."""
    if config.flood_storage == MEMORY:
        return ProcessKey()
    return DailyKey(places, config.clock)
