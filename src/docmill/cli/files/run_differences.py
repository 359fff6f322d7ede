"""`docmill runs diff`: what became of documents in two runs."""

from collections import Counter
from dataclasses import asdict, dataclass

from docmill.cli.console import FAILED, counted, shown, stdout
from docmill.cli.files.run_states import opened_store, print_json
from docmill.runs.states import DocumentState

_COMPARED = {"status": "status", "error": "error", "content_hash": "content"}
"""The compared fields of a document's state, with the word for each."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A document that ended differently. changed: status, error, content, or that it is new or missing.

    before, after: its status; None where it is not there.
    """

    path: str
    changed: tuple[str, ...]
    before: str | None = None
    after: str | None = None
    error_before: str | None = None
    error_after: str | None = None


async def diff_runs(address: str | None, first_id: str, second_id: str, *, limit: int, as_json: bool) -> int:
    """Print which documents ended differently in two runs; the exit code, 1 if any did."""
    async with opened_store(address) as store:
        for run_id in (first_id, second_id):
            await store.find_run(run_id)
        before = {each.path: each async for each in store.documents(first_id)}
        compared = [
            _compare(before.pop(document.path, None), document)
            async for document in store.documents(second_id)
        ]
    differences = [difference for difference in compared if difference is not None]
    differences += [Difference(path, ("missing",), each.status) for path, each in before.items()]
    kinds = Counter(kind for difference in differences for kind in difference.changed)
    if as_json:
        print_json({"counts": kinds, "differences": [asdict(difference) for difference in differences]})
        return FAILED if differences else 0
    for difference in differences[:limit]:
        _print_difference(difference)
    if len(differences) > limit:
        stdout.print(f"… these are the first {limit}; --limit shows more")
    told = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    stdout.print(f"{counted(len(differences), 'difference')}: {told}" if differences else "no difference")
    return FAILED if differences else 0


def _compare(before: DocumentState | None, after: DocumentState) -> Difference | None:
    if before is None:
        return Difference(after.path, ("new",), None, after.status, None, after.error)
    changed = tuple(
        called for name, called in _COMPARED.items() if getattr(before, name) != getattr(after, name)
    )
    if not changed:
        return None
    return Difference(after.path, changed, before.status, after.status, before.error, after.error)


def _print_difference(difference: Difference) -> None:
    before, after = difference.before or "not there", difference.after or "not there"
    changed = ", ".join(difference.changed)
    stdout.print(f"{shown(difference.path)}: {before} -> {after} ({changed})", markup=False)
    for when, error in (("before", difference.error_before), ("after", difference.error_after)):
        if error:
            stdout.print(f"    {when}: {shown(error)}", markup=False, style="dim")
