"""The SQL that makes a database role of an analyst, who reads what was released."""

from __future__ import annotations

from importlib.resources import files

from deniable.protocol.errors import ParameterError

_MOST_BYTES = 63
"""PostgreSQL cuts longer names short, and the role would be another."""


def analyst_role_sql(name: str) -> str:
    """Return the SQL to run on a PostgreSQL store, as the owner of its tables.

    Parameters
    ----------
    name : str
        The role's name.

    Raises
    ------
    ParameterError
        If PostgreSQL takes no such name.
    """
    if not name or "\0" in name or name.startswith("pg_") or len(name.encode()) > _MOST_BYTES:
        raise ParameterError(
            f"role must be a name of at most {_MOST_BYTES} bytes that does not begin with pg_"
        )
    text = files(__package__).joinpath("analyst_role.sql").read_text(encoding="utf-8")
    quoted = name.replace('"', '""')
    statements = text[text.index("BEGIN;") :]
    return statements.replace(':"role"', f'"{quoted}"')
