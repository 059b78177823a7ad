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


@pytest.mark.parametrize("command", ["estimate", "trend", "difference"])
def test_a_picture_without_matplotlib_is_one_line(command: str, tmp_path: Path) -> None:
    """And before anything is read: there is no such store."""
    program = (
        "import sys; sys.modules['matplotlib'] = None; "
        "from deniable.analysis.cli import main; main(prog_name='deniable')"
    )
    picture = tmp_path / "a.svg"
    arguments = [command, "health", "--from", "nowhere.db", "--plot", str(picture)]
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: matplotlib is not installed; pip install 'deniable[plot]'\n"
    assert not picture.exists()
