"""``deniable audit``."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path

import click

from . import options

_DEFAULT = signal.SIG_DFL


@click.command(name="audit")
@options.survey_file
@options.question_ids
@click.option(
    "--trials",
    type=options.WHOLE,
    default="8000",
    show_default=True,
    metavar="N",
    help="Devices on each side of a comparison: half of them choose an event, half test it.",
)
@click.option(
    "--confidence",
    type=options.NUMBER,
    default="0.999",
    show_default=True,
    metavar="C",
    help="Of all lower bounds together: a sound client is accused with 1 - C at most.",
)
@click.option(
    "--python",
    default=sys.executable,
    metavar="PATH",
    help="The Python in whose environment the client is installed; otherwise this one.",
)
@click.option(
    "--seed",
    type=options.WHOLE,
    metavar="S",
    help="Chooses which answers are compared, never what devices draw; it is printed.",
)
@options.form
def command(
    survey: Path,
    questions: tuple[str, ...],
    trials: int,
    confidence: Decimal,
    python: str,
    seed: int | None,
    form: str,
) -> int:
    """Look for a violation of what a survey promises, in the client that is installed.

    Runs the client's code on every outcome of its draws, lets thousands of fresh devices answer,
    and checks what they remember over restarts, copies, upgrades and processes. The exit status
    is 1 if a violation was found. It cannot prove that there is none, and says how large one it
    could have seen.

    The exit status is 1 as well if the audit could not be run: then there is one line on standard
    error and no result. In JSON, "violation" tells. At the default of --trials it takes two cores
    about half a minute for one question, and two minutes for thirty.
    """
    from ..auditing.audit import audit

    shown = form == "table" and sys.stderr.isatty()
    with _ended_by_signals(), _progress(shown=shown) as progress:
        result = audit(
            survey,
            questions=questions,
            trials=trials,
            confidence=confidence,
            python=python,
            seed=seed,
            progress=progress,
        )
    options.emit(result, form)
    return 1 if result.violation else 0


class _Ended(BaseException):
    """A signal asked for the end: what was started is ended on the way out."""


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let a signal that ends a program end its workers and erase their stores first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []

    def end(number: int, frame: object) -> None:
        if not caught:
            caught.append(number)
            raise _Ended

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    heeded = [n for n in map(signal.Signals.__getitem__, names) if signal.getsignal(n) == _DEFAULT]
    try:
        for number in heeded:
            signal.signal(number, end)
        with suppress(_Ended):
            yield
    finally:
        for number in heeded:
            signal.signal(number, _DEFAULT)
        if caught:
            signal.raise_signal(caught[0])


@contextmanager
def _progress(*, shown: bool) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on a terminal's standard error."""
    if not shown:
        yield lambda done, total: None
        return
    with click.progressbar(length=1, label="devices", file=sys.stderr) as bar:

        def tell(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        yield tell
