"""How a collector stands, read when somebody asks: the checks of ``/readyz``, and gauges."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from deniable.protocol.errors import StoreError

from .metrics import Standing
from .readiness import Check, require

if TYPE_CHECKING:
    from .service import Collector


def checks_of(collector: Collector) -> dict[str, Check]:
    """Return what has to be as it should for reports to be made durable, by name."""
    flood = collector.flood
    work: dict[str, tuple[str, Callable[[], object]]] = {
        "store": (
            "nothing can be written",
            lambda: collector.writer.run(lambda tx: tx.probe()),
        ),
        "disk": ("almost full", lambda: _check_disk(collector)),
        "survey": (
            "none is loaded",
            lambda: require(bool(collector.catalogue.surveys), "none is loaded"),
        ),
        "keys": (
            "that of an open period is missing, or their place cannot be reached",
            lambda: _check_keys(collector),
        ),
        "flood": (
            "requests cannot be counted",
            lambda: require(flood.reachable(), "requests cannot be counted"),
        ),
    }
    return {name: Check(fault, job) for name, (fault, job) in work.items()}


def standing(collector: Collector) -> Standing:
    """Return what the gauges tell.

    Raises
    ------
    StoreError
        If the store cannot be read.
    """
    with collector.store.read() as reader:
        crowds = reader.pending_crowds()
        age = collector.config.clock() - reader.watermark()
    return Standing(
        crowds, _missing(collector), age.total_seconds(), collector.readiness.outcomes()
    )


def _missing(collector: Collector) -> int | None:
    try:
        return len(missing_keys(collector))
    except StoreError:
        return None


def missing_keys(collector: Collector) -> list[str]:
    """Return the names of open scopes whose key is not to be found.

    Raises
    ------
    StoreError
        If the store or the key store cannot be reached.
    """
    with collector.store.read() as reader:
        scopes = reader.open_scopes()
    return [scope.name for scope in scopes if collector.keys.missing(scope)]


def _check_disk(collector: Collector) -> None:
    free = collector.store.free_bytes()
    least = collector.config.min_free_bytes
    require(free is None or free >= least, f"less than {least} bytes are free")


def _check_keys(collector: Collector) -> None:
    missing = missing_keys(collector)
    require(not missing, f"missing of {', '.join(missing)}; put them back")
