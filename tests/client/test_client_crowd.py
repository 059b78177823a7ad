"""Many threads of two processes on one store: every answer is counted, none twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from client_kit import Collector, choice, python, rows, survey, survey_file

SIDES = [f"side {number}" for number in range(16)]
ASKED = survey(
    {"linkable": True}, **{f"q{n}": choice(*SIDES, epsilon=1, grace=60) for n in range(50)}
)
DAYS = 10

CROWD = """
import json, random, sys, threading
from datetime import UTC, datetime, timedelta
from deniable.client import Client
now = datetime(2026, 11, 30, 12, tzinfo=UTC)
days = int(sys.argv[4])
client = Client(*sys.argv[1:4], consent="on", strict=True, _clock=lambda: now)

def next_day():
    global now
    print("day", flush=True)
    sys.stdin.readline()  # the clocks of both processes show the same day
    now += timedelta(days=1)

together = threading.Barrier(10, next_day)

def answer(number):
    names = [f"q{n}" for n in range(50)]
    for day in range(days):
        random.Random(day * 100 + number).shuffle(names)
        for name in names:
            client.record(name, f"side {number}", wait=number % 2 == 0)
        if number == day:
            client.flush()
        client._engine._writer.drain(60)  # the answers of this day are stored
        together.wait()

threads = [threading.Thread(target=answer, args=(number,)) for number in range(10)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
client.flush(force=True)
print(json.dumps(client.status().dropped), flush=True)
sys.stdin.readline()
while client.flush(force=True).kept:
    pass
client.close()
"""


def test_ten_thousand_records_are_sent_once_each(
    quick_store: Path, tmp_path: Path, heard: Collector
) -> None:
    """Ten threads in each of two processes give 50 answers on each of ten days."""
    path = survey_file(tmp_path / "survey.json", ASKED)
    processes = [python(CROWD, path, heard.url, quick_store, DAYS) for _ in range(2)]
    for line in ["day\n"] * DAYS + ["{}\n"]:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == line
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
    ends = [process.communicate(timeout=60) for process in processes]
    assert ends == [("", "")] * 2
    counted = Counter((period, name) for period, name, _ in heard.reports)
    assert len(counted) == 50 * DAYS
    assert set(counted.values()) == {1}
    devices = {(r.document["period"], r.document["device"]) for r in heard.requests}
    assert len(devices) == DAYS
    assert rows(quick_store, "SELECT state, count(*) FROM answered GROUP BY state") == [
        ("sent", 50 * DAYS)
    ]
    assert rows(quick_store, "SELECT * FROM queue") == []
