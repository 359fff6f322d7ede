"""What a run reads with: the settings of the vault where there are any, with the command line on top."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from docmill.batch.folder import DEFAULT_MAX_BYTES
from docmill.pipeline import PartLimits, Steps, TimeLimits
from docmill.reading.engines.engine import PageReader
from docmill.reading.files.options import ReadingOptions
from docmill.reading.page_source import PageSource
from docmill.service.config.sources import are_given
from docmill.understanding.gate import RuleGate
from docmill.understanding.second_look import SecondLook
from docmill.understanding.user_schemas.learned import model_in
from docmill.wiring import LIMITS, READING
from docmill.workers.pool import Pool

if TYPE_CHECKING:
    from docmill.service.config.settings import Settings


@dataclass(frozen=True, slots=True)
class Means:
    """How a run reads. settings: None if nothing is set. models: what was learned of own schemas, by name."""

    reading: ReadingOptions = READING
    limits: TimeLimits = LIMITS
    parts: PartLimits = field(default_factory=PartLimits)
    max_bytes: int = DEFAULT_MAX_BYTES
    settings: "Settings | None" = None
    models: Mapping[str, str] = field(default_factory=dict[str, str])

    @asynccontextmanager
    async def readers(self, pool: Pool) -> AsyncGenerator[Sequence[PageReader]]:
        """The engines in the order in which they are asked, none for the usual one."""
        if self.settings is None:
            yield ()
            return
        from docmill.service.engines import page_readers  # noqa: PLC0415  only the service's extra brings it

        async with page_readers(self.settings, pool, self.reading) as readers:
            yield readers

    def understood(self, steps: Steps, pool: Pool) -> Steps:
        """The steps with the models that the settings name. Raises MisconfiguredError if one cannot be."""
        if self.settings is None:
            return steps
        if self.settings.schemas:
            steps = replace(steps, schemas=self.settings.own.by_type)
        from docmill.service.models import Understanding  # noqa: PLC0415  only the service's extra brings it

        pages = PageSource(pool, self.reading)
        understanding = Understanding(self.settings, pages)
        if not understanding.asks_models:
            return steps
        return replace(
            steps,
            classifier=understanding.classifier(steps.classifier),
            router=understanding.router(RuleGate(), SecondLook(pages)),
        )


def means_of(
    config: Path | None, *, max_bytes: int | None, time_limit_s: float | None, passwords: tuple[str, ...]
) -> Means:
    """What file and environment say, and then the arguments. Raises MisconfiguredError."""
    means = _set_by(config) if are_given(config) else Means()
    limits = means.limits
    if time_limit_s is not None:
        limits = replace(limits, document_s=time_limit_s, page_s=0)
    max_bytes = max_bytes or means.max_bytes
    return replace(
        means,
        reading=replace(means.reading, passwords=passwords, max_part_bytes=max_bytes),
        limits=limits,
        max_bytes=max_bytes,
    )


def _set_by(config: Path | None) -> Means:
    # Here, since it takes a second, and an extra that a run without settings does not need.
    from docmill.service.config.settings import Settings  # noqa: PLC0415
    from docmill.service.engines import reading_options  # noqa: PLC0415

    settings = Settings.load(config)
    return Means(
        reading_options(settings),
        settings.limits.times,
        settings.limits.parts_of_upload,
        settings.limits.file_bytes,
        settings,
        {name: model_in(path) for name, path in settings.own.models().items()},
    )
