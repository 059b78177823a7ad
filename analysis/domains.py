"""What a mechanism is asked about and what is estimated from it, in words.

A domain is not always a list of values: of a set there are items, of texts no list at all.
"""

from __future__ import annotations

from deniable.protocol.mechanisms import Asks, Mechanism
from deniable.protocol.mechanisms.cms import CMS
from deniable.protocol.mechanisms.dyadic import Dyadic
from deniable.protocol.mechanisms.hcms import HCMS
from deniable.protocol.mechanisms.pem import PEM
from deniable.protocol.mechanisms.trajectory import Trajectory

from .results import EPSILON_UNIT

_WORDS = {
    "set": "sets of {k:,} items",
    "text": "texts",
    "trajectory": "yes and no in each period",
    "counter": "{k:,} values in each period",
}

_ESTIMATED = {
    "number": "mean, as a share of its range",
    "set": "frequency of an item",
    "text": "frequency of a text named beforehand",
    "trajectory": "frequency in one period",
    "counter": "mean in one period, as a share of its range",
}


def over(mechanism: Mechanism) -> str:
    """Return what a mechanism is over.

    >>> from decimal import Decimal
    >>> from deniable.protocol.mechanisms import build
    >>> over(build("grr", 4, Decimal(1))), over(build("hcms", 2, Decimal(1)))
    ('over 4 values', 'over texts')
    """
    words = _WORDS.get(mechanism.asks, "{k:,} values")
    return f"over {words.format(k=mechanism.k)}"


def estimated(mechanism: Mechanism) -> str:
    """Name one thing that is estimated: what a variance and a margin are of."""
    return _ESTIMATED.get(mechanism.asks, "frequency")


def is_mean(asks: Asks) -> bool:
    """Return whether what is estimated is a mean."""
    return asks in ("number", "counter")


def one_estimate(asks: Asks) -> str:
    """Name what is estimated with its article: ``a frequency``."""
    return "a mean, as a share of its range," if is_mean(asks) else "a frequency"


def epsilon_unit(mechanism: Mechanism) -> str:
    """Return what a mechanism's epsilon is of: all reports about one answer, or a trajectory."""
    if not isinstance(mechanism, Dyadic):
        return EPSILON_UNIT
    periods = f"{mechanism.periods:,} periods"
    if not isinstance(mechanism, Trajectory):
        return (
            f"of one device, from all its reports together: of the whole history of {periods}, in "
            "which its number only rises"
        )
    changes = "1 change" if mechanism.changes == 1 else f"{mechanism.changes} changes"
    return (
        "of one device, from all its reports together: of its whole trajectory with at most "
        f"{changes} in {periods}"
    )


def collisions(mechanism: Mechanism) -> str:
    """Say what a variance leaves out, if texts share buckets; in words, or nothing.

    Of a text, the others in its bucket: of frequency f in each of R rows of w buckets with a chance
    of 1/w, so that their mean varies by ``sum f^2 (1 - 1/w) / (R w)`` over rows.
    """
    if not isinstance(mechanism, CMS | HCMS | PEM):
        return ""
    return (
        f"other texts in the same buckets add sqrt(S / {mechanism.rows * mechanism.k:,}) to a "
        "standard error, S the sum of all squared frequencies, however many report"
    )


def reporting(mechanism: Mechanism) -> str:
    """Return how often a device reports, where a margin is of one period."""
    return "in the periods of its level" if isinstance(mechanism, Dyadic) else "once"
