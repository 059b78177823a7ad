"""What becomes of a store that was damaged. A file that never was a store is not for this module.

It is renamed, not deleted: its person may know how to repair it. While it lies there the client
stays silent and makes no new store, for a new secret would answer every question a second time.
"""

from __future__ import annotations

from pathlib import Path


def set_aside(path: Path) -> Path:
    """Rename an unreadable store and its journal; return the new name.

    Raises
    ------
    OSError
        If it cannot be renamed.
    """
    target = _name(path, 1 + len(stores_aside(path)))
    path.rename(target)
    journal = path.with_name(f"{path.name}-journal")
    if journal.exists():
        journal.rename(target.with_name(f"{target.name}-journal"))
    return target


def stores_aside(path: Path) -> list[Path]:
    """Return what was set aside in place of the store at ``path``, the newest last."""
    found: list[Path] = []
    while (name := _name(path, len(found) + 1)).exists():
        found.append(name)
    return found


def silence(aside: list[Path]) -> str:
    """Say why the client is silent and what would end it."""
    names = " and ".join(path.name for path in aside)
    return (
        f"the store was unreadable and was renamed to {names}; put back its newest copy, though "
        "what it did since may be spent and reported again, or delete what was renamed to start "
        "over with a new secret, which spends everything again"
    )


def _name(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.unreadable" + (f"-{number}" if number > 1 else ""))
