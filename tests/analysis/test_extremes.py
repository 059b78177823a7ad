"""At the ends of every range there is a finite answer, or one line that says why there is none."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from click.testing import CliRunner

from deniable.analysis.cli import main

EPSILONS = ("0.000001", "44", "50")
DELTAS = ("1e-15", "0.9")

LINES = [
    *(
        f"total-epsilon --epsilon {e} --days {days} --delta {d}"
        for e, days, d in product(EPSILONS, (1, 10**6), DELTAS)
    ),
    *(
        f"total-epsilon --epsilon {e} --epsilon-first {first} --days 1000000 --mechanism {name}"
        for e, first, name in (
            ("0.000002", "0.000001", "grr"), ("44", "43.9", "oue"), ("44", "0.000001", "olh"),
        )
    ),
    *(
        f"shuffle-epsilon --epsilon {e} --crowd {n} --delta {d} --mechanism {name}"
        for e, n, d, name in product(
            EPSILONS, (1, 2, 10**9, 10**15), DELTAS, ("grr", "oue", "square-wave")
        )
    ),
    *(
        f"compare --epsilon {e} --devices {n} --delta {d} --mechanism grr"
        for e, n, d in product(EPSILONS, (1, 10**9), DELTAS)
    ),
    *(f"explain --epsilon {e} --prior {p}" for e, p in product((*EPSILONS, "1e12"), ("0", "1e-9"))),
    *(f"plan --epsilon {e} --devices {n}" for e, n in product(EPSILONS, (1, 10**9))),
    *(f"plan --margin {m} --devices 1000000000" for m in ("0.000001", "0.9")),
    *(
        f"plan --central-epsilon {c} --delta {d} --crowd 1000000000"
        for c, d in product(("0.000001", "40"), DELTAS)
    ),
    *(
        f"plan --total-epsilon {e} --days 1000000 --questions 100 --delta {d}"
        for e, d in product(("0.001", "1000000"), DELTAS)
    ),
]  # fmt: skip


def numbers(document: Any) -> Iterator[float]:
    """Every number of a document, however deep."""
    if isinstance(document, dict | list):
        for part in document.values() if isinstance(document, dict) else document:
            yield from numbers(part)
    elif isinstance(document, float | int):
        yield float(document)


def not_json(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


@pytest.mark.parametrize("line", LINES)
def test_an_answer_or_a_reason(line: str) -> None:
    words = [*shlex.split(line), "--format", "json"]
    result = CliRunner().invoke(main, words, prog_name="deniable")
    if result.exit_code == 0:
        found = list(numbers(json.loads(result.stdout, parse_constant=not_json)))
        assert found
        assert all(map(math.isfinite, found))
    else:
        assert result.exit_code == 1
        assert result.stdout == ""
        (said,) = result.stderr.splitlines()
        assert said.startswith("Error: ")
        assert "nan" not in said
