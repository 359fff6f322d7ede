"""The tables of the state store in PostgreSQL."""

from typing import TypeAlias

import psycopg
from psycopg import errors, sql
from psycopg.rows import TupleRow

from docmill.errors import MisconfiguredError

Connection: TypeAlias = psycopg.Connection[TupleRow]

FORMAT = 1
"""Of the tables; a release that changes them brings them from each earlier one to its own."""

PAGE = 1000
"""Rows that are held in memory at a time."""
_TABLES = """
CREATE SCHEMA IF NOT EXISTS docmill_runs;

CREATE TABLE docmill_runs.format (
    number integer PRIMARY KEY
);

CREATE TABLE docmill_runs.pipeline_runs (
    run_id text COLLATE "C" PRIMARY KEY, started_at timestamptz NOT NULL, completed_at timestamptz,
    status text NOT NULL, fingerprint text NOT NULL, configuration json, listing integer NOT NULL DEFAULT 0
);

-- key: of the path, whose length an index limits. id: in the order in which they were listed.
CREATE TABLE docmill_runs.document_states (
    id bigint GENERATED ALWAYS AS IDENTITY,
    run_id text COLLATE "C" NOT NULL REFERENCES docmill_runs.pipeline_runs ON DELETE CASCADE,
    key bytea NOT NULL, path text NOT NULL, name text NOT NULL, status text NOT NULL DEFAULT 'pending',
    content_hash text, error text, attempts integer NOT NULL DEFAULT 0, last_attempt timestamptz,
    completed_at timestamptz, metadata json, version text NOT NULL,
    is_uncertain boolean NOT NULL DEFAULT false, done_as text, timings_s json,
    tokens bigint NOT NULL DEFAULT 0, cost numeric NOT NULL DEFAULT 0, listing integer NOT NULL,
    owner text, lease_ends timestamptz, due timestamptz NOT NULL DEFAULT 'epoch',
    PRIMARY KEY (run_id, id), UNIQUE (run_id, key)
);
CREATE INDEX document_states_waiting ON docmill_runs.document_states (run_id, due, id)
    WHERE status = 'pending';
CREATE INDEX document_states_claimed ON docmill_runs.document_states (run_id, lease_ends)
    WHERE status = 'in_progress';
CREATE INDEX document_states_failed ON docmill_runs.document_states (run_id, id) WHERE status = 'failed';

CREATE TABLE docmill_runs.stage_results (
    run_id text COLLATE "C" NOT NULL, id bigint NOT NULL, stage text COLLATE "C" NOT NULL,
    content bytea NOT NULL, PRIMARY KEY (run_id, id, stage),
    FOREIGN KEY (run_id, id) REFERENCES docmill_runs.document_states ON DELETE CASCADE
);

-- number: in the order in which they failed.
CREATE TABLE docmill_runs.dead_letters (
    number bigint GENERATED ALWAYS AS IDENTITY, run_id text COLLATE "C" NOT NULL, id bigint NOT NULL,
    stage text NOT NULL, error_type text NOT NULL, code text NOT NULL, message text NOT NULL,
    traceback text NOT NULL, attempts integer NOT NULL, failed_at timestamptz NOT NULL, metadata json,
    PRIMARY KEY (run_id, id), UNIQUE (run_id, number),
    FOREIGN KEY (run_id, id) REFERENCES docmill_runs.document_states ON DELETE CASCADE
);

-- The last transaction of each client, which tells whether it was committed if the answer got lost.
CREATE TABLE docmill_runs.transactions (
    token uuid PRIMARY KEY, is_void boolean NOT NULL DEFAULT false,
    begun_at timestamptz NOT NULL DEFAULT now()
);
"""


def prepare(conn: Connection) -> None:
    """Create the tables unless they are there. Raises MisconfiguredError if they cannot be used."""
    encoding = conn.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise MisconfiguredError(
            f"the database has the encoding {encoding}, which not all texts have; use one with UTF8"
        )
    try:
        with conn.transaction():
            if not _exist(conn):
                _create(conn)
    except errors.InsufficientPrivilege as error:
        raise MisconfiguredError(_creation_refused(conn)) from error
    except errors.DuplicateTable as error:
        raise MisconfiguredError(
            "the schema docmill_runs has tables that docmill has not made; use another database"
        ) from error
    try:
        with conn.transaction():
            row = conn.execute("SELECT max(number) FROM docmill_runs.format").fetchone()
            conn.execute("DELETE FROM docmill_runs.transactions WHERE begun_at < now() - interval '1 day'")
    except errors.InsufficientPrivilege as error:
        raise MisconfiguredError(use_refused(conn)) from error
    if row is None or row[0] != FORMAT:
        raise MisconfiguredError(
            "the tables of the schema docmill_runs are those of a later release; update docmill"
        )


def use_refused(conn: Connection) -> str:
    """What to do if the user may not use the tables."""
    user, user_name = conn.info.user, sql.Identifier(conn.info.user).as_string()
    return (
        f"the database user {user!r} may not use the states of runs; let the owner of the schema run: "
        f"GRANT USAGE ON SCHEMA docmill_runs TO {user_name}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL "
        f"TABLES IN SCHEMA docmill_runs TO {user_name}"
    )


def _exist(conn: Connection) -> bool:
    """Whether the tables are there. Everybody may ask this, unlike for what is in them."""
    row = conn.execute(
        """
        SELECT EXISTS (SELECT FROM pg_catalog.pg_class AS c
                         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
                        WHERE n.nspname = 'docmill_runs' AND c.relname = 'format')
        """
    ).fetchone()
    return row is not None and bool(row[0])


def _create(conn: Connection) -> None:
    # Of two runners that start at once, the second waits for the tables of the first.
    conn.execute("SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('docmill_runs', 0))")
    if not _exist(conn):
        conn.execute(_TABLES)
        conn.execute("INSERT INTO docmill_runs.format (number) VALUES (%s)", [FORMAT])


def _creation_refused(conn: Connection) -> str:
    user, database = conn.info.user, conn.info.dbname
    user_name, database_name = (sql.Identifier(name).as_string() for name in (user, database))
    return (
        f"the database user {user!r} may not create the schema docmill_runs; let the owner of the database "
        f"run: GRANT CREATE ON DATABASE {database_name} TO {user_name}; or, if the schema is there already: "
        f"GRANT CREATE, USAGE ON SCHEMA docmill_runs TO {user_name}"
    )
