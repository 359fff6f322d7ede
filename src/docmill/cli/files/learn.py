"""`docmill learn`: trains a model of a user's own schema on documents whose values are known."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from docmill.cli.console import FAILED, MARKS, counted, print_still_wrong, put, shown, stderr, stdout
from docmill.cli.files.extract import schema_called
from docmill.cli.files.run import warn_about_links
from docmill.errors import DocmillError, MisconfiguredError
from docmill.evaluation.truth import known_fields, read_truths
from docmill.ports import Ref
from docmill.reading.convert import LocalConverter
from docmill.runs.folder_files import FolderLister, FolderReader
from docmill.understanding.corrections.endings import Endings
from docmill.understanding.corrections.evaluate import held_out_figures, learned_model
from docmill.understanding.corrections.fit import LEAST_DOCUMENTS, values_by_path
from docmill.understanding.offline import make_judged_example
from docmill.understanding.user_schemas.schema_model import Example, dumps
from docmill.wiring import READING, reading_pool

KnownValues = Mapping[str, object]


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
    """Read the documents, train, compare and write the model; the exit code."""
    schema = schema_called(options.schema, options.labels, options.config)
    truths = read_truths(options.truth)
    known_fields(truths, {schema.name: schema})  # refuses fields that the schema lacks
    values = {truth.source: values_by_path(truth.data) for truth in truths}
    lister = FolderLister(options.folder)
    documents: list[tuple[Ref, KnownValues]] = []
    for ref in lister.list():
        path = Path(ref.key)
        if name := next((name for name in (ref.key, path.name, path.stem) if name in values), None):
            documents.append((ref, values[name]))
    warn_about_links(lister)
    if not documents:
        raise MisconfiguredError(f"{str(options.truth)!r} names no file of {str(options.folder)!r}")
    endings = Endings(schema)
    examples = asyncio.run(_read_examples(options, endings, documents))
    if not examples:
        stderr.print("no document could be read; nothing was written")
        return FAILED
    figures = held_out_figures(examples)
    total = figures.total
    stdout.print(
        f"{counted(total.values, 'known value')} of {counted(len(examples), 'document')}; "
        "read right, believed or not"
    )
    stdout.print(f"  with nothing learned: {total.untaught}")
    stdout.print(f"  after learning from documents of other layouts: {total.unseen}")
    stdout.print(f"  after learning from all other documents: {total.corrected}")
    wrong = figures.still_wrong
    print_still_wrong({path: (field.corrected, field.values) for path, field in wrong.items()})
    for disagreement in endings.disagreements():
        stdout.print(disagreement.message, markup=False)
    # Very few documents cannot show that the model is better: then it must not be worse.
    is_enough = len(examples) >= LEAST_DOCUMENTS
    if not (figures.is_better if is_enough else total.corrected >= total.untaught):
        stdout.print("the trained model reads these documents no better than none; nothing was written")
        return FAILED
    if not figures.is_better:
        stdout.print("too few documents to show that it reads better; try it on others of these layouts")
    if options.dry_run:
        stdout.print("a dry run: nothing was written")
        return 0
    put(options.out, dumps(learned_model(schema.name, examples, figures)))
    stdout.print(f"model: {options.out}", markup=False)
    return 0


async def _read_examples(
    options: LearnOptions, endings: Endings, documents: Sequence[tuple[Ref, KnownValues]]
) -> list[Example]:
    """Read the documents that can be read, and pair their text with the known values."""
    reader = FolderReader(options.folder)
    examples: list[Example] = []
    columns = (TextColumn("reading"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=stderr, disable=not stderr.is_terminal, transient=True) as bar:
        task = bar.add_task("reading", total=len(documents))
        async with reading_pool(options.jobs) as pool:
            converter = LocalConverter(pool, READING)
            for ref, values in documents:
                try:
                    document = await converter.convert(await reader.read(ref))
                except DocmillError as error:
                    stdout.print(f"{MARKS['failed']} {shown(ref.key)}: {error.message}")
                else:
                    examples.append(make_judged_example(document, endings.schema, values))
                    endings.add(document, values)
                bar.advance(task)
    return examples
