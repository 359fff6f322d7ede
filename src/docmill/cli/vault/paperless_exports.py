"""The work of `docmill import paperless`."""

import asyncio
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from docmill.cli.console import FAILED, counted, shown, stderr, stdout
from docmill.cli.vault.access import existing_service, log_command
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.paperless.carry_over import CarryOver
from docmill.service.paperless.export_files import open_export
from docmill.service.paperless.importing import Outcome, PaperlessImport
from docmill.service.paperless.manifest import Manifest, read_manifest
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.tagging import Tagging

_STATUSES = {
    "new": ("imported", "to import"),
    "known": ("already here, with metadata added", "already here, metadata to add"),
    "unchanged": ("imported before", "imported before"),
    "refused": ("refused", "to be refused"),
}
"""The words for outcomes, after an import and after a dry run."""


async def import_paperless(settings: Settings, path: Path, *, is_dry: bool) -> int:
    """Import an export; the exit code."""
    async with existing_service(settings) as service:
        with open_export(path) as files:
            manifest = await asyncio.to_thread(read_manifest, files)
            counts = Counter[str]()
            with _progress(len(manifest.documents)) as advance:

                def tell(outcome: Outcome) -> None:
                    counts[outcome.status] += 1
                    advance()
                    if told := outcome.problem or outcome.doubt:
                        name = outcome.document.title or outcome.document.file_name
                        mark, style = ("✗", "red") if outcome.problem else ("!", "yellow")
                        stderr.print(
                            f"{mark} {outcome.document.pk}  {shown(name)}: {told}", style=style, markup=False
                        )

                await _importer(service).run(files, manifest, tell, is_dry=is_dry)
        if not is_dry and counts["new"] + counts["known"]:
            await log_command(service, "import_paperless", details=dict(counts))
    _print_report(manifest, counts, is_dry=is_dry)
    return FAILED if counts["refused"] or manifest.problems else 0


def _importer(service: Service) -> PaperlessImport:
    carry_over = CarryOver(service.database, service.edits, Tagging(service.database, service.feed))
    return PaperlessImport(
        service.intake,
        carry_over,
        max_bytes=service.settings.limits.file_bytes,
        tenant_id=service.default_tenant_id,
        user_id=DEFAULT_USER_ID,
    )


def _print_report(manifest: Manifest, counts: Mapping[str, int], *, is_dry: bool) -> None:
    for problem in manifest.problems:
        stderr.print(f"✗ {shown(problem)}", style="red", markup=False)
    version = f" of paperless-ngx {shown(manifest.version)}" if manifest.version else ""
    stdout.print(f"{counted(len(manifest.documents), 'document')} in the export{version}", markup=False)
    for status, words in _STATUSES.items():
        if counts.get(status):
            stdout.print(f"  {counts[status]} {words[is_dry]}", markup=False)
    if manifest.not_imported:
        left = ", ".join(counted(number, name) for name, number in manifest.not_imported.items())
        stdout.print(f"not imported: {left}", markup=False)
    if manifest.has_secrets:
        stdout.print("not imported: passwords and tokens that the export has encrypted", markup=False)
    if is_dry:
        stdout.print("a dry run: nothing was changed", markup=False)


@contextmanager
def _progress(total: int) -> Generator[Callable[[], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal) as bar:
        task = bar.add_task("documents", total=total)
        yield lambda: bar.advance(task)
