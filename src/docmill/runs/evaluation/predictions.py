"""What a pipeline has extracted from the documents of an evaluation, out of the file of its run."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from docmill.errors import MisconfiguredError
from docmill.model.result import Classification
from docmill.runs.components.records import Record
from docmill.runs.context import CurrentDocument
from docmill.runs.definition import PipelineDefinition
from docmill.runs.evaluation.typed_examples import TypedExample, schema_for
from docmill.runs.evaluation.typed_truth import instance_of
from docmill.runs.fingerprints import schema_fingerprint
from docmill.runs.flow import result_key
from docmill.runs.report import RunReport
from docmill.runs.states import DONE, DocumentState


@dataclass(frozen=True, slots=True)
class Prediction:
    """What became of the document of an example.

    record: as `JsonLinesExporter` writes it, or with the code of its error. extracted: None if it failed.
    """

    example: TypedExample
    state: DocumentState
    record: Record
    extracted: BaseModel | None

    def current_document(self) -> CurrentDocument:
        """The document for the context of evaluators."""
        document_type = self.record.get("document_type")
        return CurrentDocument(
            self.example.ref,
            content_hash=self.state.content_hash or "",
            key=self.record.get("key", ""),
            attempt=max(1, self.state.attempts),
            classification=None if document_type is None else Classification(document_type=document_type),
        )


async def read_predictions(
    run: RunReport, path: Path, examples: Sequence[TypedExample], pipeline: PipelineDefinition[Any]
) -> list[Prediction]:
    """What became of each example, in their order. path: of the file of records.

    Raises MisconfiguredError if the file does not have the record of a document that is done.
    """
    wanted = {example.ref.key for example in examples}
    states = {state.path: state async for state in run if state.path in wanted}
    codes = {letter.path: letter.code async for letter in run.store.dead_letters(run.run_id)}
    await run.store.close()
    schemas = {pipeline.schema, *(kind.schema for kind in pipeline.kinds.values())}
    fingerprints = [schema_fingerprint(schema) for schema in schemas]
    keys = {
        source: {result_key(run.run_id, state.content_hash or "", schema) for schema in fingerprints}
        for source, state in states.items()
        if state.status in DONE
    }
    records = await asyncio.to_thread(_read_records, path, keys) if keys else {}
    return [_prediction(example, states[example.ref.key], records, codes, pipeline) for example in examples]


def _read_records(path: Path, keys: Mapping[str, set[str]]) -> dict[str, Record]:
    """The newest record of each source that has one of its keys."""
    records: dict[str, Record] = {}
    try:
        with path.open("rb") as file:
            for line in file:
                record = json.loads(line)
                if record["key"] in keys.get(record["source"], ()):
                    records[record["source"]] = record
    except OSError as error:
        raise MisconfiguredError(f"cannot read {str(path)!r}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise MisconfiguredError(f"{str(path)!r} is no file of predictions") from error
    missing = [source for source in keys if source not in records]
    if missing:
        raise MisconfiguredError(
            f"{str(path)!r} has nothing of {missing[0]!r}, which the run has done; begin another evaluation,"
            " or give the file to which its results went"
        )
    return records


def _prediction(
    example: TypedExample,
    state: DocumentState,
    records: Mapping[str, Record],
    codes: Mapping[str, str],
    pipeline: PipelineDefinition[Any],
) -> Prediction:
    record = records.get(example.ref.key)
    if record is None:
        failure = {"status": "failed", "error": {"code": codes.get(state.path, "unknown")}}
        return Prediction(example, state, failure, None)
    return Prediction(example, state, record, _extracted(example, record, pipeline))


def _extracted(example: TypedExample, record: Record, pipeline: PipelineDefinition[Any]) -> BaseModel | None:
    """The extracted data by the schema of the example; None if it was extracted by one that does not fit."""
    data = record["data"]
    if schema_for(pipeline, record["document_type"]) is example.schema:
        try:
            return instance_of(example.schema, data, example.name)
        except MisconfiguredError as error:
            raise MisconfiguredError(
                f"the data of {example.name!r} was written as JSON, and its schema cannot read it back"
            ) from error
    members = {name: value for name, value in data.items() if name in example.schema.model_fields}
    try:
        return instance_of(example.schema, members, example.name)
    except MisconfiguredError:
        return None
