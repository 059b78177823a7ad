"""Faults planted in what sets, texts, pairs and changing answers go through: each must be found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from audit_kit import Fault, devices, fault, leaks, violated
from client_kit import question, survey, survey_file
from kinds_kit import CHANGING, PARTS, TEXT

from deniable.analysis.auditing.devices import Devices
from deniable.analysis.auditing.findings import Finding
from deniable.analysis.auditing.histories import audit_histories
from deniable.analysis.auditing.memo import check_derivation, check_hashes
from deniable.protocol.survey import Survey

QUESTIONS = {
    "tools": question(type="set", choices=list("abcd"), max_items=2, period="week"),
    "home": question(**TEXT, mechanism={"name": "cms", "rows": 3, "width": 8}, period="week"),
    "word": question(**TEXT, mechanism={"name": "hcms", "rows": 2, "width": 8}, period="week"),
    "found": question(
        **TEXT, mechanism={"name": "pem", "first": 2, "rows": 2, "g": 6}, period="week"
    ),
    "both": question(type="joint", parts=PARTS, period="week"),
    **{name: question(**CHANGING[name]) for name in CHANGING},
}
DEVICES = 25
SETUP = "    setup = _setup(secret, question)\n    memo = question.mechanism.memo("

FAULTS: dict[str, tuple[str, Fault]] = {
    "a set that is filled up with too few dummies": (
        "tools",
        fault(
            "protocol/mechanisms/privset.py",
            "dummies = (1 << self.items) - (1 << size)",
            "dummies = (1 << max(size, self.items - 1)) - (1 << size)",
            "leakage",
            "derivation",
        ),
    ),
    "silence for a set that is too large": (
        "tools",
        fault(
            "protocol/mechanisms/privset.py",
            '        return b"%x" % symbol',
            '        return b"%x" % symbol if symbol.bit_count() <= self.items else None',
            "responses",
        ),
    ),
    "a bit of a bucket that is never cleared": (
        "home",
        fault(
            "protocol/mechanisms/symmetric.py",
            "if draws.chance(threshold if mask >> bit & 1 else other):",
            "if mask >> bit & 1 or draws.chance(other):",
            "leakage",
            "derivation",
        ),
    ),
    "a column that the text decides": (
        "word",
        fault(
            "protocol/derivation.py",
            SETUP,
            SETUP.replace("\n", " ^ symbol % question.mechanism.width\n"),
            "derivation",
            "setup",
        ),
    ),
    "a level that the length of the text decides": (
        "found",
        fault(
            "protocol/derivation.py",
            SETUP,
            SETUP.replace(
                "\n",
                "\n    setup %= question.mechanism.rows\n"
                "    setup += question.mechanism.rows * bool(symbol % 7)\n",
            ),
            "derivation",
            "setup",
        ),
    ),
    "a pair of which the second choice alone is told": (
        "both",
        fault(
            "protocol/parts.py",
            "symbol = symbol * len(part.choices) + part.choices.index(form)",
            "symbol = part.choices.index(form)",
            "derivation",
        ),
    ),
    "noise that is drawn anew at every change": (
        "dark",
        fault(
            "protocol/mechanisms/trajectory.py",
            'return b"" if b" " in memo else memo',
            "return memo",
            "leakage",
            "history",
        ),
    ),
    "changes that are not counted": (
        "dark",
        fault(
            "protocol/mechanisms/dyadic.py",
            "used=now.used + told)",
            "used=now.used)",
            "leakage",
            "history",
        ),
    ),
    "a rise that is told again": (
        "launches",
        fault(
            "protocol/mechanisms/counter.py",
            "memory.latest > max(memory.base or 0, 0) and not memory.used",
            "memory.latest > 0",
            "leakage",
            "history",
        ),
    ),
    "a store that forgets how many changes were told": (
        "dark",
        fault(
            "client/memories.py",
            "            memory.used,\n            memory.seen,\n            local,",
            "            0,\n            memory.seen,\n            local,",
            "history",
        ),
    ),
    "a report of a period that is not the level's": (
        "launches",
        fault(
            "protocol/mechanisms/dyadic.py",
            "return t % (1 << level) == 0",
            "return t % (1 << level) == 0 or t == 3",
            "history",
        ),
    ),
}


def found(audited: Devices, asked: Survey) -> Iterator[Finding]:
    """What an audit says, but for its trials and requests."""
    yield from leaks(audited, asked)
    single = {name: each for name, each in asked.questions.items() if each.horizon is None}
    if single:
        yield from check_hashes(audited, replace(asked, questions=single))
        yield from check_derivation(audited, replace(asked, questions=single), DEVICES)
    yield from audit_histories(audited, asked, DEVICES)


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name: str, tmp_path: Path) -> None:
    asked_of, planted = FAULTS[name]
    asked = survey(**{asked_of: QUESTIONS[asked_of]})
    path = survey_file(tmp_path / "survey.json", asked)
    with devices(path, tmp_path, planted) as audited:
        findings = list(found(audited, asked))
    assert planted.found_by <= violated(findings), [each.line for each in findings]


def test_the_healthy_code_passes(tmp_path: Path) -> None:
    asked = survey({"linkable": True}, **QUESTIONS)
    path = survey_file(tmp_path / "survey.json", asked)
    with devices(path, tmp_path) as audited:
        findings = list(found(audited, asked))
    assert violated(findings) == set(), [each.line for each in findings if each.kept is False]
    told = {(each.check, each.question) for each in findings if each.kept}
    assert told >= {("leakage", name) for name in QUESTIONS}
    assert told >= {("history" if name in CHANGING else "derivation", name) for name in QUESTIONS}
