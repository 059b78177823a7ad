"""The examples in the docstrings of the protocol are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from deniable import protocol
from deniable.protocol import mechanisms

MODULES = [
    *(f"deniable.protocol.{found.name}" for found in pkgutil.iter_modules(protocol.__path__)),
    *(
        f"deniable.protocol.mechanisms.{found.name}"
        for found in pkgutil.iter_modules(mechanisms.__path__)
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for name in MODULES for test in finder.find(importlib.import_module(name))]
    assert sum(len(test.examples) for test in found) >= 5
