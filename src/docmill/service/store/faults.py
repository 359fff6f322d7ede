"""Translates errors of PostgreSQL into docmill's."""

from collections.abc import Generator
from contextlib import contextmanager

import psycopg
import psycopg_pool
from psycopg import errors

from docmill.errors import DocmillError, ServerError, UnauthorizedError


@contextmanager
def translated() -> Generator[None]:
    """Errors of the database as `docmill.errors`; a fault in our own SQL stays what it is."""
    try:
        yield
    except (psycopg.Error, psycopg_pool.PoolTimeout, psycopg_pool.PoolClosed) as error:
        ours = _ours(error)
        if ours is None:
            raise
        raise ours from error


def _ours(error: Exception) -> DocmillError | None:
    match error:
        case errors.InvalidPassword() | errors.InvalidAuthorizationSpecification():
            return UnauthorizedError("the database refuses the user or password of database_url")
        case (
            psycopg.OperationalError()
            | psycopg.InterfaceError()
            | errors.IdleInTransactionSessionTimeout()
            | errors.ReadOnlySqlTransaction()  # this server has just become the standby of another
        ):
            return ServerError(
                f"the database cannot be used now ({type(error).__name__}); if it stays so, see whether it "
                "runs and whether database_url is right"
            )
        case _:
            return None
