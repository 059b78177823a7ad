"""What to say when an optional dependency is absent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from deniable.protocol.errors import MissingExtraError


@contextmanager
def extra(name: str = "analysis") -> Iterator[None]:
    """Wrap the import of a third party inside the function that needs it.

    Parameters
    ----------
    name : str
        The extra that it comes with.

    Raises
    ------
    MissingExtraError
        If it is not installed; the message says what to install.
    """
    try:
        yield
    except ModuleNotFoundError as exc:
        missing = (exc.name or "a dependency").partition(".")[0]
        raise MissingExtraError(
            f"{missing} is not installed; pip install 'deniable[{name}]'"
        ) from exc
