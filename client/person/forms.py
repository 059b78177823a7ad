"""What leaves a device instead of the answer, in words, for each mechanism.

What must never change: nothing is said that the mechanism does not guarantee.
"""

from __future__ import annotations

from collections.abc import Mapping

FORMS: Mapping[str, str] = {
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
    "privset": (
        "It names a few of the choices, always as many, and some of them are mere fillers: each "
        "one of yours is named in about {p} cases, and any other in {q}. How many are yours is "
        "as well hidden as which."
    ),
    "cms": (
        "It sends a row of yes and no, one of which stands for your text and for many others. Each "
        "of them is turned into its contrary so often that many of them are wrong."
    ),
    "hcms": (
        "It sends one of two signs, each of which stands for about half of all texts: the one that "
        "stands for yours in about {p} cases."
    ),
    "pem": (
        "It sends a code that stands for many texts, or for many beginnings of texts: the one for "
        "yours in about {p} cases, and the one for any other text, or beginning, in {q}."
    ),
    "trajectory": (
        "It says something in some of the periods only, chosen without regard to your answers: in "
        "the first of them yes or no, in each later one whether that went up or down. Where "
        "nothing changed it says either, as a coin falls; where something did, it says the "
        "contrary so often that no report proves anything."
    ),
    "counter": (
        "It draws a mark on the scale, without regard to your number, and says yes or no in some "
        "of the periods only: whether your number has passed the mark since the one before. Both "
        "are drawn by lot, yes more often where it has."
    ),
}
FORMS = {**FORMS, "sue": FORMS["oue"], "hr": FORMS["olh"], "square-wave": FORMS["piecewise"]}
OTHER = "It sends something drawn by lot, which your answer makes more or less likely."
