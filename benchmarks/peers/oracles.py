"""The frequency oracles of pure-ldp and multi-freq-ldpy, timed as their documentation uses them.

Started by ../mechanisms.py, in an interpreter that has them and nothing of this project. Prints
one JSON object for each measurement: peer, mechanism, k, side, and seconds for a report or, where
the time does not grow with the reports alone, for all of them.
"""

from __future__ import annotations

import argparse
import json
import random
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Client = Callable[[int], Any]
Server = Callable[[Sequence[Any]], Any]


@dataclass(frozen=True)
class Peer:
    """One mechanism of one library, and how many users it is timed on."""

    library: str
    mechanism: str
    client: Client
    server: Server
    users: int
    served: int


def identity(value: int) -> int:
    return value


def pure_ldp(k: int, epsilon: float, users: int) -> Iterator[Peer]:
    """Its clients and servers; ``estimated_data`` holds the counts of all values."""
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
    from pure_ldp.frequency_oracles.hadamard_response import (
        HadamardResponseClient,
        HadamardResponseServer,
    )
    from pure_ldp.frequency_oracles.local_hashing import (
        FastLHClient,
        FastLHServer,
        LHClient,
        LHServer,
    )
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    mapped = {"index_mapper": identity}
    few = max(200, 200_000 // k)

    def serve(server: Any) -> Server:
        def estimate(reports: Sequence[Any]) -> Any:
            server.reset()
            server.aggregate_all(reports)
            server.check_and_update_estimates()
            return server.estimated_data / len(reports)

        return estimate

    def made(name: str, client: Any, server: Any, timed: int, served: int) -> Peer:
        return Peer("pure-ldp", name, client.privatise, serve(server), timed, served)

    yield made("grr", DEClient(epsilon, k, **mapped), DEServer(epsilon, k, **mapped), users, users)
    oue = {"use_oue": True, **mapped}
    some = min(users, 10_000)
    yield made("oue", UEClient(epsilon, k, **oue), UEServer(epsilon, k, **oue), some, some)
    olh = {"use_olh": True, **mapped}
    yield made("olh", LHClient(epsilon, k, **olh), LHServer(epsilon, k, **olh), some, few)
    rows = 1000
    fast = FastLHServer(epsilon, k, rows, **olh)
    fast_reset = fast.reset

    def reset() -> None:
        fast_reset()
        fast.hash_counts = np.zeros((rows, fast.g))

    fast.reset = reset
    yield made("olh, FastLH", FastLHClient(epsilon, k, rows, **olh), fast, some, users)
    hr = HadamardResponseServer(epsilon, k, **mapped)
    client = HadamardResponseClient(epsilon, k, hr.get_hash_funcs(), **mapped)
    yield made("hr", client, hr, some, users)


def multi_freq_ldpy(k: int, epsilon: float, users: int) -> Iterator[Peer]:
    """Its functions; the aggregators clip and normalise."""
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    few, some = max(200, 200_000 // k), min(users, 10_000)
    for name, client, server, timed, served in (
        (
            "grr",
            lambda value: GRR_Client(value, k, epsilon),
            lambda reports: GRR_Aggregator_MI(reports, k, epsilon),
            users,
            users,
        ),
        (
            "oue",
            lambda value: UE_Client(value, k, epsilon, True),
            lambda reports: UE_Aggregator_MI(reports, epsilon, True),
            some,
            some,
        ),
        (
            "olh",
            lambda value: LH_Client(value, k, epsilon, True),
            lambda reports: LH_Aggregator_MI(reports, k, epsilon, True),
            some,
            few,
        ),
    ):
        yield Peer("multi-freq-ldpy", name, client, server, timed, served)


LIBRARIES = {"pure-ldp": pure_ldp, "multi-freq-ldpy": multi_freq_ldpy}


def timed(run: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """Return the shortest of several times, in seconds of the processor, and a result."""
    best, result = float("inf"), None
    for _ in range(rounds):
        started = time.process_time()
        result = run()
        best = min(best, time.process_time() - started)
    return best, result


def measure(peer: Peer, k: int, users: int, rounds: int) -> Iterator[dict[str, Any]]:
    """Time both sides, and scale them to all users."""
    values = [random.randrange(k) for _ in range(max(peer.users, peer.served))]
    peer.client(values[0])  # compiles, where numba does
    many = values[: peer.users]
    device, _ = timed(lambda: [peer.client(value) for value in many], rounds)
    reports = [peer.client(value) for value in values[: peer.served]]
    server, _ = timed(lambda: peer.server(reports), rounds)
    for side, seconds, on in (("device", device, peer.users), ("server", server, peer.served)):
        yield {
            "library": peer.library,
            "mechanism": peer.mechanism,
            "k": k,
            "side": side,
            "seconds": seconds * users / on,
            "on": on,
        }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--k", type=int, required=True)
    parser.add_argument("--users", type=int, required=True)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, library in LIBRARIES.items():
        try:
            for peer in library(options.k, options.epsilon, options.users):
                for found in measure(peer, options.k, options.users, options.rounds):
                    print(json.dumps(found), flush=True)
        except ModuleNotFoundError as exc:
            print(json.dumps({"library": name, "missing": exc.name}), flush=True)


if __name__ == "__main__":
    main()
