"""Write docs/openapi.json, the description that a collector serves; `make docs` runs it.

tests/test_docs.py fails while the file is out of date.
"""

from __future__ import annotations

from pathlib import Path

from deniable.collector.openapi import description_text

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "openapi.json"


def main() -> None:
    text = description_text()
    current = PAGE.exists() and PAGE.read_bytes() == text
    PAGE.write_bytes(text)
    print(f"{PAGE.relative_to(ROOT)}: {'already current' if current else 'written anew'}")


if __name__ == "__main__":
    main()
