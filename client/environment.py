"""What the environment forbids: the conventions by which people and machines say no to all apps."""

from __future__ import annotations

from collections.abc import Mapping

_NO = frozenset({"", "0", "false", "no", "off"})


def veto(environment: Mapping[str, str]) -> str:
    """Return why nothing may be recorded or sent in this process; "" if nothing speaks against it.

    ``DO_NOT_TRACK`` is set by people who want no telemetry at all, ``CI`` by services that run
    tests, whose answers would be nobody's, and ``DENIABLE=off`` means this library.
    """
    for name in ("DO_NOT_TRACK", "CI"):
        if _means(environment.get(name)):
            return f"{name} is set in the environment"
    if environment.get("DENIABLE", "").strip() and not _means(environment["DENIABLE"]):
        return "DENIABLE is off in the environment"
    return ""


def _means(value: str | None) -> bool:
    return value is not None and value.strip().lower() not in _NO
