"""Classes of components, by role and short name."""

import inspect
from collections.abc import Callable
from importlib.metadata import entry_points
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from docmill.errors import MisconfiguredError
from docmill.runs.imports import imported
from docmill.schemas.user_schemas import nearest

Role = Literal[
    "lister",
    "reader",
    "converter",
    "classifier",
    "extractor",
    "exporter",
    "evaluator",
    "test_data_loader",
    "evaluation_exporter",
]
METHODS: dict[Role, str] = {
    "lister": "list",
    "reader": "read",
    "converter": "convert",
    "classifier": "classify",
    "extractor": "extract",
    "exporter": "export",
    "evaluator": "evaluate",
    "test_data_loader": "load",
    "evaluation_exporter": "export_evaluation",
}
ENTRY_POINTS = "docmill.components"

_Class = TypeVar("_Class", bound=type)

_COMPONENTS = "docmill.runs.components"
_EVALUATION = "docmill.runs.evaluation"
_targets: dict[tuple[str, str], str | type] = {
    ("lister", "local"): f"{_COMPONENTS}.local:LocalLister",
    ("lister", "glob"): f"{_COMPONENTS}.glob:GlobLister",
    ("lister", "manifest"): f"{_COMPONENTS}.manifest:ManifestLister",
    ("lister", "blob"): f"{_COMPONENTS}.blobs:BlobLister",
    ("reader", "local"): f"{_COMPONENTS}.local:LocalReader",
    ("reader", "http"): f"{_COMPONENTS}.http:HttpReader",
    ("reader", "blob"): f"{_COMPONENTS}.blobs:BlobReader",
    ("converter", "standard"): f"{_COMPONENTS}.standard:StandardConverter",
    ("classifier", "standard"): f"{_COMPONENTS}.standard:StandardClassifier",
    ("extractor", "standard"): f"{_COMPONENTS}.standard:StandardExtractor",
    ("exporter", "json-lines"): f"{_COMPONENTS}.json_lines:JsonLinesExporter",
    ("exporter", "json-files"): f"{_COMPONENTS}.json_files:JsonFilesExporter",
    ("exporter", "csv"): f"{_COMPONENTS}.csv_file:CsvExporter",
    ("exporter", "parquet"): f"{_COMPONENTS}.parquet:ParquetExporter",
    ("exporter", "postgres"): f"{_COMPONENTS}.postgres:PostgresExporter",
    ("exporter", "dataset"): f"{_COMPONENTS}.dataset:DatasetExporter",
    ("evaluator", "exact"): f"{_EVALUATION}.evaluators:ExactEvaluator",
    ("evaluator", "numeric"): f"{_EVALUATION}.evaluators:NumericEvaluator",
    ("evaluator", "similarity"): f"{_EVALUATION}.evaluators:SimilarityEvaluator",
    ("evaluator", "f1"): f"{_EVALUATION}.evaluators:FieldEvaluator",
    ("evaluator", "function"): f"{_EVALUATION}.evaluators:FunctionEvaluator",
    ("test_data_loader", "folder"): f"{_EVALUATION}.example_loaders:FolderExampleLoader",
    ("test_data_loader", "manifest"): f"{_EVALUATION}.example_loaders:ManifestExampleLoader",
    ("evaluation_exporter", "json"): f"{_EVALUATION}.evaluation_exporters:JsonEvaluationExporter",
    ("evaluation_exporter", "html"): f"{_EVALUATION}.evaluation_exporters:HtmlEvaluationExporter",
}


def register(role: Role, name: str) -> Callable[[_Class], _Class]:
    """Decorator that gives a class a short name. Raises MisconfiguredError if another class has it."""

    def keep(component: _Class) -> _Class:
        if _targets.setdefault((role, name), component) is not component:
            raise MisconfiguredError(f"the {role} {name!r} is registered already")
        return component

    return keep


def short_names(role: Role) -> list[str]:
    """The short names that are registered for a role."""
    return sorted(name for known, name in _targets if known == role)


def component_class(role: Role, kind: str) -> type:
    """The class of a short name, or of `package.module:Class`.

    Other packages name theirs in the group of entry points `docmill.components`, as `role.name`. Raises
    MisconfiguredError if there is none, it cannot be imported, or it has not the method of the role.
    """
    target = kind if ":" in kind else _targets.get((role, kind))
    if target is None:
        installed = {entry.name: entry.value for entry in entry_points(group=ENTRY_POINTS)}
        target = installed.get(f"{role}.{kind}")
        if target is None:
            names = set(short_names(role))
            names |= {name.partition(".")[2] for name in installed if name.startswith(f"{role}.")}
            hint = nearest(kind, names) if names else "; write package.module:Class"
            raise MisconfiguredError(f"there is no {role} {kind!r}{hint}")
    found = imported(target) if isinstance(target, str) else target
    if not isinstance(found, type) or not callable(getattr(found, METHODS[role], None)):
        raise MisconfiguredError(f"{kind!r} is no {role}: it must be a class with a method {METHODS[role]!r}")
    return found


def config_model(component: type) -> tuple[type[BaseModel] | None, bool]:
    """The Pydantic model of the parameter `config` of a class, and whether it must be given."""
    parameter = inspect.signature(component).parameters.get("config")
    if parameter is None:
        return None, False
    hint: Any = get_type_hints(component.__init__).get("config")
    choices = get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)
    for choice in choices:
        if isinstance(choice, type) and issubclass(choice, BaseModel):
            return choice, parameter.default is inspect.Parameter.empty
    raise MisconfiguredError(f"the parameter 'config' of {component.__name__} must be a Pydantic model")
