"""Documents in, trusted typed data out. The public names; each is loaded when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docmill.api.many_files import ProcessedFile, aprocess_many, process_many
    from docmill.api.match_documents import match
    from docmill.api.one_file import aextract, aprocess_file, extract, process_file
    from docmill.errors import DocmillError, DocumentError, SetupError, TransientError
    from docmill.matching.outcome import Discrepancy, Link, Matching, Reason
    from docmill.model.document import Box, Cell, Document, Page, Table, Usage, Words
    from docmill.model.result import (
        Classification,
        Evidence,
        Extraction,
        Failure,
        Result,
        Schema,
        Suggestion,
        Verdict,
    )
    from docmill.pipeline import DocumentIO, Steps, TimeLimits, process
    from docmill.ports import Original, Ref
    from docmill.presentation.file_result import Extracted, FileResult
    from docmill.runs.components.blobs import BlobLister, BlobReader
    from docmill.runs.components.csv_file import CsvExporter
    from docmill.runs.components.dataset import DatasetExporter
    from docmill.runs.components.glob import GlobLister
    from docmill.runs.components.http import HttpReader
    from docmill.runs.components.json_files import JsonFilesExporter
    from docmill.runs.components.json_lines import JsonLinesExporter
    from docmill.runs.components.local import LocalLister, LocalReader
    from docmill.runs.components.manifest import ManifestLister
    from docmill.runs.components.parquet import PandasExporter, ParquetExporter, PolarsExporter
    from docmill.runs.components.postgres import PostgresExporter
    from docmill.runs.components.standard import StandardClassifier, StandardConverter, StandardExtractor
    from docmill.runs.config.evaluation_loading import load_evaluation
    from docmill.runs.config.loading import dump_pipeline, load_pipeline
    from docmill.runs.config.registry import register
    from docmill.runs.context import Context
    from docmill.runs.definition import Kind
    from docmill.runs.distributed.ray_engine import RayEngine
    from docmill.runs.document_bytes import DocumentBytes
    from docmill.runs.evaluation.evaluating import Evaluation, aevaluate, evaluate
    from docmill.runs.evaluation.evaluation_exporters import HtmlEvaluationExporter, JsonEvaluationExporter
    from docmill.runs.evaluation.evaluation_report import EvaluationReport
    from docmill.runs.evaluation.evaluators import (
        ExactEvaluator,
        FieldEvaluator,
        FunctionEvaluator,
        NumericEvaluator,
        SimilarityEvaluator,
    )
    from docmill.runs.evaluation.example_loaders import FolderExampleLoader, ManifestExampleLoader
    from docmill.runs.policy import RunPolicy
    from docmill.runs.report import RunReport
    from docmill.runs.roles import Example, ExtractionResult, Score
    from docmill.runs.running import Pipeline
    from docmill.runs.stores.opening import open_store
    from docmill.wiring import reading_pool, steps_for

_HOME = {
    "docmill.errors": ("DocmillError", "DocumentError", "SetupError", "TransientError"),
    "docmill.api.one_file": ("aextract", "aprocess_file", "extract", "process_file"),
    "docmill.api.many_files": ("ProcessedFile", "aprocess_many", "process_many"),
    "docmill.api.match_documents": ("match",),
    "docmill.presentation.file_result": ("Extracted", "FileResult"),
    "docmill.model.document": ("Box", "Cell", "Document", "Page", "Table", "Usage", "Words"),
    "docmill.model.result": (
        "Classification",
        "Evidence",
        "Extraction",
        "Failure",
        "Result",
        "Schema",
        "Suggestion",
        "Verdict",
    ),
    "docmill.matching.outcome": ("Discrepancy", "Link", "Matching", "Reason"),
    "docmill.wiring": ("reading_pool", "steps_for"),
    "docmill.pipeline": ("DocumentIO", "Steps", "TimeLimits", "process"),
    "docmill.ports": ("Original", "Ref"),
    "docmill.runs.components.blobs": ("BlobLister", "BlobReader"),
    "docmill.runs.components.csv_file": ("CsvExporter",),
    "docmill.runs.components.dataset": ("DatasetExporter",),
    "docmill.runs.components.glob": ("GlobLister",),
    "docmill.runs.components.http": ("HttpReader",),
    "docmill.runs.components.json_files": ("JsonFilesExporter",),
    "docmill.runs.components.json_lines": ("JsonLinesExporter",),
    "docmill.runs.components.local": ("LocalLister", "LocalReader"),
    "docmill.runs.components.manifest": ("ManifestLister",),
    "docmill.runs.components.parquet": ("PandasExporter", "ParquetExporter", "PolarsExporter"),
    "docmill.runs.components.postgres": ("PostgresExporter",),
    "docmill.runs.components.standard": ("StandardClassifier", "StandardConverter", "StandardExtractor"),
    "docmill.runs.config.loading": ("dump_pipeline", "load_pipeline"),
    "docmill.runs.config.registry": ("register",),
    "docmill.runs.context": ("Context",),
    "docmill.runs.definition": ("Kind",),
    "docmill.runs.distributed.ray_engine": ("RayEngine",),
    "docmill.runs.document_bytes": ("DocumentBytes",),
    "docmill.runs.config.evaluation_loading": ("load_evaluation",),
    "docmill.runs.evaluation.evaluating": ("Evaluation", "aevaluate", "evaluate"),
    "docmill.runs.evaluation.evaluation_exporters": ("HtmlEvaluationExporter", "JsonEvaluationExporter"),
    "docmill.runs.evaluation.evaluation_report": ("EvaluationReport",),
    "docmill.runs.evaluation.evaluators": (
        "ExactEvaluator",
        "FieldEvaluator",
        "FunctionEvaluator",
        "NumericEvaluator",
        "SimilarityEvaluator",
    ),
    "docmill.runs.evaluation.example_loaders": ("FolderExampleLoader", "ManifestExampleLoader"),
    "docmill.runs.policy": ("RunPolicy",),
    "docmill.runs.report": ("RunReport",),
    "docmill.runs.roles": ("Example", "ExtractionResult", "Score"),
    "docmill.runs.running": ("Pipeline",),
    "docmill.runs.stores.opening": ("open_store",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "BlobLister",
    "BlobReader",
    "Box",
    "Cell",
    "Classification",
    "Context",
    "CsvExporter",
    "DatasetExporter",
    "Discrepancy",
    "DocmillError",
    "Document",
    "DocumentBytes",
    "DocumentError",
    "DocumentIO",
    "Evaluation",
    "EvaluationReport",
    "Evidence",
    "ExactEvaluator",
    "Example",
    "Extracted",
    "Extraction",
    "ExtractionResult",
    "Failure",
    "FieldEvaluator",
    "FileResult",
    "FolderExampleLoader",
    "FunctionEvaluator",
    "GlobLister",
    "HtmlEvaluationExporter",
    "HttpReader",
    "JsonEvaluationExporter",
    "JsonFilesExporter",
    "JsonLinesExporter",
    "Kind",
    "Link",
    "LocalLister",
    "LocalReader",
    "ManifestExampleLoader",
    "ManifestLister",
    "Matching",
    "NumericEvaluator",
    "Original",
    "Page",
    "PandasExporter",
    "ParquetExporter",
    "Pipeline",
    "PolarsExporter",
    "PostgresExporter",
    "ProcessedFile",
    "RayEngine",
    "Reason",
    "Ref",
    "Result",
    "RunPolicy",
    "RunReport",
    "Schema",
    "Score",
    "SetupError",
    "SimilarityEvaluator",
    "StandardClassifier",
    "StandardConverter",
    "StandardExtractor",
    "Steps",
    "Suggestion",
    "Table",
    "TimeLimits",
    "TransientError",
    "Usage",
    "Verdict",
    "Words",
    "aevaluate",
    "aextract",
    "aprocess_file",
    "aprocess_many",
    "dump_pipeline",
    "evaluate",
    "extract",
    "load_evaluation",
    "load_pipeline",
    "match",
    "open_store",
    "process",
    "process_file",
    "process_many",
    "reading_pool",
    "register",
    "steps_for",
]


def __getattr__(name: str) -> object:
    # Loading numpy and pydantic takes longer than many a command; PEP 562 defers it.
    if name in _MODULE_OF:
        return getattr(import_module(_MODULE_OF[name]), name)
    raise AttributeError(f"module 'docmill' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
