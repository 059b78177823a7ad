"""A store described as data: everything it tells its person, without its secret or a true value.

Of an answer that is kept, it tells that it is.

What must never change: the names, which docs/device.md lists. Responses are in it only if the
person lets the journal keep them.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

from deniable.protocol.exact import canonical, total
from deniable.protocol.periods import parse_period

from ..database import Database
from ..ledger import Spent
from ..machine import machine_id
from ..pacing import to_seconds
from ..pending import Queue
from ..store import Device, Store

STATES = {"on": "on", "ask": "local", "off": "off"}
UNIT = "of one device, from all its reports about one unchanging answer"


def portrait(store: Store, db: Database) -> dict[str, Any]:
    """Return everything a store tells."""
    summary = summarized(store, db)
    questions = _questions(store)
    spent = total(Decimal(question["epsilon"]) for question in questions)
    device = store.device()
    return {
        **summary,
        "born": device.born.date().isoformat() if to_seconds(device.born) else None,
        "keeps_responses": device.keep_responses,
        "epsilon_unit": UNIT,
        "epsilon_spent": canonical(spent),
        "epsilon_ceiling": canonical(device.ceiling),
        "questions": questions,
        "journal": list(_journal(store)),
    }


def summarized(store: Store, db: Database) -> dict[str, Any]:
    """Return the state of a store, and what became of its reports."""
    device = store.device()
    counters = store.counters()
    sent = counters.pop("sent", 0)
    failures, resume = store.uploads()
    state = STATES[device.consent]
    clone = state != "off" and store.is_clone(machine_id())
    return {
        "state": "silent" if clone else state,
        "reason": "; ".join(_reasons(store, device, clone)),
        "consent": device.consent,
        "decided_on": device.decided_on,
        "erased": device.secret is None,
        "sent": sent,
        "queued": store.queued(),
        "keeps_answers": len(store.memories.numbers()),
        "next_departure": _text(_departure(store, db)),
        "failures": failures,
        "resume": _text(resume),
        "dropped": counters,
    }


def moment_text(moment: datetime) -> str:
    """Return a moment as people read it."""
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def surveys(store: Store) -> list[str]:
    """Return the surveys of which anything was answered."""
    return sorted({line.survey for line in store.ledger.lines()})


def _departure(store: Store, db: Database) -> datetime | None:
    moments = [Queue(db, survey).next_departure() for survey in surveys(store)]
    return min((moment for moment in moments if moment is not None), default=None)


def _reasons(store: Store, device: Device, clone: bool) -> Iterator[str]:
    """Yield why less happens than the decision allows, so far as the store knows."""
    if clone:
        yield (
            "the store was made on another machine, and a copy of it would answer as one device "
            "with it; delete it, or if this is the same machine, say so with `deniable-device on`"
        )
    if device.consent == "off":
        return
    if held := store.held_since():
        yield (
            f"the clock showed a time that cannot be, {moment_text(held)}: nothing is recorded or "
            "sent until it has gone on for a day"
        )
    failures, resume = store.uploads()
    if failures and resume:
        times = "the last upload failed" if failures == 1 else f"the last {failures} uploads failed"
        yield f"{times}; the next is tried after {moment_text(resume)}"


def _questions(store: Store) -> list[dict[str, Any]]:
    last = {entry.number: entry.period for entry in store.journal.entries()}
    sealed, kept = store.ledger.sealed(), store.memories.numbers()
    return [
        {
            **_name(line),
            "epsilon": canonical(line.epsilon),
            "answers": line.answers,
            "last": last.get(line.number),
            "erased": line.erased,
            "sealed_for": sealed.get(line.number),
            "keeps_answer": line.number in kept,
            "about": dict(line.about),
        }
        for line in store.ledger.lines()
    ]


def _journal(store: Store) -> Iterator[dict[str, Any]]:
    """Yield what became of every answer, newest period first."""
    lines = {line.number: line for line in store.ledger.lines()}  # by name
    order = list(lines)
    entries = [entry for entry in store.journal.entries() if entry.number in lines]
    entries.sort(key=lambda entry: order.index(entry.number))
    entries.sort(key=lambda entry: (parse_period(entry.period).start, entry.period), reverse=True)
    for entry in entries:
        state = entry.state or "waiting"
        kept = {} if entry.response is None else {"response": entry.response}
        yield {"period": entry.period, **_name(lines[entry.number]), "state": state, **kept}


def _name(line: Spent) -> dict[str, Any]:
    return {"survey": line.survey, "question": line.question, "version": line.version}


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
