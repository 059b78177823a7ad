"""The door for app developers. Nothing behind it blocks, raises into or slows the app.

Importing this module loads next to nothing; the first client loads the rest, and the first
exchange with a collector loads ``requests``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, TypeVar

from deniable.protocol.errors import (
    DeniableError,
    MissingExtraError,
    ParameterError,
    StoreError,
)

from .faults import BusyStore, NoStore, UnreadableStore
from .status import Flushed, Status

if TYPE_CHECKING:
    from decimal import Decimal
    from pathlib import Path
    from types import TracebackType

    from deniable.protocol.survey import Survey

    from .engine import Engine
    from .pacing import Clock

T = TypeVar("T")


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


class Client:
    """Answers a survey's questions for one device, so that nobody learns an answer for sure.

    Parameters
    ----------
    survey : str, Path or Survey
        The survey file that ships inside the app (TOML, or JSON from ``deniable survey
        compile``), or the survey loaded from it.
    collector_url : str
        Such as ``https://collector.example``.
    store : str or Path, optional
        The device's store, one file per app. By default it lies in a folder for the state of
        apps that is neither synced nor roams.
    consent : "ask" or "on"
        Until the person decides: "ask" keeps reports on the device until :meth:`opt_in`; "on"
        sends them. A stored decision always wins.
    segment : str, optional
        One of the survey's public segments.
    app_key : str, optional
        What the collector knows this app's builds by, if it asks for that. It ships inside the
        app and so is no secret; all devices of an app have the same, so it names none of them.
    strict : bool
        Raise for a wrong value, an unknown question or an invalid survey, as is useful while an
        app is developed. Otherwise nothing raises; :meth:`status` says what is wrong.

    Raises
    ------
    ParameterError
        Only if ``strict``: an invalid survey, URL, consent, segment or app key.
    StoreError
        Only if ``strict``: there is a file at the store's path that is none; it is left alone.

    Examples
    --------
    ::

        client = Client("survey.toml", "https://collector.example")
        client.record("dark_mode", True)
        client.close()
    """

    def __init__(
        self,
        survey: str | os.PathLike[str] | Survey,
        collector_url: str,
        store: str | os.PathLike[str] | None = None,
        consent: Literal["ask", "on"] = "ask",
        segment: str | None = None,
        strict: bool = False,
        *,
        app_key: str | None = None,
        _clock: Clock = utc_now,
    ) -> None:
        self._strict = strict
        self._path: Path | None = None
        self._engine: Engine | None = None
        self._reason = ""
        self._last = Status("silent")
        self._closed = False
        try:
            self._open(survey, collector_url, store, consent, segment, app_key, _clock)
        except Exception as exc:
            self._fail(exc)
            self._raise(exc)

    def record(self, question: str, value: bool | str | float | Decimal) -> None:
        """Answer a question: perturb the value, keep the report, return at once.

        The first answer of a device in a period counts; later ones change nothing. The report
        leaves after the period's end, at a random moment. After :meth:`close` it is ignored and
        counted nowhere.

        Parameters
        ----------
        question : str
            Its id in the survey.
        value : bool, str, int, float or Decimal
            True or False for a boolean question, one of its choices for a choice, a number for a
            number. Stored nowhere.

        Raises
        ------
        ParameterError
            Only if ``strict``: the question is unknown or the value is no answer to it.
        MissingExtraError
            Only if ``strict``: the question is sealed, and ``deniable[sealed]`` is not installed.
        DeniableError
            Only if ``strict``: the client was closed.
        """
        engine = self._engine
        if engine is None:
            if self._strict and self._closed:
                del value
                raise DeniableError("the client was closed; answer before that, or make another")
            return
        try:
            engine.record(question, value)
            return
        except (ParameterError, MissingExtraError) as exc:
            error: Exception = exc
        except BusyStore as exc:
            engine.refuse("busy")
            error = exc
        except Exception as exc:
            self._fail(exc)
            error = exc
        del value
        self._raise(error.with_traceback(None))  # without the frames that held the value

    def flush(self, force: bool = False) -> Flushed:
        """Send what is due now, instead of waiting for the background thread to do it.

        Does nothing unless the person's answer is yes, nor while another process is sending.

        Parameters
        ----------
        force : bool
            Send everything, due or not; for tests and demonstrations, for it gives away when
            answers were recorded.
        """
        return self._do(lambda engine: engine.flush(force=force), Flushed())

    def opt_in(self) -> bool:
        """Store that the person said yes: what waits will be sent, each report at its time.

        Returns
        -------
        bool
            Whether it was stored; if not, :meth:`status` says why.
        """
        return self._do(lambda engine: engine.opt_in(), False)

    def opt_out(self) -> bool:
        """Store that the person said no: what waits is erased, nothing is recorded or sent.

        Returns
        -------
        bool
            Whether it was stored. If not, this client obeys all the same, and stores it as soon
            as the store can be written.
        """
        return self._do(lambda engine: engine.opt_out(), False)

    def status(self) -> Status:
        """Return what the client does, did, and why not."""
        known = self._do(lambda engine: engine.status(), None)
        if known is None:
            reason = self._reason or "another process is using the store"
            return replace(self._last, state="silent", reason=reason)
        self._last = known
        return known

    def close(self) -> None:
        """Close the store, within a second whatever the network does; what waits is kept.

        A :meth:`flush` under way in another thread gives up. Afterwards the client does nothing;
        :meth:`status` keeps the numbers it had last.
        """
        self._closed = True
        self._shut("the client was closed")

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _open(
        self,
        survey: str | os.PathLike[str] | Survey,
        collector_url: str,
        store: str | os.PathLike[str] | None,
        consent: Literal["ask", "on"],
        segment: str | None,
        app_key: str | None,
        clock: Clock,
    ) -> None:
        from pathlib import Path

        from deniable.protocol.survey import Survey, load_survey

        from .engine import Engine
        from .places import default_store

        loaded = survey if isinstance(survey, Survey) else load_survey(os.fspath(survey))
        place = default_store(loaded.id) if store is None else Path(store)
        self._path = place.absolute()
        self._engine = Engine(
            loaded, collector_url, self._path, consent, segment, clock, self._fail, app_key
        )

    def _do(self, act: Callable[[Engine], T], otherwise: T) -> T:
        """Return what the engine does, or ``otherwise`` if it cannot."""
        engine = self._engine
        if engine is None:
            return otherwise
        try:
            return act(engine)
        except Exception as exc:
            self._fail(exc)
            self._raise(exc)
            return otherwise

    def _raise(self, error: Exception) -> None:
        """Raise a mistake of the app, if it asked for that; a store's fault is none of its."""
        mistake = isinstance(error, NoStore) or not isinstance(error, StoreError)
        if self._strict and mistake:
            raise error

    def _fail(self, exc: Exception) -> None:
        """Go silent for good, unless it was only another process that took too long."""
        if isinstance(exc, BusyStore) and self._engine is not None:
            return
        known = isinstance(exc, DeniableError)
        self._shut(str(exc) if known else f"an error inside deniable ({type(exc).__name__})")
        if isinstance(exc, UnreadableStore) and self._path is not None:
            from .aside import set_aside, silence

            try:
                self._reason = silence([set_aside(self._path)])
            except OSError:
                self._reason = f"{exc}, and cannot be renamed"

    def _shut(self, reason: str) -> None:
        engine, self._engine = self._engine, None
        if engine is None:
            self._reason = self._reason or reason
            return
        self._reason = reason
        try:
            self._last = engine.close()
        except Exception as exc:
            _debug("the store did not close (%s)", type(exc).__name__)
        _debug("silent: %s", reason)


def _debug(message: str, *values: object) -> None:
    """Tell the log of an app that has one; never a value, a response or a pseudonym."""
    if "logging" in sys.modules:
        import logging

        logging.getLogger("deniable.client").debug(message, *values)
