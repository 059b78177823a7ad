"""What a new edition of a survey costs those who answered the old one."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from survey_documents import ABSENT, boolean_table, choice_table, make_survey

from deniable.protocol.diff import Change, diff_surveys

NOTHING = Decimal(0)


def edition(dark: dict[str, object] | None = None, /, **head: object) -> Any:
    """The two-question survey with changes to its first question and to its head."""
    tables = {"dark_mode": boolean_table(**(dark or {})), "health": choice_table()}
    return make_survey(tables, **head)


OLD = edition()


def test_nothing_changed() -> None:
    assert diff_surveys(OLD, edition()) == ()


QUESTION_CHANGES: list[tuple[dict[str, object], str, Decimal, bool]] = [
    ({"ask": "Is it dark?"}, "changed under version 1; raise the version", NOTHING, True),
    ({"epsilon": 3}, "changed under version 1; raise the version", NOTHING, True),
    ({"default": True}, "changed under version 1; raise the version", NOTHING, True),
    ({"ask": "Is it dark?", "version": 2}, "version 1 became 2", Decimal(2), False),
    ({"epsilon": 3, "version": 5}, "version 1 became 5", Decimal(3), False),
    ({"version": 2}, "version 1 became 2", Decimal(2), False),
    ({"min_crowd": 2000}, "min_crowd rose from 1000 to 2000", NOTHING, False),
    ({"min_crowd": 999}, "min_crowd fell from 1000 to 999; it may only rise", NOTHING, True),
    ({"grace": 4}, "grace: 3 became 4", NOTHING, False),
    ({"owner": "me"}, "owner: ux@acme.example became me", NOTHING, False),
    ({"expires": "2028-01-01"}, "expires: 2027-06-30 became 2028-01-01", NOTHING, False),
]


@pytest.mark.parametrize(("changes", "text", "cost", "refused"), QUESTION_CHANGES, ids=str)
def test_a_changed_question(
    changes: dict[str, object], text: str, cost: Decimal, refused: bool
) -> None:
    expected = (Change("dark_mode", text, cost, refused),)
    assert diff_surveys(OLD, edition(changes)) == expected


@pytest.mark.parametrize(
    ("choices", "what"),
    [
        (["good", "bad"], "choices: 3 became 2"),
        (["bad", "fair", "good"], "choices: in another order"),
        (["good", "fair", "ugly"], "choices changed"),
    ],
)
def test_other_choices_are_told(choices: list[str], what: str) -> None:
    old, new = (
        make_survey({"health": choice_table(choices=these, version=version)})
        for these, version in ((["good", "fair", "bad"], 1), (choices, 2))
    )
    assert [change.change for change in diff_surveys(old, new)] == ["version 1 became 2", what]


def test_another_type_is_told() -> None:
    old = make_survey({"health": choice_table()})
    [change] = diff_surveys(old, make_survey({"health": boolean_table(version=2)}))
    assert change.change == (
        "changed under version 2 (type: choice became boolean); raise the version"
    )
    assert change.refused


def test_a_version_that_fell_is_refused() -> None:
    [change] = diff_surveys(edition({"version": 3}), OLD)
    assert change == Change("dark_mode", "version fell to 1", NOTHING, refused=True)


def test_several_free_changes_are_all_told() -> None:
    changes = diff_surveys(OLD, edition({"min_crowd": 1001, "grace": 9, "owner": "me"}))
    assert [change.change.split()[0] for change in changes] == ["min_crowd", "grace:", "owner:"]
    assert sum(change.new_epsilon for change in changes) == 0


def test_an_added_and_a_removed_question() -> None:
    renamed = make_survey({"night": boolean_table(), "health": choice_table()})
    assert diff_surveys(OLD, renamed) == (
        Change("night", "added", Decimal(2)),
        Change("dark_mode", "removed: no longer asked, what was spent stays spent", NOTHING),
    )


@pytest.mark.parametrize(
    ("head", "text"),
    [
        ({"max_epsilon": 9}, "max_epsilon rose: devices keep the first ceiling they saw"),
        ({"max_epsilon": 7}, "max_epsilon fell: devices obey it at once"),
        ({"segments": ["stable"]}, "segments changed"),
        ({"segments": ABSENT}, "segments changed"),
        ({"batch": "question"}, "batch changed"),
        ({"linkable": True}, "linkable changed"),
    ],
    ids=str,
)
def test_a_changed_head(head: dict[str, object], text: str) -> None:
    assert diff_surveys(OLD, edition(**head)) == (Change("", text, NOTHING),)


def test_another_survey_costs_all_of_its_questions_and_is_compared_no_further() -> None:
    other = edition({"epsilon": Decimal("2.5")}, id="acme-viewer")
    text = "another survey: acme-editor became acme-viewer"
    assert diff_surveys(OLD, other) == (Change("", text, Decimal("5.5")),)


def test_records_are_json() -> None:
    change = Change("dark_mode", "version 1 became 2", Decimal("2.5"))
    assert change.record() == {
        "question": "dark_mode",
        "change": "version 1 became 2",
        "new_epsilon": 2.5,
        "refused": False,
    }
