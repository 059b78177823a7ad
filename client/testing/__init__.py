"""For the tests of an app: a client that lives in memory, and a clock that is set.

:mod:`deniable.client.testing.fixtures` has it as a fixture of pytest, which nothing else loads.
"""

from .memory import MONDAY, MemoryClient
from .witness import Recorded, Report

__all__ = ["MONDAY", "MemoryClient", "Recorded", "Report"]
