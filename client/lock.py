"""One process at a time makes a store or sends from it: a lock that is free when its holder dies.

On a file of its own beside the store, because closing any handle on an SQLite file would drop
SQLite's own locks.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

_PAUSE = 0.005


class StoreLock:
    """Held by the process that is sending, or making the store.

    A store in memory (None) is no other process's.

    Attributes
    ----------
    fault : str
        Why nobody can take it, such as on a file system that knows no locks; empty if one can.
    """

    def __init__(self, store: Path | None) -> None:
        self._path = store.with_name(f"{store.name}.lock") if store else None
        self._handle: int | None = None
        self.fault = ""

    def acquire(self) -> bool:
        """Take the lock; return False at once if someone else holds it, or nobody can."""
        if self._path is None:
            return True
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                taken = _try_lock(handle)
            except OSError:
                os.close(handle)
                raise
        except OSError as exc:
            self.fault = (
                f"the lock beside the store cannot be taken ({exc.strerror}); check the "
                "permissions of its folder, and that it is on a disk that knows locks"
            )
            return False
        self.fault = ""
        if not taken:
            os.close(handle)
            return False
        self._handle = handle
        return True

    def acquire_within(self, seconds: float) -> bool:
        """Take the lock; wait for it so long at most, and not if nobody can take it."""
        until = time.monotonic() + seconds
        while not self.acquire():
            if self.fault or time.monotonic() >= until:
                return False
            time.sleep(_PAUSE)
        return True

    def release(self) -> None:
        """Free the lock, even where a forked child still has a copy of the handle."""
        handle, self._handle = self._handle, None
        if handle is not None:
            _unlock(handle)
            os.close(handle)

    def after_fork(self) -> None:
        """In the child: close the copy of the handle; the parent's lock stays."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _unlock(handle: int) -> None:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _unlock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)
