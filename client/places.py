"""Where stores lie unless an app says otherwise: of this user and machine, not synced."""

from __future__ import annotations

from pathlib import Path


def default_store(survey: str) -> Path:
    """Return the store of the app that asks this survey."""
    return default_folder() / f"{survey}.db"


def default_folder() -> Path:
    """Return the folder of all stores; it need not exist."""
    from platformdirs import user_state_path

    return user_state_path("deniable", appauthor=False)
