"""Pipelines out of YAML files, and back into them."""

import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from docmill.errors import MisconfiguredError
from docmill.runs.components.config import ComponentConfig
from docmill.runs.config.registry import METHODS, Role, component_class, config_model, short_names
from docmill.runs.config.yaml_source import Place, Source, read_yaml, substituted, write_yaml
from docmill.runs.definition import Kind
from docmill.runs.evaluation.evaluation_report import TOLERANCE
from docmill.runs.imports import imported
from docmill.runs.policy import RunPolicy
from docmill.runs.running import Pipeline
from docmill.schemas.user_schemas import nearest, schema_of

FILES: Mapping[str, str] = {
    "file_lister": "lister",
    "reader": "reader",
    "converter": "converter",
    "classifier": "classifier",
    "extractor": "extractor",
    "extraction_exporter": "exporter",
    "kinds": "kinds",
    "evaluator": "evaluator",
    "test_data_loader": "test_data_loader",
    "evaluation_exporter": "evaluation_exporter",
    "evaluation_orchestrator": "evaluation_orchestrator",
}
"""Files of a folder, and the key that each of them stands for. `extraction_orchestrator` has the others."""
EVALUATION_KEYS = ("evaluator", "test_data_loader", "evaluation_exporter", "evaluation_orchestrator")
"""Keys that running does not need; see `load_evaluation`."""

_ORCHESTRATOR = "extraction_orchestrator"
_SETTINGS = ("schema", "policy", "processes", "store")
_KEYS = (*FILES.values(), *_SETTINGS)
_REQUIRED = ("schema", "reader", "converter", "extractor", "exporter")


class EvaluationSettings(ComponentConfig):
    """Settings of an evaluation, see `Evaluation`."""

    predictions: Path | None = None
    baseline: Path | None = None
    tolerance: float = Field(default=TOLERANCE, ge=0)
    month_first: bool = False


