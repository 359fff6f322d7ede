"""Files on this machine: what lists and what reads them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docmill.errors import CorruptError, ServerError, TooLargeError
from docmill.ports import Ref
from docmill.runs.components.config import ComponentConfig
from docmill.runs.context import Context
from docmill.runs.document_bytes import DocumentBytes
from docmill.runs.folder_files import DEFAULT_MAX_BYTES, FolderLister
from docmill.runs.inputs import key_of, path_of, version_of


class LocalListerConfig(ComponentConfig):
    """folder: whose files are listed, or one file."""

    folder: Path


class LocalLister:
    """`Lister` of every file below a folder. Hidden files, and what programs leave behind, are left out."""

    def __init__(self, config: LocalListerConfig | Path | str) -> None:
        self.config = (
            config if isinstance(config, LocalListerConfig) else LocalListerConfig(folder=Path(config))
        )

    def list(self, context: Context[Any]) -> Iterator[Ref]:
        """See `Lister.list`. The keys of the references are the paths of the files."""
        del context
        root = self.config.folder
        top = root.parent if root.is_file() else root
        for ref in FolderLister(root).list():
            path = top / ref.key
            yield Ref(key_of(path), key_of(Path(ref.name)), version=version_of(path))


class LocalReaderConfig(ComponentConfig):
    """max_bytes: of a file; larger ones are refused before they are read."""

    max_bytes: int = DEFAULT_MAX_BYTES


class LocalReader:
    """`Reader` of files on this machine; the key of a reference is its path."""

    def __init__(self, config: LocalReaderConfig | None = None) -> None:
        self.config = config or LocalReaderConfig()

    def read(self, ref: Ref, context: Context[Any]) -> DocumentBytes:
        """See `Reader.read`."""
        del context
        path = path_of(ref.key)
        try:
            size = path.stat().st_size
        except FileNotFoundError as error:
            raise CorruptError(f"{ref.key!r} is gone") from error
        except PermissionError as error:
            raise CorruptError(f"no permission to read {ref.key!r}; change its mode or owner") from error
        except OSError as error:
            raise ServerError(f"cannot read {ref.key!r}: {error.strerror}") from error
        if size > self.config.max_bytes:
            raise TooLargeError(
                f"{ref.name!r} has {size / 1e6:.0f} MB; the limit is {self.config.max_bytes / 1e6:.0f} MB"
            )
        return DocumentBytes(ref.name, path=path)
