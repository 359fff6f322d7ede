"""Transactions on PostgreSQL that take place once each, also when the connection is lost."""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar
from uuid import UUID, uuid4

import psycopg
from psycopg import errors, sql
from psycopg.abc import ConnDict
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from docmill.errors import MisconfiguredError, ServerError, UnknownRunError
from docmill.runs.stores.postgres_tables import Connection, prepare, use_refused

log = logging.getLogger(__name__)

_Value = TypeVar("_Value")

PATIENCE_S = 30.0
"""A server that was there is waited for, while it starts again or another takes its place."""
_RECONNECT_S = 0.2
_ATTEMPTS = 4
_DEFAULTS: ConnDict = {
    "application_name": "docmill",
    "client_encoding": "utf8",
    "connect_timeout": 10,
    "keepalives_idle": 20,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "target_session_attrs": "read-write",
}
# Of each transaction, because a pooler keeps no settings of a session.
_BEGIN = sql.SQL(
    """
    BEGIN ISOLATION LEVEL READ COMMITTED;
    SET LOCAL synchronous_commit = on;
    SET LOCAL lock_timeout = '30s';
    SET LOCAL statement_timeout = '10min';
    SET LOCAL idle_in_transaction_session_timeout = '1min';
    """
)
_MARK = sql.SQL(
    """
    DELETE FROM docmill_runs.transactions WHERE token = {last};
    INSERT INTO docmill_runs.transactions (token) VALUES ({token});
    """
)


class PostgresTransactions:
    """Runs one transaction after the other, on a connection that is made anew when it is lost.

    A transaction that was lost before its commit is repeated. If the connection breaks during the commit,
    the database is asked whether it took place: each transaction that writes adds a token of its own.
    url: may have a password, which no message shows. Raises MisconfiguredError for a malformed one.
    """

    def __init__(self, url: str) -> None:
        try:
            given = conninfo_to_dict(url)
        except psycopg.ProgrammingError:  # its message may quote the password
            raise MisconfiguredError(
                "the address of the state store is malformed; it is postgresql://USER@HOST:PORT/DATABASE, "
                "with special characters of the password as %XX"
            ) from None
        host = given.get("host") or given.get("hostaddr") or given.get("service") or "this machine"
        self._place = f"the state store in PostgreSQL on {host!r}"
        self._conninfo = make_conninfo("", **(_DEFAULTS | given))
        self._connection: Connection | None = None
        self._last: UUID | None = None
        self._has_connected = False

    def run(self, work: Callable[..., _Value], args: tuple[object, ...], *, writes: bool) -> _Value:
        """The result of `work`, which is called with a connection in a transaction, and may be called again.

        Raises ServerError if the database cannot be reached, MisconfiguredError if it cannot be used.
        """
        try:
            for _ in range(_ATTEMPTS - 1):
                conn = self._connected()
                try:
                    return self._attempt(conn, work, args, writes=writes)
                except (errors.DeadlockDetected, errors.SerializationFailure):
                    continue
                except psycopg.Error as error:
                    if not _is_lost(conn, error):
                        raise
                    log.warning("the state store was lost; tried again", extra={"type": type(error).__name__})
                    conn.close()
            return self._attempt(self._connected(), work, args, writes=writes)
        except psycopg.Error as error:
            raise self._translate(error) from error

    def close(self) -> None:
        """Leave the database."""
        if self._connection is None:
            return
        with suppress(psycopg.Error):
            self._connection.execute("DELETE FROM docmill_runs.transactions WHERE token = %s", [self._last])
        self._connection.close()
        self._connection = self._last = None

    def _attempt(
        self, conn: Connection, work: Callable[..., _Value], args: tuple[object, ...], *, writes: bool
    ) -> _Value:
        token = uuid4() if writes else None
        begin = _BEGIN if token is None else _BEGIN + _MARK.format(last=self._last, token=token)
        try:
            conn.execute(begin)
            result = work(conn, *args)
        except BaseException:
            with suppress(psycopg.Error):  # a connection that is lost rolls back by itself
                conn.execute("ROLLBACK")
            raise
        try:
            conn.execute("COMMIT")
        except psycopg.Error as error:
            if token is None or not _is_lost(conn, error):
                raise
            conn.close()
            if not self._has_committed(token):
                raise
        self._last = token or self._last
        return result

    def _has_committed(self, token: UUID) -> bool:
        """Whether the transaction of this token was committed; from now on it cannot be any more.

        Waits until it has come to its end. Raises ServerError if that cannot be found out.
        """
        with suppress(psycopg.Error):
            for _ in range(_ATTEMPTS):
                conn = self._connected()
                try:
                    return _is_committed(conn, token)
                except psycopg.Error as error:
                    if not _is_lost(conn, error):
                        raise
                    conn.close()
        raise ServerError(f"{self._place} was lost while it kept a change, which may have been kept")

    def _connected(self) -> Connection:
        if self._connection is not None and not self._connection.closed:
            return self._connection
        deadline = time.monotonic() + (PATIENCE_S if self._has_connected else 0)
        while True:
            try:
                self._connection = self._connect()
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_RECONNECT_S)
            else:
                self._has_connected = True
                return self._connection

    def _connect(self) -> Connection:
        # A pooler may give the next transaction another connection, which knows no prepared statements.
        conn = psycopg.connect(self._conninfo, autocommit=True, prepare_threshold=None)
        try:
            prepare(conn)
        except BaseException:
            conn.close()
            raise
        return conn

    def _translate(self, error: psycopg.Error) -> Exception:
        """The error in a person's words. One that is a fault in our own SQL stays as it is."""
        match error:
            case errors.InsufficientPrivilege() if self._connection is not None:
                return MisconfiguredError(use_refused(self._connection))
            case errors.UndefinedTable() | errors.UndefinedColumn() | errors.InvalidSchemaName():
                return MisconfiguredError(
                    "the tables of the schema docmill_runs are not those of this release; restore them, or "
                    "drop the schema"
                )
            case errors.ForeignKeyViolation():
                return UnknownRunError("the run was removed meanwhile")
            case psycopg.OperationalError() | psycopg.InterfaceError() | errors.ReadOnlySqlTransaction():
                return ServerError(f"{self._place} cannot be used now: {_first_line(error)}")
            case _:
                return error


def _is_committed(conn: Connection, token: UUID) -> bool:
    with conn.transaction():
        conn.execute("SET LOCAL lock_timeout = '30s'")
        row = conn.execute(
            """
            INSERT INTO docmill_runs.transactions AS mine (token, is_void) VALUES (%s, true)
                ON CONFLICT (token) DO UPDATE SET is_void = mine.is_void
            RETURNING is_void
            """,
            [token],
        ).fetchone()
    assert row is not None
    return not row[0]


def _is_lost(conn: Connection, error: psycopg.Error) -> bool:
    """Whether the connection is of no use any more: broken, ended by the server, or to a standby."""
    is_fatal = error.diag.severity_nonlocalized in ("FATAL", "PANIC")
    return conn.closed or is_fatal or isinstance(error, errors.ReadOnlySqlTransaction)


def _first_line(error: Any) -> str:  # noqa: ANN401  any error
    return str(error).partition("\n")[0]
