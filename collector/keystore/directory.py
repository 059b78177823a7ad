"""Keys as files of a directory that only the collector's user enters: one file each.

A key is written to a hidden file of its own, synced, and linked to its name: a link is made once,
whoever else tries, so the first key stays and no one ever reads half of one. A deleted key is
renamed away, overwritten, synced and unlinked; whoever comes next after a crash finishes that.
What must never change: these orders, and that the directory is synced before a call returns.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from deniable.protocol.errors import StoreError

from .checks import KEY_BYTES, check_key, check_name, valid_name

_ABANDONED_SECONDS = 60.0
_NEW = ".new"
_OLD = ".old"


class DirectoryKeys:
    """Keys in ``NAME.key``; see :class:`~deniable.collector.keystore.base.KeyStore`.

    Several processes may share the directory, over any file system that has hard links.
    """

    def __init__(self, location: str | Path) -> None:
        self._directory = Path(location)
        with self._wrapped(self._directory, "used"):
            if not self._directory.is_dir():
                _refuse_file(self._directory)
                self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                _sync(self._directory.parent)
            self._close_to_others()
            self._tidy()

    @property
    def location(self) -> str:
        """The directory's path."""
        return str(self._directory)

    def get(self, name: str) -> bytes | None:
        """Read a key."""
        check_name(name)
        path = self._path(name)
        with self._wrapped(path, "read"):
            return _read(path)

    def put_if_absent(self, name: str, key: bytes) -> bytes:
        """Link a key to its name, unless the name is taken."""
        check_name(name)
        check_key(key)
        path = self._path(name)
        with self._wrapped(path, "written"):
            kept = _read(path)
            while kept is None:
                kept = key if self._link(path, key) else _read(path)
            _sync(self._directory)  # another process may have linked it and not be that far yet
            return kept

    def delete(self, name: str) -> None:
        """Take a key away from its name, overwrite it and unlink it."""
        check_name(name)
        path = self._path(name)
        with self._wrapped(path, "destroyed"):
            self._tidy()
            going = self._hidden(name, _OLD)
            try:
                path.rename(going)
            except FileNotFoundError:
                return
            _sync(self._directory)
            _erase(going)
            _sync(self._directory)

    def names(self) -> set[str]:
        """List the files that hold keys."""
        with self._wrapped(self._directory, "read"):
            files = [path for path in self._directory.iterdir() if path.suffix == ".key"]
        return {path.stem for path in files if valid_name(path.stem)}

    def close(self) -> None:
        """Nothing is held."""

    def _link(self, path: Path, key: bytes) -> bool:
        """Return whether the name was free and is now the key's."""
        draft = self._hidden(path.stem, _NEW)
        try:
            _write(draft, os.O_CREAT | os.O_EXCL, key)
            os.link(draft, path)
        except FileExistsError:
            return False
        finally:
            draft.unlink(missing_ok=True)
        return True

    def _tidy(self) -> None:
        """Finish what a crash left: a draft is of no use, and an old key is to be erased."""
        before = time.time() - _ABANDONED_SECONDS
        for path in self._directory.glob(".*"):
            with suppress(FileNotFoundError):
                if path.suffix == _OLD:
                    _erase(path)
                elif path.suffix == _NEW and path.stat().st_mtime < before:
                    path.unlink()  # not overwritten: a link of it may be the key in use

    def _close_to_others(self) -> None:
        mode = self._directory.stat().st_mode & 0o777
        if mode & 0o022:
            text = f"others can write to it; look who did, then chmod 700 {self._directory}"
            raise StoreError(f"{self._directory}: {text}")
        if mode != 0o700:
            self._directory.chmod(0o700)

    def _path(self, name: str) -> Path:
        return self._directory / f"{name}.key"

    def _hidden(self, name: str, suffix: str) -> Path:
        return self._directory / f".{name}.{secrets.token_hex(8)}{suffix}"

    @contextmanager
    def _wrapped(self, path: Path, done: str) -> Iterator[None]:
        try:
            yield
        except OSError as exc:
            fix = "let the user that serve runs as write there, or give another directory: --keys"
            raise StoreError(f"{path}: cannot be {done} ({exc.strerror}); {fix}") from exc


def _refuse_file(path: Path) -> None:
    if path.exists():
        raise StoreError(f"{path}: is a file; --keys takes a directory, which need not be there")


def _read(path: Path) -> bytes | None:
    """Return a file's key; what was overwritten while it was read is not taken for one."""
    while True:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            with os.fdopen(descriptor, "rb") as file:
                key = file.read(KEY_BYTES + 1)
                settled = os.path.samestat(os.fstat(descriptor), path.lstat())
        except FileNotFoundError:
            return None
        if settled:
            break
    if len(key) != KEY_BYTES:
        text = f"must hold {KEY_BYTES} bytes; put the right file back, or delete it if it is lost"
        raise StoreError(f"{path}: {text}")
    return key


def _write(path: Path, flags: int, content: bytes) -> None:
    """Write a file's beginning and wait for the disk."""
    mode = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | flags
    descriptor = os.open(path, mode, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def _erase(path: Path) -> None:
    """Overwrite and unlink a file; another process may be doing the same."""
    with suppress(FileNotFoundError):
        _write(path, 0, bytes(max(KEY_BYTES, path.lstat().st_size)))
        path.unlink()


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
