"""A portrait in plain words, for a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from itertools import groupby
from typing import Any

from ..reasons import in_words
from .asked import Asked, printable
from .numbers import odds
from .portrait import moment_text

_STATES: Mapping[str, str] = {
    "silent": "nothing to send",
    "off": "erased by a no",
    "before_consent": "thrown away, for it was recorded before the yes",
    "gone": "kept by an older version, which noted no more",
}
_RESPONSE = 60
"""Characters of a response that are shown."""

_MEANING = """\
epsilon: bounds what all reports ever sent about one answer that never changes give away.
odds: whoever sees them all may hold that answer at most so many times likelier than before,
against any other. `deniable-device explain` says it in more words."""


def status_text(summary: Mapping[str, Any]) -> str:
    """Return one or two lines."""
    store = printable(summary["store"])
    if "consent" not in summary:
        return f"{store}: {_unread(summary)}"
    line = f"{store}: {_consent(summary)}; {_reports(summary)}"
    if kept := summary["keeps_answers"]:
        line += f"; keeps {kept_answers(kept)}"
    return f"{line}\n  {_reason(summary)}" if summary["reason"] else line


def show_text(portrait: Mapping[str, Any], periods: int) -> str:
    """Return a portrait; of the journal, so many periods."""
    if "consent" not in portrait:
        return f"{printable(portrait['store'])}\n  {_unread(portrait)}"
    questions = portrait["questions"]
    lines = list(_head(portrait))
    if not questions:
        return _indented(portrait, [*lines, "answered  nothing"])
    lines += [*_table(questions), *_sealed(questions), *_kept(questions)]
    if periods and portrait["journal"]:
        kept = "; it keeps what is sent" if portrait["keeps_responses"] else ""
        lines.append(f"journal, newest first{kept}:")
        lines += _journal(portrait["journal"], periods)
    return _indented(portrait, [*lines, *_MEANING.splitlines()])


def silent_for_good(erased: int) -> str:
    """Say what an erasure means for the questions answered before, whatever is decided later."""
    if erased == 1:
        return "1 question answered before the erasure stays silent for good"
    return f"{erased} questions answered before the erasure stay silent for good"


def named(question: Mapping[str, Any]) -> str:
    """Return the name of a question version."""
    name = f"{question['survey']}/{question['question']} v{question['version']}"
    return printable(name)


def _indented(portrait: Mapping[str, Any], lines: Iterable[str]) -> str:
    return "\n".join([printable(portrait["store"]), *(f"  {line}" for line in lines)])


def _unread(portrait: Mapping[str, Any]) -> str:
    label = "silent" if portrait["state"] == "silent" else "not shown"
    return f"{label}: {printable(portrait['reason'])}"


def _reason(summary: Mapping[str, Any]) -> str:
    prefix = "silent: " if summary["state"] == "silent" else ""
    return prefix + printable(summary["reason"])


def _head(portrait: Mapping[str, Any]) -> Iterator[str]:
    yield f"consent   {_consent(portrait)}"
    yield f"reports   {_reports(portrait)}"
    for reason, count in portrait["dropped"].items():
        yield f"          {count} went nowhere: {printable(in_words(reason))}"
    spent, ceiling = portrait["epsilon_spent"], portrait["epsilon_ceiling"]
    yield f"epsilon   {spent} spent for good, of at most {ceiling} in the life of this store"
    if erased := sum(question["erased"] for question in portrait["questions"]):
        yield f"erased    {silent_for_good(erased)}"
    if kept := portrait["keeps_answers"]:
        yield f"kept      {kept_answers(kept)}; a no erases it"
    if portrait["reason"]:
        yield f"notice    {_reason(portrait)}"


def _consent(summary: Mapping[str, Any]) -> str:
    consent, day = summary["consent"], printable(summary["decided_on"] or "an unknown day")
    if summary["decided_on"] is None:
        return _UNDECIDED[consent]
    if consent == "on":
        return f"yes, since {day}"
    if summary["erased"]:
        return f"no; secret, queue and journal were erased on {day}; what was spent stays"
    return f"no, since {day}: nothing is recorded or sent"


_UNDECIDED: Mapping[str, str] = {
    "on": "not decided: this app sends reports until you say no",
    "ask": "not decided: what waits is for you to look at, and never sent; a yes begins anew",
    "off": "not decided: this app records and sends nothing until you say yes",
}


def kept_answers(count: int) -> str:
    """Say of how many questions an answer is kept."""
    of = "1 question" if count == 1 else f"{count} questions"
    return f"your last answer to {of}, whose answer may change"


def _reports(summary: Mapping[str, Any]) -> str:
    text = f"{summary['sent']} sent, {summary['queued']} waiting"
    if summary["next_departure"] and summary["consent"] == "on":
        moment = datetime.fromisoformat(summary["next_departure"])
        text += f", the next may leave from {moment_text(moment)}"
    return text


def _table(questions: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a row for each question, and the question in its words."""
    asked = [Asked.read(question["about"]) for question in questions]
    rows: list[tuple[str, ...]] = [
        ("question", "asked", "answers", "last", "mechanism", "epsilon", "odds")
    ]
    rows += [_row(question, about) for question, about in zip(questions, asked, strict=True)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    texts = [None, *(about.ask for about in asked)]
    for row, text in zip(rows, texts, strict=True):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
        if text is not None:
            yield f"  “{text}”"


def _row(question: Mapping[str, Any], about: Asked) -> tuple[str, ...]:
    last = "erased" if question["erased"] else printable(question["last"] or "")
    epsilon = question["epsilon"]
    if about.epsilon_first is not None:
        epsilon += f", one report {about.epsilon_first}"
    return (
        named(question),
        about.period or "",
        str(question["answers"]),
        last,
        about.mechanism or "",
        epsilon,
        f"x{odds(Decimal(question['epsilon']))}",
    )


def _sealed(questions: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for question in questions:
        if question["sealed_for"]:
            yield (
                f"sealed: answers to {named(question)}, for the analyst's key "
                f"{printable(question['sealed_for'])}; the collector cannot read them."
            )


def _kept(questions: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for question in questions:
        if question["keeps_answer"]:
            yield (
                f"keeps your last answer to {named(question)} on this device, for its next reports."
            )


def _journal(entries: Iterable[Mapping[str, Any]], periods: int) -> Iterator[str]:
    """Yield what became of the answers, one period after the other."""
    groups = groupby(entries, key=lambda entry: entry["period"])
    found = [(period, list(group)) for period, group in groups]
    for period, group in found[:periods]:
        states: dict[str, list[str]] = {}
        for entry in group:
            states.setdefault(_state(entry["state"]), []).append(named(entry))
        for state, names in states.items():
            yield f"  {printable(period)}  {state}: {', '.join(names)}"
        yield from (_response(entry) for entry in group if "response" in entry)
    if len(found) > periods:
        yield f"  … and {len(found) - periods} more periods (--journal)"


def _state(state: str) -> str:
    if state in ("waiting", "sent"):
        return state
    return _STATES.get(state) or f"dropped, for {printable(in_words(state))}"


def _response(entry: Mapping[str, Any]) -> str:
    text = json.dumps(entry["response"])
    shown = text if len(text) <= _RESPONSE else f"{text[:_RESPONSE]}…"
    return f"    {named(entry)} was sent as {printable(shown)}"
