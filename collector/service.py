"""A running collector: store, keys, writer and timer, started and stopped as one."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from datetime import datetime, timedelta

from deniable.protocol.errors import StoreError
from deniable.protocol.survey import Survey

from .app_key import AppKeys
from .beginning import begin_watermark
from .catalogue import Catalogue, register
from .commit import Writer
from .config import Config
from .editions import Editions
from .flood import FloodLimit, flood_key
from .keys import open_keys
from .metrics import Metrics
from .outages import Outages
from .plain import encrypt_plain
from .problems import where
from .readiness import Readiness
from .release import SWEEP, Closing, close_periods, destroy_keys
from .standing import checks_of
from .store import open_store
from .store.base import Scope, Transaction

LOG = logging.getLogger("deniable.collector")

_SKEW = timedelta(minutes=10)
"""How far the clocks of replicas may be apart before it is told."""


class Collector:
    """Everything behind the HTTP surface. Close it to commit what was taken in.

    Attributes
    ----------
    config, store, editions, keys, flood, writer, metrics, outages, readiness
    app_keys : AppKeys or None
        Those in force; may be replaced.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.metrics = Metrics()
        self.outages = Outages()
        self.app_keys = None if config.app_keys is None else AppKeys.load(config.app_keys)
        self._doubted = False
        self._in_the_clear: set[Scope] = set()
        self._stop = threading.Event()
        with ExitStack() as stack:
            self.store = open_store(config.store)
            stack.callback(self.store.close)
            stack.enter_context(self.store.attend())
            self.keys = open_keys(self.store, config.keys)
            stack.callback(self.keys.close)
            self.flood = FloodLimit(config, flood_key(config, self.keys.places))
            with self.store.transaction() as tx:
                begin_watermark(tx, config.clock())
                for survey in config.surveys:
                    register(tx, survey)
                self.editions = Editions(self.store, tx, self.outages)
                plain = encrypt_plain(tx, self.catalogue, self.keys)
            self._tell_of_plain(plain)
            self._warn()
            self.writer = Writer(self.store, config, self.metrics)
            stack.callback(self.writer.close)
            self.metrics.watch_queue(self.writer.waiting)
            self.readiness = Readiness(checks_of(self))
            destroy_keys(self.store, self.keys)
            self._start_timer(stack)
            self._resources = stack.pop_all()

    @property
    def catalogue(self) -> Catalogue:
        """The newest one."""
        return self.editions.catalogue

    def load(self, surveys: Iterable[Survey]) -> None:
        """Take new editions of surveys while reports come in: all of them, or none.

        Raises
        ------
        ParameterError
            If a survey contradicts what was loaded before.
        StoreError
        """

        def work(tx: Transaction) -> None:
            for survey in surveys:
                register(tx, survey)

        self.writer.run(work)
        self.editions.learn()

    def check_app_key(self, header: str | None) -> None:
        """Let a request in that has a key of an app, or any if none is asked for.

        Raises
        ------
        HTTPProblem
            401.
        """
        if self.app_keys is not None:
            self.app_keys.check(header)

    def release(self) -> Closing | None:
        """Close what is due; None if the clock is too far ahead to be believed."""
        now = self.config.clock()
        with self.store.read() as reader:
            watermark = reader.watermark()
        ahead = now - watermark
        self._heed_clock(-ahead, watermark)
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
            closing = self.writer.run(lambda tx: close_periods(tx, self.keys, now))
            self._report(closing)
        destroy_keys(self.store, self.keys)
        while self.writer.run(lambda tx: tx.sweep(SWEEP)) == SWEEP and not self._stop.is_set():
            pass
        if closing is not None:
            self.metrics.release_succeeded()
        return closing

    def _heed_clock(self, behind: timedelta, watermark: datetime) -> None:
        """Tell that the clock went back; what it closed before stays closed."""
        reason = None
        if behind > _SKEW:
            until = f"{watermark:%Y-%m-%d %H:%M} UTC"
            reason = (
                f"it is behind what was closed before; reports of periods that close before {until}"
                " are refused, though that is to come"
            )
        self.outages.tell("the clock", reason)

    def _tell_of_plain(self, waiting: Mapping[Scope, str]) -> None:
        """Tell what an older deniable left in the clear and why it is not encrypted."""
        for scope in sorted(self._in_the_clear | waiting.keys()):
            self.outages.tell(f"encrypting what waits of {scope.name}", waiting.get(scope))
        self._in_the_clear = set(waiting)

    def _report(self, closing: Closing) -> None:
        """Tell what a release did."""
        self._tell_of_plain(closing.plain)
        self.metrics.released.inc(closing.released)
        self.metrics.destroyed.inc(closing.destroyed)
        self.metrics.waiting_for_key.set(len(closing.waiting))
        if closing.released or closing.destroyed:
            LOG.info(
                "released %d, destroyed %d",
                closing.released,
                closing.destroyed,
                extra={"event": "release"},
            )

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
                text = "the key of %s is missing: its reports are refused until it is put back"
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
            self.editions.learn()
            self.keys.restore()
            self.release()
        except StoreError as exc:
            reason: str | None = str(exc)
        except Exception as exc:
            reason = where(exc)
        else:
            reason = None
        self.outages.tell("release", reason)
