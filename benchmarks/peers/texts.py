"""CMS, HCMS and prefix extension of pure-ldp, timed as its documentation uses them.

Started by ../mechanisms.py, in an interpreter that has it and nothing of this project. Standard
input is the data, one JSON object: the text of each device and the strings to name; standard output
has one for each mechanism and side: seconds, and which strings it finds most frequent.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

BATCH = 20_000
"""Devices at a time, so that the reports of all need not fit into memory."""

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Peer:
    """A client, a server, and how the server answers what is asked."""

    mechanism: str
    client: Callable[[str], Any]
    server: Any
    answer: Callable[[Any], Sequence[Any]]


def peers(options: argparse.Namespace, strings: Sequence[str]) -> Iterator[Peer]:
    """Sketches of the same size as this project's; prefixes over CMS, one letter at a time."""
    from pure_ldp.frequency_oracles.apple_cms import CMSClient, CMSServer
    from pure_ldp.heavy_hitters.prefix_extending import PEMClient, PEMServer

    _accept_no_shape()
    epsilon = options.epsilon

    def sketch(rows: int, width: int, hadamard: bool) -> tuple[Any, Any]:
        server = CMSServer(epsilon, rows, width, is_hadamard=hadamard)
        return CMSClient(epsilon, server.get_hash_funcs(), width, is_hadamard=hadamard), server

    def named(server: Any) -> Sequence[float]:
        counts: Sequence[float] = server.estimate_all(strings, suppress_warnings=True).tolist()
        return counts

    for name, hadamard in (("cms", False), ("hcms", True)):
        rows, width = json.loads(getattr(options, name))
        client, server = sketch(rows, width, hadamard)
        yield Peer(name, client.privatise, server, named)
    client, server = sketch(*json.loads(options.pem), False)
    form = {
        "start_length": 1,
        "max_string_length": options.length,
        "fragment_length": 1,
        "alphabet": list(LETTERS),
        "index_mapper": str,
    }
    finder = PEMServer(epsilon, fo_server=server, **form)
    hitters = PEMClient(epsilon, fo_client=client, **form)
    yield Peer(
        "pem", hitters.privatise, finder, lambda of: of.find_heavy_hitters(k=options.found)[0]
    )


def _accept_no_shape() -> None:
    """Let ``zeros(None)`` be a single zero, as it was before numpy 2.4: servers of CMS call it."""
    import numpy as np

    zeros = np.zeros
    np.zeros = lambda shape, *rest, **kw: zeros(() if shape is None else shape, *rest, **kw)


def measure(peer: Peer, texts: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Time both sides, once: the servers keep what they have counted."""
    peer.client(texts[0])
    times = {"device": 0.0, "server": 0.0}
    for start in range(0, len(texts), BATCH):
        began = time.process_time()
        reports = [peer.client(text) for text in texts[start : start + BATCH]]
        sent = time.process_time()
        for report in reports:
            peer.server.aggregate(report)
        times["device"] += sent - began
        times["server"] += time.process_time() - sent
    began = time.process_time()
    answer = list(peer.answer(peer.server))
    times["server"] += time.process_time() - began
    for side, seconds in times.items():
        yield {"mechanism": peer.mechanism, "side": side, "seconds": seconds, "answer": answer}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Time pure-ldp on texts.")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--length", type=int, required=True)
    parser.add_argument("--found", type=int, required=True)
    for name in ("cms", "hcms", "pem"):
        parser.add_argument(f"--{name}", required=True, metavar="[ROWS,WIDTH]")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    data = json.load(sys.stdin)
    try:
        for peer in peers(options, data["strings"]):
            for found in measure(peer, data["texts"]):
                print(json.dumps(found), flush=True)
    except ModuleNotFoundError as exc:
        print(json.dumps({"missing": exc.name}), flush=True)


if __name__ == "__main__":
    main()
