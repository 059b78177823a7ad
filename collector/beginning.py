"""Where the watermark of a collector begins: at its clock, which may be wrong at the first start.

What must never change: a watermark under which anything was counted, released or closed is never
set back, for then a device could count twice, or a tally be released twice.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from .store.base import BEGINNING, Reader, Transaction

LOG = logging.getLogger("deniable.collector")

_BELIEVED = timedelta(days=1)
"""How far the watermark may be ahead of a clock that is a little behind."""


def begin_watermark(tx: Transaction, now: datetime) -> None:
    """Set the watermark of a new store, or of one that was first opened under a wrong clock."""
    before = tx.watermark()
    if before == BEGINNING:
        tx.raise_watermark(now)  # what was closed before stays closed
    elif before > now + _BELIEVED and _is_untouched(tx):
        tx.set_back_watermark(now)
        LOG.warning(
            "what closes before %s was closed, though that is to come; nothing was ever counted"
            " here, so the clock is believed and only what closed before %s stays closed",
            f"{before:%Y-%m-%d %H:%M}",
            f"{now:%Y-%m-%d %H:%M}",
        )


def _is_untouched(store: Reader) -> bool:
    """Return whether nothing was ever counted, released, destroyed or closed."""
    rows = (store.released(), store.released_batches(), store.destroyed())
    scopes = store.open_scopes() or store.closed_scopes()
    return not scopes and all(next(some, None) is None for some in rows)
