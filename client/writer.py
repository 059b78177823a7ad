"""Answers given by threads that must not wait for a disk, and the thread that stores them.

What must never change: the first answer to a question in a period wins, here as in the store, which
also bounds what waits: one answer for each question and period. Once it has ended it takes nothing
and starts no thread, for an interpreter that is ending might wait for that for ever.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from .answers import Answer
from .faults import PASSING
from .solo import Solo

IDLE_SECONDS = 2.0
"""How long the thread waits for another answer before it ends."""

Write = Callable[[list[Answer]], None]


class Writer(Solo):
    """Stores answers in the background, in the order of their questions' names."""

    def __init__(self, write: Write) -> None:
        super().__init__()
        self._write = write
        self._changed = threading.Condition()
        self._waiting: dict[tuple[str, str], Answer] = {}
        self._writing = False
        self._leaving = False
        self._ended = False

    @property
    def ident(self) -> int | None:
        """The thread, if there is one."""
        thread = self._thread
        return None if thread is None else thread.ident

    def put(self, answer: Answer) -> bool:
        """Take an answer to be stored soon; one that waits already for its period stays.

        Returns False once it has ended: then whoever asks has to store it.
        """
        key = answer.question.id, answer.period.key
        with self._changed:
            if self._ended:
                return False
            self._waiting.setdefault(key, answer)
            self._leaving = False
            self._start("deniable-writer")
            self._changed.notify_all()
            return True

    def drain(self, seconds: float) -> bool:
        """Wait until nothing waits, so long at most; return whether that is so.

        If no thread could be started, store here and now.
        """
        with self._changed:
            if self._works() and self._thread is not threading.current_thread():
                self._changed.wait_for(lambda: self._idle() or not self._works(), seconds)
            orphans = [] if self._works() else self._take()
            done = self._idle()
        if orphans:
            self._write(orphans)
        return done

    def clear(self, seconds: float) -> None:
        """Forget what waits, and end the thread until there is news; wait so long at most."""
        with self._changed:
            self._waiting.clear()
            self._leave()
        self.join(seconds)

    def end(self) -> None:
        """Take no more answers; the thread ends when it has stored those that it has."""
        with self._changed:
            self._ended = True
            self._leave()

    def finish(self, seconds: float) -> None:
        """After the end, wait for the thread so long at most, or store what it could not."""
        self.join(seconds)
        self.drain(0)

    def after_fork(self) -> None:
        """In the child: there is no thread, and what waits is the parent's to store."""
        self._changed = threading.Condition()
        self._waiting.clear()
        self._thread = None
        self._writing = False

    def _leave(self) -> None:
        self._leaving = True
        self._changed.notify_all()

    def _works(self) -> bool:
        """Whether there is a thread, and it runs already."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    def _idle(self) -> bool:
        return not self._waiting and not self._writing

    def _take(self) -> list[Answer]:
        """Take all that waits, sorted, so that the order of answers is lost here."""
        taken, self._waiting = self._waiting, {}  # at once: a handler of a signal may add one
        return [taken[key] for key in sorted(taken)]

    def _run(self) -> None:
        """Store what waits until nothing comes; what it meets outside of that may be gone soon."""
        try:
            while (answers := self._next()) is not None:
                try:
                    self._write(answers)
                finally:
                    del answers
                    self._has_written()
        except PASSING:
            pass  # what waits is stored by the next thread, or by whoever drains
        finally:
            self._give_up()

    def _next(self) -> list[Answer] | None:
        """Return the next answers to store; None if there are none, and the thread ends."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._leaving, IDLE_SECONDS)
            if not self._is_mine():
                return None
            if not self._waiting:
                self._thread = None
                return None
            self._writing = True
            return self._take()

    def _has_written(self) -> None:
        with self._changed:
            self._writing = False
            self._changed.notify_all()

    def _give_up(self) -> None:
        """Make room for another thread, whatever ended this one."""
        with self._changed:
            if self._is_mine():
                self._thread = None
                self._writing = False
            self._changed.notify_all()
