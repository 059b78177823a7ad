"""The figures of docs/threats.md and SECURITY.md are those of the code."""

from __future__ import annotations

import math
import re
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest
from client_kit import choice, question, survey

from deniable.client.bodies import bodies
from deniable.client.pending import Queued
from deniable.protocol.derivation import permanent_response
from deniable.protocol.limits import BODY_SIZES, MAX_REPORTS
from deniable.protocol.mechanisms.grr import GRR

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "threats.md").read_text("utf-8")
SECURITY = (ROOT / "SECURITY.md").read_text("utf-8")
SIDES = [f"side {number}" for number in range(256)]


def asked(count: int = 1, **changes: Any) -> Any:
    """A survey of so many questions that differ from a yes/no one as told."""
    head = {"linkable": True, "max_epsilon": Decimal(1000)}
    return survey(head, **{f"question_{n:03}": question(**changes) for n in range(count)})


def size(whole: Any, count: int) -> int:
    """Bytes of the one body that carries a report of each question."""
    reports = []
    for one in list(whole.questions.values())[:count]:
        permanent = permanent_response(bytes(32), one, 0)
        assert permanent is not None
        wire = one.mechanism.shape.pack(permanent)
        reports.append(Queued("2026-11-30", one.id, 1, False, False, None, one.wire_hash, wire))
    ((_, body),) = bodies("acme-editor", "2026-11-30", "d" * 22, reports)
    return len(body)


def test_how_many_answers_fit_into_a_size() -> None:
    """Give or take a tenth, as names and hashes compress."""
    text = "about 35 yes/no answers fit into 1 KiB, 160 into 4 KiB, and the most there can be, 200,"
    assert text in " ".join(PAGE.split())
    whole = asked(MAX_REPORTS)
    sizes = [size(whole, count) for count in (1, 32, 39, 144, 176, MAX_REPORTS)]
    assert sizes == [1024, 1024, 4096, 4096, 16384, 16384]
    assert [round(size / 1024) for size in BODY_SIZES] == [1, 4, 16, 64]


@pytest.mark.parametrize(
    ("row", "whole"),
    [
        ("1 yes/no", asked()),
        ("10 yes/no", asked(10)),
        ("20 yes/no", asked(20)),
        ("one of 8 choices, `grr`", asked(type="choice", choices=SIDES[:8], mechanism="grr")),
        (
            "one of 64 choices, `olh` (what `auto` takes at epsilon 2)",
            survey(dark=choice(*SIDES[:64])),
        ),
        (
            "one of 64 choices, `oue` at epsilon 2",
            asked(type="choice", choices=SIDES[:64], mechanism="oue"),
        ),
    ],
)
def test_how_large_a_fingerprint_is(row: str, whole: Any) -> None:
    (bits,) = whole.fingerprint_bits().values()
    shown = re.search(rf"\| {re.escape(row)} \| ([0-9.]+) \| ([^|]+) \|", PAGE)
    assert shown is not None
    assert float(shown[1]) == round(bits, 1)
    devices = {"a million": 10**6, "everybody": 10**10}.get(shown[2]) or int(
        shown[2].replace(" ", "")
    )
    assert math.isclose(devices, 2**bits, rel_tol=0.05) or devices == 10**10 < 2**bits


def test_how_many_levels_a_horizon_has() -> None:
    horizon = {"start": date(2026, 11, 30), "periods": 30, "changes": 2}
    mechanism = asked(horizon=horizon).questions["question_000"].mechanism
    assert f"for 30 periods that parts devices into {mechanism.levels}, and" in PAGE


def test_what_a_stolen_store_gives_away() -> None:
    """A yes/no at epsilon 2: what follows if the two permanent responses differ, else a guess.

    With a second round the response is the permanent one with the probability of its threshold.
    """
    plain, twice = (
        cast("GRR", asked(**changes).questions["question_000"].mechanism)
        for changes in ({}, {"epsilon_first": Decimal(1)})
    )
    p = float(plain.p)
    assert twice.keep_again is not None
    again = twice.keep_again / 2**64
    differ = p**2 + (1 - p) ** 2
    for known, right in (
        ("never", p),
        (f"{differ:.1%} of the time", differ + (1 - differ) / 2),
        ("never", float(twice.p)),
        ("never", differ * again + (1 - differ) / 2),
    ):
        row = f"| {known} | {right:.1%} |".replace("%", " %")
        assert row in PAGE
    assert "in 89.5 % of cases" in " ".join(SECURITY.split())
    assert "and in 74.0 %" in " ".join(SECURITY.split())
