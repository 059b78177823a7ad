"""What was answered with 200 counts exactly once, whatever happens to the process."""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from collector_kit import FAR, InProcess, cli, new_device, request_body, serving, today
from load_kit import SURVEY, Devices, check_released, expected


def test_killed_again_and_again(tmp_path: Path) -> None:
    """Six threads, six kills at random moments; every report is in the tally once."""
    rng = random.Random(20261130)
    with serving(SURVEY, tmp_path, "--flood-limit", "100000 per minute") as server:
        devices = Devices(SURVEY, [server], 1, [today()])
        with devices.sending(6):
            for _ in range(6):
                devices.wait_for(rng.randrange(20, 120))
                server.stop(signal.SIGKILL)
                with devices.slowly():
                    server.start()
            devices.wait_for(50)
        assert server.stop() == 0
    assert devices.retries >= 6
    assert devices.again > 10
    assert devices.total > 200
    cli("release", "--store", str(server.store), "--as-of", FAR, "--yes")
    check_released(str(server.store), devices)


def test_reports_in_flight_while_the_timer_releases(start: Callable[..., InProcess]) -> None:
    """The same within one process, where the release is a job of the writer."""
    collector = start(SURVEY, max_advance=timedelta(days=40))
    answered: list[dict[str, Any]] = []
    started = threading.Barrier(6)

    def send(number: int) -> None:
        rng = random.Random(number)
        for turn in range(10**6):
            body = request_body(SURVEY, new_device(), period="2026-11-30", rng=rng)
            outcome = collector.post(body).json
            if outcome["rejected"]:
                assert [r["code"] for r in outcome["rejected"]] == ["period_closed"] * 2
                return
            assert outcome["accepted"] == 2
            answered.append(body)
            if turn == 10:
                started.wait()

    threads = [threading.Thread(target=send, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    started.wait()
    closing = collector.release(days=31)
    for thread in threads:
        thread.join(60)
    assert closing.released == 2
    for name, cells in expected(SURVEY, answered).items():
        (document,) = collector.documents("test", name)
        assert document["cells"] == cells
