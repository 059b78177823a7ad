"""Write the tables of docs/mechanisms.md from the mechanisms themselves; `make docs` runs it.

tests/test_docs.py fails while the page is out of date. The words around the tables are written
by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from tabulate import tabulate

from deniable.protocol.errors import ParameterError
from deniable.protocol.limits import MAX_CELLS
from deniable.protocol.mechanisms import (
    MECHANISMS,
    NO_OPTIONS,
    FrequencyOracle,
    Mechanism,
    Options,
    build,
    choose,
)
from deniable.protocol.mechanisms.popcounts import weight
from deniable.protocol.mechanisms.rappor import Rappor
from deniable.protocol.response import Response

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "mechanisms.md"
DOMAINS = (2, 16, 256, 4096)
EPSILONS = ("0.5", "1", "2", "4")
SETS = [(k, {"items": items}) for k in (16, 256) for items in (1, 4, 16)]
TEXTS = [(2, NO_OPTIONS)]
PREFIXES = [(2, {"letters": 26, "length": length}) for length in (8, 20)]
TRAJECTORIES = [
    (2, {"periods": periods, "changes": changes}) for periods in (30, 365) for changes in (1, 4, 16)
]
COUNTERS = [(101, {"periods": periods}) for periods in (30, 365)]
SIZES: Mapping[str, list[tuple[int, Options]]] = {
    "privset": SETS, "cms": TEXTS, "hcms": TEXTS, "pem": PREFIXES,
    "trajectory": TRAJECTORIES, "counter": COUNTERS,
}  # fmt: skip
"""k and what a question would decide; of the other mechanisms each of DOMAINS."""

SHOWN: Mapping[str, Mapping[str, str]] = {
    "privset": {"k": "k", "m": "items", "w": "weight"},
    "cms": {"rows": "rows", "buckets": "width"},
    "hcms": {"rows": "rows", "buckets": "width"},
    "pem": {"letters": "letters", "length": "length", "rows": "rows", "buckets": "g"},
    "trajectory": {"T": "periods", "c": "changes"},
    "counter": {"k": "k", "T": "periods"},
}
"""The columns that say how large one is, each with its attribute."""

ASKED: Mapping[str, str] = {
    "choice": "2 to 4096 choices",
    "number": "2 to 4096 values of a number",
    "set": "sets of 2 to 4096 items",
    "text": "texts",
    "trajectory": "a yes/no with a horizon",
    "counter": "a number with a horizon",
}

BEGIN, END = "<!-- begin {} -->\n", "<!-- end {} -->\n"


def number(value: float | Fraction) -> str:
    """Four digits; large ones without an exponent."""
    return f"{float(value):,.0f}" if float(value) >= 10_000 else f"{float(value):.4g}"


def probabilities(mechanism: Mechanism) -> tuple[Fraction, Fraction]:
    """p and q of a report: of a support, a bit, or a response of the true value and another."""
    if isinstance(mechanism, FrequencyOracle | Rappor):
        return mechanism.p, mechanism.q
    memo = mechanism.memo(0, 0)
    masses = mechanism.law(0, memo or b"", 1).values()
    return max(masses), min(masses)


def response_bytes(mechanism: Mechanism) -> int:
    """Bytes of the longest response as JSON."""
    shape = mechanism.shape
    weight = shape.width if shape.weight is None else shape.weight
    out = shape.width - 1 if shape.kind == "symbol" else (1 << weight) - 1
    packed = shape.pack(Response(out, shape.rows - 1))
    return len(json.dumps(packed, separators=(",", ":")))


def built(name: str, k: int, epsilon: str, options: Options = NO_OPTIONS) -> Mechanism | None:
    """The mechanism, if it serves the domain."""
    try:
        mechanism = build(name, k, Decimal(epsilon), None, options)
    except ParameterError:
        return None
    return mechanism if mechanism.shape.cells <= MAX_CELLS else None


def shown(name: str) -> Mapping[str, str]:
    """The columns that say how large a mechanism is."""
    return SHOWN.get(name, {"k": "k"})


def rows(name: str) -> Iterator[tuple[str, ...]]:
    """One row for each size and epsilon."""
    for k, options in SIZES.get(name, [(k, NO_OPTIONS) for k in DOMAINS]):
        for epsilon in EPSILONS:
            mechanism = built(name, k, epsilon, options)
            if mechanism is None:
                yield (str(k), epsilon, *("–",) * 8)
            else:
                size = (str(getattr(mechanism, each)) for each in shown(name).values())
                yield (*size, epsilon, *figures(mechanism))


def figures(mechanism: Mechanism) -> Iterator[str]:
    """What one row has to say."""
    yield from map(number, probabilities(mechanism))
    yield number(mechanism.variance(0.5 if mechanism.asks in ("number", "counter") else 0.0))
    yield f"{mechanism.shape.cells:,}"
    yield str(response_bytes(mechanism))
    classes, epsilon = mechanism.classes, mechanism.epsilon
    yield str(epsilon)
    yield "no bound" if classes is None else number(classes * float(epsilon))
    yield f"{mechanism.fingerprint_bits:.1f}"


def table(name: str) -> str:
    """All figures of one mechanism."""
    columns = (
        *shown(name), "epsilon", "p", "q", "n·Var", "cells", "bytes", "fixed answer", "changing",
        "bits",
    )  # fmt: skip
    aligned = ("right",) * len(columns)
    return tabulate(list(rows(name)), columns, "github", disable_numparse=True, colalign=aligned)


def overview() -> str:
    """What each mechanism is for, in one table."""
    found = []
    for name, cls in MECHANISMS.items():
        options = ", ".join(one for one in cls.options if one not in cls.given) or "–"
        rounds = "one or two" if cls.two_rounds else "one"
        found.append((f"`{name}`", ASKED[cls.asks], rounds, options, cls.decoder))
    columns = ("mechanism", "for", "rounds", "options", "decoder")
    return tabulate(found, columns, "github", disable_numparse=True)


def automatic() -> str:
    """What `auto` chooses for choices."""
    found = []
    for k in (2, 4, 8, 16, 64, 256, 1024, 4096):
        names = []
        for linkable in (False, True):
            for epsilon in EPSILONS:
                names.append(choose(k, Decimal(epsilon), linkable=linkable).name)
        found.append((str(k), *names))
    columns = ("k", *EPSILONS, *(f"{epsilon}, linkable" for epsilon in EPSILONS))
    return tabulate(found, columns, "github", disable_numparse=True, colalign=("right",))


def popcounts() -> str:
    """For how many devices a fake response of bits can speak, with and without the check."""
    found = []
    for name in ("oue", "sue", "rappor"):
        for k in (16, 100, 1000, 4096):
            mechanism = build(name, k, Decimal(1))
            counts, width = mechanism.popcounts, mechanism.shape.width
            if counts is None:
                raise AssertionError(f"{name} has popcounts")
            p, q = probabilities(mechanism)
            heaviest = (weight(count, width, p, q) for count in (width, counts[-1]))
            taken = f"{counts[0]} to {counts[-1]}"
            found.append((f"`{name}`", str(k), str(width), taken, *map(number, heaviest)))
    columns = ("mechanism", "k", "bits", "taken", "all bits set", "most bits taken")
    aligned = ("left", *("right",) * 5)
    return tabulate(found, columns, "github", disable_numparse=True, colalign=aligned)


def tables() -> dict[str, str]:
    """Every generated part of the page by its name."""
    parts = {"overview": overview(), "auto": automatic(), "popcounts": popcounts()}
    return parts | {name: table(name) for name in MECHANISMS}


def update(page: str) -> str:
    """The page with every part written anew; a part that is missing is added at the end."""
    for name, text in tables().items():
        begin, end = BEGIN.format(name), END.format(name)
        if begin not in page:
            page = f"{page.rstrip()}\n\n### `{name}`\n\n{begin}{end}"
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        page = f"{before}{begin}{text}\n{end}{after}"
    return page


def main() -> None:
    before = PAGE.read_text(encoding="utf-8")
    page = update(before)
    PAGE.write_text(page, encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {'already current' if page == before else 'written anew'}")


if __name__ == "__main__":
    main()
