"""Files: who may read them, what is copied along with them, and the disk they are on."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from ..counted import counted
from .findings import Case, Findings, fault, ok, warning

_NETWORK = {
    "9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fuse.ceph", "fuse.davfs2",
    "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs", "gfs2", "glusterfs", "lustre",
    "ncpfs", "nfs", "nfs4", "ocfs2", "smb3", "smbfs", "virtiofs",
}  # fmt: skip
_FORGETFUL = {"ramfs", "tmpfs"}
_AMPLE = 16
"""So many times the space at which the collector stops is ample."""


def store_modes(case: Case) -> Findings:
    """Only the collector's user reads the store."""
    path = case.path
    if path is None or not path.exists():
        return
    beside = [path.with_name(path.name + end) for end in ("", "-journal", "-wal", "-shm", ".lock")]
    wrong = [file for file in beside if file.exists() and _mode(file) & 0o077]
    for file in wrong:
        yield fault("permissions", f"{file}: others can read it", f"chmod 600 {file}")
    folder = path.absolute().parent
    if _mode(folder) & 0o022:
        fix = f"keep the store in a directory of its own: chmod 700 {folder}"
        yield warning("permissions", f"{folder}: others can write to it", fix)
    elif not wrong:
        yield ok("permissions", f"{path}: its files are private")


def key_modes(case: Case) -> Findings:
    """Only the collector's user reads the keys, and they have the store's owner."""
    folder, path = case.keys_directory, case.path
    if folder is None or not folder.is_dir():
        return
    if _mode(folder) & 0o077:
        yield fault("key permissions", f"{folder}: others can enter it", f"chmod 700 {folder}")
        return
    wrong = sorted(key for key in folder.glob("*.key") if _mode(key) & 0o077)
    if wrong:
        detail = f"{folder}: others can read {counted(len(wrong), 'key')}"
        yield fault("key permissions", detail, f"chmod 600 {folder}/*.key")
    elif path is not None and path.exists() and path.stat().st_uid != folder.stat().st_uid:
        fix = f"chown both to the user that serve runs as: {path}, {folder}"
        yield fault("key permissions", f"{folder}: is not owned by the store's owner", fix)
    else:
        yield ok("key permissions", f"{folder}: is private")


def keys_apart(case: Case) -> Findings:
    """A copy of the store's directory takes no keys along."""
    folder, path = case.keys_directory, case.path
    if folder is None or path is None:
        return
    if path.absolute().resolve().parent in folder.absolute().resolve().parents:
        yield warning(
            "keys apart",
            f"{folder}: is in the store's directory, so a copy or snapshot of that takes it along",
            "give another place with --keys, or exclude it from every copy; and back up with"
            " deniable-collector backup",
        )
    else:
        yield ok("keys apart", f"{folder}: is outside the store's directory")


def file_systems(case: Case) -> Findings:
    """The store and the keys are on a local disk, which locks and remembers."""
    for what, place in (("store", case.path), ("keys", case.keys_directory)):
        if place is None:
            continue
        kind = file_system(_existing(place), _mounts())
        if kind in _NETWORK:
            detail = f"{place}: is on a network file system ({kind})"
            fix = "move it to a local disk: locks and syncs of others are not to be relied on"
            yield warning(f"{what} file system", detail, fix)
        elif kind in _FORGETFUL:
            detail = f"{place}: is in memory ({kind}), and lost when the machine stops"
            yield warning(f"{what} file system", detail, "move it to a disk")
        else:
            yield ok(f"{what} file system", f"{place}: is on {kind or 'an unknown file system'}")


def free_space(case: Case) -> Findings:
    """There is room to count on."""
    if case.path is None:
        return
    free = shutil.disk_usage(_existing(case.path)).free
    detail = f"{free / 2**20:,.0f} MiB free where {case.path} is"
    if free < case.min_free_bytes:
        fix = f"make room: below {case.min_free_bytes / 2**20:,.0f} MiB every report is refused"
        yield fault("free space", detail, fix)
    elif free < _AMPLE * case.min_free_bytes:
        yield warning("free space", detail, "make room before reports are refused")
    else:
        yield ok("free space", detail)


def file_system(place: Path, mounts: str) -> str | None:
    """Return the kind of file system a place is on, from the text of /proc/self/mountinfo."""
    found: tuple[int, str] | None = None
    parts = place.resolve().parts
    for point, kind in _mounted(mounts):
        there = Path(point).parts
        if parts[: len(there)] == there and (found is None or len(there) >= found[0]):
            found = len(there), kind
    return found[1] if found else None


def _mounted(mounts: str) -> Iterator[tuple[str, str]]:
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        fields, kinds = left.split(), right.split()
        if len(fields) > 4 and kinds:
            yield fields[4].encode().decode("unicode_escape"), kinds[0]


def _mounts() -> str:
    try:
        return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _existing(place: Path) -> Path:
    """Return a place, or the nearest one above it that is there."""
    place = place.absolute()
    while not os.path.lexists(place) and place != place.parent:
        place = place.parent
    return place


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
