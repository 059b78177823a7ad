"""What accounting costs: shuffled crowds of any size, a million reports, and whole commands.

Times are the shortest of several rounds, in seconds of the clock; what counts are the ratios
within one run: of a crowd's bounds to those of a thousand devices, of the composition to that of
dp-accounting, of a command to a Python that only imports click.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from deniable.analysis.accountants.compositions import compositions
from deniable.analysis.accountants.parts import Part
from deniable.analysis.shuffling.bounds import shuffle_bounds
from deniable.protocol.mechanisms import build

CROWDS = (10**3, 10**6, 10**9)
MECHANISMS = (("grr", 2), ("grr", 100), ("oue", 16), ("olh", 64), ("ss", 16))
DELTA = 1e-6

COMMANDS = {
    "total-epsilon, a year": "total-epsilon --epsilon 2 --epsilon-first 1 --days 365 --delta 1e-6",
    "total-epsilon, 1e6 days": "total-epsilon --epsilon 0.01 --days 1000000 --delta 1e-6",
    "shuffle-epsilon, 1e9 devices": "shuffle-epsilon --epsilon 2 --crowd 1000000000 --delta 1e-9",
    "plan": "plan --margin 0.01 --devices 100000",
    "compare": "compare --epsilon 1 --devices 100000 --delta 1e-6",
    "explain": "explain --epsilon 1",
}


def shortest(run: Callable[[], Any], rounds: int) -> float:
    """Return the shortest of several times, in seconds of the clock."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return min(times)


def shuffling(rounds: int) -> None:
    """Print how long upper and lower bound take, by the size of the crowd."""
    print("Shuffle bounds, epsilon 2 of one report, delta 1e-6: seconds (ratio to 1e3 devices)")
    for name, k in MECHANISMS:
        mechanism = build(name, k, Decimal(2))
        times = [
            shortest(lambda n=n, m=mechanism: shuffle_bounds(m, n, DELTA), rounds) for n in CROWDS
        ]
        cells = (
            f"n = {n:.0e}: {seconds:.3f} ({seconds / times[0]:.2f})"
            for n, seconds in zip(CROWDS, times, strict=True)
        )
        print(f"  {name:<4} k = {k:<4}", "   ".join(cells), flush=True)


def composing(rounds: int) -> None:
    """Print how long a million reports take, beside dp-accounting if it is installed."""
    print("\nComposition of 1e6 reports, delta 1e-6: all six methods, seconds")
    for name, k, epsilon in (("grr", 2, "0.01"), ("grr", 16, "0.01"), ("oue", 16, "0.1")):
        part = Part(build(name, k, Decimal(epsilon)), 10**6)
        found = compositions([part], DELTA)[-1]
        ours = shortest(lambda p=part: compositions([p], DELTA), rounds)
        line = f"  {name:<4} k = {k:<3} epsilon {epsilon} each: {ours:.3f} for {found.epsilon:.4f}"
        if (theirs := peer(part)) is not None:
            seconds, epsilon_there = theirs
            line += f"; dp-accounting {seconds:.3f} ({seconds / ours:.0f} x)"
            line += f" for {epsilon_there:.4f}, on its default grid"
        print(line, flush=True)
    kinds = [Part(build("grr", 2 + i, Decimal(1 + i) / 100), 10**6 // 8) for i in range(8)]
    print(f"  8 kinds, 1e6 in all: {shortest(lambda: compositions(kinds, DELTA), rounds):.3f}")


def peer(part: Part) -> tuple[float, float] | None:
    """Return the seconds and the epsilon of dp-accounting's composition on its default grid."""
    try:
        from dp_accounting.pld import privacy_loss_distribution as pld
    except ModuleNotFoundError:
        return None
    mechanism = part.mechanism
    noise = float(1 - (mechanism.p - mechanism.q)) if mechanism.name == "grr" else None
    if noise is None:
        return None
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = pld.from_randomized_response(noise, mechanism.k)
        epsilon = one.self_compose(part.reports).get_epsilon_for_delta(DELTA)
    return time.perf_counter() - started, float(epsilon)


def programs(rounds: int) -> None:
    """Print how long whole commands take, start to end."""
    bare = shortest(lambda: run(["-c", "import click"]), rounds)
    print(f"\nWhole commands: seconds (ratio to a Python that imports click, {bare:.3f})")
    code = "import sys; from deniable.analysis.cli import main; main(sys.argv[1:])"
    for label, line in COMMANDS.items():
        words = ["-c", code, *line.split()]
        seconds = shortest(lambda w=words: run(w), rounds)
        print(f"  {label:<30} {seconds:.3f} ({seconds / bare:.1f})", flush=True)


def run(arguments: list[str]) -> None:
    """Run Python, and require that it succeeds."""
    subprocess.run([sys.executable, "-P", *arguments], check=True, capture_output=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    shuffling(options.rounds)
    composing(options.rounds)
    programs(options.rounds)


if __name__ == "__main__":
    main()
