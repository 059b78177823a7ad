"""Which machine this is, as far as its system tells, so that a copied store notices.

What must never change: the machine's id is in no store. A store holds a mark of it, keyed with its
secret, which says nothing to whoever has the store alone but whether an id is the same.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from deniable.protocol.digests import HMAC
from deniable.protocol.draws import DERIVATION, length_prefixed

MARK_BYTES = 16


def mark(secret: bytes, machine: bytes) -> bytes:
    """Return what a store keeps of its machine's id."""
    fields = length_prefixed(DERIVATION.encode(), b"machine", machine)
    return HMAC(secret, fields).digest()[:MARK_BYTES]


if sys.platform == "win32":

    def machine_id() -> bytes | None:
        """Return the id that Windows was given when it was set up."""
        import winreg

        with (
            suppress(OSError),
            winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"SOFTWARE\Microsoft\Cryptography") as key,
        ):
            return str(winreg.QueryValueEx(key, "MachineGuid")[0]).encode() or None
        return None

elif sys.platform == "darwin":

    def machine_id() -> bytes | None:
        """Return the hardware's id."""
        import ctypes

        found = (ctypes.c_ubyte * 16)()
        wait = (ctypes.c_long * 2)(1, 0)
        with suppress(OSError, AttributeError):
            if ctypes.CDLL(None).gethostuuid(found, wait) == 0:
                return bytes(found)
        return None

else:
    PLACES = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))

    def machine_id() -> bytes | None:
        """Return the id that the system was given when it was installed; containers have none."""
        for place in PLACES:
            with suppress(OSError):
                text = place.read_bytes().strip()
                if text and text != b"uninitialized":
                    return text
        return None
