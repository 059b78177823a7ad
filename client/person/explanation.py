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
from .numbers import MEANINGLESS, cases, odds, success
from .words import named

_WIDTH = 88

_FORMS: Mapping[str, str] = {
    "grr": "It sends one of the answers: yours in about {p} cases, and any one other in {q}.",
    "oue": (
        "It says yes or no to each of the answers: yes to yours in about {p} cases, and to any one "
        "other in {q}."
    ),
    "ss": "It names a few of the answers: yours among them in about {p} cases, any other in {q}.",
    "olh": (
        "It sends a code that stands for some of the answers: for yours in about {p} cases, and "
        "for any one other in {q}."
    ),
    "dbitflip": (
        "It is asked about a few of the answers only, chosen without regard to yours. It says yes "
        "or no to each of them: yes to yours in about {p} cases, and to any one other in {q}."
    ),
    "rappor": (
        "It sends a row of yes and no, some of which stand for your answer. Each of them is turned "
        "into its contrary so often that many of them are wrong."
    ),
    "1bitmean": (
        "It sends a single yes or no, drawn by lot: yes is likelier the larger your number is."
    ),
    "piecewise": (
        "It sends a place on the scale, drawn by lot: one near your number more often than one "
        "far away, but any place can come."
    ),
}
_FORMS = {**_FORMS, "sue": _FORMS["oue"], "hr": _FORMS["olh"], "square-wave": _FORMS["piecewise"]}
_OTHER = "It sends something drawn by lot, which your answer makes more or less likely."

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
    form = _FORMS.get(about.mechanism, _OTHER)
    if "{p}" in form and (about.p is None or about.q is None):
        form = _OTHER
    likely = {"p": cases(about.p or 0), "q": cases(about.q or 0)}
    text = f"Your device does not send your answer. {form.format(**likely)}"
    if about.epsilon_first is None:
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
    text = (
        "Whoever sees every report that this device ever sends about it, and knows all else there "
        f"is to know, can hold one answer at most {odds(epsilon)} times likelier than before, "
        f"against any other, as long as your answer never changes: that is epsilon "
        f"{canonical(epsilon)}. Who could only guess between two answers guesses right in at most "
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
    yield text


def _notes(question: Mapping[str, Any]) -> Iterator[str]:
    """Say who can read the reports, and whether there will be more."""
    if question["sealed_for"]:
        yield (
            "What is sent is encrypted for the analyst, so that the collector cannot read it "
            f"(key {printable(question['sealed_for'])})."
        )
    if question["erased"]:
        yield "Its secret was erased: it is never answered again."
