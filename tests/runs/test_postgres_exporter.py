"""Results in PostgreSQL."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from pydantic import BaseModel
from tests.runs.exporters import BILL, ExporterContract, MakeExporter, Row, current_document, export

from docmill.errors import MisconfiguredError, ServerError
from docmill.runs.components.postgres import PostgresExporter, PostgresExporterConfig


class TestPostgresExporter(ExporterContract):
    @pytest.fixture
    def make(self, database_url: str) -> MakeExporter:
        self.url = database_url
        return lambda: PostgresExporter(self.url)

    def query(self, statement: str) -> list[Any]:
        with psycopg.connect(self.url) as connection:
            return connection.execute(statement.encode()).fetchall()

    def rows(self) -> Iterator[Row]:
        for source, key, total in self.query("SELECT source, key, total FROM extractions"):
            yield Row(source=source, key=key, data={"total": total})

    async def test_a_run_whose_flush_fails_exports_everything_once(self, make: MakeExporter) -> None:
        await export(make(), BILL, current_document("first"))  # so that the table has the column `total`
        with psycopg.connect(self.url) as connection:
            connection.execute("DELETE FROM extractions")
        await super().test_a_run_whose_flush_fails_exports_everything_once(make)

    async def test_columns_have_the_types_of_the_schema(self, make: MakeExporter) -> None:
        await export(make())
        (row,) = self.query(
            'SELECT "data.source", day::text, total, count, share, is_paid, "seller.name", lines, words,'
            " more, record->>'status', run_id FROM extractions"
        )
        assert row == (
            "=HYPERLINK(1)",
            "2024-05-06",
            Decimal("1234.50"),
            3,
            0.25,
            True,
            "Müller & Söhne",
            [{"text": "Bolts", "amount": "1.20"}, {"text": "-Nuts", "amount": None}],
            ["a", "b"],
            {"x": 1},
            "completed",
            "run",
        )

    async def test_what_postgresql_cannot_hold_is_left_out_of_texts(self, make: MakeExporter) -> None:
        bill = BILL.model_copy(update={"source": "a\0b\ud800", "words": ["\0\ud800"]})
        await export(make(), bill)
        ((text, words),) = self.query('SELECT "data.source", words FROM extractions')
        assert (text, words) == ("ab?", ["?"])

    async def test_a_table_that_is_there_keeps_its_columns_and_gets_those_of_the_schema(
        self, make: MakeExporter
    ) -> None:
        make()
        with psycopg.connect(self.url) as connection:
            connection.execute(
                "CREATE TABLE bills (key text, source text, note text DEFAULT 'mine', UNIQUE (key, source))"
            )
        await export(PostgresExporter(PostgresExporterConfig(url=self.url, table="bills")))
        assert self.query("SELECT note, total FROM bills") == [("mine", Decimal("1234.50"))]

    async def test_a_table_of_other_types_or_a_name_too_long_is_an_error(self, make: MakeExporter) -> None:
        class Long(BaseModel):
            a_name_of_more_than_sixty_three_letters_is_cut_off_by_postgresql_itself: str = ""

        with pytest.raises(MisconfiguredError, match="too long"):
            await export(make(), Long())
        with psycopg.connect(self.url) as connection:
            connection.execute("CREATE TABLE bills (total date)")
        with pytest.raises(MisconfiguredError, match="bills"):
            await export(PostgresExporter(PostgresExporterConfig(url=self.url, table="bills")))


async def test_a_database_that_is_down_may_come_back() -> None:
    with pytest.raises(ServerError):
        await export(PostgresExporter("postgresql://nobody@127.0.0.1:1/none"))
