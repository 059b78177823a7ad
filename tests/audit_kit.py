"""Copies of the device's code with a fault planted in them, and what an audit finds there."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import deniable.client
import deniable.protocol
from deniable.analysis.auditing.devices import Devices
from deniable.analysis.auditing.findings import Finding
from deniable.protocol.exact import exp
from deniable.protocol.survey import Survey


@dataclass(frozen=True)
class Fault:
    """A change of one line of one module, and what must say so."""

    module: str
    line: str
    instead: str
    found_by: frozenset[str]


def fault(module: str, line: str, instead: str, *found_by: str) -> Fault:
    return Fault(module, line, instead, frozenset(found_by))


def environment(folder: Path, planted: Fault | None = None) -> str:
    """An interpreter that has a copy of the device's code installed, with a fault in it."""
    for package in (deniable.protocol, deniable.client):
        source = Path(package.__file__ or "").parent
        shutil.copytree(source, folder / "deniable" / source.name)
    if planted is not None:
        module = folder / "deniable" / planted.module
        code = module.read_text(encoding="utf-8")
        assert code.count(planted.line) == 1
        module.write_text(code.replace(planted.line, planted.instead), encoding="utf-8")
    wrapper = folder / "python"
    wrapper.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}" exec "{sys.executable}" "$@"\n')
    wrapper.chmod(0o700)
    return str(wrapper)


@contextmanager
def devices(
    path: Path, folder: Path, planted: Fault | None = None, workers: int = 1
) -> Iterator[Devices]:
    with Devices(path, python=environment(folder, planted), workers=workers) as audited:
        assert audited.describe().client == str(folder / "deniable" / "client")
        yield audited


def leaks(audited: Devices, survey: Survey) -> Iterator[Finding]:
    """Compare what the code reveals with what the survey promises."""
    for name, question in survey.questions.items():
        found = audited.leakage(name)
        promises = (
            (found.permanent, question.epsilon),
            (found.report, question.epsilon_first or question.epsilon),
        )
        kept = all(ratio is not None and ratio <= exp(promise).low for ratio, promise in promises)
        yield Finding("leakage", name, kept, found.by)


def violated(findings: Sequence[Finding]) -> set[str]:
    return {finding.check for finding in findings if finding.kept is False}
