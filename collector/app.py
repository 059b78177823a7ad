"""The application: one collector, its routes, and errors that are problems."""

from __future__ import annotations

from flask import Flask

from .config import Config
from .flood import FloodLimit
from .handlers import install_handlers
from .ingest import ingest_blueprint
from .reads import analyst_blueprint, metrics_blueprint, public_blueprint
from .service import Collector

EXTENSION = "deniable-collector"


def create_app(config: Config) -> Flask:
    """Return the collector as a WSGI application, for any server with one process.

    It holds its store until ``close_app`` or the end of the process; a second one on the same
    store is refused.

    Raises
    ------
    StoreError
        If the store cannot be used or another collector runs on it.
    ParameterError
        If a survey contradicts what was loaded before.
    """
    app = Flask(__name__, static_folder=None)
    flood = FloodLimit(config)
    collector = Collector(config)
    install_handlers(app, collector.metrics.refused)
    app.extensions[EXTENSION] = collector
    app.register_blueprint(ingest_blueprint(collector, flood))
    app.register_blueprint(public_blueprint(collector))
    app.register_blueprint(analyst_blueprint(collector))
    app.register_blueprint(metrics_blueprint(collector))
    return app


def collector_of(app: Flask) -> Collector:
    """Return the collector behind an application."""
    collector = app.extensions[EXTENSION]
    if not isinstance(collector, Collector):
        raise TypeError("this application has no collector")
    return collector


def close_app(app: Flask) -> None:
    """Commit what was taken in and let go of the store."""
    collector_of(app).close()
