"""What randomization means for each question, said to the person who is asked.

What must never change: nothing is said that the mechanism does not guarantee, what is not
protected is said as plainly as what is, and every epsilon comes with what it assumes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from deniable.protocol.exact import canonical

from .asked import Asked, printable
from .forms import FORMS, OTHER
from .numbers import MEANINGLESS, cases, odds, success
from .words import named

_WIDTH = 88

_OLD = (
    "This was answered by an older version of the app, which noted nothing about the question but "
    "its price."
)

_SEEN = """\
What others see. Whoever runs the collector gets requests with a made-up name, the period, the \
questions and their versions, and what chance made of your answers. The name is another in each \
period, and for a question that travels alone; but the same answer is sent the same way, so what \
is sent about many questions may show that two requests come from one device. The collector is \
meant to add the responses up and to keep no single one; what is said above holds even if it keeps \
them.

What is said above is about one question at a time. Where the answers to several have to do with \
each other, what they give away adds up; so it does over the versions of a question.

The network sees that your device talks to the collector, when, and from which address. Requests \
have one of a few sizes and leave at a random time, most within a day after their period, or when \
the app next runs.

Whoever has this device's store beside what it sent can often compute your answers: the store \
holds the secret of the draws. `deniable-device erase` destroys it. What is said here is about \
this library: an app can send something else besides.
"""


def explanation(question: Mapping[str, Any]) -> str:
    """Return what is to be said about one question of a portrait."""
    about = Asked.read(question["about"])
    title = f"{named(question)}: “{about.ask}”" if about.ask else named(question)
    epsilon = Decimal(question["epsilon"])
    said = [*_draw(about), *_odds(about, epsilon), *_changes(about, epsilon), *_notes(question)]
    return "\n".join([title, *(_paragraph(text) for text in said)])


def seen_by_others() -> str:
    """Return what collector, network and thief see, whatever the question."""
    return "\n\n".join(textwrap.fill(text, _WIDTH) for text in _SEEN.split("\n\n"))


def matching(questions: Iterable[Mapping[str, Any]], name: str | None) -> list[Mapping[str, Any]]:
    """Return the questions of a name, `question` or `survey/question`; all if there is no name."""
    return [
        question
        for question in questions
        if name in (None, question["question"], f"{question['survey']}/{question['question']}")
    ]


def _paragraph(text: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent="  ", subsequent_indent="  ")


def _draw(about: Asked) -> Iterator[str]:
    """Say what leaves the device instead of the answer."""
    if about.mechanism is None:
        yield _OLD
        return
    form = FORMS.get(about.mechanism, OTHER)
    if "{p}" in form and (about.p is None or about.q is None):
        form = OTHER
    likely = {"p": cases(about.p or 0), "q": cases(about.q or 0)}
    text = f"Your device does not send your answer. {form.format(**likely)}"
    if about.max_items is not None:
        text += (
            f" If you choose more than {about.max_items}, so many of them are drawn by lot, and "
            "only those count."
        )
    if about.periods is not None:
        yield f"{text} Chance decides once, in advance, for all periods together."
    elif about.epsilon_first is None:
        yield (
            f"{text} Chance decides once for each answer: the same answer is always sent the same "
            "way, so that asking again teaches nothing."
        )
    else:
        yield (
            f"{text} Chance decides twice: once for each answer, for ever, and then anew for each "
            "report, so that one report tells less than all of them."
        )


def _odds(about: Asked, epsilon: Decimal) -> Iterator[str]:
    """Say what the reports give away at most."""
    one, unless, both = "one answer", ", as long as your answer never changes", "two answers"
    if about.periods is not None:
        one, unless = "one course of your answers", f" over its {about.periods} periods"
        both = "two such courses"
    text = (
        "Whoever sees every report that this device ever sends about it, and knows all else there "
        f"is to know, can hold {one} at most {odds(epsilon)} times likelier than before, "
        f"against any other{unless}: that is epsilon "
        f"{canonical(epsilon)}. Who could only guess between {both} guesses right in at most "
        f"{success(epsilon)} of 100 cases afterwards."
    )
    if epsilon > MEANINGLESS:
        text += f" An epsilon above {MEANINGLESS} is no meaningful protection."
    yield text
    first = about.epsilon_first
    if first is not None:
        yield (
            f"Whoever sees only one of the reports: at most {odds(first)} times, and "
            f"{success(first)} of 100 cases (epsilon {canonical(first)} of one report)."
        )


def _changes(about: Asked, epsilon: Decimal) -> Iterator[str]:
    """Say what is given away if the answer does not stay what it is."""
    if about.mechanism is None:
        return
    if about.period == "once":
        yield "It is asked once: a later answer is never sent."
        return
    if about.periods is not None:
        yield _covered(about)
        return
    if about.epsilon_first is None:
        text = "If your answer changes, a report that differs proves that it did, and when."
    else:
        text = (
            "If your answer changes, no single report proves it, but many together show it: "
            "what a whole history of changes gives away adds up, report by report."
        )
    if about.classes is not None:
        most = canonical(about.classes * epsilon)
        text += (
            f" Each other answer can give away as much again. To those who know when it changed, "
            f"all reports together give away at most epsilon {most}, however often it changes."
        )
    elif about.kind == "set":
        text += (
            " Each other selection can give away as much again, and how much all of them give "
            "away together has no bound."
        )
    yield text


def _covered(about: Asked) -> str:
    """Say what is done about changes that are covered."""
    unreported = "That your number falls is not reported."
    if about.changes is not None:
        unreported = f"After {about.changes} changes, no further one is reported."
    return (
        f"Your answer may change: that is covered. {unreported} For that your device keeps what "
        "you answered last; such answers are the only true ones in its store."
    )


def _notes(question: Mapping[str, Any]) -> Iterator[str]:
    """Say who can read the reports, and whether there will be more."""
    if question["sealed_for"]:
        yield (
            "What is sent is encrypted for the analyst, so that the collector cannot read it "
            f"(key {printable(question['sealed_for'])})."
        )
    if question["erased"]:
        yield "Its secret was erased: it is never answered again."
