"""Results in a table of PostgreSQL."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from docmill.errors import MisconfiguredError, ServerError
from docmill.model.document import Document
from docmill.runs.components.columns import Column, columns_of, raw_value, value_of
from docmill.runs.components.config import ComponentConfig
from docmill.runs.components.libraries import required
from docmill.runs.components.records import Record, record_of
from docmill.runs.context import Context
from docmill.runs.roles import ExtractionResult

if TYPE_CHECKING:
    import psycopg
    from psycopg import sql
    from pydantic import BaseModel

_OWN: tuple[tuple[str, str], ...] = (
    ("key", "text NOT NULL"),
    ("source", "text NOT NULL"),
    ("run_id", "text NOT NULL"),
    ("content_hash", "text"),
    ("status", "text"),
    ("document_type", "text"),
    ("record", "jsonb"),
)
_OWN_NAMES = frozenset(name for name, _ in _OWN)
_TYPES = {
    "decimal": "numeric",
    "integer": "bigint",
    "float": "double precision",
    "boolean": "boolean",
    "date": "date",
    "datetime": "timestamptz",
    "text": "text",
    "time": "text",
}
_LONGEST_NAME_BYTES = 63


class PostgresExporterConfig(ComponentConfig):
    """url: of the database. table: its name; created from the schema unless it exists. limit_s: of a call."""

    url: str
    table: str = "extractions"
    schema_name: str = "public"
    limit_s: float = 30.0


class PostgresExporter:
    """`Exporter` into a table of PostgreSQL, with a column for each value of the schema.

    Rows are collected, and written together by `flush` with `ON CONFLICT (key, source) DO UPDATE`, so that a
    result is there once however often it is exported. Lists are `jsonb`; the column `record` has everything
    that is known of the document. Columns that the table lacks are added; other columns of a table that was
    there before are left alone. Needs the extra `docmill[postgres]`.
    """

    def __init__(self, config: PostgresExporterConfig | str) -> None:
        self.config = (
            config if isinstance(config, PostgresExporterConfig) else PostgresExporterConfig(url=config)
        )
        self._connection: psycopg.AsyncConnection | None = None
        self._waiting: list[tuple[tuple[Column, ...], list[Any], str | None]] = []
        self._known: dict[type[BaseModel], tuple[Column, ...]] = {}
        self._turns = asyncio.Lock()

    async def open(self, context: Context[Any]) -> None:
        """Connect to the database. Raises MisconfiguredError without rights, ServerError if it is down."""
        del context
        self._known.clear()
        self._waiting.clear()
        self._turns = asyncio.Lock()
        async with self._translated():
            await self._connected()

    async def export(self, document: Document, data: ExtractionResult[Any], context: Context[Any]) -> None:
        """See `Exporter.export`."""
        current = context.document
        schema: type[BaseModel] = type(cast("BaseModel", data.data))
        columns = self._known.get(schema)
        if columns is None:
            columns = columns_of(schema)
            _check_names(columns)
            async with self._turns, self._translated():  # several documents come at once
                if schema not in self._known:
                    await self._create(columns)
            self._known[schema] = columns
        record = record_of(document, data, current)
        row = [current.key, current.ref.key, context.run_id]
        row += [record["content_hash"], record["status"], record["document_type"], _jsonb(record)]
        row += [_value(record, column) for column in columns]
        self._waiting.append((columns, row, current.ref.key if current.is_changed else None))

    async def flush(self) -> None:
        """Write the collected rows in one transaction. Raises ServerError if the database is down."""
        if not self._waiting:
            return
        async with self._turns, self._translated():
            waiting = list(self._waiting)
            connection = await self._connected()
            async with connection.transaction():
                for columns in dict.fromkeys(columns for columns, _, _ in waiting):
                    rows = [row for of, row, _ in waiting if of == columns]
                    async with connection.cursor() as cursor:
                        await cursor.executemany(self._upsert(columns), rows)
                outdated = [(row[2], source, row[0]) for _, row, source in waiting if source is not None]
                if outdated:
                    async with connection.cursor() as cursor:
                        await cursor.executemany(self._delete(), outdated)
            del self._waiting[: len(waiting)]

    async def close(self) -> None:
        """Leave the database."""
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def _connected(self) -> "psycopg.AsyncConnection":
        psycopg: Any = required("psycopg", "postgres")
        if self._connection is None or self._connection.closed:
            self._connection = await psycopg.AsyncConnection.connect(
                self.config.url,
                autocommit=True,
                connect_timeout=max(2, round(self.config.limit_s)),
                options=f"-c statement_timeout={round(self.config.limit_s * 1000)}",
            )
        assert self._connection is not None
        return self._connection

    @property
    def _table(self) -> "sql.Identifier":
        sql: Any = required("psycopg.sql", "postgres")
        return sql.Identifier(self.config.schema_name, self.config.table)

    async def _create(self, columns: tuple[Column, ...]) -> None:
        """Create the table, or the columns that it lacks."""
        sql: Any = required("psycopg.sql", "postgres")
        connection = await self._connected()
        own = [sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind)) for name, kind in _OWN]
        async with connection.transaction():
            # Two runners at once would both find no table.
            await connection.execute(
                "SELECT pg_advisory_xact_lock(hashtext(%s))", [f"docmill {self.config.table}"]
            )
            await connection.execute(
                sql.SQL("CREATE TABLE IF NOT EXISTS {} ({}, PRIMARY KEY (key, source))").format(
                    self._table, sql.SQL(", ").join(own)
                )
            )
            for name, kind in [(name, kind.partition(" ")[0]) for name, kind in _OWN] + [
                (_name(column), _type(column)) for column in columns
            ]:
                await connection.execute(
                    sql.SQL("ALTER TABLE {} ADD COLUMN IF NOT EXISTS {} {}").format(
                        self._table, sql.Identifier(name), sql.SQL(kind)
                    )
                )

    def _upsert(self, columns: tuple[Column, ...]) -> Any:  # noqa: ANN401  a composed statement
        sql: Any = required("psycopg.sql", "postgres")
        names = [name for name, _ in _OWN] + [_name(column) for column in columns]
        settings = [
            sql.SQL("{0} = EXCLUDED.{0}").format(sql.Identifier(name))
            for name in names
            if name not in ("key", "source")
        ]
        return sql.SQL("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT (key, source) DO UPDATE SET {}").format(
            self._table,
            sql.SQL(", ").join(map(sql.Identifier, names)),
            sql.SQL(", ").join([sql.Placeholder()] * len(names)),
            sql.SQL(", ").join(settings),
        )

    def _delete(self) -> Any:  # noqa: ANN401  a composed statement
        sql: Any = required("psycopg.sql", "postgres")
        return sql.SQL("DELETE FROM {} WHERE run_id = %s AND source = %s AND key <> %s").format(self._table)

    @asynccontextmanager
    async def _translated(self) -> AsyncGenerator[None]:
        psycopg: Any = required("psycopg", "postgres")
        try:
            yield
        except (psycopg.errors.InsufficientPrivilege, psycopg.ProgrammingError, psycopg.DataError) as error:
            raise MisconfiguredError(
                f"the table {self.config.table!r} cannot be used: {_line(error)}"
            ) from error
        except psycopg.Error as error:
            raise ServerError(f"the database of the results fails: {_line(error)}") from error


def _name(column: Column) -> str:
    return f"data.{column.name}" if column.name in _OWN_NAMES else column.name


def _type(column: Column) -> str:
    return "jsonb" if column.is_list else _TYPES.get(column.kind, "jsonb")


def _value(record: Record, column: Column) -> Any:  # noqa: ANN401  as its kind has it
    value = value_of(record, column)
    if value is not None and _type(column) == "jsonb":
        return _jsonb(raw_value(record, column.steps))
    return _text(value) if isinstance(value, str) else value


def _jsonb(value: object) -> Any:  # noqa: ANN401  psycopg's wrapper
    json_types: Any = required("psycopg.types.json", "postgres")
    return json_types.Jsonb(value, dumps=_dumps)


def _dumps(value: object) -> str:
    # PostgreSQL takes neither null characters nor halves of surrogate pairs.
    return json.dumps(_cleaned(value), ensure_ascii=False)


def _cleaned(value: Any) -> Any:  # noqa: ANN401  any JSON
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {_text(key): _cleaned(member) for key, member in members.items()}
    if isinstance(value, list):
        return [_cleaned(item) for item in cast("list[Any]", value)]
    return value


def _text(text: str) -> str:
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def _check_names(columns: tuple[Column, ...]) -> None:
    for column in columns:
        if len(_name(column).encode()) > _LONGEST_NAME_BYTES:
            raise MisconfiguredError(
                f"{column.name!r} is too long for the name of a column; shorten the fields"
            )


def _line(error: Exception) -> str:
    return str(error).partition("\n")[0]
