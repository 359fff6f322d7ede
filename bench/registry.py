"""The list of benchmarks. What each measures, its goal and its newest figure stand in RESULTS.md."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

GROUPS = ("speed", "accuracy", "fit", "other")
MINUTES_IN_A_GROUP = 30
"""A group leaves out what takes longer."""
RESULTS = Path(__file__).with_name("RESULTS.md")


@dataclass(frozen=True)
class Benchmark:
    """A command of `python -m bench`. minutes: on two idle cores, about."""

    name: str
    module: str
    minutes: int
    data: bool = False
    """It needs the shared data beside the repository."""
    quiet: bool = False
    """It measures time, so that nothing else may run on the machine."""
    arguments: str = ""
    """The arguments that it cannot do without."""

    @property
    def group(self) -> str:
        """The name of its folder, if that holds several."""
        folder = self.module.split(".")[1]
        return folder if folder in GROUPS else "other"

    @property
    def left_out(self) -> str:
        """The reason why a group does not run it, or ""."""
        if self.arguments:
            return f"it needs {self.arguments}"
        if self.minutes > MINUTES_IN_A_GROUP:
            return f"it takes {self.minutes} minutes"
        return ""

    @property
    def needs(self) -> str:
        wanted = [f"{self.minutes} min"]
        if self.data:
            wanted.append("shared data")
        if self.quiet:
            wanted.append("a quiet machine")
        return ", ".join([*wanted, *filter(None, [self.arguments])])


@dataclass(frozen=True)
class Figure:
    """A row of the table in RESULTS.md."""

    measures: str
    goal: str
    newest: str
    measured: str
    page: str


BENCHMARKS = (
    Benchmark("worker_throughput", "bench.speed.worker_throughput", 4, quiet=True),
    Benchmark("in_flight", "bench.speed.in_flight", 1, quiet=True),
    Benchmark("idle", "bench.speed.idle", 2, quiet=True),
    Benchmark("startup", "bench.speed.startup", 1, quiet=True),
    Benchmark("smtp_intake", "bench.speed.smtp_intake", 2, quiet=True),
    Benchmark("protocol_simulation", "bench.speed.protocol_simulation", 1),
    Benchmark("run_ocr", "bench.speed.run_ocr", 8, data=True, quiet=True),
    Benchmark("reading_pdf", "bench.speed.reading_pdf", 5, data=True, quiet=True),
    Benchmark("fairness", "bench.speed.fairness", 1),
    Benchmark("tenant_children", "bench.speed.tenant_children", 2, quiet=True),
    Benchmark("source_fairness", "bench.speed.source_fairness", 1),
    Benchmark("memory_growth", "bench.speed.memory_growth", 10),
    Benchmark("hostile_files", "bench.speed.hostile_files", 90, data=True, quiet=True),
    Benchmark(
        "after_reading",
        "bench.speed.after_reading",
        2,
        data=True,
        quiet=True,
        arguments="--receipts FOLDER --orders FOLDER --invoices FOLDER",
    ),
    Benchmark("linking", "bench.speed.linking", 20, quiet=True),
    Benchmark("state_stores", "bench.speed.state_stores", 3, quiet=True),
    Benchmark("review_lookup", "bench.speed.review_lookup", 5, quiet=True),
    Benchmark("review_by_keyboard", "bench.speed.review_by_keyboard", 1),
    Benchmark("list_and_search", "bench.speed.list_and_search", 60, quiet=True),
    Benchmark("export", "bench.speed.export", 4, quiet=True),
    Benchmark("folder_sweep", "bench.speed.folder_sweep", 2, quiet=True),
    Benchmark("page_loads", "bench.speed.page_loads", 2, quiet=True),
    Benchmark("clients", "bench.speed.clients", 3, quiet=True),
    Benchmark("mail_intake", "bench.speed.mail_intake", 2, quiet=True),
    Benchmark("run_overhead", "bench.speed.run_overhead", 3, quiet=True),
    Benchmark("run_memory", "bench.speed.run_memory", 2),
    Benchmark("run_kills", "bench.speed.run_kills", 8),
    Benchmark("run_failures", "bench.speed.run_failures", 2, quiet=True),
    Benchmark("receipt_ocr", "bench.accuracy.receipt_ocr", 10, data=True),
    Benchmark("search_relevance", "bench.accuracy.search_relevance", 3, data=True),
    Benchmark("photo_reading", "bench.accuracy.photo_reading", 4, data=True),
    Benchmark(
        "receipts_model", "bench.accuracy.receipts_model", 15, data=True, arguments="--networks FOLDER"
    ),
    Benchmark("receipts_by_rule", "bench.accuracy.receipts_by_rule", 1, data=True),
    Benchmark("orders_by_rule", "bench.accuracy.orders_by_rule", 2, data=True),
    Benchmark("orders_own_schema", "bench.accuracy.orders_own_schema", 5, data=True),
    Benchmark(
        "learning_from_reviews",
        "bench.accuracy.learning_from_reviews",
        10,
        data=True,
        arguments="samples, or orders",
    ),
    Benchmark("learned_beliefs", "bench.accuracy.learned_beliefs", 20, data=True),
    Benchmark("einvoice_files", "bench.accuracy.einvoice_files", 3, data=True),
    Benchmark("type_papers", "bench.accuracy.type_papers", 1),
    Benchmark("classification", "bench.accuracy.classification", 20, data=True, arguments="--cache FOLDER"),
    Benchmark("contracts", "bench.accuracy.contracts", 1, data=True, arguments="out.jsonl"),
    Benchmark("evidence_places", "bench.accuracy.evidence_places", 5, data=True),
    Benchmark("born_digital_samples", "bench.accuracy.born_digital_samples", 1, arguments="FOLDER"),
    Benchmark("sellers_and_buyers", "bench.accuracy.sellers_and_buyers", 1),
    Benchmark("duplicate_files", "bench.accuracy.duplicate_files", 10, arguments="FOLDER"),
    Benchmark("document_links", "bench.accuracy.document_links", 10),
    Benchmark("document_boundaries", "bench.accuracy.document_boundaries", 3, data=True),
    Benchmark("line_items", "bench.accuracy.line_items", 1, data=True),
    Benchmark("table_rows", "bench.accuracy.table_rows", 1, data=True),
    Benchmark(
        "run_records", "bench.accuracy.run_records", 1, data=True, arguments="sroie or adbuy, out.jsonl"
    ),
    Benchmark(
        "trust", "bench.accuracy.trust", 1, data=True, arguments="photos, receipts or orders, out.jsonl"
    ),
    Benchmark("release_figures", "bench.accuracy.release_figures", 1),
    Benchmark("ceilings", "bench.accuracy.ceilings", 1, data=True, arguments="FILE of kept readings"),
    Benchmark("gate_checks", "bench.accuracy.gate_checks", 2, data=True, arguments="KEPT"),
    Benchmark("undeclared_encodings", "bench.accuracy.undeclared_encodings", 1),
    Benchmark("reader_libraries", "bench.accuracy.reader_libraries", 2, data=True),
    Benchmark("field_scorer", "bench.fit.field_scorer", 6, data=True, arguments="--orders FOLDER"),
    Benchmark(
        "fitted_belief",
        "bench.fit.fitted_belief",
        3,
        data=True,
        arguments="--golden, --orders and --pictures FOLDER",
    ),
    Benchmark(
        "receipt_beliefs",
        "bench.fit.receipt_beliefs",
        30,
        data=True,
        arguments="--networks, --world and --keep FOLDER",
    ),
    Benchmark("fitted_links", "bench.fit.fitted_links", 8, data=True),
    Benchmark("page_quality", "bench.fit.page_quality", 1, data=True, arguments="FOLDER"),
    Benchmark("looks_at_digits", "bench.fit.looks_at_digits", 5, data=True),
    Benchmark("character_sequences", "bench.fit.character_sequences", 1, data=True),
    Benchmark("cluster", "bench.cluster", 5),
    Benchmark("golden", "bench.golden", 60, data=True, arguments="record or compare, FOLDER"),
)
BY_NAME = {benchmark.name: benchmark for benchmark in BENCHMARKS}


@cache
def newest_figures() -> dict[str, Figure]:
    """Read the table of RESULTS.md: its row by benchmark."""
    figures: dict[str, Figure] = {}
    for line in RESULTS.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and cells[0].strip("`") in BY_NAME:
            figures[cells[0].strip("`")] = Figure(*cells[1:])
    return figures
