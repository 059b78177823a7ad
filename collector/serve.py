"""The production service: quiet, and stopped without losing anything."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from contextlib import ExitStack, closing
from types import FrameType

from .app import close_app, collector_of, create_app
from .config import STOP_TIMEOUT, Config
from .drain import Lifetime
from .files import Files
from .logs import install_logging
from .places import without_password
from .reload import Reloader
from .server import listen, make_server, socket_url
from .service import Collector

LOG = logging.getLogger("deniable.collector")


def serve(
    config: Config,
    host: str,
    port: int,
    announce: Callable[[str], None],
    files: Files,
    *,
    log_format: str = "text",
    stop_timeout: float = STOP_TIMEOUT,
) -> None:
    """Serve until SIGTERM or SIGINT; then finish the requests under way and commit them.

    Parameters
    ----------
    config : Config
    host : str
    port : int
        0: any that is free.
    announce : callable
        Told the URL once requests are accepted.
    files : Files
        What SIGHUP reads again.
    log_format : str
        One of ``logs.FORMATS``.
    stop_timeout : float
        Seconds that requests under way have to end.

    Raises
    ------
    StoreError
        If the store cannot be used.
    ParameterError
        If the address cannot be used, or a survey contradicts what was loaded before.
    """
    install_logging(log_format)
    with ExitStack() as stack:
        listening = stack.enter_context(closing(listen(host, port)))
        app = create_app(config)
        stack.callback(_stopped)
        stack.callback(close_app, app)
        reloader = stack.enter_context(closing(Reloader(collector_of(app), files)))
        lifetime = Lifetime(make_server(app, listening))
        _heed_signals(lifetime, reloader)
        announce(socket_url(listening))
        _started(collector_of(app))
        lifetime.run()
        left = lifetime.drain(stop_timeout)
        if left:
            text = "%d requests did not end within %g seconds and were cut off"
            LOG.warning(text, left, stop_timeout, extra={"event": "stop"})


def _heed_signals(lifetime: Lifetime, reloader: Reloader) -> None:
    """Stop at the first SIGTERM or SIGINT, whatever comes after it, and reload at each SIGHUP."""

    def stop(number: int, frame: FrameType | None) -> None:
        for known in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(known, signal.SIG_IGN)
        lifetime.stop()

    def reload(number: int, frame: FrameType | None) -> None:
        reloader.ask()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGHUP, reload)


def _started(collector: Collector) -> None:
    config = collector.config
    places = {
        "store": collector.store.location,
        "keys": collector.keys.places.location,
        "flood": without_password(config.flood_storage),
    }
    text = ", ".join(f"{name} {place}" for name, place in places.items())
    LOG.info("started: %s", text, extra={"event": "start", **places})
    collector.readiness.look()  # what fails is logged, before the first report is refused


def _stopped() -> None:
    LOG.info("stopped; what was accepted is stored", extra={"event": "stop"})
