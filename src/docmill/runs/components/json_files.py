"""Results as JSON, a file for each document."""

import json
import re
import unicodedata
from hashlib import sha256
from pathlib import Path
from typing import Any

from docmill.errors import ServerError
from docmill.model.document import Document
from docmill.runs.components.atomic_files import make_folder, sync_folder, write_atomically
from docmill.runs.components.config import ComponentConfig
from docmill.runs.components.records import record_of
from docmill.runs.context import Context
from docmill.runs.roles import ExtractionResult

_UNSAFE = re.compile(r"[^\w.\- ]|_{2,}")
_LONGEST_BYTES = 120
_DIGEST = 16


class JsonFilesExporterConfig(ComponentConfig):
    """folder: for the files. with_text: whether they have the documents' text."""

    folder: Path
    with_text: bool = False


class JsonFilesExporter:
    """`Exporter` into a folder with a JSON file for each document, which appears whole or not at all.

    The name of a file begins with that of its document, and ends in digests of run and source, and of the
    result's key, in lower case: names never collide, on any file system. Of a document whose content has
    changed, the file of the newest result stays.
    """

    def __init__(self, config: JsonFilesExporterConfig | Path | str) -> None:
        if not isinstance(config, JsonFilesExporterConfig):
            config = JsonFilesExporterConfig(folder=Path(config))
        self.config = config
        self._is_unsynced = False

    def open(self, context: Context[Any]) -> None:
        """Create the folder. Raises MisconfiguredError if that cannot be done."""
        del context
        make_folder(self.config.folder)

    def export(self, document: Document, data: ExtractionResult[Any], context: Context[Any]) -> None:
        """See `Exporter.export`."""
        current = context.document
        make_folder(self.config.folder)
        source = _digest(f"{context.run_id}\0{current.ref.key}")
        start = f"{_stem(current.ref.name)}-{source}-"
        path = self.config.folder / f"{start}{_digest(current.key)}.json"
        record = record_of(document, data, current, with_text=self.config.with_text)
        text = json.dumps(record, ensure_ascii=False, indent=2) + "\n"
        write_atomically(path, text.encode("utf-8", "backslashreplace"))
        self._is_unsynced = True
        if current.is_changed:
            self._remove_outdated(f"*-{source}-*.json", path)

    def flush(self) -> None:
        """Bring the names of the files to the disk. Raises ServerError if it takes no more."""
        if self._is_unsynced:
            self._is_unsynced = False
            try:
                sync_folder(self.config.folder)
            except ServerError:
                self._is_unsynced = True
                raise

    def _remove_outdated(self, pattern: str, newest: Path) -> None:
        for path in self.config.folder.glob(pattern):
            if path.name != newest.name:
                path.unlink(missing_ok=True)


def _stem(name: str) -> str:
    """The beginning of a document's name, of signs that every file system takes."""
    stem = _UNSAFE.sub("_", unicodedata.normalize("NFC", Path(name).stem)).strip(" ._-") or "document"
    return stem.encode()[:_LONGEST_BYTES].decode("utf-8", "ignore").rstrip(" .")


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:_DIGEST]
