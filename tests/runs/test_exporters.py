"""Ready exporters on the disk."""

import csv
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from tests.runs.exporters import (
    BILL,
    Bill,
    ExporterContract,
    MakeExporter,
    Row,
    current_document,
    export,
    export_and_be_killed,
)

from docmill.errors import MisconfiguredError, ValidationError
from docmill.runs.components.csv_file import CsvExporter, CsvExporterConfig
from docmill.runs.components.dataset import DatasetExporter
from docmill.runs.components.json_files import JsonFilesExporter
from docmill.runs.components.json_lines import JsonLinesExporter
from docmill.runs.components.parquet import PandasExporter, ParquetExporter, PolarsExporter


class TestJsonLinesExporter(ExporterContract):
    @pytest.fixture
    def make(self, tmp_path: Path) -> MakeExporter:
        self.path = tmp_path / "results.jsonl"
        return lambda: JsonLinesExporter(self.path)

    def rows(self) -> Iterator[Row]:
        return (Row.model_validate_json(line) for line in self.path.read_text().splitlines())

    async def test_what_a_killed_run_has_replaced_is_dropped_by_the_next_one(
        self, make: MakeExporter, tmp_path: Path
    ) -> None:
        await export_and_be_killed(make())
        await export(make(), BILL, current_document(key="k2"))

        assert self.written() == {("a.pdf", "k2")}
        assert not list(tmp_path.glob("*.open"))


class TestJsonFilesExporter(ExporterContract):
    @pytest.fixture
    def make(self, tmp_path: Path) -> MakeExporter:
        self.folder = tmp_path / "results"
        return lambda: JsonFilesExporter(self.folder)

    def rows(self) -> Iterator[Row]:
        names = [path.name for path in self.folder.iterdir()]
        assert len({name.casefold() for name in names}) == len(names)
        assert all(name.endswith(".json") for name in names)
        return (Row.model_validate_json((self.folder / name).read_text()) for name in names)

    async def test_names_fit_any_file_system(self, make: MakeExporter) -> None:
        sources = [f"{'ü' * 300}.pdf", "..", 'x/a:b?"<>|.pdf', "CON.txt", "\0\n.pdf"]
        await export(make(), BILL, *(current_document(source) for source in sources))
        assert {row.source for row in self.rows()} == set(sources)
        assert all(len(path.name.encode()) < 200 and "\n" not in path.name for path in self.folder.iterdir())


class TestCsvExporter(ExporterContract):
    @pytest.fixture
    def make(self, tmp_path: Path) -> MakeExporter:
        self.path = tmp_path / "results.csv"
        return lambda: CsvExporter(self.path)

    def cells(self) -> list[dict[str, str]]:
        with self.path.open(encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file, strict=True))

    def rows(self) -> Iterator[Row]:
        return (Row(source=row["source"], key=row["key"], data=dict(row)) for row in self.cells())

    async def test_values_stand_in_cells_and_no_text_is_a_formula(self, make: MakeExporter) -> None:
        await export(make())
        (row,) = self.cells()
        data = {name: row[name] for name in list(row)[5:]}
        assert data == {
            "data.source": "'=HYPERLINK(1)",
            "day": "2024-05-06",
            "total": "1234.50",
            "count": "3",
            "share": "0.25",
            "is_paid": "true",
            "seller.name": "Müller & Söhne",
            "lines": '[{"text": "Bolts", "amount": "1.20"}, {"text": "-Nuts", "amount": null}]',
            "words": '["a", "b"]',
            "more": '{"x": 1}',
        }

    async def test_each_item_of_a_list_may_have_a_row(self, make: MakeExporter) -> None:
        make()
        exporter = CsvExporter(CsvExporterConfig(path=self.path, items="lines"))
        await export(exporter)
        await export(exporter, Bill(), current_document("b.pdf"))
        assert [(row["source"], row["lines.text"], row["lines.amount"]) for row in self.cells()] == [
            ("a.pdf", "Bolts", "1.20"),
            ("a.pdf", "'-Nuts", ""),
            ("b.pdf", "", ""),
        ]

    async def test_rows_of_a_list_that_is_not_there_are_an_error(self, make: MakeExporter) -> None:
        make()
        with pytest.raises(MisconfiguredError, match="no list 'seller'; its lists are: lines, words"):
            await export(CsvExporter(CsvExporterConfig(path=self.path, items="seller")))

    async def test_schemas_share_a_table(self, make: MakeExporter) -> None:
        class Other(BaseModel):
            total: str
            extra: int

        exporter = make()
        await export(exporter)
        await export(exporter, Other(total="much", extra=1), current_document("b.pdf"))
        assert [(row["total"], row["extra"], row["day"]) for row in self.cells()] == [
            ("1234.50", "", "2024-05-06"),
            ("much", "1", ""),
        ]


