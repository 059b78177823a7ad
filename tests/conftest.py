"""What all tests share: helpers explain their failures, and hypothesis repeats itself."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from pathlib import Path

import pytest
from hypothesis import settings
from servers import close_shared, own_databases, postgres, valkey

__all__ = ["own_databases", "postgres", "valkey"]

pytest.register_assert_rewrite("conformance", "load_kit", "survey_documents")

# The same examples in every run and on every machine, however slow it is. Search for new ones
# with --hypothesis-profile=search.
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, database=None, max_examples=50
)
settings.register_profile("search", deadline=None, max_examples=5000)
settings.load_profile("repeatable")

# Every worker has one processor: threads of linear algebra would only wait for one another, here
# and in the processes that tests start. numpy reads this as it is loaded, which is later.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# What tests write is synced to the disk over and over, and they wait for that; memory is quicker.
_MEMORY = Path("/dev/shm")
if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > 4 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))

# In such an environment every client is off; tests that mean that say so.
for name in ("CI", "DO_NOT_TRACK", "DENIABLE"):
    os.environ.pop(name, None)

# A shell that runs the suite in the background, or nohup, has these ignored, and every process the
# tests start would inherit that.
if threading.current_thread() is threading.main_thread():
    for name, usual in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Leave no server and none of its files, in a worker as well, which ends without atexit."""
    close_shared()
