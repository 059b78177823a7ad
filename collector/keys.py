"""The keys under which devices are known while a period is open; one file each, none kept.

A ledger row is named by HMAC-SHA-256(period key, scope and pseudonym). The key is random, stands
in a file of its own outside the database and outside its backups, and is overwritten and unlinked
when the period closes: then no one can tell whose row was whose. What must never change: a key is
durable before the first row it names, and a missing one is never replaced while rows remain.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from deniable.protocol.draws import length_prefixed
from deniable.protocol.errors import StoreError

from .store.base import Scope, Store

KEY_BYTES = 32
TAG_BYTES = 16

ScopeState = Literal["empty", "counting", "closed"]
"""Whether a scope has no row yet, has rows, or is closed for good."""

_NAME = re.compile(r"([a-z0-9_-]+)\.([0-9W-]+|once)(?:\.([a-z0-9_-]+)\.([0-9]+))?\.key")


class MissingKeyError(StoreError):
    """A scope holds rows and its key is gone: nothing can be counted in it without doubt."""


class ClosedScopeError(StoreError):
    """A scope is closed; it gets no key again."""


class KeyRing:
    """The period keys of one store.

    Parameters
    ----------
    directory : Path
        Made if it is not there; its mode becomes 0700.
    state : callable
        Returns the :data:`ScopeState` of a scope; asked once, before its key is read or made.
    """

    def __init__(self, directory: Path, state: Callable[[Scope], ScopeState]) -> None:
        self._directory = directory
        self._state = state
        self._lock = threading.Lock()
        self._keys: dict[Scope, tuple[bytes, bytes]] = {}
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            directory.chmod(0o700)
        except OSError as exc:
            raise StoreError(f"{directory}: cannot be made ({exc.strerror})") from exc

    def tag(self, scope: Scope, device: bytes) -> bytes:
        """Return the name of a device's ledger row.

        Raises
        ------
        MissingKeyError, ClosedScopeError, StoreError
        """
        held = self._keys.get(scope) or self._obtain(scope)
        key, prefix = held
        return hmac.digest(key, prefix + device, hashlib.sha256)[:TAG_BYTES]

    def missing(self, scope: Scope) -> bool:
        """Return whether a scope that has rows has lost its key."""
        return self._state(scope) == "counting" and not self._path(scope).exists()

    def scopes(self) -> set[Scope]:
        """Return the scopes that have a key, in a file or in memory."""
        found = (_NAME.fullmatch(path.name) for path in self._directory.iterdir())
        on_disk = {
            Scope(match[1], match[2], match[3] or "", int(match[4] or 0))
            for match in found
            if match
        }
        return on_disk | set(self._keys)

    def destroy(self, scope: Scope) -> None:
        """Forget a key, overwrite its file and unlink it; nothing happens if there is none."""
        path = self._path(scope)
        with self._lock:
            self._keys.pop(scope, None)
            try:
                descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
                try:
                    os.write(descriptor, bytes(KEY_BYTES))
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
                path.unlink()
                self._sync_directory()
            except FileNotFoundError:
                return
            except OSError as exc:
                raise StoreError(f"{path}: cannot be destroyed ({exc.strerror})") from exc

    def _obtain(self, scope: Scope) -> tuple[bytes, bytes]:
        with self._lock:
            held = self._keys.get(scope)
            if held is None:
                parts = (scope.survey, scope.period, scope.question, str(scope.version))
                prefix = length_prefixed(*(part.encode() for part in parts), bytes(16))[:-16]
                held = self._keys[scope] = (self._read_or_make(scope), prefix)
            return held

    def _read_or_make(self, scope: Scope) -> bytes:
        state = self._state(scope)
        if state == "closed":
            raise ClosedScopeError(f"{scope.name} is closed")
        path = self._path(scope)
        try:
            key = path.read_bytes()
        except FileNotFoundError:
            key = b""
        except OSError as exc:
            raise StoreError(f"{path}: cannot be read ({exc.strerror})") from exc
        if len(key) == KEY_BYTES:
            return key
        if state == "counting":
            raise MissingKeyError(
                f"{path}: the key of {scope.name} is missing; nothing more can be counted in it"
                " and its tallies stand as they are until it closes"
            )
        return self._make(path)

    def _make(self, path: Path) -> bytes:
        key = os.urandom(KEY_BYTES)
        half = path.with_suffix(".new")
        try:
            with suppress(FileNotFoundError):
                half.unlink()
            descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, key)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            half.rename(path)
            self._sync_directory()
        except OSError as exc:
            raise StoreError(f"{path}: cannot be written ({exc.strerror})") from exc
        return key

    def _path(self, scope: Scope) -> Path:
        return self._directory / f"{scope.name}.key"

    def _sync_directory(self) -> None:
        descriptor = os.open(self._directory, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def open_keys(store: Store, directory: Path | None = None) -> KeyRing:
    """Return the keys of a store, in a directory of their own.

    Raises
    ------
    StoreError
        If the directory cannot be made, or the store names none and none was given.
    """

    def state(scope: Scope) -> ScopeState:
        with store.read() as reader:
            row = reader.scope(scope)
        if row is None:
            return "empty"
        if row.closed:
            return "closed"
        return "counting" if row.devices else "empty"

    directory = directory or store.keys
    if directory is None:
        raise StoreError("keys: this store has no place for them; give their directory")
    return KeyRing(directory, state)
