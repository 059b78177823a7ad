"""How an app comes by its store: the one at its path, or a new one where there never was one.

What must never change: to store a no takes the path of the store and nothing else that an app says.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Literal

from deniable.protocol.errors import StoreError
from deniable.protocol.exact import canonical
from deniable.protocol.limits import EPSILON_SUM

from .aside import silence, stores_aside
from .database import Database
from .schema import create
from .setting import Setting
from .store import Store


def open_store(path: Path, mode: str, max_epsilon: Decimal, now: datetime) -> Database:
    """Open the store, or make one.

    Raises
    ------
    StoreError
        If it cannot be used or made; its subclass says whether the file is no store, a damaged
        one or only busy.
    """
    try:
        if not path.exists():
            if aside := stores_aside(path):
                raise StoreError(silence(aside))
            create(path, mode, canonical(max_epsilon), now)
        return Database(path)
    except OSError as exc:
        raise StoreError(f"the store cannot be opened: {exc.strerror}; check its path") from exc


def store_decision(
    path: Path, consent: Literal["on", "off"], setting: Setting | None, now: datetime
) -> None:
    """Store a decision where no engine runs; without a setting the app could not be understood.

    Raises
    ------
    StoreError
        As :func:`open_store`.
    """
    mode, ceiling = "off", EPSILON_SUM
    if setting is not None:
        mode, ceiling = setting.consent, setting.survey.max_epsilon
    with open_store(path, mode, ceiling, now) as db:
        Store(db).decide(consent, now)
