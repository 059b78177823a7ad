"""The bodies of requests: which reports share one, and the bytes it travels as.

What must never change: reports are sorted by name, so that their order tells nothing; the same
reports give the same bytes on every machine; and a body has one of a few sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from deniable.protocol.derivation import pseudonym
from deniable.protocol.limits import BODY_SIZES, MAX_COMPRESSED, MAX_INFLATED, MAX_REPORTS
from deniable.protocol.question import canonical_json
from deniable.protocol.report import device_name, report_document, request_document

from .pending import Queued

_HEADER_BYTES = 10 + 2 + 4
"""Of gzip, with the length of its extra field and the header of the only thing in it."""

Group = tuple[str, str, int]
"""Period, and question and version of a report that travels alone: one pseudonym."""

Body = tuple[Sequence[Queued], bytes]
"""Reports, and the request that carries them."""


def grouped(reports: Iterable[Queued]) -> dict[Group, list[Queued]]:
    """Return reports by the pseudonym under which they travel."""
    groups: dict[Group, list[Queued]] = {}
    for report in reports:
        question, version = (report.question, report.version) if report.alone else ("", 0)
        groups.setdefault((report.period, question, version), []).append(report)
    return groups


def device_of(secret: bytes, survey: str, group: Group) -> str:
    """Return the pseudonym of a group, in its wire form."""
    period, question, version = group
    alone = (question, version) if question else None
    return device_name(pseudonym(secret, survey, period, alone))


def bodies(survey: str, period: str, device: str, reports: Sequence[Queued]) -> Iterator[Body]:
    """Yield as few bodies as segments and the limits of a request allow."""
    ordered = sorted(reports, key=lambda report: (report.question, report.version))
    for segment in sorted({report.segment or "" for report in ordered}):
        shared = [report for report in ordered if (report.segment or "") == segment]
        envelope = (survey, period, segment or None, device)
        yield from _split(envelope, shared)


def _split(envelope: tuple[str, str, str | None, str], reports: Sequence[Queued]) -> Iterator[Body]:
    """Yield one body, or those of each half if it would be too large."""
    documents = [report_document(r.question, r.version, r.hash, r.response) for r in reports]
    text = canonical_json(request_document(*envelope, documents)).encode()
    body = compress(text)
    fits = len(reports) <= MAX_REPORTS and len(text) <= MAX_INFLATED and len(body) <= MAX_COMPRESSED
    if fits or len(reports) == 1:
        yield reports, body
        return
    middle = len(reports) // 2
    yield from _split(envelope, reports[:middle])
    yield from _split(envelope, reports[middle:])


def compress(text: bytes) -> bytes:
    """Return gzip of one of a few sizes, so that its length tells next to nothing.

    A field of the header that no reader looks into fills it up. The header names neither the time
    nor the operating system. What exceeds the largest size is left as long as it is.
    """
    import gzip

    body = gzip.compress(text, mtime=0)[10:]
    room = next((size for size in BODY_SIZES if size >= len(body) + _HEADER_BYTES), 0)
    filler = bytes(max(0, room - len(body) - _HEADER_BYTES))
    extra = b"pd" + len(filler).to_bytes(2, "little") + filler
    header = b"\x1f\x8b\x08\x04" + bytes(4) + b"\x02\xff"
    return header + len(extra).to_bytes(2, "little") + extra + body
