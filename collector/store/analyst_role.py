"""The SQL that makes a database role of an analyst, who reads what was released, and no more."""

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
    quoted = name.replace('"', '""')
    return _statements("analyst_role.sql").replace(':"role"', f'"{quoted}"')


def hide_sizes_sql() -> str:
    """Return the SQL that keeps tables' sizes from all roles but the owner, for a superuser.

    Without it an analyst's role reads from PostgreSQL's statistics how many devices are in each
    open period.
    """
    return _statements("hide_sizes.sql")


def _statements(name: str) -> str:
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    return text[text.index("BEGIN;") :]
