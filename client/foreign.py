"""Whose error it is that comes out of a call: the client's own, or one the app raised meanwhile.

A handler of a signal may raise in the middle of any call, such as for a deadline of the app. What
must never change: such an error reaches the app, and no other does unless it is strict.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # of `typing`, which is not loaded before the first client
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType


def foreign(error: BaseException) -> bool:
    """Return whether an error is the app's, by its type or by the handler that raised it."""
    origin = type(error).__module__.partition(".")[0]
    ours = origin in sys.stdlib_module_names or origin in ("builtins", "deniable", "cryptography")
    app_made = not isinstance(error, Exception) or not ours
    return app_made or interrupts(error)


def interrupts(error: BaseException) -> bool:
    """Return whether an error comes from a function that handles signals, whatever its type."""
    signal = sys.modules.get("signal")
    if signal is None:
        return False
    handlers = map(signal.getsignal, signal.valid_signals())
    codes = {_code(handler) for handler in handlers} - {None}
    return not codes.isdisjoint(_codes(error))


def _code(handler: object) -> CodeType | None:
    """Return the code that a handler runs: a function, a method, part of one, or an object's."""
    from functools import partial  # which `signal` has loaded, as the next
    from types import FunctionType, MethodType

    while issubclass(type(handler), partial):
        handler = handler.func  # type: ignore[attr-defined]
    kind: type = type(handler)
    if callable(handler) and not issubclass(kind, (FunctionType, MethodType)):
        handler = kind.__call__
    return getattr(handler, "__code__", None)


def _codes(error: BaseException) -> Iterator[CodeType]:
    """Yield the code that an error came through."""
    traceback = error.__traceback__
    while traceback is not None:
        yield traceback.tb_frame.f_code
        traceback = traceback.tb_next
