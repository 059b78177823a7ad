"""The device: answers are randomized here, before they leave."""

from .client import Client
from .status import Flushed, Preview, Sent, Status

__all__ = ["Client", "Flushed", "Preview", "Sent", "Status"]
