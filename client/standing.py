"""Why nothing, or less than an app may expect, is recorded or sent: in words, without a value."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from deniable.protocol.survey import Survey

from .bounds import expired
from .outbox import Outbox
from .sealing import Sealer
from .store import Device


def reasons(
    device: Device, survey: Survey, outbox: Outbox, sealer: Sealer, believed: bool, now: datetime
) -> Iterator[str]:
    """Yield every reason; none while all is well."""
    if device.consent == "off":
        day = device.decided_on
        yield f"the answer was no, on {day}" if day else "nobody has said yes yet"
        return
    if device.consent == "ask":
        yield "nobody has said yes yet"
    elif outbox.lock_fault:
        yield f"nothing is sent: {outbox.lock_fault}"
    elif outbox.paused:
        yield "the collector wants no reports (401 or 403); tried again at the next start"
    elif outbox.trouble:
        yield f"the last exchange with the collector failed ({outbox.trouble})"
    if sealer.fault is not None:
        yield f"sealed questions are not answered ({sealer.fault})"
    if not believed:
        yield "the clock shows a time that cannot be; held until it has gone on for a day"
    if all(expired(question, now) for question in survey.questions.values()):
        yield "every question has expired"
