"""What an older deniable counted in the clear: encrypted as soon as its period's key is there.

What must never change: what waits in the clear is neither released nor lost. Released without its
key it could be released again from an old copy of the store; and its key may only be late, such
as on a disk that is not mounted yet.
"""

from __future__ import annotations

import numpy as np

from deniable.protocol.question import Question

from .catalogue import Catalogue
from .keys import ClosedScopeError, KeyRing, MissingKeyError
from .scope_key import Place, ScopeKey, UnreadableError
from .shuffler import CELL
from .store.base import Pending, PendingKey, Scope, Transaction


def encrypt_plain(tx: Transaction, catalogue: Catalogue, keys: KeyRing) -> dict[Scope, str]:
    """Encrypt the tallies that are in the clear; return why those of some scopes stay so.

    What was counted since the older deniable is in a tally already, to which they are added.
    """
    waiting: dict[Scope, str] = {}
    for key, plain in tx.plain().items():
        question = catalogue.by_id[key.question].question
        scope = Scope.of(question, key.period)
        try:
            tx.put_pending({key: _joined(tx, keys.of(scope, tx), question, key, plain)})
        except ClosedScopeError:
            text = "it is closed already; deniable-collector release --destroy-unreadable clears up"
            waiting[scope] = text
        except (MissingKeyError, UnreadableError) as exc:
            waiting[scope] = str(exc)
        else:
            tx.drop_plain(key)
    return waiting


def _joined(
    tx: Transaction, scope: ScopeKey, question: Question, key: PendingKey, plain: Pending
) -> Pending:
    """Return a tally with what was in the clear in it."""
    place = Place(question.hash, key.period, key.segment)
    n, cells = plain.n, np.frombuffer(plain.cells, CELL)
    before = tx.pending({key}).get(key)
    if before is not None:
        opened = scope.open_tally(place, before.shard, before.n, before.cells)
        n, cells = n + before.n, cells + np.frombuffer(opened, CELL)
    return Pending(n, scope.seal_tally(place, tx.shard, n, cells.tobytes()), tx.shard)
