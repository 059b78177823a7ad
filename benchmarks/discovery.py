"""How many of the frequent strings discovery finds, and how often it reports what is not there.

Every device sends one report with prefix extension, of the default sizes. In the first part
100 000 random strings of 4 letters or more are as frequent as Zipf's law says; in the second each
device has a random string of its own, so that whatever is listed is false but for those that some
device happens to have. Everything follows from the seeds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from decimal import Decimal

import numpy as np

from deniable.analysis.simulation import Population, draw_tallies
from deniable.analysis.texts.discovery import BREADTH, Discovery, discover
from deniable.protocol.mechanisms.pem import PEM

LETTERS, STRINGS, SHORTEST, TOP = 26, 100_000, 4, 50


def texts(count: int, length: int, rng: np.random.Generator) -> list[int]:
    """The numbers of random strings, all lengths from the shortest on alike."""
    words = rng.integers(1, LETTERS + 1, (count, length))
    words[np.arange(length) >= rng.integers(SHORTEST, length + 1, count)[:, None]] = 0
    found: list[int] = (words @ (LETTERS + 1) ** np.arange(length)[::-1]).tolist()
    return found


def held(codes: Iterable[int], people: Iterable[int]) -> dict[int, int]:
    """How many devices have each string."""
    counted: dict[int, int] = {}
    for code, count in zip(codes, people, strict=True):
        counted[code] = counted.get(code, 0) + count
    return counted


def found(
    mechanism: PEM,
    population: dict[int, int],
    rate: float,
    breadth: int,
    rng: np.random.Generator,
) -> Discovery:
    """What discovery finds in the tally of such a crowd."""
    (cells,) = draw_tallies(mechanism, Population.of(population), rng)
    return discover(mechanism, cells.tolist(), rate, breadth)


def frequent(mechanism: PEM, runs: int, devices: int, rate: float, breadth: int) -> None:
    """Print how many of the top strings are found, and how many false ones."""
    shares = 1 / np.arange(1, STRINGS + 1)
    shares /= shares.sum()
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        codes = texts(STRINGS, mechanism.length, rng)
        population = held(codes, rng.multinomial(devices, shares).tolist())
        started = time.process_time()
        made = found(mechanism, population, rate, breadth, rng)
        seconds = time.process_time() - started
        top = len(set(made.codes) & set(codes[:TOP]))
        false = sum(not population.get(code) for code in made.codes)
        print(
            f"  seed {seed}: {top} of the top {TOP}, {len(made.codes)} listed, {false} of no "
            f"device; none below a frequency of {made.smallest:.5f} is likely to be; "
            f"{seconds:.1f} s",
            flush=True,
        )


def noise(mechanism: PEM, runs: int, devices: int, rate: float, breadth: int) -> None:
    """Print in how many runs on uniform noise a string was listed that no device has."""
    wrong = 0
    for seed in range(runs):
        rng = np.random.default_rng(10_000 + seed)
        population = held(texts(devices, mechanism.length, rng), [1] * devices)
        made = found(mechanism, population, rate, breadth, rng)
        wrong += any(code not in population for code in made.codes)
        if (seed + 1) % 10 == 0:
            print(f"  {wrong} of {seed + 1} runs; the stated rate is {rate:g}", flush=True)


def main() -> None:
    """Run both parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=10**6)
    parser.add_argument("--length", type=int, default=5, help="of the longest strings")
    parser.add_argument("--epsilon", type=Decimal, default=Decimal(4))
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--noise-runs", type=int, default=200)
    parser.add_argument("--false-positives", type=float, default=0.05)
    parser.add_argument("--breadth", type=int, default=BREADTH, help="prefixes of each level")
    asked = parser.parse_args()
    sizes = {"letters": LETTERS, "length": asked.length}
    mechanism = PEM.resolve(2, asked.epsilon, None, sizes)
    print(
        f"{asked.devices:,} devices, epsilon {asked.epsilon} of each, from all its reports; "
        f"{mechanism.described()}"
    )
    frequent(mechanism, asked.runs, asked.devices, asked.false_positives, asked.breadth)
    print("Uniform noise:")
    noise(mechanism, asked.noise_runs, asked.devices, asked.false_positives, asked.breadth)


if __name__ == "__main__":
    main()
