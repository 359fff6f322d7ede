"""`docmill learn`: a model of a user's own schema from documents whose values are known."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from docmill.batch.folder import FolderLister, FolderReader
from docmill.cli.console import FAILED, MARKS, counted, put, shown, stderr, stdout
from docmill.cli.files.extract import schema_called
from docmill.cli.files.run import tell_not_followed
from docmill.errors import DocmillError, MisconfiguredError
from docmill.evaluation.truth import known_fields, read_truths
from docmill.model.result import Schema
from docmill.ports import Ref
from docmill.reading.convert import LocalConverter
from docmill.understanding.corrections.fitting import LEAST_DOCUMENTS, Figures, held_out, learned
from docmill.understanding.corrections.lessons import flat, lesson
from docmill.understanding.user_schemas.learned import Taught, dumps
from docmill.wiring import READING, reading_pool

Truth = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Lessons:
    """Arguments of `docmill learn FOLDER`."""

    folder: Path
    schema: str
    truth: Path
    out: Path
    labels: Path | None
    jobs: int | None
    dry_run: bool
    config: Path | None = None


def learn(options: Lessons) -> int:
    """Read, learn, compare and write; the exit code."""
    schema = schema_called(options.schema, options.labels, options.config)
    truth = truth_in(options.truth, schema)
    lister = FolderLister(options.folder)
    refs = [ref for ref in lister.list() if _known(ref, truth) is not None]
    tell_not_followed(lister)
    if not refs:
        raise MisconfiguredError(f"{str(options.truth)!r} names no file of {str(options.folder)!r}")
    taught = asyncio.run(_taught(options, schema, refs, truth))
    if not taught:
        stderr.print("no document could be read; nothing was written")
        return FAILED
    figures = held_out(taught)
    _tell(figures, len(taught))
    if not _is_promoted(figures, len(taught)):
        stdout.print(
            "what was learned reads these documents no better than nothing learned; nothing was written"
        )
        return FAILED
    if options.dry_run:
        stdout.print("a dry run: nothing was written")
        return 0
    put(options.out, dumps(learned(schema.name, taught)))
    stdout.print(f"model: {options.out}", markup=False)
    return 0


def truth_in(path: Path, schema: Schema) -> Truth:
    """The known values by file, in any form that `docmill eval` takes. Raises MisconfiguredError."""
    truths = read_truths(path)
    known_fields(truths, {schema.name: schema})
    return {truth.source: flat(truth.data) for truth in truths}


def _known(ref: Ref, truth: Truth) -> Mapping[str, object] | None:
    path = Path(ref.key)
    return next((truth[name] for name in (ref.key, path.name, path.stem) if name in truth), None)


async def _taught(options: Lessons, schema: Schema, refs: Sequence[Ref], truth: Truth) -> list[Taught]:
    reader = FolderReader(options.folder)
    found: list[Taught] = []
    columns = (TextColumn("reading"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=stderr, disable=not stderr.is_terminal, transient=True) as bar:
        task = bar.add_task("reading", total=len(refs))
        async with reading_pool(options.jobs) as pool:
            converter = LocalConverter(pool, READING)
            for ref in refs:
                try:
                    document = await converter.convert(await reader.read(ref))
                except DocmillError as error:
                    stdout.print(f"{MARKS['failed']} {shown(ref.key)}: {error.message}")
                else:
                    found.append(lesson(document, schema, _known(ref, truth) or {}))
                bar.advance(task)
    return found


def _tell(figures: Figures, documents: int) -> None:
    values = counted(figures.values, "known value")
    stdout.print(f"{values} of {counted(documents, 'document')}; read right")
    stdout.print(f"  with nothing learned: {figures.untaught}")
    stdout.print(f"  by what documents of other layouts teach: {figures.unseen}")
    stdout.print(f"  by what all other documents teach: {figures.corrected}")


def _is_promoted(figures: Figures, documents: int) -> bool:
    """Better; of very few documents, which cannot show that, not worse."""
    if documents < LEAST_DOCUMENTS:
        return figures.corrected >= figures.untaught
    return figures.is_better
