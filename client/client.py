"""The door for app developers. Nothing behind it blocks, raises into or slows the app.

Importing this module loads next to nothing; the first client loads the rest, and the first
exchange with a collector loads ``requests``.
"""

from __future__ import annotations

import os
import sys

from deniable.protocol.errors import (
    DeniableError,
    MissingExtraError,
    ParameterError,
    StoreError,
)

from .faults import PASSING, NoStore, UnreadableStore
from .foreign import foreign

TYPE_CHECKING = False  # of `typing`, which takes longer to load than all there is here
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Literal, Self, TypeVar

    from deniable.protocol.survey import Survey

    from .answers import Value
    from .engine import Engine
    from .pacing import Clock
    from .setting import Setting
    from .status import Flushed, Preview, Sent, Status
    from .transport import Transport

    T = TypeVar("T")


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
    consent : "ask", "on" or "off"
        Until the person decides: "ask" randomizes answers and keeps them on the device, where they
        can be looked at and are never sent; "on" sends them; "off" does nothing at all. A stored
        decision always wins, and so does an environment with ``DO_NOT_TRACK``, ``CI`` or
        ``DENIABLE=off``, in which nothing is recorded or sent.
    segment : str, optional
        One of the survey's public segments.
    app_key : str, optional
        What the collector knows this app's builds by, if it asks for that. It ships inside the
        app and so is no secret; all devices of an app have the same, so it names none of them.
    strict : bool
        Raise for a wrong value, an unknown question, an invalid survey and every other mistake in
        what the app says, whatever the person decided, as is useful while an app is developed.
        Otherwise nothing raises; :meth:`status` says what is wrong.

    Raises
    ------
    ParameterError
        Only if ``strict``: an invalid survey, URL, path, consent, segment or app key.
    StoreError
        Only if ``strict``: what is at the store's path is none, or a folder; it is left alone.

    Examples
    --------
    >>> client = Client("survey.toml", "https://collector.example")
    >>> client.record("dark_mode", True)
    >>> client.close()
    """

    def __init__(
        self,
        survey: str | os.PathLike[str] | Survey,
        collector_url: str,
        store: str | os.PathLike[str] | None = None,
        consent: Literal["ask", "on", "off"] = "ask",
        segment: str | None = None,
        strict: bool = False,
        *,
        app_key: str | None = None,
        _clock: Clock | None = None,
        _environ: Mapping[str, str] | None = None,
    ) -> None:
        from .status import Status

        self._strict = False
        self._clock = _clock
        self._path: Path | None = None
        self._engine: Engine | None = None
        self._setting: Setting | None = None
        self._veto = ""
        self._reason = ""
        self._last = Status("silent")
        self._closed = False
        self._strict = self._flag("strict", strict, False)
        try:
            self._open(survey, collector_url, store, consent, segment, app_key, _environ)
        except Exception as exc:
            self._fail(exc)
            self._raise(exc)

    def record(self, question: str, value: Value, *, wait: bool = True) -> None:
        """Answer a question: perturb the value, keep the report, return at once.

        The first answer of a device in a period counts; later ones change nothing. The report
        leaves after the period's end, at a random moment. After :meth:`close` it is ignored and
        counted nowhere.

        Parameters
        ----------
        question : str
            Its id in the survey.
        value : bool, str, int, float, Decimal, iterable of str or mapping of str to str
            What it is of each type of question:

            - boolean: True or False;
            - choice: one of its choices;
            - number: a number, brought into its range;
            - set: some of its choices, or none, as a list, a set or any other iterable of at most
              65 536 entries; what comes twice counts once, and of more than ``max_items`` the
              device draws so many by lot, for good;
            - text: any text; all those that do not fit the form in the survey count as one;
            - joint: a choice for each part, as a mapping from the parts' names, or as a list or
              tuple in the parts' order.

            Read at once, and stored nowhere; but of a question with a horizon, the device keeps
            the last answer until its last period has closed.
        wait : bool
            Return when the report is durable, which takes as long as the disk takes. If not, a
            thread of the client's stores it a moment later, for threads that must never wait, such
            as those of a window or an event loop; it is stored before the process ends, unless
            that is killed, or another process holds the store at that moment.

        Raises
        ------
        ParameterError
            Only if ``strict``: the question is unknown or the value is no answer to it.
        MissingExtraError
            Only if ``strict``: the question is sealed, and ``deniable[sealed]`` is not installed.
        DeniableError
            Only if ``strict``: the client was closed.

        Examples
        --------
        >>> client.record("dark_mode", True)
        >>> client.record("export", "pdf", wait=False)
        """
        wait = wait is True or self._flag("wait", wait, True)
        error = self._kept(lambda engine, it: engine.record(*it[0], wait=wait), [(question, value)])
        del value
        if error is not None:
            raise error

    def record_many(
        self,
        answers: Mapping[str, object]  # with the type of values, mypy refuses dicts of several
        | Iterable[tuple[str, Value]],
    ) -> None:
        """Answer several questions in one durable write; as :meth:`record`, for each.

        A wrong answer among them is refused, and the others are kept. If the iterable fails on its
        way, so are those that it had given.

        Parameters
        ----------
        answers : mapping or iterable of (str, value)
            Values by question.

        Raises
        ------
        ParameterError, MissingExtraError, DeniableError
            Only if ``strict``, as :meth:`record`, when all the others are kept.

        Examples
        --------
        >>> client.record_many({"dark_mode": True, "export": "pdf"})
        """
        error = self._kept(lambda engine, every: engine.record_many(every), answers)
        del answers
        if error is not None:
            raise error

    def preview(self, question: str, value: Value) -> Preview | None:
        """Return what would be sent if this were recorded now; nothing is kept, sent or spent.

        For a dialog that asks for consent, and for whoever wants to see. Works whatever was
        decided; where there is no secret yet or no more, it is an example.

        Returns
        -------
        Preview or None
            None if the survey cannot be loaded, or the answer is wrong and nobody is ``strict``.

        Raises
        ------
        ParameterError, MissingExtraError
            Only if ``strict``, as :meth:`record`.

        Examples
        --------
        >>> preview = client.preview("dark_mode", True)
        >>> preview.outcome, preview.epsilon, preview.epsilon_first
        ('queued', Decimal('2'), Decimal('1'))
        >>> sorted(preview.request)
        ['device', 'period', 'reports', 'survey']
        """
        try:
            return self._foresee(question, value)
        except BaseException as exc:
            error = _bare(exc) if self._raises(exc) else None
        del value
        if error is not None:
            raise error
        return None

    def sent(self) -> list[Sent]:
        """Return the journal: which question was answered in which period, and what became of it.

        Never the values, and the responses only if the person wants them kept.

        Examples
        --------
        >>> client.record("dark_mode", True)
        >>> [(entry.question, entry.state) for entry in client.sent()]
        [('dark_mode', 'waiting')]
        """
        return self._do(lambda engine: engine.sent(), [])

    def flush(self, force: bool = False, timeout: float = 1.0) -> Flushed:
        """Send what is due now, instead of waiting for the background thread to do it.

        Does nothing unless the person's answer is yes, nor while another process is sending, nor
        soon after an attempt that failed.

        Parameters
        ----------
        force : bool
            Send everything, due or not, however long it takes; for tests and demonstrations, for
            it gives away when answers were recorded.
        timeout : int, float or Decimal
            Seconds that sending what is due may take in all. What is no finite number of seconds
            counts as 1.

        Raises
        ------
        ParameterError
            Only if ``strict``: such a timeout.

        Examples
        --------
        >>> client.record("dark_mode", True)
        >>> client.flush(timeout=0.5)  # a day's reports are due when it is over
        Flushed(sent=0, kept=1, dropped=0)
        """
        from .arguments import seconds_of
        from .status import Flushed

        every = self._flag("force", force, False)
        seconds = self._meant(lambda: seconds_of(timeout), 1.0)
        limit = None if every else seconds
        return self._do(lambda engine: engine.flush(force=every, timeout=limit), Flushed())

    def opt_in(self) -> bool:
        """Store that the person said yes: what is recorded from now on will be sent.

        What was recorded before is thrown away, so that nothing from before the yes is ever sent.

        Returns
        -------
        bool
            Whether it was stored; if not, :meth:`status` says why.

        Examples
        --------
        >>> client.opt_in()
        True
        >>> client.status().state
        'on'
        """
        return self._decide("on")

    def opt_out(self) -> bool:
        """Store that the person said no: what waits is erased, nothing is recorded or sent.

        It can be said to every client: to one that was closed, and to one that is silent because
        its arguments are wrong, as long as it is known where the store lies.

        Returns
        -------
        bool
            Whether it was stored. If not, this client obeys all the same. If another process held
            the store, it is stored with a later call, or by :meth:`close`; it is lost if the
            process ends before the store was free, so ask again then.

        Examples
        --------
        >>> client.opt_out()
        True
        >>> client.status().state
        'off'
        """
        return self._decide("off")

    def status(self) -> Status:
        """Return what the client does, did, and why not.

        Examples
        --------
        >>> status = client.status()
        >>> status.state, status.reason
        ('local', 'nobody has said yes yet')
        """
        from dataclasses import replace

        if self._veto:
            return replace(self._last, state="off", reason=self._veto)
        known = self._do(lambda engine: engine.status(), None)
        if known is None and self._engine is not None and self._engine.no_unsaved:
            return replace(self._last, state="off", reason=_UNSAVED)
        if known is None:
            reason = self._reason or "another process is using the store"
            return replace(self._last, state="silent", reason=reason)
        self._last = known
        return known

    def close(self) -> None:
        """Close the store, within a second whatever the network does; what waits is kept.

        A :meth:`flush` under way in another thread gives up. Afterwards the client does nothing;
        :meth:`status` keeps the numbers it had last.

        Examples
        --------
        >>> client.close()
        >>> client.status().reason
        'the client was closed'
        """
        self._closed = True
        self._shut("the client was closed")

    def __enter__(self) -> Self:
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
        consent: Literal["ask", "on", "off"],
        segment: str | None,
        app_key: str | None,
        environ: Mapping[str, str] | None,
    ) -> None:
        """Understand the app; the path first, so that a no can be stored whatever else is wrong."""
        from .arguments import path_of, read, survey_of
        from .environment import veto
        from .pacing import utc_now
        from .places import default_store
        from .setting import Setting
        from .transport import Transport

        if store is not None:
            self._path = path_of("store", store)
        loaded = read("survey", lambda: survey_of(survey))
        if self._path is None:
            self._path = read("store", lambda: default_store(loaded.id).absolute())
        clock = self._clock or utc_now
        self._setting = read("consent or segment", lambda: Setting(loaded, consent, segment, clock))
        transport = read("collector_url or app_key", lambda: Transport(collector_url, app_key))
        self._veto = veto(os.environ if environ is None else environ)
        if not self._veto:
            self._engine = self._start(transport)

    def _start(self, transport: Transport | None = None) -> Engine:
        """Open the store and put the engine together; without a transport, in memory."""
        from .database import Database
        from .engine import Engine
        from .opening import open_store
        from .transport import Transport

        if self._setting is None or self._path is None:
            raise DeniableError("the survey could not be loaded")
        setting = self._setting
        if transport is None:
            db = Database(None)
            transport = Transport("http://memory.invalid")
        else:
            ceiling = setting.survey.max_epsilon
            db = open_store(self._path, setting.consent, ceiling, setting.clock())
        try:
            return Engine(setting, transport, db, self._fail)
        except BaseException:
            db.close()
            raise

    def _kept(self, act: Callable[..., None], answers: object) -> BaseException | None:
        """Record something; return what to raise, without the frames that held the value."""
        engine = self._engine
        try:
            if engine is None or engine.off:
                return self._unkept(answers)
            act(engine, answers)
            return None
        except (ParameterError, MissingExtraError) as exc:
            error: BaseException = exc
        except BaseException as exc:
            if engine is not None and isinstance(exc, PASSING):
                engine.refuse("busy")
            elif not foreign(exc):
                self._fail(exc)
            error = exc
        return _bare(error) if self._raises(error) else None

    def _unkept(self, answers: object) -> DeniableError | None:
        """Find the mistakes of a strict app in what nobody keeps, since the answer was no."""
        if self._strict and self._closed:
            return DeniableError("the client was closed; answer before that, or make another")
        if self._strict and self._setting is not None:
            from .pairs import check

            check(self._setting.survey, answers, self._setting.clock())
        return None

    def _flag(self, name: str, value: object, otherwise: bool) -> bool:
        if type(value) is bool:  # and what is imported may be gone, as in a late finalizer
            return value
        from .arguments import flag_of

        return self._meant(lambda: flag_of(name, value), otherwise)

    def _meant(self, read: Callable[[], T], otherwise: T) -> T:
        """Return an argument as it was meant; if it is a mistake, what holds in its place."""
        try:
            return read()
        except ParameterError as exc:
            self._raise(exc)
            return otherwise

    def _foresee(self, question: str, value: object) -> Preview | None:
        from dataclasses import replace

        engine = self._engine
        if engine is not None:
            return engine.preview(question, value)
        if self._setting is None:
            return None
        engine = self._start()
        try:
            found = engine.preview(question, value)
        finally:
            engine.close()
        return replace(found, outcome="off", earliest=None, latest=None, example=True)

    def _decide(self, consent: Literal["on", "off"]) -> bool:
        """Let the engine obey, or where there is none, only store the decision."""
        if self._engine is not None:
            if consent == "on":
                return self._do(lambda engine: engine.opt_in(), False)
            return self._do(lambda engine: engine.opt_out(), False)
        try:
            return self._store_decision(consent)
        except Exception as exc:
            self._raise(exc)
            return False

    def _store_decision(self, consent: Literal["on", "off"]) -> bool:
        """Store a no wherever there can be a store; a yes only if it could be obeyed there."""
        from .opening import store_decision
        from .pacing import utc_now

        path, setting = self._path, self._setting
        if path is None:
            return False
        if consent == "on":
            possible = self._veto or os.path.exists(path)  # noqa: PTH110 - which fails for no path
            if self._closed or setting is None or not possible:
                return False
        store_decision(path, consent, setting, (self._clock or utc_now)())
        return True

    def _do(self, act: Callable[[Engine], T], otherwise: T) -> T:
        """Return what the engine does, or ``otherwise`` if it cannot."""
        engine = self._engine
        if engine is None:
            return otherwise
        try:
            return act(engine)
        except Exception as exc:
            if foreign(exc):
                raise
            if not isinstance(exc, ParameterError):
                self._fail(exc)
            self._raise(exc)
            return otherwise

    def _raise(self, error: BaseException) -> None:
        if self._raises(error):
            raise error

    def _raises(self, error: BaseException) -> bool:
        """Return whether an error is raised: a mistake of the app, if it asked for that.

        A store's fault is none of its, nor is what passes. What a signal handler of the app raised
        meanwhile is the app's own, and always raised.
        """
        mistake = isinstance(error, NoStore) or not isinstance(error, (StoreError, *PASSING))
        return (self._strict and mistake) or foreign(error)

    def _fail(self, exc: BaseException) -> None:
        """Go silent for good, unless it passes, such as another process that took too long."""
        if isinstance(exc, PASSING) and self._engine is not None:
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


_UNSAVED = (
    "the answer was no; it is not stored yet, because another process is using the store, and is "
    "lost if this one ends before that"
)


def _bare(error: BaseException) -> BaseException:
    """Return an error without the frames that held a value, its causes' included."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def _debug(message: str, *values: object) -> None:
    """Tell the log of an app that has one; never a value, a response or a pseudonym."""
    if "logging" in sys.modules:
        import logging

        logging.getLogger("deniable.client").debug(message, *values)
