"""The database brought to this release's schema."""

from pathlib import Path

import psycopg
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from docmill.service.store.faults import translated

_LOCK = 0x646F636D696C6C  # "docmill"


def migrate(database_url: str) -> None:
    """Apply the revisions that are missing. Any number of processes may call this at once.

    Raises MisconfiguredError if the database refuses us, ServerError if it cannot be reached or is too busy
    to be changed now.
    """
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(database_url), poolclass=NullPool
    )
    with translated(), psycopg.connect(database_url, autocommit=True) as guard:
        guard.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
        with engine.connect() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
