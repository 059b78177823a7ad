"""Tokens: who may read, and what each opens."""

from __future__ import annotations

from .contents import Contents
from .findings import Case, Findings, ok, warning


def tokens(case: Case, contents: Contents) -> Findings:
    """Each token opens one kind of door."""
    if not contents.tokens:
        fix = "deniable-collector token create NAME --store STORE"
        yield warning("tokens", "there is none, so nobody reads tallies over HTTP", fix)
        return
    wide = [name for name, token in contents.tokens.items() if len(token.scopes) > 1]
    listed = ", ".join(f"{n} ({' '.join(t.scopes)})" for n, t in contents.tokens.items())
    if wide:
        detail = f"{listed}; more than one scope: {', '.join(wide)}"
        fix = "give each user a token of the one scope it needs, and revoke the others"
        yield warning("tokens", detail, fix)
    else:
        yield ok("tokens", listed)
