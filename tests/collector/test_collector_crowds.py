"""What ``status`` says of the crowd of a released tally."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from collector_kit import cli, new_device, request_body, run_cli, serving
from survey_documents import ABSENT, boolean_table, make_survey
from tally_places import tally

from deniable.collector.crowds import COLUMN, crowd_epsilon, explain, shown, with_epsilons
from deniable.protocol.amplification import amplified
from deniable.protocol.period_state import PeriodState

SURVEY = make_survey({"yes": boolean_table(epsilon=1, epsilon_first=ABSENT, min_crowd=1)})
YES = SURVEY.questions["yes"]


class Reader:
    """Holds the documents of released tallies."""

    def __init__(self, documents: Sequence[dict[str, Any]]) -> None:
        self.documents = documents

    def tallies(self, survey: str, question: str) -> list[str]:
        return [
            json.dumps(one)
            for one in self.documents
            if (one["survey"], one["question"]["id"]) == (survey, question)
        ]


def test_each_released_tally_has_the_closed_form_of_its_own_crowd() -> None:
    made = [
        tally(YES, [60_000, 40_000], "2026-11-29"),
        tally(YES, [6000, 4000], "2026-11-30", segment="beta"),
    ]
    states = [
        PeriodState(SURVEY.id, "yes", YES.version, one.period, None, one.segment, "released", "?")
        for one in made
    ]
    states.append(
        PeriodState(SURVEY.id, "yes", YES.version, "2026-12-01", None, None, "pending", "?")
    )
    reader: Any = Reader([one.document() for one in made])
    found = [record[COLUMN] for record in with_epsilons(reader, states, 1e-6)]
    assert found == [amplified(1, 100_000, 1e-6), amplified(1, 10_000, 1e-6), None]
    assert 0 < found[0] < found[1] < 1


def test_it_is_no_more_than_epsilon_and_nothing_where_nothing_is_proven() -> None:
    assert crowd_epsilon(tally(YES, [10, 10]), 1e-6) is None
    faint = make_survey({"yes": boolean_table(epsilon=Decimal("0.1"), epsilon_first=ABSENT)})
    beyond = amplified(Decimal("0.1"), 60, 0.1)
    assert beyond is not None
    assert beyond > 0.1
    assert crowd_epsilon(tally(faint.questions["yes"], [30, 30]), 0.1) == 0.1
    two = make_survey({"yes": boolean_table(epsilon=2, epsilon_first=1)}).questions["yes"]
    assert crowd_epsilon(tally(two, [5000, 5000]), 1e-6) == amplified(1, 10_000, 1e-6)


def test_what_is_shown_is_rounded_up() -> None:
    assert (shown(0.0123451), shown(1.0), shown(None)) == ("0.012346", "1", None)


def test_the_command_adds_a_column_and_says_what_it_is_of(tmp_path: Path) -> None:
    with serving(SURVEY, tmp_path) as server:
        server.post(request_body(SURVEY, new_device()))
        server.stop()
        store = ["--store", str(server.store)]
        plain = json.loads(cli("status", *store, "--format", "json"))
        result = run_cli("status", *store, "--shuffle-delta", "1e-6", "--format", "json")
        assert json.loads(result.stdout) == [{**row, COLUMN: None} for row in plain]
        assert explain(1e-6) in result.stderr
        for words in (
            "of one device",
            "deniable shuffle-epsilon",
            "does not collude",
            "same in every",
        ):
            assert words in explain(1e-6)
        for wrong in ("1", "0", "nan", "inf", "-1", "1e-300", "x"):
            refused = run_cli("status", *store, "--shuffle-delta", wrong)
            assert refused.returncode == 2, wrong
            assert "below 1, like 1e-6" in refused.stderr
