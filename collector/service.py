"""A running collector: store, keys, writer and timer, started and stopped as one."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

from deniable.protocol.errors import StoreError
from deniable.protocol.periods import Period

from .catalogue import Catalogue, register
from .commit import Writer
from .config import Config
from .keys import open_keys
from .metrics import Metrics
from .problems import where
from .release import Closing, close_periods, destroy_keys
from .rules import Rules
from .store import Store, open_store

LOG = logging.getLogger("deniable.collector")

_MAX_RULES = 1024
_PROVEN_SECONDS = 1.0
_BEGINNING = datetime.min.replace(tzinfo=UTC)


class Collector:
    """Everything behind the HTTP surface. Close it to commit what was taken in.

    Attributes
    ----------
    config, store, catalogue, keys, writer, metrics
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.metrics = Metrics()
        self._rules: dict[tuple[str, str], Rules] = {}
        self._doubted = False
        self._proven_until = 0.0
        self._stop = threading.Event()
        with ExitStack() as stack:
            self.store = open_store(config.store)
            stack.callback(self.store.close)
            stack.enter_context(self.store.exclusive())
            self.catalogue = _register(self.store, config)
            self.keys = open_keys(self.store, config.keys)
            self._warn()
            self.writer = Writer(self.store, config, self.metrics)
            stack.callback(self.writer.close)
            self.metrics.watch_queue(self.writer.waiting)
            destroy_keys(self.store, self.catalogue, self.keys)
            self._start_timer(stack)
            self._resources = stack.pop_all()

    def rules(self, survey: str, period: Period) -> Rules | None:
        """Return the rules for a survey's period; None if the survey is unknown."""
        key = (survey, period.key)
        rules = self._rules.get(key)
        if rules is None:
            if survey not in self.catalogue.surveys:
                return None
            if len(self._rules) >= _MAX_RULES:
                self._rules = {}
            rules = self._rules[key] = Rules(self.catalogue, survey, period)
        return rules

    def release(self) -> Closing | None:
        """Close what is due; None if the clock is too far ahead to be believed."""
        now = self.config.clock()
        with self.store.read() as reader:
            ahead = now - reader.watermark()
        closing = None
        if ahead > self.config.max_advance:
            if not self._doubted:
                LOG.warning(
                    "the clock is %d days past the last release, so none is made by itself; "
                    "if it is right, run deniable-collector release",
                    ahead.days,
                )
            self._doubted = True
        else:
            self._doubted = False
            closing = self.writer.run(lambda tx: close_periods(tx, self.catalogue, now))
            self.metrics.released.inc(closing.released)
            self.metrics.destroyed.inc(closing.destroyed)
        destroy_keys(self.store, self.catalogue, self.keys)
        return closing

    def probe(self) -> None:
        """Write to the store and wait for the disk, unless that was done a moment ago.

        Raises
        ------
        StoreError
            If that cannot be done.
        """
        if time.monotonic() >= self._proven_until:
            self.writer.run(lambda tx: tx.probe())
            self._proven_until = time.monotonic() + _PROVEN_SECONDS

    def close(self) -> None:
        """Commit what was taken in, stop the threads, and let go of the store."""
        self._resources.close()

    def _warn(self) -> None:
        """Say at the start what makes reports be refused for reasons an operator can see to."""
        with self.store.read() as reader:
            scopes, watermark = reader.open_scopes(), reader.watermark()
        if watermark > self.config.clock() + timedelta(days=1):
            text = "what closes before %s is closed for good, though that is to come"
            LOG.warning(text, f"{watermark:%Y-%m-%d %H:%M}")
        for scope in scopes:
            if self.keys.missing(scope):
                text = "the key of %s is missing: its reports are refused until it closes"
                LOG.warning(text, scope.name)

    def _start_timer(self, stack: ExitStack) -> None:
        if not self.config.release_every:
            return
        self._tick()
        thread = threading.Thread(target=self._run, name="collector-release", daemon=True)
        thread.start()
        stack.callback(thread.join)
        stack.callback(self._stop.set)

    def _run(self) -> None:
        while not self._stop.wait(self.config.release_every):
            self._tick()

    def _tick(self) -> None:
        try:
            self.release()
        except StoreError as exc:
            LOG.error("release failed: %s", exc)
        except Exception as exc:
            LOG.error("release failed: %s", where(exc))


def _register(store: Store, config: Config) -> Catalogue:
    with store.transaction() as tx:
        if tx.watermark() == _BEGINNING:
            tx.raise_watermark(config.clock())  # what closed before there was a store stays closed
        for survey in config.surveys:
            register(tx, survey)
        return Catalogue.read(tx)
