"""The mechanisms of the field, one module each, in one interface."""

from __future__ import annotations

from .automatic import Rival, choose, compared, rivals
from .base import NO_OPTIONS, Asks, Law, Mechanism, Options
from .oracle import FrequencyOracle
from .registry import MECHANISMS, build, named
from .scale import Scale

__all__ = [
    "MECHANISMS",
    "NO_OPTIONS",
    "Asks",
    "FrequencyOracle",
    "Law",
    "Mechanism",
    "Options",
    "Rival",
    "Scale",
    "build",
    "choose",
    "compared",
    "named",
    "rivals",
]
