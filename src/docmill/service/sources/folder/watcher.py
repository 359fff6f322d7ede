"""A watched folder: looked at again and again, so that shares without notifications of changes work, too."""

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from docmill.errors import MisconfiguredError, NetworkError
from docmill.files import chunks
from docmill.service.config.settings import Settings
from docmill.service.sources.item_intake import ItemIntake
from docmill.service.sources.kinds import Kind, LimitedSettings, OpenedSource

_BATCH = 1000


class FolderSettings(LimitedSettings):
    """The folder, and how often it is looked at. stable_s: how long a file must have been left as it is."""

    path: Path
    poll_s: float = Field(default=10, gt=0)
    stable_s: float = Field(default=5, ge=0)


@dataclass(frozen=True, slots=True)
class _File:
    """A file of the folder. item: another one for other content, as far as size and time tell."""

    path: Path
    name: str
    item: str


@dataclass(frozen=True, slots=True)
class FolderWatcher:
    """`Connection` to a folder."""

    settings: FolderSettings
    allowed: tuple[Path, ...]

    async def test(self) -> str:
        """See `Connection.test`."""
        files = await asyncio.to_thread(lambda: sum(1 for _ in self._files()))
        return f"the folder can be read; {files} files can be taken now"

    async def watch(self, intake: ItemIntake) -> None:
        """See `Connection.watch`."""
        while True:
            files = await asyncio.to_thread(lambda: list(self._files()))
            await intake.note_success()
            for start in range(0, len(files), _BATCH):
                batch = files[start : start + _BATCH]
                known = await intake.known([file.item for file in batch])
                for file in batch:
                    if file.item not in known:
                        await intake.take(
                            file.item,
                            chunks(file.path),
                            file_name=file.path.name,
                            metadata={"path": file.name},
                        )
            await asyncio.sleep(self.settings.poll_s)

    def _files(self) -> Iterator[_File]:
        root = self.settings.path
        check_folder(root, self.allowed)
        try:
            with os.scandir(root) as entries:
                for entry in entries:
                    if entry.is_file(follow_symlinks=False) and not entry.name.startswith("."):
                        status = entry.stat(follow_symlinks=False)
                        item = f"{entry.name}:{status.st_size}:{status.st_mtime_ns}"
                        yield _File(root / entry.name, entry.name, item)
        except OSError as error:
            raise NetworkError(f"the folder cannot be read: {error.strerror}") from error


def check_folder(path: Path, allowed: tuple[Path, ...]) -> None:
    """Raises MisconfiguredError for a folder that the settings of the installation do not allow."""
    real = path.resolve()
    if not any(real.is_relative_to(folder.expanduser().resolve()) for folder in allowed):
        raise MisconfiguredError(
            f"the folder {str(path)!r} is not in one that sources.folders names; whoever runs this"
            " installation can add it there"
        )


def _open(source: OpenedSource, settings: Settings) -> FolderWatcher:
    return FolderWatcher(source.settings, settings.sources.folders)


FOLDER = Kind(
    "folder",
    FolderSettings,
    _open,
    check=lambda chosen, settings: check_folder(chosen.path, settings.sources.folders),
)
