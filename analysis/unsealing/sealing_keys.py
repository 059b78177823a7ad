"""Making a sealing key, and the table of its public half for a survey."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar

from deniable.protocol.errors import ParameterError
from deniable.protocol.fields import ID
from deniable.protocol.sealing import SUITES, SealingKey

from .. import inputs
from ..render import Record, Section
from .private_keys import PrivateKey, generate, read, write


@dataclass(frozen=True)
class SealingKeyTable:
    """The public half of a key, as a survey takes it.

    Attributes
    ----------
    key : SealingKey
    """

    key: SealingKey

    columns: ClassVar[tuple[str, ...]] = ("id", "suite", "public", "state")

    def records(self) -> list[Record]:
        """Return one flat row."""
        return [dict(self.key.document())]

    def document(self) -> dict[str, Any]:
        """Return the table as JSON, which a compiled survey lists under ``sealing_keys``."""
        return dict(self.key.document())

    def toml(self) -> str:
        """Return the table as an author writes it."""
        lines = [f'{name} = "{value}"' for name, value in self.key.document().items()]
        return "\n".join(["[[survey.sealing_keys]]", *lines])

    def sections(self) -> tuple[Section, ...]:
        """Return the table, and what to do with it, as comments of the same language."""
        notes = (
            "# For the survey file. The first key: write active. A new one beside an old one:",
            "# leave it pending until apps are to seal for it; then expire the old one.",
        )
        return (Section(self.toml(), (), (), notes),)


def create_sealing_key(
    path: str | PathLike[str], *, suite: str = "x25519", name: str | None = None
) -> SealingKeyTable:
    """Make a private key, write it into a new file, and return its public half.

    Parameters
    ----------
    path : str or path
        Of a file that does not exist; only its owner may read it.
    suite : "x25519" or "mlkem768-x25519"
        The second also withstands a quantum computer; reports are 1 KiB larger.
    name : str, optional
        Its id in surveys; otherwise made of the hash of its public half.

    Raises
    ------
    ParameterError
        If the suite or the name is none.
    StoreError
        If the file exists or cannot be written.
    MissingExtraError
        If ``cryptography`` is not installed.
    """
    file = inputs.path("file", path)
    if suite not in SUITES:
        raise ParameterError(f"suite must be one of {', '.join(SUITES)}")
    if name is not None and not ID.fullmatch(name):
        raise ParameterError("id must be like k2027; use a-z, 0-9, - and _, 64 at most")
    key = generate(suite, name)
    write(file, key)
    return _table(key)


def sealing_key(path: str | PathLike[str]) -> SealingKeyTable:
    """Return the public half of a key file.

    Parameters
    ----------
    path : str or path
        Of a file that :func:`create_sealing_key` wrote.

    Raises
    ------
    StoreError
        If it cannot be read, or others may read it too.
    DocumentError
        If it holds no key.
    """
    return _table(read(inputs.path("file", path)))


def _table(key: PrivateKey) -> SealingKeyTable:
    return SealingKeyTable(SealingKey(key.id, key.suite, key.public, "pending"))
