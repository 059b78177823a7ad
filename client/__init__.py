"""The device: answers are randomized here, before they leave."""

from .client import Client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .status import Flushed, Preview, Sent, Status

__all__ = ["Client", "Flushed", "Preview", "Sent", "Status"]


def __getattr__(name: str) -> object:
    """Load what a client says about itself only when it is asked for."""
    if name in __all__:
        from . import status

        return getattr(status, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
