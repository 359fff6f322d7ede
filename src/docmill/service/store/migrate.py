"""The database brought to this release's schema."""

import logging
from pathlib import Path

import psycopg
from psycopg.errors import UndefinedTable

from docmill.errors import MisconfiguredError
from docmill.service.store.database import translating_errors

log = logging.getLogger(__name__)

_VERSIONS = Path(__file__).parent / "migrations" / "versions"


def migrate(database_url: str) -> None:
    """Apply the revisions that are missing, if any are. Any number of processes may call this at once.

    Raises MisconfiguredError if the database refuses us or was written by a later release, ServerError if
    it cannot be reached or is too busy to be changed now.
    """
    newest = newest_revision()
    with translating_errors(), psycopg.connect(database_url, autocommit=True) as conn:
        try:
            row = conn.execute("SELECT version_num FROM alembic_version").fetchone()
        except UndefinedTable:
            row = None
    revision = row[0] if row else None
    if revision == newest:
        return
    if revision is not None and revision > newest:
        raise MisconfiguredError(
            f"the database has schema {revision}, this docmill knows {newest}:"
            " install the newer docmill again"
        )
    # Alembic and SQLAlchemy take half a second to load, which most starts can do without.
    from docmill.service.store.upgrade import upgrade  # noqa: PLC0415

    upgrade(database_url)
    log.info("the schema was brought to this release", extra={"revision": newest, "before": revision})


def newest_revision() -> str:
    """The number of the newest revision that this release knows."""
    return max(path.stem[1:5] for path in _VERSIONS.glob("r*.py"))
