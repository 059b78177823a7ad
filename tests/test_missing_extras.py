"""A door whose dependencies are absent says in one line what to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import deniable.protocol

HOME = Path(next(iter(deniable.protocol.__path__))).parent.parent
"""The folder that holds the package, and no third party."""


@pytest.mark.parametrize(
    ("module", "extra"),
    [("deniable.analysis.cli", "analysis"), ("deniable.collector.cli", "collector")],
)
def test_a_missing_extra_is_one_line(module: str, extra: str) -> None:
    """``-S`` leaves site-packages out, so what is not in the standard library is not there."""
    program = f"import sys; sys.path.insert(0, {str(HOME)!r}); import {module}"
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"Error: click is not installed; pip install 'deniable[{extra}]'\n"
