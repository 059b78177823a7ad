"""The device: answers are randomized here, before they leave."""

from .client import Client
from .status import Flushed, Status

__all__ = ["Client", "Flushed", "Status"]
