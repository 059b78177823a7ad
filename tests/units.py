"""Finds epsilons that are printed without saying of what they are.

An epsilon in a sentence or a heading needs a unit in the same paragraph. One in a table needs it
in the heading ("Epsilon of one report"), in the name of its column, in a column "of what", or in a
remark that begins with the name of the column, or with that of the row, and a colon.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

NUMBER = r"(?:of at most|at (?:most|least)|above|below|of|is|=|:|≥|≤|\(|to)?\s*[0-9]"
VALUED = re.compile(rf"\bepsilons?(?:_first)?\b[ ,:=]*{NUMBER}", re.IGNORECASE)
UNIT = re.compile(
    r"\bof (one|all|each|every|any|both|whatever|the (unshuffled )?reports?)\b"
    r"|\b(one|per|a|each) (report|device|person)\b"
    r"|\babout (one|an unchanging|unchanging)\b"
    r"|\bbetween (any )?(two )?histories\b",
    re.IGNORECASE,
)
OF = re.compile(r"epsilon (of|between)\b", re.IGNORECASE)
RULE = re.compile(r"-+(  +-+)*")
COLUMNS = frozenset(
    {
        "a report", "answers that change", "ceiling", "declared", "exact", "fresh", "lower bound",
        "memoized", "memoized_second_round", "null control", "one report", "permanent",
        "positive control", "published", "a change reveals", "constant", "changed",
    }
)  # fmt: skip
"""Names of columns that hold epsilons without having the word in them."""


def without_a_unit(text: str) -> Iterator[str]:
    """Yield each paragraph, and each name of a column, of a table output that lacks a unit."""
    paragraphs = list(_paragraphs(text))
    for paragraph in paragraphs:
        if VALUED.search(paragraph) and not UNIT.search(paragraph):
            yield paragraph
    for table in _tables(text):
        if OF.search(table.heading) or "of what" in table.columns:
            continue
        if all(_explained(label, paragraphs) for label in table.labels):
            continue
        for name in table.columns:
            holds = "epsilon" in name or name in COLUMNS
            if holds and not UNIT.search(name) and not _explained(name, paragraphs):
                yield f"column {name!r}"


@dataclass(frozen=True)
class Table:
    """The paragraph above a table, the names of its columns, and its first column."""

    heading: str
    columns: list[str]
    labels: list[str]


def _paragraphs(text: str) -> Iterator[str]:
    """Yield what is not in a table, with wrapped lines joined."""
    for block in text.split("\n\n"):
        lines = block.splitlines()
        if any(RULE.fullmatch(line.strip()) for line in lines):
            continue
        joined = re.sub(r"\n  +", " ", block)
        yield from joined.splitlines()


def _tables(text: str) -> Iterator[Table]:
    """Yield every table."""
    blocks = text.split("\n\n")
    for heading, block in pairwise(["", *blocks]):
        lines = block.strip("\n").splitlines()
        if len(lines) > 1 and RULE.fullmatch(lines[1].strip()):
            names, *rows = (re.split(r"  +", line.strip()) for line in (lines[0], *lines[2:]))
            yield Table(heading.strip().splitlines()[-1], names, [row[0] for row in rows])


def _explained(name: str, paragraphs: list[str]) -> bool:
    """Whether a remark begins a clause with the name and a colon, and says of what it is."""
    for paragraph in paragraphs:
        _, found, rest = f"; {paragraph}".partition(f"; {name}: ")
        if found and UNIT.search(rest):
            return True
    return False
