"""All the bounds on what several reports reveal together, side by side, and the least of them.

Every bound holds for adaptively chosen reports with noise of their own. What must never change
within a major version: the names of the methods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from deniable.protocol.errors import ParameterError

from .closed_forms import advanced, basic, kov
from .lattice import exact
from .losses import Losses
from .parts import Part, merged
from .renyi import rdp, zcdp

METHODS = ("basic", "advanced", "kov", "zcdp", "rdp", "exact")

_LATTICE_REPORTS = 10**5  # from here on numpy is faster, although it must be loaded first


@dataclass(frozen=True)
class Composition:
    """One method's bound.

    Attributes
    ----------
    method : str
        One of :data:`METHODS`.
    epsilon : float or None
        Of all reports together, never below the truth; None if the method has no answer.
    delta : float
        The probability with which the bound may fail; 0 for ``basic``.
    winner : bool
        Whether it is the least; of equal ones ``basic`` is, which never fails, or else ``exact``.
    name : str
        The theorem, for people.
    why : str
        Why there is no answer.
    """

    method: str
    epsilon: float | None
    delta: float
    winner: bool
    name: str
    why: str = ""


def compositions(parts: Sequence[Part], delta: float | None) -> tuple[Composition, ...]:
    """Return the bound of each method on what the reports reveal together.

    Parameters
    ----------
    parts : sequence of Part
        At least one.
    delta : float or None
        In (0, 1); None for the bound that never fails, which is basic composition alone.

    Raises
    ------
    ParameterError
        If there is no part, or delta is out of range.

    Examples
    --------
    >>> from decimal import Decimal
    >>> from deniable.protocol.mechanisms import build
    >>> month = Part(build("grr", 4, Decimal(1)), 30)
    >>> [(each.method, round(each.epsilon, 2)) for each in compositions([month], 1e-6)]
    [('basic', 30.0), ('advanced', 80.34), ('kov', 30.0), ('zcdp', 40.15), ('rdp', 26.31), \
('exact', 25.63)]
    """
    if not parts:
        raise ParameterError("parts must not be empty: there is nothing to compose")
    if delta is not None and not 0 < delta < 1:
        raise ParameterError(f"delta must be above 0 and below 1: {delta}")
    found = [Composition("basic", basic(parts), 0.0, False, "basic composition")]
    if delta is not None:
        found += [_bound(parts, delta, *method) for method in _NAMED]
        found.append(_not_above(_exact(parts, delta), found))
    answers = [each.epsilon for each in found if each.epsilon is not None]
    winners = [each for each in found if each.epsilon == min(answers)]
    winner = winners[0] if winners[0].method == "basic" else winners[-1]
    return tuple(replace(each, winner=each is winner) for each in found)


def least(parts: Sequence[Part], delta: float | None) -> Composition:
    """Return the winner of :func:`compositions`."""
    return next(each for each in compositions(parts, delta) if each.winner)


_Method = tuple[str, Callable[[Sequence[Part], float], float], str, str]

_NAMED: tuple[_Method, ...] = (
    (
        "advanced",
        advanced,
        "advanced composition (Dwork, Roth 3.20)",
        "advanced composition for different epsilons (after Dwork, Roth 3.20)",
    ),
    ("kov", kov, "Kairouz, Oh, Viswanath 3.4", "Kairouz, Oh, Viswanath 3.5"),
    ("zcdp", zcdp, "zCDP", "zCDP"),
    ("rdp", rdp, "Rényi differential privacy", "Rényi differential privacy"),
)


def _bound(
    parts: Sequence[Part],
    delta: float,
    method: str,
    bound: Callable[[Sequence[Part], float], float],
    equal: str,
    different: str,
) -> Composition:
    name = equal if len({part.mechanism.epsilon for part in parts}) == 1 else different
    return Composition(method, bound(parts, delta), delta, False, name)


def _not_above(exact: Composition, others: Sequence[Composition]) -> Composition:
    """Lower what was rounded up above another bound: the truth is not above any."""
    if exact.epsilon is None:
        return exact
    bounds = (other.epsilon for other in others if other.epsilon is not None)
    return replace(exact, epsilon=min(exact.epsilon, *bounds))


def _exact(parts: Sequence[Part], delta: float) -> Composition:
    """By the lattice if all reports have the same losses, else by their distribution."""
    counted = merged(parts)
    if len(counted) > 1 or max(counted.values()) > _LATTICE_REPORTS:
        return _mixed(parts, counted, delta)
    ((losses, reports),) = counted.items()
    return Composition("exact", exact(losses, reports, delta), delta, False, _equal_name(parts[0]))


def _mixed(parts: Sequence[Part], counted: dict[Losses, int], delta: float) -> Composition:
    from .mixture import mixture

    name = _equal_name(parts[0]) if len(counted) == 1 else _mixed_name(counted)
    epsilon = mixture(counted, delta)
    if epsilon is None:
        why = "floating-point errors would be too large a share of delta"
        return Composition("exact", None, delta, False, name, why)
    return Composition("exact", epsilon, delta, False, name)


def _mixed_name(counted: dict[Losses, int]) -> str:
    return f"exact composition of {len(counted)} kinds of report, rounded up"


def _equal_name(part: Part) -> str:
    mechanism = part.mechanism
    if mechanism.losses is None:
        return "exact composition of any epsilon-LDP report (Kairouz, Oh, Viswanath 3.3)"
    return f"exact composition of {mechanism.name} over {mechanism.k} values"
