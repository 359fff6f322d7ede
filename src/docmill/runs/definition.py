"""A pipeline of your own: its components."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, JsonValue

from docmill.runs.fingerprints import component_fingerprint, fingerprint_of, schema_fingerprint
from docmill.runs.policy import RunPolicy
from docmill.runs.roles import Classifier, Converter, Exporter, Extractor, Lister, Reader

Data = TypeVar("Data", bound=BaseModel)


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What is done with documents of one type. extractor, exporter: None for those of the pipeline."""

    schema: type[BaseModel]
    extractor: Extractor[Any] | None = None
    exporter: Exporter[Any] | None = None


@dataclass(frozen=True, kw_only=True)
class PipelineDefinition(Generic[Data]):
    """The parts of a pipeline: what lists, reads, converts, classifies, extracts and exports documents.

    schema: of every document, or, with a classifier, of those whose type has no entry in `kinds`. kinds: by
    document type. store: the address of the state store of runs that
    name none. configuration: from which it was loaded, see `load_pipeline`.
    """

    schema: type[Data]
    reader: Reader
    converter: Converter
    extractor: Extractor[Data]
    exporter: Exporter[Data]
    lister: Lister | None = None
    classifier: Classifier | None = None
    kinds: Mapping[str, Kind] = field(default_factory=dict[str, Kind])
    policy: RunPolicy = field(default_factory=RunPolicy)
    processes: int = 0
    store: str | None = None
    configuration: JsonValue = None

    @property
    def fingerprint(self) -> str:
        """Changes with the components, their settings and releases, and the schemas."""
        parts: list[object] = [self.reader, self.converter, self.extractor, self.classifier]
        parts += [kind.extractor for kind in self.kinds.values()]
        schemas = {name: schema_fingerprint(kind.schema) for name, kind in sorted(self.kinds.items())}
        return fingerprint_of(
            [
                [component_fingerprint(part) for part in parts if part is not None],
                schema_fingerprint(self.schema),
                schemas,
            ]
        )

    @property
    def exporters(self) -> Sequence[object]:
        """Every exporter once."""
        several = [self.exporter, *(kind.exporter for kind in self.kinds.values())]
        return _each_once(several)

    @property
    def components(self) -> Sequence[object]:
        """Every component once."""
        several: list[object] = [self.lister, self.reader, self.converter, self.classifier, self.extractor]
        several += [kind.extractor for kind in self.kinds.values()]
        return [*_each_once(several), *self.exporters]


def _each_once(components: Sequence[object]) -> list[object]:
    return list({id(component): component for component in components if component is not None}.values())