class TestParquetExporter(ExporterContract):
    exporter: Any = ParquetExporter

    @pytest.fixture
    def make(self, tmp_path: Path) -> MakeExporter:
        self.path = tmp_path / "results.parquet"
        return lambda: self.exporter(self.path)

    def rows(self) -> Iterator[Row]:
        parquet = pytest.importorskip("pyarrow.parquet")
        for row in parquet.read_table(self.path).to_pylist():
            yield Row(source=row["source"], key=row["key"], data=row)

    async def test_columns_have_the_types_of_the_schema(self, make: MakeExporter) -> None:
        await export(make())
        (row,) = self.rows()
        expected = BILL.model_dump() | {"data.source": BILL.source, "seller.name": "Müller & Söhne"}
        expected |= {"more": '{"x": 1}', "source": "a.pdf"}
        del expected["seller"]
        assert {name: row.data[name] for name in expected} == expected
        parquet = pytest.importorskip("pyarrow.parquet")
        types = {field.name: str(field.type) for field in parquet.read_schema(self.path)}
        assert (types["day"], types["total"], types["count"]) == (
            "date32[day]",
            "decimal128(38, 12)",
            "int64",
        )
        assert types["lines"] == "list<element: struct<text: string, amount: decimal128(38, 12)>>"

    @pytest.mark.parametrize(
        "bill",
        [Bill(total=Decimal("1e30")), Bill(total=Decimal("0.1234567890123")), Bill(count=2**63)],
    )
    async def test_a_number_that_no_table_holds_exactly_is_an_error(
        self, make: MakeExporter, bill: Bill
    ) -> None:
        with pytest.raises(ValidationError):
            await export(make(), bill)


class TestPandasExporter(TestParquetExporter):
    exporter = PandasExporter

    async def test_results_are_a_frame_after_the_run(self, make: MakeExporter) -> None:
        exporter = make()
        assert isinstance(exporter, PandasExporter)
        with pytest.raises(MisconfiguredError, match="run the pipeline first"):
            exporter.frame()
        await export(exporter, BILL, current_document(), current_document("b.pdf"))
        frame: Any = exporter.frame()
        assert list(frame["source"]) == ["a.pdf", "b.pdf"]
        assert frame["total"].sum() == Decimal(2469)


class TestPolarsExporter(TestParquetExporter):
    exporter = PolarsExporter

    async def test_results_are_a_frame_after_the_run(self, make: MakeExporter) -> None:
        exporter = make()
        assert isinstance(exporter, PolarsExporter)
        await export(exporter, BILL, current_document(), current_document("b.pdf"))
        frame: Any = exporter.frame()
        assert frame["source"].to_list() == ["a.pdf", "b.pdf"]
        assert frame["total"].sum() == Decimal(2469)


class TestDatasetExporter(ExporterContract):
    @pytest.fixture
    def make(self, tmp_path: Path) -> MakeExporter:
        self.folder = tmp_path / "bills"
        return lambda: DatasetExporter(self.folder)

    def rows(self) -> Iterator[Row]:
        parquet = pytest.importorskip("pyarrow.parquet")
        (path,) = (self.folder / "data").iterdir()
        for row in parquet.read_table(path).to_pylist():
            yield Row(source=row["source"], key=row["key"], data=row)

    async def test_the_card_tells_loaders_features_and_files(self, make: MakeExporter) -> None:
        await export(make())
        _, front, text = (self.folder / "README.md").read_text("utf-8").split("---\n", 2)
        card = {line.partition(": ")[0]: json.loads(line.partition(": ")[2]) for line in front.splitlines()}
        assert card["configs"][0]["data_files"] == [{"split": "train", "path": "data/*.parquet"}]
        features = {feature["name"]: feature for feature in card["dataset_info"]["features"]}
        parquet = pytest.importorskip("pyarrow.parquet")
        schema = parquet.read_schema(next((self.folder / "data").iterdir()))
        assert list(features) == schema.names
        for name in ("day", "total", "count", "source"):
            assert features[name]["dtype"].removesuffix("32") == str(schema.field(name).type).removesuffix(
                "32[day]"
            )
        assert features["words"] == {"name": "words", "list": "string"}
        assert [member["name"] for member in features["lines"]["list"]] == ["text", "amount"]
        assert card["dataset_info"]["splits"][0]["num_examples"] == 1
        assert "# bills" in text
        assert len((self.folder / "metadata.jsonl").read_text().splitlines()) == 1


async def test_columns_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.csv.columns.json").write_text(json.dumps([{"name": 1}]))
    with pytest.raises(MisconfiguredError, match="cannot be read"):
        await export(CsvExporter(tmp_path / "x.csv"))
