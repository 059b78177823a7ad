"""CMS, HCMS and PEM against pure-ldp's, on the same strings of the same devices.

Server side: from one report of each device to the estimates of the most frequent strings, named;
and for PEM to the most frequent ones, found. Here that includes standard errors, intervals and a
test of significance; there it is bare numbers. How good both are is printed beside the times.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from deniable.analysis.estimators import Level
from deniable.analysis.simulation import draw_reports, fold
from deniable.analysis.texts import discovery
from deniable.analysis.texts.estimates import estimate_codes
from deniable.protocol.mechanisms import Mechanism, build
from deniable.protocol.text_form import TextForm

PEERS = Path(__file__).parent.parent / "peers" / "texts.py"
EPSILON = Decimal(4)
LENGTH, STRINGS, NAMED, FOUND = 6, 10_000, 100, 20
AIM = 10
"""Times the peer, on the server side."""

FORM = TextForm("abcdefghijklmnopqrstuvwxyz", LENGTH, fold=True)
ALPHA = 0.05
FEW = discovery.BREADTHS[0]
"""Prefixes looked at in each level, where it is to be quick: the least breadth there is, which is
the first power of two above the 520 that the peer looks at."""

BATCH = 20_000
"""Devices at a time, so that the reports of all need not fit into memory."""

SIZES = {"cms": (254, 128), "hcms": (128, 128), "pem": (254, 128)}
"""Rows and buckets of the peer's sketches; those of cms and hcms are this project's as well."""


@dataclass(frozen=True)
class Data:
    """The text of each device, and the frequencies of the strings, the most frequent first."""

    texts: list[str]
    frequencies: dict[str, float]

    @property
    def strings(self) -> list[str]:
        """Those that are named."""
        return list(self.frequencies)[:NAMED]

    def error(self, counts: Sequence[float]) -> float:
        """Root mean square of the errors of frequencies, of counts of the named strings."""
        n, true = len(self.texts), [self.frequencies[string] for string in self.strings]
        off = [count / n - f for count, f in zip(counts, true, strict=True)]
        return float(np.sqrt(np.mean(np.square(off))))

    def found(self, strings: Sequence[str]) -> int:
        """How many of the most frequent strings are among these."""
        return len(set(list(self.frequencies)[:FOUND]) & set(strings))


@dataclass(frozen=True)
class Contender:
    """A mechanism with options, and what is answered from its tally."""

    label: str
    name: str
    options: dict[str, int]
    answer: Callable[[Any, list[int], Data], Sequence[Any]]


def zipf(devices: int) -> Data:
    """Random strings of six letters, the r-th as frequent as 1/r."""
    rng = np.random.default_rng(4)
    letters = rng.integers(0, 26, (2 * STRINGS, LENGTH))
    every = dict.fromkeys("".join(FORM.alphabet[i] for i in row) for row in letters.tolist())
    strings = list(every)[:STRINGS]
    shares = 1 / np.arange(1, STRINGS + 1)
    drawn = rng.choice(STRINGS, devices, p=shares / shares.sum())
    texts = [strings[i] for i in drawn.tolist()]
    counted = Counter(texts)
    return Data(texts, {s: counted[s] / devices for s in strings[: 2 * NAMED]})


def contenders() -> Iterator[Contender]:
    """The three as they choose themselves, and PEM with the least breadth as well."""
    form = {"letters": len(FORM.alphabet), "length": LENGTH}
    level = Level(0.05)

    def named(mechanism: Any, cells: list[int], data: Data) -> list[float]:
        codes = [FORM.encode("text", string) for string in data.strings]
        frequencies = estimate_codes(mechanism, cells, codes, level).raws.frequency
        return [f * len(data.texts) for f in frequencies.tolist()]

    def found(breadth: int, mechanism: Any, cells: list[int], data: Data) -> list[str]:
        made = discovery.discover(mechanism, cells, ALPHA, breadth)
        return [FORM.decode(code) for code in made.codes]

    yield Contender("cms", "cms", {}, named)
    yield Contender("hcms", "hcms", {}, named)
    for breadth in (FEW, discovery.BREADTH):
        yield Contender(f"pem, {breadth:,}", "pem", form, partial(found, breadth))


def ours(data: Data, rounds: int) -> Iterator[tuple[Contender, str, float, str]]:
    """Yield (contender, side, seconds, how good)."""
    symbols = np.array([FORM.encode("text", text) for text in data.texts], dtype=np.int64)
    for one in contenders():
        mechanism = build(one.name, 2, EPSILON, None, one.options)
        device, counting, cells = collected(mechanism, symbols, rounds)
        one.answer(mechanism, cells, data)  # loads scipy
        spent, answered = shortest(partial(one.answer, mechanism, cells, data), rounds)
        yield one, "device", device, ""
        yield one, "server", counting + spent, quality(data, one.name, answered)


def collected(
    mechanism: Mechanism, symbols: np.ndarray, rounds: int
) -> tuple[float, float, list[int]]:
    """Return the seconds of all reports, and of counting them, and the tally."""
    rng = np.random.default_rng(5)
    device, counting, tally = 0.0, 0.0, np.zeros(mechanism.shape.cells, dtype=np.int64)
    for start in range(0, len(symbols), BATCH):
        some = symbols[start : start + BATCH]
        spent, reports = shortest(partial(draw_reports, mechanism, some, rng), rounds)
        device += spent
        spent, cells = shortest(partial(fold, mechanism, reports), rounds)
        counting += spent
        tally += cells
    return device, counting, tally.tolist()


def shortest(run: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """Return the shortest of several times, in seconds of the processor, and a result."""
    best, result = float("inf"), None
    for _ in range(rounds):
        started = time.process_time()
        result = run()
        best = min(best, time.process_time() - started)
    return best, result


def quality(data: Data, name: str, answer: Sequence[Any]) -> str:
    """Say how good an answer is."""
    if name == "pem":
        return f"{data.found(answer)} of the top {FOUND}"
    return f"rms error {data.error(answer):.1e}"


def theirs(python: str, data: Data) -> tuple[dict[tuple[str, str], tuple[float, str]], list[str]]:
    """Measure the peer; the second is what is missing."""
    sizes = [f"--{name}={json.dumps(size)}" for name, size in SIZES.items()]
    command = [
        python, "-P", str(PEERS), f"--epsilon={EPSILON}", f"--length={LENGTH}",
        f"--found={FOUND}", *sizes,
    ]  # fmt: skip
    given = json.dumps({"texts": data.texts, "strings": data.strings})
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    found, missing = {}, []
    for line in map(json.loads, done.stdout.splitlines()):
        if "missing" in line:
            missing.append("pure-ldp")
            continue
        told = quality(data, line["mechanism"], line["answer"])
        found[line["mechanism"], line["side"]] = (line["seconds"], told)
    return found, missing


def compare(python: str, devices: int, rounds: int) -> list[str]:
    """Print one line for each mechanism and side, and return which peers are missing."""
    print(
        f"\nTexts: {devices:,} devices, {STRINGS:,} strings, Zipf, epsilon {EPSILON}; "
        f"{NAMED} named, or the top {FOUND} looked for; milliseconds",
        flush=True,
    )
    data = zipf(devices)
    peers, missing = theirs(python, data)
    for one, side, seconds, told in ours(data, rounds):
        line = f"{one.label:<16}{side:<8}{seconds * 1e3:10.1f}   {told}"
        if (one.name, side) in peers:
            other, theirs_told = peers[one.name, side]
            line += f"   pure-ldp {other * 1e3:.1f}   {theirs_told if side == 'server' else ''}"
            line += f"   ratio {other / seconds:.1f}" + (
                f" (aim {AIM})" if side == "server" else ""
            )
        print(line, flush=True)
    return missing