class PipelineConfig(BaseModel):
    """The whole configuration, for components that take it: a subclass has a field for each part it needs.

    A component whose parameter `config` is such a class gets all parts (`config.reader`), others their own.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")


def load_pipeline(path: Path | str, *, environment: Mapping[str, str] | None = None) -> Pipeline[Any]:
    """The pipeline that a YAML file describes, or a folder with a file for each component, see `FILES`.

    environment: for `${NAME}` and `${NAME:-default}`; that of this process unless given. Paths in it are
    relative to the current folder. Raises MisconfiguredError with file, line and column.
    """
    return PipelineLoader(read_configuration(path), environment, without=EVALUATION_KEYS).pipeline()


def pipeline_of(configuration: JsonValue, *, environment: Mapping[str, str] | None = None) -> Pipeline[Any]:
    """The pipeline of a configuration that a run has kept. Raises MisconfiguredError."""
    return PipelineLoader(Source(configuration), environment, without=EVALUATION_KEYS).pipeline()


def dump_pipeline(pipeline: Pipeline[Any]) -> str:
    """The YAML from which the same pipeline is loaded; variables of the environment stay variables.

    Raises MisconfiguredError for a pipeline that was not loaded from a configuration.
    """
    if pipeline.configuration is None:
        raise MisconfiguredError("the pipeline was made in Python; it has no configuration to write")
    return write_yaml(pipeline.configuration)


def read_configuration(path: Path | str) -> Source:
    """The configuration in a file, or in the files of a folder. Raises MisconfiguredError."""
    path = Path(path)
    return _read_folder(path) if path.is_dir() else read_yaml(path)


def _read_folder(folder: Path) -> Source:
    whole: dict[str, JsonValue] = {}
    source = Source(whole)
    for path in sorted(folder.glob("*.y*ml")):
        if path.stem != _ORCHESTRATOR and path.stem not in FILES:
            raise MisconfiguredError(f"{path}: unknown file{nearest(path.stem, [*FILES, _ORCHESTRATOR])}")
        part, top = read_yaml(path), FILES.get(path.stem)
        if top is not None:
            if top in whole:
                raise MisconfiguredError(f"{path}: {path.stem!r} is there twice")
            whole[top] = part.value
            source.marks.update({(top, *place): mark for place, mark in part.marks.items()})
            continue
        if not isinstance(part.value, dict):
            part.fail((), f"there must be keys: {', '.join(_SETTINGS)}")
        for key, value in part.value.items():
            if key not in _SETTINGS:
                part.fail((key,), f"unknown key {key!r}{nearest(key, _SETTINGS)}")
            whole[key] = value
        source.marks.update({place: mark for place, mark in part.marks.items() if place})
    source.marks[()] = str(folder)
    return source


class PipelineLoader:
    """Makes the parts of a pipeline of one configuration. without: keys that are not looked into."""

    def __init__(
        self, source: Source, environment: Mapping[str, str] | None, *, without: Collection[str] = ()
    ) -> None:
        self._source = source
        # the only place where a pipeline meets the environment, and only if the caller gave none
        given = os.environ if environment is None else environment
        wanted = {key: item for key, item in self._mapping(source.value, ()).items() if key not in without}
        self._values = self._mapping(substituted(Source(wanted, source.marks), given), ())

    def pipeline(self) -> Pipeline[Any]:
        """See `load_pipeline`."""
        values = self._values
        self._refuse_unknown(values, _KEYS, ())
        for key in _REQUIRED:
            if key not in values:
                self._source.fail((), f"the key {key!r} is missing")
        return Pipeline(
            schema=self._schema(values["schema"], ("schema",)),
            lister=self._component("lister", ("lister",)),
            reader=self._component("reader", ("reader",)),
            converter=self._component("converter", ("converter",)),
            classifier=self._component("classifier", ("classifier",)),
            extractor=self._component("extractor", ("extractor",)),
            exporter=self._component("exporter", ("exporter",)),
            kinds={name: self._kind(name) for name in self._mapping(values.get("kinds", {}), ("kinds",))},
            policy=self._policy(),
            processes=self._checked(TypeAdapter(int), values.get("processes", 0), ("processes",)),
            store=self._checked(TypeAdapter(str | None), values.get("store"), ("store",)),
            configuration=self._source.value,
        )

    def _kind(self, name: str) -> Kind:
        place = ("kinds", name)
        content = self._mapping(self._at(place), place)
        self._refuse_unknown(content, ("schema", "extractor", "exporter"), place)
        if "schema" not in content:
            self._source.fail(place, "the key 'schema' is missing")
        return Kind(
            schema=self._schema(content["schema"], (*place, "schema")),
            extractor=self._component("extractor", (*place, "extractor")),
            exporter=self._component("exporter", (*place, "exporter")),
        )

    def _policy(self) -> RunPolicy:
        content = self._mapping(self._values.get("policy", {}), ("policy",))
        self._refuse_unknown(content, list(RunPolicy.__dataclass_fields__), ("policy",))
        return self._checked(TypeAdapter(RunPolicy), content, ("policy",))

    def _component(self, role: Role, place: Place) -> Any:  # noqa: ANN401  any component
        value = self._at(place)
        if value is None and role not in _REQUIRED:
            return None
        if value is None and len(place) > 1:  # a kind without it has the pipeline's
            return None
        # A component without settings may be its name alone.
        content = {"kind": value} if isinstance(value, str) else dict(self._mapping(value, place))
        kind = content.pop("kind", None)
        if not isinstance(kind, str):
            self._source.fail(place, f"the {role} needs a 'kind': a short name or package.module:Class")
        try:
            component = component_class(role, kind)
            model, is_required = config_model(component)
        except MisconfiguredError as error:
            self._source.fail((*place, "kind"), str(error), cause=error)
        if model is None or (issubclass(model, PipelineConfig) and role not in model.model_fields):
            self._refuse_unknown(content, (), place)
        if model is None:
            return component()
        if issubclass(model, PipelineConfig):
            return component(config=self._checked(TypeAdapter(model), self._whole(), ()))
        self._refuse_unknown(content, _names(model), place)
        if not content and not is_required:
            return component()
        return component(config=self._checked(TypeAdapter(model), content, place))

    def _whole(self) -> dict[str, JsonValue]:
        return {
            name: {key: item for key, item in part.items() if key != "kind"}
            if isinstance(part, dict)
            else part
            for name, part in self._values.items()
        }

    def _schema(self, value: JsonValue, place: Place) -> type[BaseModel]:
        if not isinstance(value, str):
            self._source.fail(place, "must be package.module:Model, a file *.json, or a type of document")
        try:
            if value.endswith(".json"):
                return schema_of(json.loads(Path(value).read_text("utf-8"))).fields
            if ":" not in value:
                return schema_of(value).fields
            model = imported(value)
        except (MisconfiguredError, OSError, ValueError) as error:
            self._source.fail(place, f"{value!r} is no schema: {error}", cause=error)
        if not isinstance(model, type) or not issubclass(model, BaseModel):
            self._source.fail(place, f"{value!r} is no Pydantic model")
        return model

    def _checked(self, adapter: TypeAdapter[Any], value: object, place: Place) -> Any:  # noqa: ANN401
        try:
            return adapter.validate_python(value)
        except ValidationError as error:
            told: dict[tuple[str, ...], str] = {}
            for each in error.errors(include_url=False, include_input=False):
                told[*place, *map(str, each["loc"])] = each["msg"]
            first, *others = ((at, f"{'.'.join(at)}: {message}") for at, message in told.items())
            text = "\n".join([first[1], *(self._source.told(at, message) for at, message in others)])
            self._source.fail(first[0], text, cause=MisconfiguredError(".".join(first[0])))

    def _at(self, place: Place) -> JsonValue:
        value: JsonValue = self._values
        for part in place:
            match value:
                case list():
                    value = value[int(part)]
                case dict():
                    value = value.get(part)
                case _:
                    return None
        return value

    def _mapping(self, value: JsonValue, place: Place) -> dict[str, JsonValue]:
        if not isinstance(value, dict):
            self._source.fail(place, f"{'.'.join(place) or 'the configuration'} must have keys and values")
        return value

    def _refuse_unknown(self, content: Mapping[str, object], names: Collection[str], place: Place) -> None:
        for key in content:
            if key not in names:
                hint = nearest(key, names) if names else "; there are none here"
                self._source.fail((*place, key), f"unknown key {key!r}{hint}")


def _names(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def configuration_schema() -> dict[str, Any]:
    """JSON Schema of a pipeline in one file, for editors: its keys, and those of components by short name."""
    policy = {**TypeAdapter(RunPolicy).json_schema(), "additionalProperties": False}
    roles = {role: _role_schema(role) for role in METHODS}
    several = {
        role: {"anyOf": [roles[role], {"type": "array", "items": roles[role]}]}
        for role in ("evaluator", "evaluation_exporter")
    }
    kind = {
        "type": "object",
        "properties": {
            "schema": {"type": "string"},
            **{key: roles[key] for key in ("extractor", "exporter")},
        },
        "required": ["schema"],
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            **roles,
            **several,
            "evaluation_orchestrator": EvaluationSettings.model_json_schema(),
            "schema": {"type": "string"},
            "kinds": {"type": "object", "additionalProperties": kind},
            "policy": policy,
            "processes": {"type": "integer"},
            "store": {"type": ["string", "null"]},
        },
        "required": list(_REQUIRED),
        "additionalProperties": False,
    }


def _role_schema(role: Role) -> dict[str, Any]:
    choices: list[dict[str, Any]] = [
        {"type": "object", "properties": {"kind": {"pattern": ":"}}, "required": ["kind"]}
    ]
    for name in short_names(role):
        model, _ = config_model(component_class(role, name))
        schema: dict[str, Any] = {"type": "object"} if model is None else model.model_json_schema()
        schema["properties"] = {"kind": {"const": name}, **schema.get("properties", {})}
        schema["required"] = ["kind", *schema.get("required", [])]
        choices.append({**schema, "additionalProperties": False})
    return {"anyOf": [{"type": "string"}, *choices]}
