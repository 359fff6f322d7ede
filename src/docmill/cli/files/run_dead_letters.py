"""`docmill runs dead`: documents of a run that failed for good."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict

from docmill.cli.console import FAILED, counted, local_time, shown, stderr, stdout
from docmill.cli.files.run_states import confirmed, opened_store, print_json
from docmill.errors import ValidationError
from docmill.runs.folders.nested_refs import RAW, text_of
from docmill.runs.states import DeadLetter, StateStore


async def list_dead(address: str | None, run_id: str, *, limit: int, as_json: bool) -> int:
    """Print the dead letters of a run, without their tracebacks; the exit code."""
    letters: list[DeadLetter] = []
    async with opened_store(address) as store:
        async for letter in _letters(store, run_id):
            if len(letters) > limit:
                break
            letters.append(letter)
    if as_json:
        print_json([asdict(letter) for letter in letters[:limit]])
        return 0
    if not letters:
        stdout.print("no dead letters")
    for letter in letters[:limit]:
        _print_letter(letter)
    if len(letters) > limit:
        stdout.print(f"… these are the first {limit}; --limit shows more")
    return 0


async def show_dead(address: str | None, run_id: str, document: str, *, as_json: bool) -> int:
    """Print the dead letter of a document, with its traceback; the exit code."""
    async with opened_store(address) as store:
        names = (document, text_of(document))  # as the store calls it, or as the file is called
        found = [letter async for letter in _letters(store, run_id) if letter.path in names]
    if not found:
        raise ValidationError(f"the run {run_id!r} has no dead letter for {document!r}")
    (letter,) = found
    if as_json:
        print_json(asdict(letter))
        return 0
    _print_letter(letter)
    for name, value in letter.metadata.items():
        if name != RAW:
            stdout.print(f"    {name}: {value}", markup=False)
    stdout.print(letter.traceback, markup=False)
    return 0


async def requeue_dead(
    address: str | None, run_id: str, documents: Sequence[str], *, every: bool, dry_run: bool
) -> int:
    """Make failed documents pending; the exit code, 1 if one of them had not failed."""
    _check_selection(documents, every=every)
    documents = [text_of(document) if "\\" not in document else document for document in documents]
    async with opened_store(address) as store:
        failed = [letter.path async for letter in _letters(store, run_id)]
        chosen = failed if every else [path for path in documents if path in set(failed)]
        unknown = 0 if every else len(set(documents)) - len(set(chosen))
        if dry_run:
            for path in chosen:
                stdout.print(shown(path), markup=False)
            stdout.print(f"{counted(len(chosen), 'document')} selected; nothing was changed")
            return FAILED if unknown else 0
        count = await store.requeue(run_id, None if every else chosen)
    stdout.print(
        f"{counted(count, 'document')} to be tried again: docmill runs resume {run_id}", markup=False
    )
    return _tell_unknown(unknown)


async def purge_dead(
    address: str | None, run_id: str, documents: Sequence[str], *, every: bool, yes: bool
) -> int:
    """Remove dead letters after asking; the exit code."""
    _check_selection(documents, every=every)
    async with opened_store(address) as store:
        paths = {letter.path async for letter in _letters(store, run_id)}
        chosen = sorted(paths if every else paths & set(documents))
        unknown = 0 if every else len(set(documents)) - len(chosen)
        if chosen and not confirmed(f"delete {counted(len(chosen), 'dead letter')}?", yes=yes):
            return FAILED
        count = await store.purge(run_id, chosen) if chosen else 0
    stdout.print(f"{counted(count, 'dead letter')} deleted; the documents stay, as failed")
    return _tell_unknown(unknown)


async def _letters(store: StateStore, run_id: str) -> AsyncIterator[DeadLetter]:
    await store.find_run(run_id)
    async for letter in store.dead_letters(run_id):
        yield letter


def _check_selection(documents: Sequence[str], *, every: bool) -> None:
    if bool(documents) == every:
        raise ValidationError("select documents in one of these ways: their paths, or --all")


def _tell_unknown(count: int) -> int:
    if count:
        stderr.print(f"{count} not there, or not failed", style="yellow")
    return FAILED if count else 0


def _print_letter(letter: DeadLetter) -> None:
    stdout.print(f"✗ {shown(letter.path)}", markup=False)
    tries = counted(letter.attempts, "attempt")
    stdout.print(
        f"    [{letter.stage}] {letter.code} ({letter.error_type}) after {tries},"
        f" {local_time(letter.failed_at)}: {shown(letter.message)}",
        markup=False,
        style="dim",
    )
