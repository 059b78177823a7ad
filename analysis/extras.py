"""What to say when an optional dependency is absent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from deniable.protocol.errors import MissingExtraError


@contextmanager
def extra() -> Iterator[None]:
    """Wrap the import of a third party inside the function that needs it.

    Raises
    ------
    MissingExtraError
        If it is not installed; the message says what to install.
    """
    try:
        yield
    except ModuleNotFoundError as exc:
        name = (exc.name or "a dependency").partition(".")[0]
        raise MissingExtraError(
            f"{name} is not installed; pip install 'deniable[analysis]'"
        ) from exc
