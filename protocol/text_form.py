"""The form of a text: normalised on the device, of few letters and bounded length, as a number.

What must never change: which number a text has. It is what the device hashes, and another one
after an upgrade would be another permanent response. A text that does not fit has the number 0,
like every other one that does not: a device that kept silent would tell that it does not fit.

Normal forms and case folding come with the platform, and Unicode promises never to change them
for characters it has. One that it has not yet, on a device whose platform is older, stays as it
is there, and so does a text with it: no letter of an alphabet, hence no text that fits. Only if a
later character folds to letters of the alphabet does such a text, after an upgrade of the
platform, get another number; that is as if the answer had changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .errors import ParameterError

OTHER = 0
"""The number of every text that does not fit, the empty one included."""

_EXPANSION = 18
"""No character is more than 18 in any normal form of Unicode, and none vanishes.

So n normalised characters have been 18 n at most, but for spaces around them.
"""

_SPACES = 64
"""So many of those, and two for each letter, are looked at."""


def base_of(letters: int) -> int:
    """Return the base of the numbers of texts: digits enough, and no power of two.

    Numbers are hashed modulo 2^61 - 1 (:mod:`.mechanisms.rows`), of which powers of two are roots:
    in such a base texts that differ in two letters only could be the same number there, and so
    share their bucket in every row.
    """
    base = letters + 1
    return base if base & letters else base + 1


@dataclass(frozen=True)
class TextForm:
    """Texts of at most ``max_length`` letters out of ``alphabet``.

    A text is a number in the base of :func:`base_of`: its letters are digits from 1 on, in the
    alphabet's order, and digits 0 fill it up to ``max_length``. So the first letters of a text are
    the first digits of its number, and a prefix of it is what whole division leaves.

    Attributes
    ----------
    alphabet : str
        Different characters, each composed and, if ``fold``, folded.
    max_length : int
        In characters, after normalisation.
    fold : bool
        Whether capitals, widths and other compatible forms count as one, and spaces around a text
        as none (NFKC, then case folding); otherwise it is only composed (NFC).
    """

    alphabet: str
    max_length: int
    fold: bool

    @property
    def base(self) -> int:
        """Digits there are; the last one may be no letter's."""
        return base_of(len(self.alphabet))

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return self._power(self.max_length)

    def _power(self, exponent: int) -> int:
        return int(self.base**exponent)

    @cached_property
    def _digits(self) -> dict[str, int]:
        return {letter: digit for digit, letter in enumerate(self.alphabet, start=1)}

    def normalised(self, text: str) -> str:
        """Return the form in which texts are compared."""
        if text.isascii():
            return text.lower().strip() if self.fold else text
        import unicodedata  # an app that asks for no text never loads it

        if not self.fold:
            return unicodedata.normalize("NFC", text)
        folded = unicodedata.normalize("NFKC", text).casefold()
        return unicodedata.normalize("NFKC", folded).strip()

    def encode(self, name: str, value: object) -> int:
        """Return the number of a text; :data:`OTHER` if it does not fit.

        A text too long to fit in any form is not looked at, so it takes no time.

        Raises
        ------
        ParameterError
            If it is no text. The message never contains the value.
        """
        if not isinstance(value, str):
            raise ParameterError(f"{name}: the value must be text")
        code = self.code(value)
        return OTHER if code is None else code

    def code(self, text: str) -> int | None:
        """Return the number of a text that fits, or None."""
        if len(text) > (_EXPANSION + 2) * self.max_length + _SPACES:
            return None
        letters = self.normalised(text)
        if not 0 < len(letters) <= self.max_length:
            return None
        code = 0
        for letter in letters:
            digit = self._digits.get(letter)
            if digit is None:
                return None
            code = code * self.base + digit
        return code * self._power(self.max_length - len(letters))

    def prefix(self, code: int, length: int) -> int:
        """Return the number of the first ``length`` digits of a text's number."""
        return code // self._power(self.max_length - length)

    def text(self, digits: Iterable[int]) -> str:
        """Return the letters that digits stand for, up to the first that is no letter's."""
        found = []
        for digit in digits:
            if not 0 < digit <= len(self.alphabet):
                break
            found.append(self.alphabet[digit - 1])
        return "".join(found)

    def decode(self, code: int, length: int | None = None) -> str:
        """Return the text of a number of ``length`` digits, by default all of them."""
        digits = []
        for _ in range(self.max_length if length is None else length):
            code, digit = divmod(code, self.base)
            digits.append(digit)
        return self.text(reversed(digits))

    def document(self) -> dict[str, Any]:
        """Return the form as JSON."""
        return {"alphabet": self.alphabet, "max_length": self.max_length, "fold": self.fold}
