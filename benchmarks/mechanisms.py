"""Frequency oracles in bulk against pure-ldp and multi-freq-ldpy, device side and server side.

Device side: one report of each of n devices, by this project's simulator and by the peers'
clients. Server side: from those reports to the estimates of all k values. The peers give bare
frequencies, this project standard errors and intervals as well; "counts" is its server side up
to the supports of each value, all but the affine map.

Peers run in an interpreter of their own, those that take long on fewer users, and are scaled to
n. Both are timed in seconds of the processor, for everything here runs on one; the shortest of
several rounds counts, and every ratio is to the fastest peer. Then, in seconds of the clock, whole
estimates of k = 4096 values and a million devices; the tallies of a billion devices, as
``deniable simulate`` draws them; and texts, see sketching/texts.py.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import numpy as np

from deniable.analysis import estimate_tallies
from deniable.analysis.decode import decode
from deniable.analysis.estimators import Level
from deniable.analysis.frequencies import estimate_cells
from deniable.analysis.simulation import draw_reports, draw_tallies, fold, simulator
from deniable.analysis.simulation.reports import Counted
from deniable.protocol.draws import KeyedDraws
from deniable.protocol.mechanisms import MECHANISMS, FrequencyOracle, Mechanism, build, named
from deniable.protocol.survey import parse_survey
from deniable.protocol.tally import Tally

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE)]

from sketching import texts  # noqa: E402

PEERS = HERE / "peers" / "oracles.py"
INSTALL = "pip install pure-ldp==1.2.0 multi-freq-ldpy==0.2.5 'xxhash<4' scikit-learn statsmodels"
EPSILON = Decimal(1)
AIMS = {"device": {"grr": 20, "oue": 20, "olh": 20, "hr": 20},
        "server": {"grr": 50, "oue": 10, "olh": 150, "hr": 50}}  # fmt: skip
BATCH = 20_000
"""Devices drawn at a time, so that bit vectors of all need not fit into memory."""

LARGE_K, LARGE_N = 4096, 10**6


@dataclass(frozen=True)
class Timed:
    """Seconds for all devices, of whom, and on how many devices it was measured."""

    library: str
    seconds: float
    on: int


Times = dict[tuple[str, str], list[Timed]]
"""By mechanism and side."""


def shortest(run: Callable[[], Any], rounds: int) -> float:
    """Return the shortest of several times, in seconds of the processor."""
    times = []
    for _ in range(rounds):
        started = time.process_time()
        run()
        times.append(time.process_time() - started)
    return min(times)


def ours(k: int, n: int, rounds: int) -> Iterator[tuple[str, str, float]]:
    """Yield (mechanism, side, seconds)."""
    rng = np.random.default_rng(1)
    symbols = rng.integers(0, k, n)
    level = Level(0.05)
    for name in AIMS["device"]:
        mechanism = oracle(name, k)
        reports = draw_reports(mechanism, symbols, rng)

        def serve(mechanism: Mechanism = mechanism, reports: Any = reports) -> object:
            return estimate_cells(mechanism, fold(mechanism, reports).tolist(), level)

        def draw(mechanism: Mechanism = mechanism) -> None:
            for start in range(0, n, BATCH):
                draw_reports(mechanism, symbols[start : start + BATCH], rng)

        def counts(mechanism: FrequencyOracle = mechanism, reports: Any = reports) -> object:
            return decode(mechanism, fold(mechanism, reports).tolist())

        yield name, "device", shortest(draw, rounds)
        yield name, "server", shortest(serve, rounds)
        yield name, "counts", shortest(counts, rounds)


def oracle(name: str, k: int) -> FrequencyOracle:
    """Build a mechanism for choices."""
    return cast("FrequencyOracle", build(name, k, EPSILON))


def theirs(python: str, k: int, n: int, rounds: int) -> tuple[Times, list[str]]:
    """Measure the peers; the second is what is missing."""
    command = [
        python, "-P", str(PEERS), "--k", str(k), "--users", str(n),
        "--epsilon", str(EPSILON), "--rounds", str(rounds),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    times: Times = {}
    missing = []
    for line in done.stdout.splitlines():
        found = json.loads(line)
        if "missing" in found:
            missing.append(found["library"])
            continue
        key = (found["mechanism"], found["side"])
        times.setdefault(key, []).append(Timed(found["library"], found["seconds"], found["on"]))
    return times, missing


def compare(k: int, n: int, rounds: int, python: str) -> list[str]:
    """Print one table, and return which peers are missing."""
    print(f"\nk = {k}, n = {n:,} devices, epsilon {EPSILON}; milliseconds", flush=True)
    peers, missing = theirs(python, k, n, rounds)
    for name, side, seconds in ours(k, n, rounds):
        line = f"{name:<5}{side:<8}{seconds * 1e3:10.2f}"
        found = peers.get((name, "server" if side == "counts" else side), [])
        for peer in found:
            scaled = "" if peer.on == n else f" (on {peer.on:,})"
            line += f"   {peer.library} {peer.seconds * 1e3:.1f}{scaled}"
        if found:
            ratio = min(peer.seconds for peer in found) / seconds
            line += f"   ratio {ratio:.0f}" + (f" (aim {AIMS[side][name]})" if side in AIMS else "")
        print(line, flush=True)
    for (name, side), others in peers.items():
        if name not in AIMS["device"]:
            print(f"{name}, {side}: {others[0].library} {others[0].seconds * 1e3:.1f}")
    return missing


def client(k: int, devices: int = 200) -> None:
    """Print what one report costs the real client, which is no simulator."""
    for name in AIMS["device"]:
        mechanism = build(name, k, EPSILON)
        started = time.process_time()
        for device in range(devices):
            secret = device.to_bytes(32, "big")
            setup = mechanism.assign(KeyedDraws(secret, b"setup"))
            memo = mechanism.memo(setup, device % k) or b""
            mechanism.permanent(setup, memo, KeyedDraws(secret, b"permanent", memo))
        spent = (time.process_time() - started) / devices
        print(f"the client's own {name}, k = {k}: {spent * 1e6:.0f} µs a report")


def large() -> None:
    """Print how long whole estimates take of the best three mechanisms for many values."""
    oracles = [build(name, LARGE_K, EPSILON) for name in named("choice")]
    best = sorted(oracles, key=lambda one: one.variance(1 / LARGE_K))[:3]
    print(f"\nk = {LARGE_K}, n = {LARGE_N:,} devices, epsilon {EPSILON}; the best three mechanisms")
    rng = np.random.default_rng(2)
    population = rng.multinomial(LARGE_N, np.full(LARGE_K, 1 / LARGE_K))
    for mechanism in best:
        started = time.perf_counter()
        (cells,) = draw_tallies(mechanism, population, rng)
        drawn = time.perf_counter() - started
        tally = large_tally(mechanism.name, cells.tolist())
        started = time.perf_counter()
        estimates = estimate_tallies([tally]).estimates
        spent = time.perf_counter() - started
        covered = sum(
            one.low <= true / LARGE_N <= one.high
            for one, true in zip(estimates, population.tolist(), strict=True)
        )
        print(
            f"{mechanism.name:<5}{spent:6.3f} s from tally to {LARGE_K} intervals (aim 1), "
            f"{covered / LARGE_K:.1%} of which hold the truth; drawn in {drawn:.1f} s",
            flush=True,
        )


def large_tally(name: str, cells: list[int]) -> Tally:
    """Return the tally of a question with so many choices."""
    table = {
        "version": 1, "ask": "?", "type": "choice", "choices": [str(i) for i in range(LARGE_K)],
        "epsilon": EPSILON, "mechanism": name, "period": "day", "owner": "bench",
        "expires": "2098-12-31",
    }  # fmt: skip
    head = {"format": 1, "id": "bench", "max_epsilon": 16, "linkable": True}
    question = parse_survey({"survey": head, "questions": {"q": table}}).questions["q"]
    return Tally(question, "2026-11-30", None, LARGE_N, tuple(cells))


def billion(values: tuple[int, ...] = (100, LARGE_K), periods: int = 7) -> None:
    """Print how long the tallies of a billion devices take; of what is drawn singly, a million."""
    print(f"\nTallies of {periods} periods, with a second round where there is one")
    rng = np.random.default_rng(3)
    for name in (*named("choice"), *named("number")):
        cls, line = MECHANISMS[name], f"{name:<12}"
        for k in values:
            mechanism = build(name, k, EPSILON, EPSILON / 2 if cls.two_rounds else None)
            n = 10**9 if isinstance(simulator(mechanism), Counted) else 10**6
            population = rng.multinomial(n, np.full(k, 1 / k))
            started = time.perf_counter()
            draw_tallies(mechanism, population, rng, periods)
            line += f"   k = {k}, n = {n:.0e}: {time.perf_counter() - started:6.3f} s"
        print(line, flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--values", type=int, nargs="*", default=[100, 1000], metavar="K")
    parser.add_argument(
        "--peers",
        default=sys.executable,
        metavar="PYTHON",
        help="the interpreter of an environment with the peers; otherwise this one",
    )
    parser.add_argument("--only", choices=["choices", "texts"], help="one part alone")
    options = parser.parse_args()
    missing: set[str] = set()
    if options.only != "texts":
        for k in options.values:
            missing.update(compare(k, options.devices, options.rounds, options.peers))
            client(k)
        large()
        billion()
    if options.only != "choices":
        missing.update(texts.compare(options.peers, 10 * options.devices, options.rounds))
    if missing:
        print(f"\nNot installed: {', '.join(sorted(missing))}. In an environment of its own,")
        print(f"  {INSTALL}")
        print("and run this again with --peers PATH/TO/ITS/python.")


if __name__ == "__main__":
    main()
