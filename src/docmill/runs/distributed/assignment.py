"""What a runner in another process or on another machine is given."""

import os
import pickle
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from docmill.errors import MisconfiguredError
from docmill.runs.components.libraries import required
from docmill.runs.definition import PipelineDefinition
from docmill.runs.states import StateStore
from docmill.runs.stores.opening import DEFAULT_PATH


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """A pipeline, packed, and the run that it works on.

    pipeline: with the object that its components share. fingerprint: of the pipeline. store: address of the
    run's states. folder: against which relative paths are meant. module_folders: where modules are found.
    is_heard: whether somebody is told of events.
    """

    pipeline: bytes = field(repr=False)
    fingerprint: str
    store: str = field(repr=False)
    folder: str
    module_folders: Sequence[str]
    run_id: str
    metadata: Mapping[str, JsonValue]
    is_heard: bool = True

    def unpack(self) -> tuple[PipelineDefinition[Any], object]:
        """The pipeline, and the object that its components share.

        Raises MisconfiguredError if this machine has not what belongs to them, or another release of it.
        """
        sys.path += [folder for folder in self.module_folders if folder not in sys.path]
        try:
            pipeline, shared = pickle.loads(self.pipeline)  # noqa: S301  packed by who began the run
        except Exception as error:  # a module of another package may raise anything
            raise MisconfiguredError(
                f"the pipeline cannot be loaded there: {error}; install the same packages on all nodes"
            ) from error
        if pipeline.fingerprint != self.fingerprint:
            raise MisconfiguredError(
                "the pipeline is another one there; install the same releases of docmill and of the"
                " packages of components on all nodes"
            )
        return pipeline, shared


def pack_assignment(
    pipeline: PipelineDefinition[Any],
    store: StateStore | Path | str | None,
    *,
    run_id: str,
    shared: object,
    metadata: Mapping[str, JsonValue],
) -> Assignment:
    """The pipeline without its lister, as it can be sent.

    Raises MisconfiguredError for a store that only this process has, for an exporter into a file that only
    one process may write, and for a component that cannot be sent.
    """
    address = _shared_address(store)
    _refuse_lone_writers(pipeline)
    pickler: Any = required("ray.cloudpickle", "ray")
    pipeline = replace(pipeline, lister=None)
    _refuse_unsendable(pipeline, shared, pickler)
    return Assignment(
        pipeline=pickler.dumps((pipeline, shared)),
        fingerprint=pipeline.fingerprint,
        store=address,
        folder=str(Path.cwd()),
        module_folders=[str(Path(folder).absolute()) for folder in sys.path],
        run_id=run_id,
        metadata=metadata,
    )


def is_of_one_machine(store: str) -> bool:
    """Whether the address is that of a file, which the processes of one machine may share."""
    return "://" not in store


def _shared_address(store: StateStore | Path | str | None) -> str:
    if store is None:
        store = DEFAULT_PATH
    if not isinstance(store, str | os.PathLike):
        raise MisconfiguredError(
            "runners elsewhere need the address of the state store; give it in place of the store itself"
        )
    address = os.fspath(store)
    if address == "memory:":
        raise MisconfiguredError(
            "runners elsewhere cannot see states in memory; name a SQLite file for one machine, or the"
            " address of a server for several"
        )
    return str(Path(address).absolute()) if is_of_one_machine(address) else address


def _refuse_lone_writers(pipeline: PipelineDefinition[Any]) -> None:
    for exporter in pipeline.exporters:
        if getattr(exporter, "is_sole_writer", False):
            raise MisconfiguredError(
                f"{type(exporter).__name__} writes one file, which one process at a time may do; with several"
                " runners, export to PostgreSQL ('postgres') or to a file for each document ('json-files')"
            )


def _refuse_unsendable(pipeline: PipelineDefinition[Any], shared: object, pickler: Any) -> None:  # noqa: ANN401
    parts: dict[str, object] = {type(part).__name__: part for part in pipeline.components}
    parts[f"the schema {pipeline.schema.__name__}"] = pipeline.schema
    parts.update({f"the schema {kind.schema.__name__}": kind.schema for kind in pipeline.kinds.values()})
    parts["the object that components share"] = shared
    for name, part in parts.items():
        try:
            pickler.dumps(part)
        except Exception as error:
            raise MisconfiguredError(
                f"{name} cannot be sent to other processes: {error}. Make connections, locks and the like in"
                " open(), not when the component is made"
            ) from error
