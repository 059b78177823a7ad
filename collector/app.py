"""The application: one collector, its routes, and errors that are problems."""

from __future__ import annotations

import logging
import os

from flask import Flask

from .begun import BEGUN
from .config import Config
from .handlers import install_handlers
from .ingest import ingest_blueprint, starter
from .problems import unavailable
from .reads import analyst_blueprint, metrics_blueprint, public_blueprint
from .service import Collector

LOG = logging.getLogger("deniable.collector")

EXTENSION = "deniable-collector"


def create_app(config: Config) -> Flask:
    """Return the collector as a WSGI application, for any server.

    It holds its store until ``close_app`` or the end of the process; a second one on the same
    SQLite file is refused, on PostgreSQL there may be any number. Each process makes its own: one
    that was forked from the process that made it answers nothing but 503.

    Raises
    ------
    StoreError
        If the store cannot be used or another collector runs on it.
    ParameterError
        If a survey contradicts what was loaded before.
    """
    app = Flask(__name__, static_folder=None)
    collector = Collector(config)
    install_handlers(app, collector.metrics.refused, collector.outages)
    app.extensions[EXTENSION] = collector
    app.extensions[BEGUN] = starter(collector)
    _refuse_forks(app)
    app.register_blueprint(ingest_blueprint(collector))
    app.register_blueprint(public_blueprint(collector))
    app.register_blueprint(analyst_blueprint(collector))
    app.register_blueprint(metrics_blueprint(collector))
    return app


def _refuse_forks(app: Flask) -> None:
    """Answer 503 in a process that has the application but not its threads and connections."""
    maker = os.getpid()
    told: list[int] = []

    @app.before_request
    def check_process() -> None:
        if os.getpid() == maker:
            return
        if not told:
            told.append(os.getpid())
            LOG.error(
                "this process was forked from the one that made the collector, and answers 503; "
                "make the application in each worker (gunicorn without --preload)"
            )
        raise unavailable("the collector was started in another process; its log says more")


def collector_of(app: Flask) -> Collector:
    """Return the collector behind an application."""
    collector = app.extensions[EXTENSION]
    if not isinstance(collector, Collector):
        raise TypeError("this application has no collector")
    return collector


def close_app(app: Flask) -> None:
    """Commit what was taken in and let go of the store."""
    collector_of(app).close()
