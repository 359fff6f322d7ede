"""A watched folder: looked at again and again, so that shares without notifications of changes work, too."""

import asyncio
import itertools
import os
from collections.abc import Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from docmill.errors import MisconfiguredError, NetworkError, UnauthorizedError
from docmill.service.config.settings import Settings
from docmill.service.sources.folder.folder_files import (
    FileChangedError,
    FolderTree,
    FoundFile,
    allowed_above,
)
from docmill.service.sources.folder.put_away import After, delete_file, move_file
from docmill.service.sources.item_intake import ItemIntake
from docmill.service.sources.kinds import RARELY, Kind, LimitedSettings, OpenedSource

_BATCH = 1000
_MOST_NEW = 5000
"""New files for whose rest is waited together. Of a folder, never more than these are held in memory."""
_MOST_NAMED = 3


class FolderSettings(LimitedSettings):
    """The folder, how it is looked at, and what becomes of its files."""

    path: Path = Field(description="Folder from which files are taken")
    subfolders: bool = Field(default=False, description="Also take files from the folders below it")
    folder_names_as_tags: bool = Field(
        default=False, description="Tag each document with the names of the subfolders it lies in"
    )
    after: After = Field(default="keep", description="What happens to a file that was taken")
    move_to: Path | None = Field(
        default=None, description="Folder to which taken files are moved, if they are to be"
    )
    poll_s: float = Field(
        default=10, gt=0, description="Seconds between two looks into the folder", json_schema_extra=RARELY
    )
    stable_s: float = Field(
        default=5,
        ge=0,
        description="Seconds for which a file must not have changed before it is taken",
        json_schema_extra=RARELY,
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.after == "move") != (self.move_to is not None):
            raise ValueError("move_to: name a folder if files are to be moved, and only then")
        if self.folder_names_as_tags and not self.subfolders:
            raise ValueError("folder_names_as_tags: files are to be taken from subfolders, too, then")
        if self.move_to is not None and self.move_to == self.path:
            raise ValueError("move_to: files must be moved to another folder than they are taken from")
        return self


@dataclass(slots=True)
class _Problems:
    """Files that cannot be taken or put away for now, so that a person is told once per look."""

    names: list[str] = field(default_factory=list[str])
    reason: str = ""

    def add(self, name: str, error: OSError) -> None:
        self.names.append(name)
        self.reason = self.reason or error.strerror or type(error).__name__

    def error(self) -> UnauthorizedError:
        named = ", ".join(repr(name) for name in self.names[:_MOST_NAMED])
        more = f" and {len(self.names) - _MOST_NAMED} more" if len(self.names) > _MOST_NAMED else ""
        return UnauthorizedError(f"cannot be read, moved or deleted: {named}{more} ({self.reason})")


