"""``deniable-collector serve``: the service, until it is told to stop."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from deniable.protocol.survey import Survey

from ..config import MAX_SECONDS, STOP_TIMEOUT, Config, utc_now
from ..files import Files
from ..logs import FORMATS
from . import options


def _seconds(ctx: click.Context, param: click.Parameter, seconds: float) -> float:
    """Take a time that a thread can wait for; NaN and infinities are none."""
    if not 0 <= seconds <= MAX_SECONDS:
        raise click.BadParameter(f"must be in 0..{MAX_SECONDS:.0f} seconds: {seconds}")
    return seconds


@click.command("serve")
@click.option(
    "--survey",
    "surveys",
    multiple=True,
    required=True,
    metavar="FILE",
    help="A survey, TOML or compiled JSON; may be given several times.",
)
@options.store
@options.keys
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="The port; 0 takes any that is free.",
)
@click.option(
    "--flood-limit",
    default=Config.flood_limit,
    show_default=True,
    metavar="RATE",
    help="Requests one pseudonym may send.",
)
@click.option(
    "--flood-storage",
    default=Config.flood_storage,
    show_default=True,
    metavar="URL",
    help="Where requests are counted: memory://, or redis://HOST, rediss://, valkey:// or "
    "valkeys:// with deniable[redis], which replicas share.",
)
@click.option(
    "--app-keys",
    metavar="FILE",
    help="Take reports only with a key of this file, which apps ship with; see app-key.",
)
@click.option(
    "--release-every",
    callback=_seconds,
    type=float,
    default=Config.release_every,
    show_default=True,
    metavar="SECONDS",
    help="Time between releases; 0 leaves them to the release command.",
)
@click.option(
    "--max-devices-per-period",
    type=click.IntRange(min=1),
    default=Config.max_devices_per_period,
    show_default=True,
    help="Devices one period holds.",
)
@click.option(
    "--log-format",
    type=click.Choice(FORMATS),
    default=FORMATS[0],
    show_default=True,
    help="How to log on standard error, a line for each event.",
)
@click.option(
    "--stop-timeout",
    callback=_seconds,
    type=float,
    default=STOP_TIMEOUT,
    show_default=True,
    metavar="SECONDS",
    help="Time that requests under way have to end when it is told to stop.",
)
def command(
    surveys: Sequence[str],
    host: str,
    port: int,
    log_format: str,
    stop_timeout: float,
    **settings: Any,
) -> None:
    """Run the service until it is told to stop.

    When it takes requests it prints one line with its address. Put a proxy with TLS in front of
    it; the collector itself never looks at an address.

    SIGHUP reads the surveys and app keys again, all or none. SIGTERM and SIGINT end it when what
    it accepted is stored.
    """
    from ..serve import serve as run

    files = Files(tuple(map(Path, surveys)), settings["app_keys"])
    loaded = files.load_surveys()
    names = ", ".join(survey.id for survey in loaded)

    _warn_of_expired(loaded)

    def announce(url: str) -> None:
        click.echo(f"serving {names} on {url}")
        sys.stdout.flush()

    config = Config(surveys=loaded, **settings)
    run(config, host, port, announce, files, log_format=log_format, stop_timeout=stop_timeout)


def _warn_of_expired(surveys: Iterable[Survey]) -> None:
    today = utc_now().date()
    for survey in surveys:
        for question in survey.questions.values():
            if question.expires < today:
                text = f"{survey.id}: {question.id} expired on {question.expires}; no longer asked"
                click.echo(f"Warning: {text}", err=True)
