"""`docmill learn`: a model of a user's own schema from documents whose values are known."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from docmill.batch.folder import FolderLister, FolderReader
from docmill.cli.console import FAILED, MARKS, counted, put, shown, stderr, stdout
from docmill.cli.files.extract import schema_called
from docmill.cli.files.run import warn_about_links
from docmill.errors import DocmillError, MisconfiguredError
from docmill.evaluation.truth import known_fields, read_truths
from docmill.model.result import Schema
from docmill.ports import Ref
from docmill.reading.convert import LocalConverter
from docmill.understanding.corrections.evaluate import HeldOutFigures, held_out_figures
from docmill.understanding.corrections.fit import LEAST_DOCUMENTS, fit_model, make_example, values_by_path
from docmill.understanding.user_schemas.learned import Example, dumps
from docmill.wiring import READING, reading_pool

Truth = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """Arguments of `docmill learn FOLDER`."""

    folder: Path
    schema: str
    truth: Path
    out: Path
    labels: Path | None
    jobs: int | None
    dry_run: bool
    config: Path | None = None


def learn(options: LearnOptions) -> int:
    """Read, learn, compare and write; the exit code."""
    schema = schema_called(options.schema, options.labels, options.config)
    truth = truth_in(options.truth, schema)
    lister = FolderLister(options.folder)
    refs = [ref for ref in lister.list() if _known(ref, truth) is not None]
    warn_about_links(lister)
    if not refs:
        raise MisconfiguredError(f"{str(options.truth)!r} names no file of {str(options.folder)!r}")
    examples = asyncio.run(_examples(options, schema, refs, truth))
    if not examples:
        stderr.print("no document could be read; nothing was written")
        return FAILED
    figures = held_out_figures(examples)
    _tell(figures, len(examples))
    if not _is_promoted(figures, len(examples)):
        stdout.print(
            "what was learned reads these documents no better than nothing learned; nothing was written"
        )
        return FAILED
    if options.dry_run:
        stdout.print("a dry run: nothing was written")
        return 0
    put(options.out, dumps(fit_model(schema.name, examples)))
    stdout.print(f"model: {options.out}", markup=False)
    return 0


def truth_in(path: Path, schema: Schema) -> Truth:
    """The known values by file, in any form that `docmill eval` takes. Raises MisconfiguredError."""
    truths = read_truths(path)
    known_fields(truths, {schema.name: schema})
    return {truth.source: values_by_path(truth.data) for truth in truths}


def _known(ref: Ref, truth: Truth) -> Mapping[str, object] | None:
    path = Path(ref.key)
    return next((truth[name] for name in (ref.key, path.name, path.stem) if name in truth), None)


async def _examples(
    options: LearnOptions, schema: Schema, refs: Sequence[Ref], truth: Truth
) -> list[Example]:
    reader = FolderReader(options.folder)
    examples: list[Example] = []
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
                    examples.append(make_example(document, schema, _known(ref, truth) or {}))
                bar.advance(task)
    return examples


def _tell(figures: HeldOutFigures, documents: int) -> None:
    values = counted(figures.values, "known value")
    stdout.print(f"{values} of {counted(documents, 'document')}; read right")
    stdout.print(f"  with nothing learned: {figures.untaught}")
    stdout.print(f"  by what documents of other layouts teach: {figures.unseen}")
    stdout.print(f"  by what all other documents teach: {figures.corrected}")


def _is_promoted(figures: HeldOutFigures, documents: int) -> bool:
    """Better; of very few documents, which cannot show that, not worse."""
    if documents < LEAST_DOCUMENTS:
        return figures.corrected >= figures.untaught
    return figures.is_better
