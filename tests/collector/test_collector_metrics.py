"""The meters: what an operator can watch, and no label that tells a device."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from collector_kit import InProcess, make_survey, new_device, request_body
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from deniable.collector.tokens import create_token
from deniable.protocol.report import CODES

SEGMENTS = ["left-handed", "right-handed"]
SURVEY = make_survey(
    {
        "rare-illness": {"grace": 9},
        "weekly-thing": {"period": "week"},
        "only-once": {"period": "once"},
        "crowded-one": {"grace": 9, "min_crowd": 50},
    },
    name="first",
    segments=SEGMENTS,
)
OTHER = make_survey({"rare-illness": {}}, name="second")
DAYS = ("2026-11-30", "2026-11-29", "2026-11-28", "2026-11-27", "2026-11-25")

Start = Callable[..., InProcess]


@pytest.fixture
def collector(start: Start) -> InProcess:
    return start(SURVEY, OTHER)


@pytest.fixture
def scrape(collector: InProcess) -> Callable[[], dict[str, float]]:
    token = create_token(collector.collector.store, "prom", ["metrics"])

    def read() -> dict[str, float]:
        return {named(sample): sample.value for sample in samples(text_of(collector, token))}

    return read


def text_of(collector: InProcess, token: str) -> str:
    reply = collector.ask("GET", "/metrics", headers={"Authorization": f"Bearer {token}"})
    assert reply.status == 200
    assert reply.headers["content-type"].startswith("text/plain")
    return reply.body.decode()


def samples(text: str) -> Iterator[Sample]:
    for family in text_string_to_metric_families(text):
        yield from family.samples


def named(sample: Sample) -> str:
    return sample.name + "".join(f" {label}={value}" for label, value in sample.labels.items())


def send(collector: InProcess, period: str, count: int = 1, segment: str | None = None) -> None:
    for _ in range(count):
        body = request_body(
            SURVEY, new_device(), period=period, segment=segment,
            questions=["rare-illness", "crowded-one"],
        )  # fmt: skip
        assert collector.post(body).json["accepted"] == 2


def test_every_label_value_is_one_of_a_few(collector: InProcess) -> None:
    """Whatever devices send: the labels are those of the surveys, codes, statuses and buckets."""
    devices = [new_device() for _ in range(12)]
    for number, device in enumerate(devices):
        questions = ["rare-illness", "crowded-one"]
        for period in DAYS:
            segment = [*SEGMENTS, None][number % 3]
            body = request_body(SURVEY, device, period=period, segment=segment, questions=questions)
            collector.post(body)
            collector.post({**body, "segment": f"x{device}"})
            collector.post({**body, "survey": f"s{number}"})
            body["reports"][0]["question"] = f"q{number}"
            collector.post(body)
        collector.post({"device": device})
        collector.ask("GET", f"/{device}")
        collector.ask("GET", "/v1/periods", headers={"Authorization": f"Bearer {device}"})
    collector.release(days=1)
    text = text_of(collector, create_token(collector.collector.store, "prom", ["metrics"]))
    allowed: dict[str, Callable[[str], object]] = {
        "survey": lambda value: value in {"first", "second"},
        "crowd": lambda value: re.fullmatch("0-9|1(0+)-9(9+)", value),
        "code": lambda value: value in CODES,
        "status": lambda value: re.fullmatch("[45][0-9]{2}", value),
        "days": lambda value: value in {"0", "1", "2", "3+"},
        "check": lambda value: value in {"store", "disk", "survey", "keys", "flood"},
        "le": lambda value: math.isfinite(float(value)) or value == "+Inf",
    }
    seen: set[str] = set()
    for sample in samples(text):
        assert set(sample.labels) in (set(), {"survey", "crowd"}) or len(sample.labels) == 1
        for label, value in sample.labels.items():
            seen.add(label)
            assert allowed[label](value), (sample.name, label, value)
    assert seen == set(allowed)
    for word in [*devices, *SURVEY.questions, *SEGMENTS, *DAYS, "prom"]:
        assert word not in text


def test_lateness_is_counted_in_days(
    collector: InProcess, scrape: Callable[[], dict[str, float]]
) -> None:
    for day in DAYS:
        send(collector, day)
    once = request_body(SURVEY, new_device(), period="once", questions=["only-once"])
    week = request_body(SURVEY, new_device(), period="2026-W49", questions=["weekly-thing"])
    assert [collector.post(body).json["accepted"] for body in (once, week)] == [1, 1]
    seen = scrape()
    counted = [seen[f"deniable_reports_lag_total days={days}"] for days in ("0", "1", "2", "3+")]
    assert counted == [4, 2, 2, 4]
    assert seen["deniable_reports_accepted_total"] == sum(counted)


def test_pending_crowds_are_counted_in_powers_of_ten(
    collector: InProcess, scrape: Callable[[], dict[str, float]]
) -> None:
    send(collector, "2026-11-30", 11)
    send(collector, "2026-11-29", 3, SEGMENTS[0])
    seen = scrape()
    assert seen["deniable_pending_tallies crowd=10-99 survey=first"] == 2
    assert seen["deniable_pending_tallies crowd=0-9 survey=first"] == 2
    collector.release(days=11)
    seen = scrape()
    assert not [name for name in seen if name.startswith("deniable_pending_tallies")]
    assert seen["deniable_tallies_released_total"] == 2
    assert seen["deniable_tallies_destroyed_total"] == 2


def test_commits_and_groups(collector: InProcess, scrape: Callable[[], dict[str, float]]) -> None:
    send(collector, "2026-11-30", 5)
    seen = scrape()
    assert seen["deniable_commit_requests_count"] == seen["deniable_commit_seconds_count"] == 5
    assert seen["deniable_commit_requests_sum"] == 5
    assert seen["deniable_commit_requests_bucket le=1.0"] == 5
    assert seen["deniable_requests_waiting"] == 0
    assert seen["process_resident_memory_bytes"] > 0


def test_a_missing_key_is_seen_before_and_after_its_period_closes(
    collector: InProcess, scrape: Callable[[], dict[str, float]], tmp_path: Path
) -> None:
    send(collector, "2026-11-30", 2)
    assert scrape()["deniable_keys_missing"] == 0
    collector.collector.keys._keys.clear()
    place = tmp_path / "collector.db-keys" / "first.2026-11-30.key"
    key = place.read_bytes()
    place.unlink()
    assert scrape()["deniable_keys_missing"] == 1
    assert scrape()["deniable_scopes_waiting_for_key"] == 0
    collector.release(days=11)
    assert scrape()["deniable_scopes_waiting_for_key"] == 1
    place.write_bytes(key)
    collector.release()
    seen = scrape()
    assert seen["deniable_scopes_waiting_for_key"] == seen["deniable_keys_missing"] == 0
    assert seen["deniable_tallies_released_total"] == 1


def test_ages(collector: InProcess, scrape: Callable[[], dict[str, float]]) -> None:
    collector.release()
    collector.clock.advance(hours=2)
    seen = scrape()
    assert seen["deniable_watermark_age_seconds"] == 7200
    assert 0 <= seen["deniable_release_success_age_seconds"] < 60
    collector.collector.metrics._release_succeeded -= 1000
    assert scrape()["deniable_release_success_age_seconds"] >= 1000
    collector.release(days=30)  # further than is believed: no success
    assert scrape()["deniable_release_success_age_seconds"] >= 1000


def test_checks_are_meters_too(start: Start) -> None:
    collector = start(SURVEY, min_free_bytes=2**62)
    token = create_token(collector.collector.store, "prom", ["metrics"])
    seen = {named(sample): sample.value for sample in samples(text_of(collector, token))}
    assert seen["deniable_check_ok check=disk"] == 0
    assert seen["deniable_check_ok check=keys"] == 1
