"""Applying revisions with Alembic."""

from pathlib import Path

import psycopg
from alembic import command
from alembic.config import Config
from psycopg.errors import InsufficientPrivilege
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from docmill.errors import MisconfiguredError
from docmill.service.store.database import translating_errors

_LOCK = 0x646F636D696C6C  # "docmill"


def upgrade(database_url: str, revision: str = "head") -> None:
    """Apply the revisions that are missing up to `revision`. Any number of processes may call this at once.

    Raises MisconfiguredError if the database refuses us, ServerError if it cannot be reached or is too busy
    to be changed now.
    """
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    engine = create_engine(
        "postgresql+psycopg://",
        creator=lambda: psycopg.connect(database_url, prepare_threshold=None),
        poolclass=NullPool,
    )
    # A lock of the transaction: one of the session would stay behind in a pooler's connection for ever.
    with translating_errors(), psycopg.connect(database_url) as guard:
        guard.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        try:
            with engine.connect() as connection:
                config.attributes["connection"] = connection
                command.upgrade(config, revision)
        except DBAPIError as error:  # PostgreSQL's own error is raised instead of SQLAlchemy's
            if isinstance(error.orig, InsufficientPrivilege):
                message = f"the database user may not change the schema: {error.orig}"
                raise MisconfiguredError(message) from error
            raise error.orig or error from error
