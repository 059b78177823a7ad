"""What all tests share: helpers explain their failures, and hypothesis repeats itself."""

from __future__ import annotations

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("conformance", "survey_documents")

# The same examples in every run and on every machine, however slow it is. Search for new ones
# with --hypothesis-profile=search.
settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.register_profile("search", deadline=None, max_examples=5000)
settings.load_profile("repeatable")
