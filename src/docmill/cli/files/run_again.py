"""`docmill run --pipeline`, `docmill runs resume` and `retry`: own pipelines, and runs that go on."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import JsonValue

from docmill.cli.console import FAILED, INTERRUPTED, stdout
from docmill.cli.files.extract import schema_called
from docmill.cli.files.run import RunOptions, run_folder
from docmill.cli.files.run_states import opened_store
from docmill.errors import MisconfiguredError
from docmill.runs.components.local import LocalLister
from docmill.runs.config.loading import load_pipeline, pipeline_of
from docmill.runs.distributed.ray_engine import RayEngine
from docmill.runs.report import RunReport
from docmill.runs.states import Run
from docmill.runs.stores.opening import DEFAULT_PATH, shown_address
from docmill.understanding.user_schemas.schema_model import model_in

COMMAND = "docmill run"
"""In the configuration of a run: the command that began it."""


def chosen_engine(name: Literal["local", "ray"], ray_address: str | None) -> RayEngine | None:
    """The engine of these options; None for this process."""
    return RayEngine(address=ray_address) if name == "ray" or ray_address is not None else None


def run_pipeline(
    path: Path,
    folder: Path | None,
    *,
    run_id: str | None,
    store: str | None,
    engine: RayEngine | None = None,
    json_log: bool,
) -> int:
    """Begin a run of a configured pipeline, and print what became of it; the exit code.

    folder: whose documents are processed, in place of what the pipeline lists.
    """
    sys.path.append(str(path.resolve().parent))  # where its own modules stand
    pipeline = load_pipeline(path)
    if folder is not None:
        pipeline = replace(pipeline, lister=LocalLister(folder))
    if pipeline.lister is None:
        raise MisconfiguredError(f"{str(path)!r} lists no documents; add a lister, or give a folder")
    report = pipeline.run(
        run_id=run_id, store=store, progress="json" if json_log else "auto", engine=engine or "local"
    )
    return _finish(report, store or pipeline.store)


def resume_run(
    address: str | None,
    run_id: str,
    *,
    retry: Sequence[str] | bool = False,
    passwords: tuple[str, ...] = (),
    quiet: bool = False,
    engine: RayEngine | None = None,
) -> int:
    """Go on with a run; the exit code. retry: paths of failed documents that are tried again, or all."""
    run = asyncio.run(_find(address, run_id))
    configuration = run.configuration
    if not isinstance(configuration, dict):
        raise MisconfiguredError(
            f"the run {run_id!r} was begun by a pipeline in Python; go on there: pipeline.resume({run_id!r})"
        )
    if configuration.get("command") == COMMAND:
        if engine is not None:
            raise MisconfiguredError("a run of `docmill run FOLDER` cannot go on on Ray; pipelines can")
        options = _options_of(configuration)
        store = address or str(DEFAULT_PATH)
        return run_folder(
            replace(options, store=store, run_id=run_id, retry=retry, passwords=passwords, quiet=quiet)
        )
    if "command" not in configuration and {"folder", "out"} <= configuration.keys():
        raise MisconfiguredError(
            f"the run {run_id!r} was begun by `docmill match` or `docmill eval`; give that command again,"
            f" with --records {configuration['out']}"
        )
    pipeline = pipeline_of(configuration)
    if not isinstance(retry, bool):
        asyncio.run(_requeue(address, run_id, retry))
    report = pipeline.resume(
        run_id,
        retry_failed=retry is True,
        lists=pipeline.lister is not None,
        store=address or pipeline.store or str(DEFAULT_PATH),
        engine=engine or "local",
    )
    return _finish(report, address)


def configuration_of(values: Mapping[str, object]) -> dict[str, JsonValue]:
    """The options of `docmill run` as they are kept with the run; paths are made absolute."""
    kept: dict[str, JsonValue] = {"command": COMMAND}
    for name, value in values.items():
        is_file = name == "schema" and isinstance(value, str) and Path(value.partition(":")[0]).exists()
        if isinstance(value, Path) or is_file:
            kept[name] = str(Path(cast("str", value)).absolute())
        elif value is not None:
            kept[name] = cast("JsonValue", value)
    return kept


def _options_of(configuration: Mapping[str, JsonValue]) -> RunOptions:
    given = cast("Mapping[str, Any]", configuration)
    paths = {
        name: Path(given[name]) for name in ("folder", "out", "config", "model", "labels") if name in given
    }
    schema, labels, config = given.get("schema"), paths.get("labels"), paths.get("config")
    max_mb = given.get("max_mb")
    return RunOptions(
        folder=paths["folder"],
        out=paths["out"],
        jobs=given.get("jobs"),
        max_bytes=None if max_mb is None else max_mb * 1_000_000,
        time_limit_s=given.get("time_limit"),
        schema=None if schema is None else schema_called(schema, labels, config),
        model=None if "model" not in paths else model_in(paths["model"]),
        config=config,
        document_type=given.get("document_type"),
        keeps_text=bool(given.get("with_text")),
        configuration=configuration,
    )


async def _find(address: str | None, run_id: str) -> Run:
    async with opened_store(address) as store:
        return await store.find_run(run_id)


async def _requeue(address: str | None, run_id: str, paths: Sequence[str]) -> None:
    async with opened_store(address) as store:
        await store.requeue(run_id, paths)


def _finish(report: RunReport, store: str | None) -> int:
    stdout.print(str(report), markup=False)
    place = "" if store is None else f" --store {shown_address(store)}"
    if report.failed:
        stdout.print(f"why: docmill runs dead list {report.run_id}{place}", markup=False)
    if report.is_interrupted:
        stdout.print(f"go on: docmill runs resume {report.run_id}{place}", markup=False)
        return INTERRUPTED
    return FAILED if report.failed else 0
