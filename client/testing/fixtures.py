"""The client in memory as a fixture of pytest.

In the ``conftest.py`` at the root of an app's tests::

    pytest_plugins = ["deniable.client.testing.fixtures"]

    @pytest.fixture
    def deniable_survey():
        return "src/app/survey.toml"
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from deniable.protocol.survey import Survey

from .memory import MemoryClient


@pytest.fixture
def deniable_survey() -> str | os.PathLike[str] | Survey:
    """The survey that the app ships; every app has a fixture of its own in place of this one."""
    pytest.fail("deniable_survey: write a fixture of this name that returns the path of the survey")


@pytest.fixture
def deniable_client(deniable_survey: str | os.PathLike[str] | Survey) -> Iterator[MemoryClient]:
    """A new client in memory, whose person was not asked yet; closed after the test."""
    with MemoryClient(deniable_survey) as client:
        yield client