@dataclass(frozen=True, slots=True)
class FolderWatcher:
    """`Connection` to a folder."""

    settings: FolderSettings
    allowed: tuple[Path, ...]

    @property
    def tree(self) -> FolderTree:
        """The folder."""
        return FolderTree(self.settings.path, self.allowed, with_subfolders=self.settings.subfolders)

    @property
    def target(self) -> FolderTree | None:
        """The folder to which files are moved."""
        return None if self.settings.move_to is None else FolderTree(self.settings.move_to, self.allowed)

    async def test(self) -> str:
        """See `Connection.test`."""
        files = await asyncio.to_thread(lambda: sum(1 for _ in self.tree.files(skip=self._target_folder())))
        if self.settings.after != "keep":
            await asyncio.to_thread(self._test_writing)
        return f"the folder can be read; files in it: {files}"

    def _test_writing(self) -> None:
        for tree in filter(None, (self.tree, self.target)):
            try:
                with tree.open_folder() as folder:
                    if not os.access(".", os.W_OK, dir_fd=folder):
                        raise MisconfiguredError(
                            f"docmill may not write to the folder {str(tree.root)!r}; allow it, or keep files"
                        )
            except OSError as error:
                raise NetworkError(
                    f"the folder {str(tree.root)!r} cannot be opened: {error.strerror}"
                ) from error

    async def watch(self, intake: ItemIntake) -> None:
        """See `Connection.watch`."""
        while True:
            await self.sweep(intake)
            await asyncio.sleep(self.settings.poll_s)

    async def sweep(self, intake: ItemIntake) -> None:
        """Look at the whole folder once, and take what is new."""
        problems = _Problems()
        files = self.tree.files(
            skip=await asyncio.to_thread(self._target_folder),
            unreadable=problems.add,
        )
        new: list[FoundFile] = []
        try:
            while batch := await asyncio.to_thread(lambda: list(itertools.islice(files, _BATCH))):
                new += await self._new_files(intake, batch, problems)
                if len(new) >= _MOST_NEW:
                    await self._take_stable(intake, new, problems)
                    new = []
            await self._take_stable(intake, new, problems)
        finally:
            with suppress(ValueError):  # cancelled, a thread may still be at it
                files.close()
        await intake.note_success()
        if problems.names:
            await intake.note_problem(problems.error())

    async def _new_files(
        self, intake: ItemIntake, batch: Sequence[FoundFile], problems: _Problems
    ) -> list[FoundFile]:
        """The files that were never taken. Those that were, and are still to be put away, are."""
        items = {self.item_name(file): file for file in batch}
        known = await intake.known(list(items))
        if known and self.settings.after != "keep":
            for item in known - await intake.refused(list(known)):
                await self._put_away(items[item], problems)
        return [file for item, file in items.items() if item not in known]

    async def _take_stable(self, intake: ItemIntake, files: Sequence[FoundFile], problems: _Problems) -> None:
        """Take the files that have not changed for `stable_s`; the others are looked at the next time."""
        if not files:
            return
        await asyncio.sleep(self.settings.stable_s)
        for file in files:
            if await asyncio.to_thread(self.tree.is_unchanged, file):
                try:
                    await self._take(intake, file, problems)
                except FileChangedError:
                    continue
                except OSError as error:
                    problems.add(file.path, error)

    async def _take(self, intake: ItemIntake, file: FoundFile, problems: _Problems) -> None:
        async with aclosing(self.tree.chunks(file)) as chunks:
            taken = await intake.take(
                self.item_name(file),
                chunks,
                file_name=file.shown_name,
                metadata={"path": file.path},
                tag_names=file.shown_folders if self.settings.folder_names_as_tags else (),
            )
        if taken.status in {"accepted", "already_here"}:
            await self._put_away(file, problems)

    async def _put_away(self, file: FoundFile, problems: _Problems) -> None:
        try:
            if self.settings.after == "delete":
                await asyncio.to_thread(delete_file, self.tree, file)
            elif self.target is not None:
                await asyncio.to_thread(move_file, self.tree, file, self.target)
        except OSError as error:
            problems.add(file.path, error)

    def item_name(self, file: FoundFile) -> str:
        """The name of an item: another one for other content, as far as the file system tells.

        Before a file is removed, the time of its last change counts, too, which nobody can set: one that was
        replaced by another of the same size and date is read, and not taken for the one that is known.
        """
        name = f"{file.path}:{file.identity.size}:{file.identity.modified_ns}"
        return name if self.settings.after == "keep" else f"{name}:{file.identity.changed_ns}"

    def _target_folder(self) -> list[tuple[int, int]]:
        """Device and inode of the folder to which files are moved, which may lie within the watched one."""
        with suppress(OSError):
            if self.target is not None:
                with self.target.open_folder() as folder:
                    status = os.fstat(folder)
                    return [(status.st_dev, status.st_ino)]
        return []


def _open(source: OpenedSource, settings: Settings) -> FolderWatcher:
    return FolderWatcher(source.settings, settings.sources.folders)


def _check(chosen: FolderSettings, settings: Settings) -> None:
    for path in filter(None, (chosen.path, chosen.move_to)):
        if not path.is_absolute():
            raise MisconfiguredError(f"the path of the folder {str(path)!r} must begin with '/'")
        allowed_above(path, settings.sources.folders)


FOLDER = Kind("folder", FolderSettings, _open, check=_check)
