"""What a durable report costs: SQLite and PostgreSQL beside the same server's parse-only endpoint.

Three sections. ``rates``: requests of 10 reports, each from another device, over 16, 64 and 256
connections; every server is loaded in turn with plain and sealed requests, durable and parsed only,
round after round, and medians are compared. ``release``: time and memory to release a million
devices, and what a device takes in the ledger. ``memory``: of a serve, over a million reports.
Everything is on the disk of ``--folder``, which should be a real one.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

from serving import crowds, memory, rates, servers  # noqa: E402

SECTIONS = {"rates": rates.measure, "release": crowds.measure, "memory": memory.measure}
ROLES = {"server": servers.serve, "fill": crowds.fill, "release": crowds.release}


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["--as"]:  # a process that the sections below start
        ROLES[sys.argv[2]](*sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a minute, for a first impression")
    parser.add_argument("--only", choices=SECTIONS, help="one section")
    parser.add_argument("--connections", type=int, nargs="+", help="default: 16 64 256")
    parser.add_argument("--rounds", type=int, help="default: 5")
    parser.add_argument("--seconds", type=float, help="of each measurement; default: 2")
    parser.add_argument("--folder", default="/var/tmp", help="default: /var/tmp")  # noqa: S108
    options = parser.parse_args()
    options.connections = options.connections or ([64] if options.quick else [16, 64, 256])
    options.rounds = options.rounds or (2 if options.quick else 5)
    options.seconds = options.seconds or (1.0 if options.quick else 2.0)
    tempfile.tempdir = options.folder
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and stop the servers
    verdicts = []
    for name in [options.only] if options.only else SECTIONS:
        with tempfile.TemporaryDirectory(prefix="deniable-bench-") as folder:
            verdicts += SECTIONS[name](options, Path(folder))
    print("\n" + "\n".join(verdicts))


if __name__ == "__main__":
    main()
