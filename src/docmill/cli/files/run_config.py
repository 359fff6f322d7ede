"""Configuration of a run: the settings of the vault if there are any, overridden by the command line."""

import tomllib
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from docmill.cli.console import stderr
from docmill.errors import MisconfiguredError
from docmill.model.result import Schema
from docmill.pipeline import PartLimits, Steps, TimeLimits
from docmill.reading.files.options import ReadingOptions
from docmill.runs.folder_files import DEFAULT_MAX_BYTES
from docmill.schemas.registry import REGISTRY
from docmill.schemas.user_schemas import nearest
from docmill.service.config.sources import DEFAULT_FILE, are_given
from docmill.understanding.user_schemas.schema_model import model_in
from docmill.wiring import LIMITS, READING, steps_for
from docmill.workers.pool import Pool

if TYPE_CHECKING:
    from docmill.service.config.settings import ChosenModel, Settings


@dataclass(frozen=True, slots=True)
class RunConfig:
    """Configuration of a run. settings: None if nothing is set. models: of user schemas, by name."""

    reading: ReadingOptions = READING
    limits: TimeLimits = LIMITS
    parts: PartLimits = field(default_factory=PartLimits)
    max_bytes: int = DEFAULT_MAX_BYTES
    settings: "Settings | None" = None
    models: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def processes(self) -> int | None:
        """The number of reading processes in the settings; None if it is not set."""
        return None if self.settings is None else self.settings.worker.processes

    def check_type(self, document_type: str | None) -> None:
        """Raise MisconfiguredError for the name of a type that is neither built in nor in the settings."""
        types = REGISTRY if self.settings is None else self.settings.own.by_choice
        if document_type is not None and document_type not in types:
            raise MisconfiguredError(f"there is no type {document_type!r}{nearest(document_type, types)}")

    @asynccontextmanager
    async def steps(
        self, pool: Pool, *, schema: Schema | None = None, model: str | None = None
    ) -> AsyncGenerator[Steps]:
        """The steps of the run. schema: for every document. model: its trained model, as text.

        Raises MisconfiguredError if the settings name what is not installed.
        """
        schema_models = dict(self.models)
        if schema and model:
            schema_models[schema.name] = model
        if self.settings is None:
            yield steps_for(
                pool, reading=self.reading, limits=self.limits, schema=schema, schema_models=schema_models
            )
            return
        from docmill.service.steps import open_steps  # noqa: PLC0415  only the service's extra brings it

        async with open_steps(
            self.settings,
            pool,
            reading=self.reading,
            limits=self.limits,
            schema=schema,
            schema_models=schema_models,
        ) as steps:
            yield steps


def run_config(
    settings_file: Path | None,
    *,
    max_bytes: int | None,
    time_limit_s: float | None,
    passwords: tuple[str, ...],
) -> RunConfig:
    """Build it from settings file and environment, then the arguments. Raises MisconfiguredError."""
    config = RunConfig()
    if are_given(settings_file):
        # Here, since it takes a second, and an extra that a run without settings does not need.
        from docmill.service.config.settings import Settings  # noqa: PLC0415
        from docmill.service.steps import reading_options  # noqa: PLC0415

        settings = Settings.load(settings_file)
        config = RunConfig(
            reading_options(settings),
            settings.limits.times,
            settings.limits.parts_of_upload,
            settings.limits.file_bytes,
            settings,
            {name: model_in(path) for name, path in settings.own.models().items()},
        )
    limits = config.limits
    if time_limit_s is not None:
        limits = replace(limits, document_s=time_limit_s, page_s=0)
    max_bytes = max_bytes or config.max_bytes
    reading = replace(config.reading, passwords=passwords, max_part_bytes=max_bytes)
    return replace(config, reading=reading, limits=limits, max_bytes=max_bytes)


def warn_about_remote_services(settings: "Settings | None", config: Path | None) -> None:
    """Warn, before anything is read, that pages or their text will be sent to another machine.

    Only of services that the settings file of the current folder names, and no variable: that file may be
    anybody's. Somebody who gives --config or sets a variable knows what it says.
    """
    if settings is None or config is not None or not DEFAULT_FILE.is_file():
        return
    in_file = tomllib.loads(DEFAULT_FILE.read_text(encoding="utf-8"))
    services: list[str] = []
    if list(settings.ocr.engines) == in_file.get("ocr", {}).get("engines"):
        if "documentai" in settings.ocr.engines and _is_remote(settings.documentai.endpoint):
            services.append("the engine documentai (pages go to Google)")
        if "vision" in settings.ocr.engines and _is_remote(settings.llm.base_url):
            address = settings.llm.base_url or settings.llm.provider
            services.append(f"the engine vision (pages go to {address})")
    for name in ("small", "large"):
        chosen: ChosenModel | None = getattr(settings.understanding, name)
        if chosen is not None and name in in_file.get("understanding", {}):
            model = chosen.within(settings.llm)
            if _is_remote(model.base_url):
                content = "text and pages go" if model.sees else "text goes"
                address = model.base_url or model.provider
                services.append(f"the {name} model {model.model} ({content} to {address})")
    if services:
        stderr.print(
            f"documents leave this machine: {DEFAULT_FILE.absolute()} names {' and '.join(services)}; to keep"
            " them here, name another settings file with --config (an empty one will do)",
            markup=False,
            soft_wrap=True,
        )


def _is_remote(address: str | None) -> bool:
    """Return whether the address is on another machine. None: the provider's own."""
    host = urlsplit(address).hostname if address else None
    if host is None:
        return True
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return host != "localhost" and not host.endswith(".localhost")
