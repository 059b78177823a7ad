"""A store described for the person whose device it is, as data and in plain words."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from typing import Any

from deniable.protocol.exact import canonical, total

from .reasons import in_words
from .store import Store


def portrait(path: Path, store: Store) -> dict[str, Any]:
    """Return everything a store tells, without a response and without its secret."""
    device = store.device()
    counters = store.counters()
    sent = counters.pop("sent", 0)
    questions = _questions(store)
    spent = total(Decimal(question["epsilon"]) for question in questions)
    return {
        "store": str(path),
        "state": {"on": "on", "ask": "local", "off": "off"}[device.consent],
        "decided_on": device.decided_on,
        "erased": device.secret is None,
        "epsilon_spent": canonical(spent),
        "epsilon_ceiling": canonical(device.ceiling),
        "queued": store.queued(),
        "sent": sent,
        "dropped": counters,
        "questions": questions,
    }


def portrait_text(portrait: dict[str, Any]) -> str:
    """Return a portrait in words."""
    lines = [portrait["store"]]
    if portrait["state"] == "silent":
        return "\n".join([*lines, f"  silent: {portrait['reason']}"])
    lines.append(f"  consent   {_consent(portrait)}")
    lines.append(f"  reports   {portrait['sent']} sent, {portrait['queued']} waiting")
    for reason, count in portrait["dropped"].items():
        lines.append(f"            {count} went nowhere: {in_words(reason)}")
    spent, ceiling = portrait["epsilon_spent"], portrait["epsilon_ceiling"]
    lines.append(f"  epsilon   {spent} spent of at most {ceiling}")
    if erased := sum(question["erased"] for question in portrait["questions"]):
        lines.append(f"  erased    {silent_for_good(erased)}")
    if not portrait["questions"]:
        return "\n".join([*lines, "  answered  nothing"])
    lines.extend(f"  {line}" for line in _table(portrait["questions"]))
    lines.extend(f"  {line}" for line in _sealed(portrait["questions"]))
    return "\n".join([*lines, *(f"  {line}" for line in _MEANING)])


def silent_for_good(erased: int) -> str:
    """Say what an erasure means for the questions answered before, whatever is decided later."""
    if erased == 1:
        return "1 question answered before the erasure stays silent for good"
    return f"{erased} questions answered before the erasure stay silent for good"


def _questions(store: Store) -> list[dict[str, Any]]:
    last = {entry.number: entry.period for entry in store.journal.entries()}
    sealed = store.sealed()
    return [
        {
            "survey": line.survey,
            "question": line.question,
            "version": line.version,
            "ask": line.about.get("ask"),
            "epsilon": canonical(line.epsilon),
            "answers": line.answers,
            "last": last.get(line.number),
            "erased": line.erased,
            "sealed_for": sealed.get(line.number),
        }
        for line in store.ledger()
    ]


def _consent(portrait: dict[str, Any]) -> str:
    day = portrait["decided_on"]
    if portrait["erased"]:
        return f"no; everything was erased on {day}"
    if portrait["state"] == "off":
        return f"no, since {day}: nothing is recorded or sent"
    if portrait["state"] == "local":
        return "not decided: reports stay on this device until you say yes"
    return f"yes, since {day}" if day else "not decided: this app sends reports until you say no"


def _table(questions: list[dict[str, Any]]) -> list[str]:
    rows = [("question", "answers", "last", "epsilon", "odds")]
    for question in questions:
        name = f"{question['survey']}/{question['question']} v{question['version']}"
        odds = f"x{math.exp(float(question['epsilon'])):.3g}"
        last = "erased" if question["erased"] else str(question["last"] or "")
        rows.append((name, str(question["answers"]), last, question["epsilon"], odds))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _sealed(questions: list[dict[str, Any]]) -> list[str]:
    return [
        f"sealed: answers to {q['survey']}/{q['question']} v{q['version']}, for the analyst's key "
        f"{q['sealed_for']}; the collector cannot read them."
        for q in questions
        if q["sealed_for"]
    ]


_MEANING = (
    "odds: whoever sees every report about an answer that never changes may hold it at most",
    "so many times likelier than before, against any other answer.",
)
