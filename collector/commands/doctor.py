"""``deniable-collector doctor``: what is wrong with how a collector is set up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from ..counted import counted
from ..doctor import Case, Finding, examine
from . import options


@click.command("doctor")
@options.store
@options.keys
@click.option("--flood-storage", metavar="URL", help="Where serve counts floods: redis://HOST.")
@click.option(
    "--survey",
    "surveys",
    multiple=True,
    metavar="FILE",
    help="Compare a survey with the store; may be given several times.",
)
@click.option("--url", metavar="URL", help="Where devices reach the collector: https://HOST.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How to print.",
)
def command(surveys: Sequence[str], form: str, **settings: Any) -> None:
    """Look for what is wrong, and say how to put it right.

    Nothing is changed, and a running serve is not disturbed. Run it as the user that serve runs
    as. Exit status 1 tells of a fault; warnings are for you to judge.
    """
    findings = list(examine(Case(surveys=tuple(surveys), **settings)))
    if form == "json":
        records = [finding.record() for finding in findings]
        click.echo(json.dumps(records, ensure_ascii=False, indent=1))
    else:
        _print(findings)
    if any(finding.status == "fault" for finding in findings):
        raise SystemExit(1)


def _print(findings: Sequence[Finding]) -> None:
    """Print a line for each finding, and under it how to put it right."""
    width = max(len(finding.check) for finding in findings)
    for finding in findings:
        click.echo(f"{finding.status:7}  {finding.check:{width}}  {finding.detail}")
        if finding.fix:
            click.echo(f"{'':7}  {'':{width}}  → {finding.fix}")
    counts = {s: sum(f.status == s for f in findings) for s in ("ok", "warning", "fault")}
    told = f"{counted(counts['fault'], 'fault')}, {counted(counts['warning'], 'warning')}"
    click.echo(f"{told}, {counts['ok']} ok")
