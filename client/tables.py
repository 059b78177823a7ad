"""The tables of a device's store.

What must never change within a :data:`VERSION`: the tables; an older store is brought up to date
by :mod:`.migration`. No column holds a true value, but for two of ``memory``.
"""

from __future__ import annotations

from collections.abc import Container

from deniable.protocol.draws import FreshDraws

VERSION = 3
PAGE_BYTES = 1024
"""Small pages, for most tables hold little."""

# device    one row. secret: NULL once erased. consent: what the person decided, 'on' or 'off', or
#           NULL, and consent_on: on which day; mode: what the app asked for, which holds while
#           consent is NULL. ceiling: the least max_epsilon this store ever saw. born: the day it
#           was made; begun: how often sending has begun, by a yes or an app that asks no more;
#           machine: a keyed mark of the machine, NULL if unknown; latest: the last day
#           seen, and odd: since when the clock has shown another time than it could. failures,
#           resume: uploads that failed in a row, and when the next may be tried. keep_responses:
#           whether the person wants the journal to hold what was sent. Times are in seconds
#           since 1970.
# ledger    what was spent, for ever. number: by which other tables name the question version,
#           drawn at random, so that it tells no order; erased: its secret is gone, so it is never
#           answered again; about: what the person is told of the question, in JSON, never a value;
#           answers: how many periods were answered. Its rows are long, and WITHOUT ROWID each would
#           take a page of its own.
# seen      since when a question with a default is known.
# answered  the journal, and why there is one report per question and period. state: NULL while the
#           report waits, then 'sent' or why it never counted; response: if the person wants that.
# queue     reports that wait: response in its wire form, size: the most bytes such a response has,
#           alone: travels by itself, local: recorded before there was consent, so never sent.
#           Rows are erased when they are acknowledged.
# counters  what became of reports and refused answers.
# sealed    for which key the answers to a question are sealed.
# memory    of a question whose answer may change, with one epsilon for all its periods. base,
#           latest: its yes/no at its last report, -1 before the first and NULL if unknown, and as
#           last recorded; used: how many reports told something; seen: the last period that is
#           behind it; all NULL once a no, or the end of its periods, has blanked them. local:
#           whether nothing of it can have left the device; ends: when its last period closes.
MEMORY = """CREATE TABLE memory (
    number INTEGER PRIMARY KEY, base INTEGER, latest INTEGER, used INTEGER, seen INTEGER,
    local INTEGER NOT NULL, ends INTEGER NOT NULL
);
"""
TABLES = f"""
CREATE TABLE device (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    secret BLOB, consent TEXT CHECK (consent IN ('on', 'off')), consent_on TEXT,
    mode TEXT NOT NULL CHECK (mode IN ('on', 'ask', 'off')), ceiling TEXT NOT NULL,
    born INTEGER NOT NULL, begun INTEGER NOT NULL DEFAULT 0, machine BLOB,
    latest INTEGER NOT NULL, odd INTEGER,
    failures INTEGER NOT NULL DEFAULT 0, resume INTEGER,
    keep_responses INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE ledger (
    number INTEGER PRIMARY KEY, survey TEXT NOT NULL, question TEXT NOT NULL,
    version INTEGER NOT NULL,
    hash TEXT NOT NULL, epsilon TEXT NOT NULL, erased INTEGER NOT NULL DEFAULT 0,
    about TEXT NOT NULL, answers INTEGER NOT NULL DEFAULT 0, through INTEGER NOT NULL DEFAULT 0,
    UNIQUE (survey, question, version)
);
CREATE TABLE seen (
    survey TEXT, question TEXT, version INTEGER, since INTEGER NOT NULL,
    PRIMARY KEY (survey, question, version)
) WITHOUT ROWID;
CREATE TABLE answered (
    number INTEGER, period TEXT, closes INTEGER NOT NULL, state TEXT, response TEXT,
    PRIMARY KEY (number, period)
) WITHOUT ROWID;
CREATE TABLE queue (
    number INTEGER, period TEXT, alone INTEGER NOT NULL, local INTEGER NOT NULL, segment TEXT,
    response TEXT NOT NULL, size INTEGER NOT NULL, not_before INTEGER NOT NULL,
    closes INTEGER NOT NULL,
    PRIMARY KEY (number, period)
) WITHOUT ROWID;
CREATE TABLE counters (name TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE sealed (number INTEGER PRIMARY KEY, key TEXT NOT NULL);
{MEMORY}"""
NAMES = {"answered", "counters", "device", "ledger", "memory", "queue", "sealed", "seen"}


_NUMBERS = 1 << 16


def draw_number(taken: Container[int]) -> int:
    """Draw a number for a question version that no other has."""
    drawn = 1 + FreshDraws().below(_NUMBERS)
    while drawn in taken:
        drawn = drawn % _NUMBERS + 1
    return drawn
