"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from deniable.protocol.errors import StoreError


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, over one that is there.

    Raises
    ------
    StoreError
        If it cannot be written.
    """
    try:
        _replace(path, content)
    except (OSError, ValueError) as exc:
        reason = getattr(exc, "strerror", None) or "no name of a file"
        raise StoreError(f"{path} cannot be written ({reason}); check the path") from exc


def _replace(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:80]}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink()
        raise
