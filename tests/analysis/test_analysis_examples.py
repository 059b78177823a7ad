"""The examples in the docstrings of the analysis, and that its names are where they are said."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import deniable.analysis as package

MODULES = [
    found.name
    for found in pkgutil.walk_packages(package.__path__, "deniable.analysis.")
    if not found.ispkg
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    modules = map(importlib.import_module, MODULES)
    examples = [test for module in modules for test in finder.find(module) if test.examples]
    assert len(examples) >= 8


def test_every_public_name_is_there_and_explained() -> None:
    assert sorted(package.__all__) == package.__all__
    assert set(package.__all__) <= set(dir(package))
    for name in package.__all__:
        assert getattr(package, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing
