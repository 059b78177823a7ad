"""What the crowd of a released tally adds: beside its estimates, if it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any, TypeVar

from deniable.protocol.errors import ParameterError
from deniable.protocol.exact import canonical
from deniable.protocol.tally import Tally

from .. import inputs
from ..figures import at_most
from ..inputs import Number
from ..number_results import NumberEstimates
from ..results import EPSILON_UNIT, Estimates
from .bounds import best_upper

UNIT = "of one device, from its one report in this one tally, to those who see the tally alone"

_Estimates = TypeVar("_Estimates", Estimates, NumberEstimates)


@dataclass(frozen=True, slots=True)
class ReleasedCrowd:
    """The certified epsilon of one released tally.

    Attributes
    ----------
    upper : float
        Rounded up.
    delta : float
        With which it may fail.
    crowd : int
        Devices in the smallest of the tallies that the estimates rest on.
    method : str
    unit : str
    """

    upper: float
    delta: float
    crowd: int
    method: str
    unit: str = UNIT

    def record(self) -> dict[str, Any]:
        """Return the bound as JSON."""
        return asdict(self)


def released(tallies: Sequence[Tally], delta: float) -> ReleasedCrowd:
    """Return the bound for tallies of one question and period, each of other devices.

    Every tally is released by itself, so a device hides in its own: the smallest decides.
    """
    crowd = min(tally.n for tally in tallies)
    upper, method = best_upper(tallies[0].question.mechanism, crowd, delta)
    return ReleasedCrowd(upper, delta, crowd, method)


def with_crowds(
    made: tuple[_Estimates, ...],
    chosen: Sequence[Sequence[Tally]],
    delta: Number | None,
    pool: str | None,
) -> tuple[_Estimates, ...]:
    """Add to each period's estimates what its crowd adds, if a delta is given.

    Raises
    ------
    ParameterError
        If the delta is out of range, or the periods are to be pooled.
    """
    if delta is None:
        return made
    if pool is not None:
        raise ParameterError("shuffle_delta is for one tally: leave out pool, or shuffle_delta")
    fail = float(inputs.between("shuffle_delta", delta, "1e-100", "1"))
    return tuple(_with(one, released(own, fail)) for one, own in zip(made, chosen, strict=True))


def _with(made: _Estimates, crowd: ReleasedCrowd) -> _Estimates:
    return replace(made, shuffled=crowd, notes=(*made.notes, _sentence(made.epsilon, crowd)))


def _sentence(epsilon: Decimal, crowd: ReleasedCrowd) -> str:
    return (
        f"Shuffled in a crowd of {crowd.crowd:,}: epsilon at most {at_most(crowd.upper)} "
        f"{crowd.unit}, except with probability delta = {crowd.delta:g}, if the collector is "
        "honest and all devices are. Memoized noise is the same in every other period's tally: "
        f"over several only epsilon {canonical(epsilon)} {EPSILON_UNIT} holds."
    )
