"""Role as which sessions log in: it may become the roles that row-level security binds, and nothing else."""

import logging

import psycopg

from docmill.service.store.database import translating_errors

LOGIN_ROLE = "docmill_login"

UNBOUND = "database_url logs in as a superuser or with BYPASSRLS"
UNBOUND_REMEDY = "name a user without these rights there, and this one in database_owner_url alone"

log = logging.getLogger(__name__)


def create_login_role(owner_url: str) -> None:
    """Make the login role of the embedded server, unless it is as it should be. The schema must be there.

    It inherits nothing: a session that has taken no role sees no table. Any number of processes may call
    this at once. Raises ServerError if the database cannot be reached.
    """
    with translating_errors(), psycopg.connect(owner_url) as conn:
        if _may_log_in(conn):
            return
        conn.execute("SELECT pg_advisory_xact_lock(hashtextextended('docmill_login', 0))")
        if _may_log_in(conn):
            return
        conn.execute(
            """
            DO $$
            BEGIN
                IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'docmill_login') THEN
                    CREATE ROLE docmill_login;
                END IF;
            END
            $$
            """
        )
        conn.execute(
            "ALTER ROLE docmill_login"
            " LOGIN NOINHERIT NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOCREATEDB NOREPLICATION"
        )
        conn.execute("GRANT docmill_app, docmill_accounts TO docmill_login WITH INHERIT FALSE, SET TRUE")


def warn_of_superuser(url: str) -> None:
    """Warn if sessions log in as a role that row-level security does not bind.

    Raises UnauthorizedError, ServerError if the database cannot be used.
    """
    user = unbound_user(url)
    if user is not None:
        log.warning("%s: %s", UNBOUND, UNBOUND_REMEDY, extra={"database_user": user})


def unbound_user(url: str) -> str | None:
    """The user of an address if row-level security does not bind it; None if it does.

    Raises UnauthorizedError, ServerError if the database cannot be used.
    """
    with translating_errors(), psycopg.connect(url, autocommit=True, connect_timeout=10) as conn:
        row = conn.execute(
            """
            SELECT rolname::text FROM pg_roles
             WHERE rolname = session_user AND (rolsuper OR rolbypassrls)
            """
        ).fetchone()
    return None if row is None else row[0]


def _may_log_in(conn: psycopg.Connection[tuple[bool]]) -> bool:
    row = conn.execute(
        """
        SELECT EXISTS (
            SELECT FROM pg_roles
             WHERE rolname = 'docmill_login' AND rolcanlogin AND NOT rolinherit
               AND pg_has_role(oid, 'docmill_app', 'SET') AND pg_has_role(oid, 'docmill_accounts', 'SET')
        )
        """
    ).fetchone()
    return row is not None and row[0]
