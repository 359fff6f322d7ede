"""Configuration of a run: the settings of the vault where there are any, with the command line on top."""

import tomllib
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from docmill.batch.folder import DEFAULT_MAX_BYTES
from docmill.cli.console import stderr
from docmill.model.result import Schema
from docmill.pipeline import PartLimits, Steps, TimeLimits
from docmill.reading.files.options import ReadingOptions
from docmill.service.config.sources import DEFAULT_FILE, are_given
from docmill.understanding.user_schemas.learned import model_in
from docmill.wiring import LIMITS, READING, steps_for
from docmill.workers.pool import Pool

if TYPE_CHECKING:
    from docmill.service.config.settings import Settings


@dataclass(frozen=True, slots=True)
class RunConfig:
    """Configuration of a run. settings: None if nothing is set. models: of user schemas, by name."""

    reading: ReadingOptions = READING
    limits: TimeLimits = LIMITS
    parts: PartLimits = field(default_factory=PartLimits)
    max_bytes: int = DEFAULT_MAX_BYTES
    settings: "Settings | None" = None
    models: Mapping[str, str] = field(default_factory=dict[str, str])

    @asynccontextmanager
    async def steps(
        self, pool: Pool, *, schema: Schema | None = None, model: str | None = None
    ) -> AsyncGenerator[Steps]:
        """The steps of the run. schema: the one to read every document by. model: what was learned of it.

        Raises MisconfiguredError if the settings name what is not installed.
        """
        learned = dict(self.models)
        if schema and model:
            learned[schema.name] = model
        if self.settings is None:
            yield steps_for(pool, reading=self.reading, limits=self.limits, schema=schema, learned=learned)
            return
        from docmill.service.steps import open_steps  # noqa: PLC0415  only the service's extra brings it

        async with open_steps(
            self.settings, pool, reading=self.reading, limits=self.limits, schema=schema, learned=learned
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
    config = _set_by(settings_file) if are_given(settings_file) else RunConfig()
    limits = config.limits
    if time_limit_s is not None:
        limits = replace(limits, document_s=time_limit_s, page_s=0)
    max_bytes = max_bytes or config.max_bytes
    return replace(
        config,
        reading=replace(config.reading, passwords=passwords, max_part_bytes=max_bytes),
        limits=limits,
        max_bytes=max_bytes,
    )


def _set_by(settings_file: Path | None) -> RunConfig:
    # Here, since it takes a second, and an extra that a run without settings does not need.
    from docmill.service.config.settings import Settings  # noqa: PLC0415
    from docmill.service.steps import reading_options  # noqa: PLC0415

    settings = Settings.load(settings_file)
    return RunConfig(
        reading_options(settings),
        settings.limits.times,
        settings.limits.parts_of_upload,
        settings.limits.file_bytes,
        settings,
        {name: model_in(path) for name, path in settings.own.models().items()},
    )


_HINT = "to keep them here, name another settings file with --config (an empty one will do)"


def warn_about_remote_services(settings: "Settings | None", config: Path | None) -> None:
    """Warn, before anything is read, that pages or their text will be sent to another machine.

    Who named the file, or set a variable, knows; a file that lies in the current folder may be anybody's.
    """
    if settings is None or config is not None or not DEFAULT_FILE.is_file():
        return
    told = list(_leaving(settings, tomllib.loads(DEFAULT_FILE.read_text(encoding="utf-8"))))
    if told:
        stderr.print(
            f"documents leave this machine: {DEFAULT_FILE.absolute()} names {' and '.join(told)}; {_HINT}",
            markup=False,
            soft_wrap=True,
        )


def _leaving(settings: "Settings", said: Mapping[str, Any]) -> Iterator[str]:
    """List the remote services that the file names, without those that a variable names."""
    if list(settings.ocr.engines) == said.get("ocr", {}).get("engines"):
        if "documentai" in settings.ocr.engines and _is_away(settings.documentai.endpoint):
            yield "the engine documentai (pages go to Google)"
        if "vision" in settings.ocr.engines and _is_away(settings.llm.base_url):
            yield f"the engine vision (pages go to {settings.llm.base_url or settings.llm.provider})"
    for name in ("small", "large"):
        model = getattr(settings.understanding, name)
        if model is None or name not in said.get("understanding", {}):
            continue
        whole = model.within(settings.llm)
        if _is_away(whole.base_url):
            what = "text and pages go" if whole.sees else "text goes"
            yield f"the {name} model {whole.model} ({what} to {whole.base_url or whole.provider})"


def _is_away(address: str | None) -> bool:
    """Return whether the address is on another machine. None: the provider's own."""
    host = urlsplit(address).hostname if address else None
    if host is None:
        return True
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return host != "localhost" and not host.endswith(".localhost")
