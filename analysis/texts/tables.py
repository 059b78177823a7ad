"""From the cells of a sketch's tally to the supports of every bucket, row by row.

All sketches look alike from here: a report in row j supports a bucket with probability p if it is
that of the device's text and with q if it is not. For Hadamard's signs that takes a transform of
each row, after which q is 1/2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, cast

from deniable.protocol.errors import DocumentError
from deniable.protocol.mechanisms import Mechanism
from deniable.protocol.mechanisms.cms import CMS
from deniable.protocol.mechanisms.hcms import HCMS
from deniable.protocol.mechanisms.pem import PEM

from ..extras import extra
from .hash_rows import places

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .hash_rows import Residues


@dataclass(frozen=True, eq=False)
class Table:
    """The reports about whole texts, by hash row and bucket.

    Attributes
    ----------
    family : str
        Of the hash rows.
    first : int
        Number of the first hash row; the others follow it.
    p, q : Fraction
        P(a report supports a bucket), if the text is in it and if not.
    reports : array of int, shape (rows,)
    supports : array of int, shape (rows, width)
        Of so many reports in each row, those that support each bucket.
    """

    family: str
    first: int
    p: Fraction
    q: Fraction
    reports: NDArray[np.int64]
    supports: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Reports in all rows."""
        return int(self.reports.sum())

    def places(self, hashed: Residues) -> NDArray[np.int64]:
        """Return the bucket of each text in each row, shape (rows, texts)."""
        rows, width = self.supports.shape
        return places(self.family, range(self.first, self.first + rows), hashed, width)


def table_of(mechanism: Mechanism, cells: Sequence[int]) -> Table:
    """Return the table of a tally: of pem, the one of its last level.

    Raises
    ------
    DocumentError
        If this version knows no such sketch.
    MissingExtraError
        If numpy is absent.
    """
    if mechanism.name not in _TABLES:
        raise DocumentError(f"decoder {mechanism.decoder} is unknown; upgrade deniable to read it")
    return _TABLES[mechanism.name](mechanism, cells)


def _cms(mechanism: Mechanism, cells: Sequence[int]) -> Table:
    """Each row's last cell counts its reports."""
    with extra():
        import numpy as np
    of = cast("CMS", mechanism)
    rows = np.array(cells, dtype=np.int64).reshape(of.rows, of.width + 1)
    return Table(of.name, 0, of.p, 1 - of.p, rows[:, -1], rows[:, :-1])


def _hcms(mechanism: Mechanism, cells: Sequence[int]) -> Table:
    """Transform what each column's reports say for +1, less what they say for -1."""
    with extra():
        import numpy as np
    of = cast("HCMS", mechanism)
    signs = np.array(cells, dtype=np.int64).reshape(of.rows, of.width, 2)
    reports = signs.sum(axis=(1, 2))
    balance = _transformed(signs[:, :, 1] - signs[:, :, 0])
    return Table(of.name, 0, of.p, Fraction(1, 2), reports, (reports[:, None] + balance) // 2)


def _pem(mechanism: Mechanism, cells: Sequence[int]) -> Table:
    """The last level hashes whole texts."""
    with extra():
        import numpy as np
    of = cast("PEM", mechanism)
    first = (len(of.lengths) - 1) * of.rows
    rows = np.array(cells[first * of.g :], dtype=np.int64).reshape(of.rows, of.g)
    return Table(of.name, first, of.p, of.buckets.q, rows.sum(axis=1), rows)


_TABLES: Final[Mapping[str, Callable[[Mechanism, Sequence[int]], Table]]] = {
    "cms": _cms,
    "hcms": _hcms,
    "pem": _pem,
}
"""By the mechanism's name."""


def _transformed(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Multiply each row by the Hadamard matrix of its length."""
    import numpy as np

    width, half = rows.shape[1], rows.shape[1] // 2
    while half:
        pairs = rows.reshape(len(rows), -1, 2, half)
        sums = [pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]]
        rows = np.stack(sums, axis=2).reshape(len(rows), width)
        half //= 2
    return rows
