"""What an app pays for `import deniable.client`, and when it pays for the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from client_kit import Collector, run, survey, survey_file

STEPS = """
import sys
from deniable.client import Client
steps = [set(sys.modules)]
with Client(*sys.argv[1:], consent="ask", strict=True) as client:
    client.record("dark", True)
    steps.append(set(sys.modules))
    client.opt_in()
    client.record("dark", True)
    client.flush(force=True)
    steps.append(set(sys.modules))
for wanted in "sqlite3", "json", "tomllib", "requests", "random", "logging", "asyncio":
    print(wanted, *[wanted in step for step in steps])
"""


@pytest.fixture
def loaded(tmp_path: Path, store: Path, heard: Collector) -> dict[str, list[bool]]:
    path = survey_file(tmp_path / "survey.json", survey())
    lines = [line.split() for line in run(STEPS, path, heard.url, store).splitlines()]
    return {name: [word == "True" for word in words] for name, *words in lines}


def test_heavy_modules_are_loaded_when_they_are_used(loaded: dict[str, list[bool]]) -> None:
    assert loaded["sqlite3"] == [False, True, True]
    assert loaded["json"] == [False, True, True]
    assert loaded["tomllib"][:2] == [False, False]
    assert loaded["requests"] == [False, False, True]
    assert loaded["logging"][:2] == [False, False]
    assert loaded["asyncio"][:2] == [False, False]


def test_no_device_has_a_generator_that_can_be_predicted(loaded: dict[str, list[bool]]) -> None:
    """`requests` loads `random` for its own use; nothing of the client's does."""
    assert loaded["random"][:2] == [False, False]
