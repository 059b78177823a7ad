"""Where the devices of an audit keep their stores.

What must never change: a place that cannot be used is named, in one line.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from .workers import AuditError

_ROOM = 4 * 2**20


def new_folder() -> Path:
    """Return a new folder, in memory if possible: a disk would have to keep what is written.

    Raises
    ------
    AuditError
        If nothing can be written anywhere, which names the last place that was tried.
    """
    memory = Path("/dev/shm")  # noqa: S108
    if memory.is_dir():
        with suppress(OSError):
            return _writable(memory)
    place = os.environ.get("TMPDIR") or "the temporary folder"
    try:
        place = tempfile.gettempdir()
        return _writable(Path(place))
    except OSError as exc:
        raise AuditError(
            f"{place}: devices of the audit cannot keep their stores there "
            f"({exc.strerror or exc}); set TMPDIR to a folder with room"
        ) from exc


def _writable(place: Path) -> Path:
    """Return a new folder in a place that takes as much as some stores need."""
    folder = Path(tempfile.mkdtemp(prefix="deniable-audit-", dir=place))
    try:
        (folder / "room").write_bytes(bytes(_ROOM))
        (folder / "room").unlink()
    except BaseException:  # a signal too
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder
