"""``deniable unseal``: what opens is folded once, and nothing else is."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import tracemalloc
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from sealed_kit import (
    PERIOD,
    SUITES,
    batch,
    key,
    public,
    seal,
    sealed_question,
    sealing_survey,
    some_responses,
    write_key,
    write_parts,
)
from tally_places import TOKEN, serving, state, write_store

from deniable.analysis import Unsealed, difference, estimate, periods, trend, unseal
from deniable.analysis.cli import main
from deniable.analysis.sources import open_source
from deniable.analysis.unsealing.opening import Opener
from deniable.analysis.unsealing.places import FileBatches
from deniable.analysis.unsealing.private_keys import PrivateKey
from deniable.protocol.errors import DocumentError, ParameterError, SourceError, StoreError
from deniable.protocol.question import Question
from deniable.protocol.response import Response
from deniable.protocol.sealed_batch import MAX_PART, SealedBatch
from deniable.protocol.sealing import SealedResponse, pack_plain
from deniable.protocol.survey import Survey, compile_survey

SURVEY = sealing_survey()
WELL = SURVEY.questions["well"]
ANSWERS = [Response(1)] * 12 + [Response(0)] * 8


class Analyst:
    """A folder with key files, and what was released so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.to = folder / "opened.db"
        self.key = write_key(folder / "k1.json", key())
        self.released = 0

    def release(self, parts: Iterable[SealedBatch]) -> Path:
        """Write parts into a file of their own."""
        self.released += 1
        return write_parts(self.folder / f"{self.released}.json", parts)

    def unseal(self, *places: Path | str, **options: Any) -> Unsealed:
        return unseal("well", places, **{"keys": self.key, "to": self.to, **options})

    def one(self, parts: Iterable[SealedBatch], **options: Any) -> dict[str, Any]:
        """What becomes of one batch."""
        (record,) = self.unseal(self.release(parts), **options).records()
        return record

    def cells(self, question: str = "well") -> list[tuple[str, tuple[int, ...]]]:
        tallies = open_source(str(self.to)).tallies("acme", question)
        return [(tally.period, tally.cells) for tally in tallies]

    def seen(self) -> int:
        with closing(sqlite3.connect(self.to)) as db:
            count: int = db.execute("SELECT count(*) FROM encapsulations").fetchone()[0]
            return count


@pytest.fixture
def analyst(tmp_path: Path) -> Analyst:
    return Analyst(tmp_path)


def sealed(
    responses: Iterable[Response] = ANSWERS, survey: Survey = SURVEY, **where: Any
) -> list[SealedResponse]:
    return seal(survey, survey.questions["well"], responses, **where)


def dropped(record: dict[str, Any]) -> dict[str, int]:
    names = ("unknown_key", "unopened", "malformed", "repeated")
    return {name: record[name] for name in names if record[name]}


def spoiled(report: SealedResponse, place: int = -1) -> SealedResponse:
    ciphertext = bytearray(report.ciphertext)
    ciphertext[place] ^= 1
    return replace(report, ciphertext=bytes(ciphertext))


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("mechanism", ["grr", "oue", "olh"])
def test_what_was_sealed_is_what_is_counted(analyst: Analyst, suite: str, mechanism: str) -> None:
    private = key(f"s-{suite}", suite)
    choices = [f"choice {number}" for number in range(9)]
    table = sealed_question(type="choice", choices=choices, mechanism=mechanism)
    survey = sealing_survey(public(private), well=table)
    question = survey.questions["well"]
    responses = some_responses(question, 30)
    reports = seal(survey, question, responses, segment="beta")
    file = write_key(analyst.folder / "s.json", private)
    record = analyst.one(batch(question, reports, segment="beta"), keys=[file])
    assert (record["state"], record["n"], record["opened"]) == ("released", 30, 30)
    cells = [0] * question.mechanism.shape.cells
    for response in responses:
        question.mechanism.shape.fold(cells, response)
    assert analyst.cells() == [(PERIOD, tuple(cells))]


def test_every_command_reads_what_was_opened(analyst: Analyst) -> None:
    days = ("2026-11-30", "2026-12-01")
    places = [
        analyst.release(batch(WELL, sealed(period=day, segment=segment), day, segment))
        for day in days
        for segment in ("beta", "stable")
    ]
    analyst.unseal(*places)
    assert {record["n"] for record in estimate("well", analyst.to).records()} == {40}
    assert len(trend("well", analyst.to).points) == 2
    assert difference("well", analyst.to, periods=days).records()
    states = periods(analyst.to).states
    assert [(s.period, s.segment, s.state, s.crowd) for s in states] == [
        (day, segment, "released", "20") for day in days for segment in ("beta", "stable")
    ]


def test_what_does_not_open_is_dropped_and_counted(analyst: Analyst) -> None:
    good = sealed()
    elsewhere = sealed(period="2026-12-01")[:2] + sealed(segment="beta")[:1]
    bad = [spoiled(good[0]), spoiled(good[1], 0), spoiled(good[2], 40), *elsewhere]
    record = analyst.one(batch(WELL, good + bad))
    assert (record["n"], record["opened"], dropped(record)) == (26, 20, {"unopened": 6})
    assert analyst.cells() == [(PERIOD, (8, 12))]


def test_what_is_no_response_is_dropped(analyst: Analyst) -> None:
    odd = sealed([Response(2), Response(255), Response(1, 1), Response(0, 2**32 - 1)])
    record = analyst.one(batch(WELL, sealed() + odd))
    assert (record["opened"], dropped(record)) == (20, {"malformed": 4})


def test_a_key_that_was_not_given_is_told(analyst: Analyst) -> None:
    new = key("k2")
    later = sealing_survey(public(key(), "expired"), public(new))
    parts = batch(WELL, sealed() + sealed(survey=later))
    place = analyst.release(parts)
    alone = analyst.unseal(place)
    assert dropped(alone.records()[0]) == {"unknown_key": 20}
    assert "unseal again with every key into a new file" in str(alone.sections()[0].notes)
    both = [analyst.key, write_key(analyst.folder / "k2.json", new)]
    whole = analyst.unseal(place, keys=both, to=analyst.folder / "new.db")
    assert (whole.records()[0]["opened"], whole.records()[0]["n"]) == (40, 40)


def test_a_batch_for_other_keys_alone_waits_for_them(analyst: Analyst) -> None:
    new = key("k2")
    parts = batch(WELL, sealed(survey=sealing_survey(public(new))))
    record = analyst.one(parts)
    assert (record["state"], record["n"]) == ("refused", None)
    assert "sealed for another key (k2)" in record["why"]
    keys = [write_key(analyst.folder / "k2.json", new)]
    assert analyst.one(parts, keys=keys)["opened"] == 20


def test_an_encapsulation_counts_once_in_a_batch(analyst: Analyst) -> None:
    good = sealed()
    record = analyst.one(batch(WELL, [*good, good[0], good[0], good[5]]))
    assert (record["n"], record["opened"], dropped(record)) == (23, 20, {"repeated": 3})
    assert analyst.cells() == [(PERIOD, (8, 12))]


def test_an_encapsulation_counts_once_across_batches(analyst: Analyst) -> None:
    """A second week of a `once` question opens under the same info, so only this stops it."""
    survey = sealing_survey(well=sealed_question(period="once", expires=WELL.expires))
    question = survey.questions["well"]
    first = seal(survey, question, ANSWERS, "once")
    second = seal(survey, question, ANSWERS[:15], "once")
    analyst.one(batch(question, first, "once", week="2026-W49"))
    record = analyst.one(batch(question, [*first[:7], *second], "once", week="2026-W50"))
    assert (record["n"], record["opened"], dropped(record)) == (22, 15, {"repeated": 7})
    assert analyst.seen() == 35


class Willing(PrivateKey):
    """A key that opens everything: who chose the encapsulation can seal under it again."""

    def opener(self) -> Callable[[bytes, bytes], bytes | None]:
        plain = pack_plain(WELL, Response(1))
        return lambda ciphertext, info: plain


def test_an_encapsulation_with_another_ciphertext_is_a_repetition() -> None:
    """Within a batch and across batches; one device cannot be many."""
    private = key()
    opener = Opener([Willing(private.id, private.suite, private.public, private.secret)])
    seen: set[bytes] = set()

    def remember(digest: bytes) -> bool:
        new = digest not in seen
        seen.add(digest)
        return new

    good = sealed()
    for place, n in ((-1, 20), (-2, 0)):
        twins = [spoiled(one, place) for one in good]
        opened = opener.open_batch(batch(WELL, good + twins), remember)
        assert (opened.n, opened.dropped["repeated"]) == (n, 40 - n)
        assert opened.cells == (0, n)


def test_a_spoiled_twin_does_not_displace_a_report(analyst: Analyst) -> None:
    good = sealed()
    twins = [replace(one, ciphertext=one.ciphertext[:32] + bytes(21)) for one in good]
    record = analyst.one(batch(WELL, good + twins))
    assert (record["opened"], dropped(record)) == (20, {"unopened": 20})


def test_min_crowd_holds_for_what_opened(analyst: Analyst) -> None:
    good = sealed(ANSWERS[:9])
    parts = batch(WELL, good + [spoiled(one) for one in good])
    record = analyst.one(parts)
    assert (record["state"], record["n"], record["opened"]) == ("destroyed", 18, 9)
    assert analyst.cells() == []
    assert analyst.seen() == 0
    (state,) = periods(analyst.to).states
    assert (state.state, state.crowd) == ("destroyed", "fewer than 10")
    with closing(sqlite3.connect(analyst.to)) as db:
        assert db.execute("SELECT document FROM batches").fetchall() == [(None,)]
    again = analyst.one(parts)
    assert (again["state"], again["new"]) == ("destroyed", False)


def test_a_key_of_few_reports_is_told(analyst: Analyst) -> None:
    """Each report names its key, so a key's reports are a crowd of their own."""
    new = key("k2")
    later = sealing_survey(public(key(), "expired"), public(new))
    place = analyst.release(batch(WELL, sealed() + sealed(ANSWERS[:9], later)))
    keys = [analyst.key, write_key(analyst.folder / "k2.json", new)]
    for _ in ("now", "from the file"):
        result = analyst.unseal(place, keys=keys)
        (record,) = result.records()
        assert (record["state"], record["opened"]) == ("released", 29)
        assert record["opened_by_key"] == "k1=20 k2=9"
        (batched,) = result.document()["batches"]
        listed = [{"key": "k1", "opened": 20}, {"key": "k2", "opened": 9}]
        assert batched == {**record, "opened_by_key": listed}
        notes = "\n".join(result.sections()[0].notes)
        assert f"{PERIOD}: only 9 of the reports that opened are sealed for k2, fewer than" in notes
        assert "for k1" not in notes
        assert "k1=20 k2=9" in result.sections()[0].rows[0]
    enough = analyst.release(batch(WELL, sealed() + sealed(ANSWERS[:10], later)))
    result = analyst.unseal(enough, keys=keys, to=analyst.folder / "new.db")
    assert result.records()[0]["opened_by_key"] == "k1=20 k2=10"
    assert "fewer than" not in "\n".join(result.sections()[0].notes)


def test_the_file_is_private(analyst: Analyst) -> None:
    before = os.umask(0)
    try:
        analyst.one(batch(WELL, sealed()))
    finally:
        os.umask(before)
    assert stat.S_IMODE(analyst.to.stat().st_mode) == 0o600
    analyst.to.chmod(0o640)
    analyst.one(batch(WELL, sealed(period="2026-12-01"), "2026-12-01"))
    assert stat.S_IMODE(analyst.to.stat().st_mode) == 0o640


def test_min_crowd_is_exactly_enough(analyst: Analyst) -> None:
    assert analyst.one(batch(WELL, sealed(ANSWERS[:10])))["state"] == "released"


def test_a_batch_is_opened_once(analyst: Analyst) -> None:
    place = analyst.release(batch(WELL, sealed()))
    first = analyst.unseal(place)
    before = analyst.to.read_bytes()
    second = analyst.unseal(place)
    assert [first.records()[0]["new"], second.records()[0]["new"]] == [True, False]
    assert {**first.records()[0], "new": False} == second.records()[0]
    assert analyst.to.read_bytes() == before
    other = analyst.one(batch(WELL, sealed()))
    assert other["new"] is False
    assert analyst.cells() == [(PERIOD, (8, 12))]


@cache
def many() -> list[SealedBatch]:
    """A batch of three parts, whose reports are for another key but for 20."""
    fill = [
        SealedResponse("k9", number.to_bytes(4, "big") + bytes(49))
        for number in range(2 * MAX_PART)
    ]
    return batch(WELL, fill + sealed())


def test_a_batch_whose_parts_are_missing_is_refused(analyst: Analyst) -> None:
    parts = many()
    assert [part.parts for part in parts] == [3, 3, 3]
    record = analyst.one([parts[0], parts[2]])
    assert record["state"] == "refused"
    assert record["why"] == "of its 3 parts, 1 (from 0) are missing; fetch every part"
    assert periods(analyst.to).states == ()
    twice = analyst.one([*parts, parts[1]])
    assert "twice" in twice["why"]
    files = [analyst.release([part]) for part in reversed(parts)]
    (whole,) = analyst.unseal(*files).records()
    assert (whole["state"], whole["opened"], whole["unknown_key"]) == ("released", 20, 2 * MAX_PART)


def test_a_list_of_endless_parts_is_refused_at_once(analyst: Analyst) -> None:
    """A list is a stranger's: it costs what it holds, not what it says."""
    with serving() as server:
        name = {"version": 1, "period": PERIOD, "batch": None, "segment": None}
        one = {**name, "id": 1, "n": 10, "part": 5, "parts": 10**11}
        server.put("/v1/periods", {"periods": [state(WELL, PERIOD, "released", "10")]})
        server.put("/v1/batches/acme/well", {"batches": [one]})
        tracemalloc.start()
        try:
            (record,) = analyst.unseal(server.url, token=TOKEN).records()
            assert tracemalloc.get_traced_memory()[1] < 32 * 2**20
        finally:
            tracemalloc.stop()
        assert "parts, 0, 1, 2, 3, 4, 6, 7, 8, … (from 0) are missing" in record["why"]
        for odd in (
            {**one, "version": 10**30},
            {**one, "parts": 10**30},
            {**one, "segment": "\ud800"},
            {**one, "batch": "\ud800"},
        ):
            server.put("/v1/batches/acme/well", {"batches": [odd]})
            with pytest.raises(DocumentError, match="batches"):
                analyst.unseal(server.url, token=TOKEN)


def test_files_are_held_one_at_a_time(analyst: Analyst) -> None:
    files = [analyst.release([part]) for part in many()]
    tracemalloc.start()
    try:
        place = FileBatches(files)
        assert tracemalloc.get_traced_memory()[0] < 2 * 2**20
        named = [(part.part, part.read().part) for part in place.parts("acme", "well")]
    finally:
        tracemalloc.stop()
    assert named == [(0, 0), (1, 1), (2, 2)]


def test_a_file_that_changes_meanwhile_is_noticed(analyst: Analyst) -> None:
    parts = many()
    file = analyst.release(parts[:1])
    (part,) = FileBatches([file]).parts("acme", "well")
    write_parts(file, parts[1:2])
    with pytest.raises(DocumentError, match="another one than the list says"):
        part.read()
    write_parts(file, [])
    with pytest.raises(SourceError, match="changed"):
        part.read()


class Watched(SealedBatch):
    """One that a test can see go."""


def test_one_part_at_a_time_is_in_memory(analyst: Analyst) -> None:
    """When a part is folded, the reports of those before are gone."""
    folded: list[weakref.ref[SealedBatch]] = []

    def listed() -> Iterator[SealedBatch]:
        for part in many():
            copy = Watched(*(getattr(part, field.name) for field in fields(part)))
            assert [one for one in folded if one() is not None] == []
            folded.append(weakref.ref(copy))
            yield copy
            del copy

    opened = Opener([key()]).open_batch(listed(), lambda _: True)
    assert (opened.n, len(folded)) == (20, 3)


def test_one_refused_batch_stops_no_other(analyst: Analyst) -> None:
    tomorrow = batch(WELL, sealed(period="2026-12-01"), "2026-12-01")
    places = [analyst.release(many()[:1]), analyst.release(tomorrow)]
    result = analyst.unseal(*places)
    assert [record["state"] for record in result.records()] == ["refused", "released"]
    assert result.refused


def test_parts_of_different_batches_are_no_batch(analyst: Analyst) -> None:
    parts = many()
    crowd = replace(WELL, min_crowd=11)
    with pytest.raises(DocumentError, match="different things"):
        analyst.one([parts[0], replace(parts[1], question=crowd), parts[2]])
    swapped = [
        replace(parts[0], reports=parts[1].reports),
        replace(parts[1], reports=parts[0].reports),
        parts[2],
    ]
    with pytest.raises(DocumentError, match="sorted"):
        analyst.one(swapped)
    assert periods(analyst.to).states == ()
    assert analyst.seen() == 0


KILLED = """
import os, signal, sys
from deniable.analysis import unseal
from deniable.analysis.unsealing.store import OpenedStore
remember, seen = OpenedStore.remember, []
def dying(self, digest):
    seen.append(digest)
    if len(seen) == 15:
        os.kill(os.getpid(), signal.SIGKILL)
    return remember(self, digest)
OpenedStore.remember = dying
unseal("well", sys.argv[1], keys=sys.argv[2], to=sys.argv[3])
"""


def test_a_kill_in_the_middle_leaves_nothing_half_done(analyst: Analyst) -> None:
    place = analyst.release(batch(WELL, sealed()))
    killed = subprocess.run(
        [sys.executable, "-P", "-c", KILLED, str(place), str(analyst.key), str(analyst.to)],
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    (record,) = analyst.unseal(place).records()
    assert (record["new"], record["opened"]) == (True, 20)


def test_a_collectors_store_is_read(analyst: Analyst) -> None:
    store = write_released(analyst.folder / "collector.db", many(), "well")
    (record,) = analyst.unseal(store).records()
    assert (record["opened"], record["n"]) == (20, 2 * MAX_PART + 20)
    with pytest.raises(StoreError, match="no file of `deniable unseal`"):
        analyst.unseal(store, to=store)


def write_released(store: Path, parts: Iterable[SealedBatch], question: str) -> Path:
    """Write what unsealing reads of a collector's store, with parts of a question of that name."""
    with closing(sqlite3.connect(store)) as db:
        db.execute(
            """CREATE TABLE released_batches
            (survey, question, version, period, batch, segment, part, parts, document)"""
        )
        for part in parts:
            row = ("acme", question, 1, PERIOD, None, None, part.part, part.parts)
            document = json.dumps(part.document())
            marks = ", ".join("?" * 9)
            db.execute(f"INSERT INTO released_batches VALUES ({marks})", (*row, document))
        db.commit()
    return store


def test_a_collectors_address_is_read(analyst: Analyst) -> None:
    with serving() as server:
        parts = many()
        released = state(WELL, PERIOD, "released", "20020")
        server.put("/v1/periods", {"periods": [released]})
        names = ("version", "period", "batch", "segment")
        listed = [
            {**{name: released[name] for name in names}, "id": 17 + part.part, "n": part.n,
             "part": part.part, "parts": part.parts}
            for part in parts
        ]  # fmt: skip
        server.put("/v1/batches/acme/well", {"batches": listed})
        for part in parts:
            server.put(f"/v1/batches/acme/well/{17 + part.part}", part.document())
        (record,) = analyst.unseal(server.url, token=TOKEN).records()
        assert (record["opened"], record["n"]) == (20, 2 * MAX_PART + 20)
        analyst.unseal(server.url, token=TOKEN)
        assert [path for path, _ in server.seen].count("/v1/batches/acme/well/17") == 1
        server.put("/v1/batches/acme/well/17", parts[1].document())
        with pytest.raises(DocumentError, match="another one than the list says"):
            analyst.unseal(server.url, token=TOKEN, to=analyst.folder / "new.db")
        for wrong in ([3], [{"id": "x"}], [{**listed[0], "part": 9}], [{**listed[0], "batch": 1}]):
            server.put("/v1/batches/acme/well", {"batches": wrong})
            with pytest.raises(DocumentError, match="batches"):
                analyst.unseal(server.url, token=TOKEN)


def write_survey(folder: Path, survey: Survey) -> Path:
    path = folder / "survey.json"
    path.write_text(compile_survey(survey), "utf-8")
    return path


def test_the_analysts_own_survey_holds_as_well(analyst: Analyst) -> None:
    """min_crowd is not in the hash, so a collector could say a lower one."""
    parts = batch(WELL, sealed())
    stricter = sealing_survey(well=sealed_question(min_crowd=21))
    file = write_survey(analyst.folder, stricter)
    assert analyst.one(parts, survey_file=file)["state"] == "destroyed"
    to = analyst.folder / "new.db"
    file = write_survey(analyst.folder, SURVEY)
    assert analyst.one(parts, survey_file=file, to=to)["state"] == "released"
    other = sealing_survey(well=sealed_question(ask="Is it?"))
    file = write_survey(analyst.folder, other)
    with pytest.raises(DocumentError, match="differs from the survey file"):
        analyst.one(parts, survey_file=file, to=analyst.folder / "newer.db")
    file = write_survey(analyst.folder, sealing_survey(replace(public(key("other")), id="k1")))
    with pytest.raises(ParameterError, match="k1 is another key"):
        analyst.one(parts, survey_file=file)
    file = write_survey(analyst.folder, sealing_survey(well=sealed_question(sealed=False)))
    with pytest.raises(ParameterError, match="no sealed question"):
        analyst.one(parts, survey_file=file)


def test_a_store_of_sealed_batches_says_what_to_do(tmp_path: Path) -> None:
    sealed_state = state(WELL, PERIOD, "released", "20")
    store = write_store(tmp_path / "collector.db", [], [sealed_state])
    with pytest.raises(SourceError, match="well is sealed, and no tally is released"):
        estimate("well", store)


def test_mistakes_are_named(analyst: Analyst) -> None:
    place = analyst.release(batch(WELL, sealed()))
    with pytest.raises(SourceError, match="no released batch"):
        unseal("other", place, keys=analyst.key, to=analyst.to)
    with pytest.raises(SourceError, match="no released batch"):
        analyst.unseal(place, survey="other")
    with pytest.raises(ParameterError, match="keys must be"):
        analyst.unseal(place, keys=[])
    with pytest.raises(ParameterError, match="keys must be"):
        analyst.unseal(place, keys=[analyst.key, analyst.key])
    with pytest.raises(ParameterError, match="source must"):
        analyst.unseal(place, "store.db")
    with pytest.raises(ParameterError, match="source must"):
        analyst.unseal()
    with pytest.raises(SourceError, match="check the path"):
        analyst.unseal(analyst.folder / "none.json")
    with pytest.raises(SourceError, match="cannot be read"):
        analyst.unseal("ftp://x")
    with pytest.raises(StoreError, match="cannot be used"):
        analyst.unseal(place, to=analyst.folder / "no" / "such.db")
    assert not analyst.to.exists()


def test_a_file_of_something_else_is_left_alone(analyst: Analyst) -> None:
    place = analyst.release(batch(WELL, sealed()))
    before = analyst.key.read_bytes()
    with pytest.raises(StoreError, match="cannot be used"):
        analyst.unseal(place, to=analyst.key)
    assert analyst.key.read_bytes() == before
    bad = analyst.folder / "bad.json"
    bad.write_text('{"parts": [1]}')
    with pytest.raises(DocumentError, match=r"bad\.json: sealed batch"):
        analyst.unseal(bad)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)], prog_name="deniable")


def test_the_command_says_what_became_of_each_batch(analyst: Analyst) -> None:
    good = sealed()
    place = analyst.release(batch(WELL, [*good, spoiled(good[0])]))
    line = ("unseal", "well", "--from", place, "--key", analyst.key, "--to", analyst.to)
    told = run(*line)
    assert told.exit_code == 0, told.output
    assert told.stdout.splitlines()[0] == "Batches of well (acme)"
    assert told.stdout.splitlines()[4].split() == [
        PERIOD, "21", "20", "k1=20", "0", "1", "0", "0", "folded",
    ]  # fmt: skip
    assert "folded earlier" in run(*line).stdout
    half = analyst.release(many()[:1])
    refused = run(*line[:3], half, *line[4:-1], analyst.folder / "new.db", "--format", "csv")
    assert refused.exit_code == 1
    assert refused.stdout.splitlines()[1].startswith(f"1,{PERIOD},,,refused,true,,,,,,,,")


def test_no_response_and_no_report_is_kept(analyst: Analyst) -> None:
    good = sealed()
    analyst.one(batch(WELL, good))
    kept = analyst.to.read_bytes()
    assert not any(report.ciphertext[:16] in kept for report in good)
    assert not any(report.ciphertext[-16:] in kept for report in good)


def test_questions_do_not_mix(analyst: Analyst) -> None:
    """Reports to one question do not open under another, whatever the collector says."""
    both = sealing_survey(well=sealed_question(), ill=sealed_question(ask="Are you ill?"))
    ill: Question = both.questions["ill"]
    reports = seal(both, ill, ANSWERS)
    record = analyst.one(batch(WELL, reports))
    assert (record["state"], record["opened"], record["unopened"]) == ("destroyed", 0, 20)
    result = unseal("ill", analyst.release(batch(ill, reports)), keys=analyst.key, to=analyst.to)
    assert result.records()[0]["opened"] == 20
    assert [state.question for state in periods(analyst.to).states] == ["ill", "well"]


def test_a_part_of_another_question_is_refused(analyst: Analyst) -> None:
    """Though the place lists it as one of this question's."""
    both = sealing_survey(well=sealed_question(), ill=sealed_question(ask="Are you ill?"))
    (part,) = batch(both.questions["ill"], seal(both, both.questions["ill"], ANSWERS))
    store = write_released(analyst.folder / "collector.db", [part], "well")
    with pytest.raises(DocumentError, match="is of another question than well"):
        analyst.unseal(store)
    assert analyst.seen() == 0


def test_the_library_is_needed_and_named(analyst: Analyst) -> None:
    place = analyst.release(batch(WELL, sealed()))
    program = (
        "import sys; sys.modules['cryptography'] = None; "
        "from deniable.analysis.cli import main; main(prog_name='deniable')"
    )
    line = ["unseal", "well", "--from", place, "--key", analyst.key, "--to", analyst.to]
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, *map(str, line)],
        capture_output=True, text=True, check=False, env={**os.environ},
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "Error: cryptography is not installed; pip install 'deniable[sealed]'\n"
