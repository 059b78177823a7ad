"""The prefixes that a search follows, and the odds that many devices have a text under each.

A priori a frequent text is as likely to have each of the lengths there are, none included, and
each letter at each place; :data:`EXPECTED` of them are frequent. That decides only what is looked
at first, never what is reported as more than chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from deniable.protocol.text_form import base_of

from ..extras import extra
from .hash_rows import extended, residues

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .hash_rows import Residues

    Digits = NDArray[np.int16]
    Integers = NDArray[np.int64]
    Vector = NDArray[np.float64]

EXPECTED = 32
"""Texts that are frequent, a priori."""


@dataclass(frozen=True)
class Tree:
    """All texts of so many letters and so great a length.

    Attributes
    ----------
    letters : int
    length : int
    """

    letters: int
    length: int

    @property
    def digits(self) -> int:
        """Digits a text may have: the letters, and 0 after the last one."""
        return self.letters + 1

    @property
    def base(self) -> int:
        """Of the numbers of texts."""
        return base_of(self.letters)

    @property
    def log_size(self) -> float:
        """The logarithm of how many texts there are."""
        return math.log(sum(self.letters**length for length in range(self.length + 1)))

    def log_prior(self, used: Integers, depth: int) -> Vector:
        """Return the logarithm of how likely a frequent text has a prefix of ``depth`` digits.

        ``used`` of them are letters; where these are fewer, the text has ended.
        """
        import numpy as np

        lengths = np.where(used < depth, 1, self.length - depth + 1)
        found: Vector = np.log(lengths / (self.length + 1)) - used * math.log(self.letters)
        return found


@dataclass(frozen=True, eq=False)
class Branches:
    """Prefixes of one length.

    Attributes
    ----------
    tree : Tree
    digits : array of int, shape (n, depth)
    hashed : array of residues, shape (n,)
        Their numbers.
    log_odds : array, shape (n,)
        Logarithm of the probability that a frequent text begins so, 0 at most.
    """

    tree: Tree
    digits: Digits
    hashed: Residues
    log_odds: Vector

    @classmethod
    def root(cls, tree: Tree) -> Branches:
        """Return the one prefix without letters."""
        with extra():
            import numpy as np
        return cls(tree, np.zeros((1, 0), np.int16), residues([0]), np.zeros(1))

    @property
    def depth(self) -> int:
        """Digits of each."""
        return int(self.digits.shape[1])

    @property
    def used(self) -> Integers:
        """Letters of each."""
        found: Integers = (self.digits > 0).sum(axis=1)
        return found

    def extended(self, step: int, most: int) -> Children:
        """Return all that may follow in ``step`` more digits, ``most`` of them or little more.

        Of those that can go on, those with the best odds do; those that have ended stay.
        """
        import numpy as np

        going = np.flatnonzero(self.used == self.depth)
        best = np.argsort(-self.log_odds[going], kind="stable")
        room = max(1, most // self.tree.digits**step)
        chosen = np.concatenate([going[best[:room]], np.flatnonzero(self.used < self.depth)])
        branches = Branches(
            self.tree, self.digits[chosen], self.hashed[chosen], self.log_odds[chosen]
        )
        for _ in range(step - 1):
            children = Children(branches)
            branches = children.kept(np.arange(len(children)), children.log_odds())
        return Children(branches)


@dataclass(frozen=True, eq=False)
class Children:
    """Branches, each with every digit that may come next.

    Those of branches that go on come first: all with digit 0, all with digit 1 and so on. Branches
    that have ended are followed by 0 only.

    Attributes
    ----------
    parents : Branches
    """

    parents: Branches

    def __len__(self) -> int:
        return len(self.pairs[0])

    @cached_property
    def going(self) -> Integers:
        """The parents that go on."""
        import numpy as np

        return np.flatnonzero(self.parents.used == self.parents.depth)

    @cached_property
    def ended(self) -> Integers:
        """The parents that have ended."""
        import numpy as np

        return np.flatnonzero(self.parents.used < self.parents.depth)

    @cached_property
    def pairs(self) -> tuple[Integers, Integers]:
        """The parent and the digit of each child."""
        import numpy as np

        every = self.parents.tree.digits
        parents = np.concatenate([np.tile(self.going, every), self.ended])
        digits = np.repeat(np.arange(every), len(self.going))
        return parents, np.concatenate([digits, np.zeros(len(self.ended), dtype=np.int64)])

    @cached_property
    def firsts(self) -> Residues:
        """The residue of each parent, followed by 0."""
        return extended(self.parents.hashed, self.parents.tree.base, residues([0]))

    @property
    def empty(self) -> Integers:
        """The child without letters: the texts that do not fit, maybe many."""
        import numpy as np

        parents, digits = self.pairs
        found: Integers = np.flatnonzero((self.parents.used[parents] == 0) & (digits == 0))
        return found

    def hashed(self, chosen: Integers) -> Residues:
        """Return the residues of some children."""
        parents, digits = (each[chosen] for each in self.pairs)
        tree = self.parents.tree
        return extended(self.parents.hashed[parents], tree.base, digits.astype("uint64"))

    def code(self, child: int) -> int:
        """Return the number of a child."""
        parents, digits = self.pairs
        code = 0
        for digit in (*self.parents.digits[parents[child]].tolist(), int(digits[child])):
            code = code * self.parents.tree.base + digit
        return code

    def log_odds(self) -> Vector:
        """Return the odds of each child by those of its parent and what is known a priori."""
        import numpy as np

        parents, digits = self.pairs
        tree, depth, used = self.parents.tree, self.parents.depth, self.parents.used
        before = self.parents.log_odds - tree.log_prior(used, depth)
        expected = math.log(EXPECTED) if depth == 0 else 0.0
        found: Vector = before[parents] + tree.log_prior(used[parents] + (digits > 0), depth + 1)
        return np.minimum(found + expected, 0.0)

    def kept(self, chosen: Integers, log_odds: Vector) -> Branches:
        """Return some children as branches, with these odds of all children."""
        import numpy as np

        parents, digits = (each[chosen] for each in self.pairs)
        shown = [self.parents.digits[parents], digits[:, None].astype(np.int16)]
        return Branches(
            self.parents.tree,
            np.concatenate(shown, axis=1),
            self.hashed(chosen),
            log_odds[chosen],
        )
