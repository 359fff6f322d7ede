"""What a run reads with: the settings of the vault where there are any, with the command line on top."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from docmill.batch.folder import DEFAULT_MAX_BYTES
from docmill.model.result import Schema
from docmill.pipeline import PartLimits, Steps, TimeLimits
from docmill.reading.files.options import ReadingOptions
from docmill.service.config.sources import are_given
from docmill.understanding.user_schemas.learned import model_in
from docmill.wiring import LIMITS, READING, steps_for
from docmill.workers.pool import Pool

if TYPE_CHECKING:
    from docmill.service.config.settings import Settings


@dataclass(frozen=True, slots=True)
class RunConfig:
    """How a run reads. settings: None if nothing is set. models: what was learned of own schemas, by name."""

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
    """What file and environment say, and then the arguments. Raises MisconfiguredError."""
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
    from docmill.service.engines import reading_options  # noqa: PLC0415

    settings = Settings.load(settings_file)
    return RunConfig(
        reading_options(settings),
        settings.limits.times,
        settings.limits.parts_of_upload,
        settings.limits.file_bytes,
        settings,
        {name: model_in(path) for name, path in settings.own.models().items()},
    )
