"""Prefix extension (PEM), in bulk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable.protocol.mechanisms.pem import PEM
from deniable.protocol.text_form import base_of

from ..texts.hash_rows import own_places, residues
from .grr import perturb, perturb_counts
from .reports import Open, Population, Reports
from .spreading import spread

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


class SimulatedPEM(Open[PEM]):
    """A level for each device, and the bucket of a prefix kept or moved."""

    def permanent(self, symbols: Integers, rng: np.random.Generator) -> Reports:
        """Draw a level and a row of it for each device, and perturb the bucket."""
        import numpy as np

        of = self.mechanism
        levels = rng.choice(len(of.lengths), len(symbols), p=self._shares)
        rows = levels * of.rows + rng.integers(0, of.rows, len(symbols))
        prefixes = map(of.prefix, symbols.tolist(), levels.tolist())
        buckets = own_places(of.name, 0, rows, residues(prefixes), of.g)
        outs = perturb(buckets.astype(np.int64), of.buckets.keep, of.g, rng)
        return Reports(rows if of.shape.rows > 1 else None, outs)

    def instant(self, permanent: Reports, rng: np.random.Generator) -> Reports:
        """Perturb each remembered bucket again."""
        again = self.mechanism.buckets.keep_again
        if again is None:
            return permanent
        return Reports(permanent.rows, perturb(permanent.outs, again, self.mechanism.g, rng))

    def cells_of(self, population: Population, rng: np.random.Generator) -> Integers:
        """Spread the devices over levels, rows and buckets, and perturb those of a row together."""
        import numpy as np

        of = self.mechanism
        people = rng.multinomial(population.people, self._shares)
        tables = []
        for level, length in enumerate(of.lengths):
            there = people[:, level] > 0
            following = base_of(of.letters) ** (of.length - length)
            prefixes = population.symbols[there] // following
            held = Population(prefixes, people[there, level])
            rows = range(level * of.rows, (level + 1) * of.rows)
            tables.append(spread(of.name, rows, of.g, held, rng))
        return perturb_counts(np.concatenate(tables), of.buckets.keep, rng).ravel()

    def instant_cells(self, permanent: Integers, rng: np.random.Generator) -> Integers:
        """Perturb the devices of each remembered bucket together."""
        again = self.mechanism.buckets.keep_again
        if again is None:
            return permanent
        return perturb_counts(permanent.reshape(-1, self.mechanism.g), again, rng).ravel()

    @property
    def _shares(self) -> list[float]:
        return [float(self.mechanism.share(level)) for level in range(len(self.mechanism.lengths))]
