"""What a person can decide about a store. Each does it, and returns what is to be said about it."""

from __future__ import annotations

from datetime import datetime

from ..machine import machine_id
from ..store import Store
from .words import kept_answers, silent_for_good


def say_yes(store: Store, now: datetime) -> str:
    """Let what is recorded from now on be sent, on this machine."""
    before, waiting = store.device(), store.queued()
    clone = store.is_clone(machine_id())
    store.decide("on", now)
    store.forget_machine()
    said = [f"yes, since {now.date()}: what is recorded from now on may be sent, each at its time"]
    if before.consent == "ask":
        said.append(f"what was recorded before is thrown away ({waiting} waited)")
    if clone:
        said.append(
            "it was made on another machine and is this one's from now on; delete its copy there"
        )
    if erased := sum(line.erased for line in store.ledger.lines()):
        said.append(silent_for_good(erased))
    return "; ".join(said)


def say_no(store: Store, now: datetime) -> str:
    """Erase what waits; record and send nothing from now on."""
    waiting, kept = store.queued(), len(store.memories.numbers())
    store.decide("off", now)
    too = f", and so is {kept_answers(kept)}" if kept else ""
    return (
        f"no, since {now.date()}: nothing will be recorded or sent; what waited is erased "
        f"({waiting} waited){too}"
    )


def erase(store: Store, now: datetime) -> str:
    """Destroy the secret and whatever could be tied to it."""
    store.erase(now)
    return (
        f"erased on {now.date()}; nothing here links earlier reports to answers, and nothing will "
        "be sent"
    )


def keep(store: Store, now: datetime) -> str:
    """Let the journal hold the responses that are sent from now on."""
    store.keep_responses(True)
    return (
        "the journal keeps what is sent from now on; whoever has it and the store can often "
        "compute the answers"
    )


def forget(store: Store, now: datetime) -> str:
    """Erase the responses in the journal, and keep none any more."""
    store.keep_responses(False)
    return "the journal keeps nothing of what is sent, and what it had is erased"
