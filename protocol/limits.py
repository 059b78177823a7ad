"""Bounds that hold whatever a survey says. Device and collector refuse anything beyond them."""

from __future__ import annotations

from decimal import Decimal

EPSILON_MIN = Decimal("0.01")
EPSILON_MAX = Decimal("16")
EPSILON_SUM = Decimal(10000)
"""The highest ceiling a survey may set over all its questions."""

EPSILON_PLACES = 18
"""Decimal places an epsilon may have, so that thresholds are computed from its exact value."""

MAX_K = 4096
MAX_CHOICE = 200
"""Characters of a choice, composed."""

MAX_STEPS = MAX_K - 1
"""Of the grid of a number question."""

MAX_NUMBER = Decimal("1e15")
"""Ends of a range are no farther from zero."""

NUMBER_PLACES = 18
"""Decimal places the ends of a range may have."""

MAX_DEVICES = 10**15
"""Devices in one tally, and in tallies that are added up: below 2^53, so floats count them."""

MAX_CELLS = 1 << 15
"""Counts in one tally."""

MAX_RESPONSE_BYTES = 8 * 1024
MAX_QUESTIONS = 200
MAX_SEGMENTS = 64
MAX_SEGMENT = 64
"""Characters of a segment's name."""

MAX_GRACE_DAYS = 60
MAX_TEXT = 500

MAX_COMPRESSED = 64 * 1024
"""Bytes of a request body as sent."""

BODY_SIZES = (1024, 4096, 16384, MAX_COMPRESSED)
"""Bytes of a request body as a device sends it: one of these, whatever is in it."""

MAX_INFLATED = 256 * 1024
"""Bytes of a request body after gzip."""

MAX_REPORTS = 200
"""Reports in one request."""

MAX_FINGERPRINT_BITS = 10.0
"""What one request may reveal about which device it is, unless the survey says otherwise."""
