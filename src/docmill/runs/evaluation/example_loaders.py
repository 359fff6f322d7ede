"""Examples out of files: documents, and what is true of them."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from docmill.errors import MisconfiguredError
from docmill.evaluation.truth import read_truths, sources_of
from docmill.ports import Ref
from docmill.runs.components.config import ComponentConfig
from docmill.runs.components.manifest import ManifestLister, ManifestListerConfig
from docmill.runs.context import Context
from docmill.runs.folder_files import FolderLister
from docmill.runs.inputs import key_of, version_of
from docmill.runs.roles import Example

log = logging.getLogger(__name__)

_SHOWN = 3
_OWN = ("data", "document_type", "group")


class FolderExampleLoaderConfig(ComponentConfig):
    """folder: of the documents. truth: a file or folder as `docmill eval` reads it; else the same folder.

    skips_missing: whether a truth without a document is left out; else it is an error.
    """

    folder: Path
    truth: Path | None = None
    skips_missing: bool = False


class FolderExampleLoader:
    """`ExampleLoader` of the documents of a folder that have a truth, `a.json` beside `a.pdf` for instance.

    A document without a truth is left out. Examples are named by their paths below the folder.
    """

    def __init__(self, config: FolderExampleLoaderConfig | Path | str) -> None:
        if not isinstance(config, FolderExampleLoaderConfig):
            config = FolderExampleLoaderConfig(folder=Path(config))
        self.config = config

    def load(self, context: Context[Any]) -> list[Example[Any]]:
        """See `ExampleLoader.load`. Raises MisconfiguredError if no document has a truth."""
        del context
        folder, place = self.config.folder, self.config.truth or self.config.folder
        truths = read_truths(place)
        files = place.rglob("*.json") if place.is_dir() else [place]
        files_of_truth = {path.resolve() for path in files}
        top = folder.parent if folder.is_file() else folder
        keys = [ref.key for ref in FolderLister(folder).list()]
        sources = [key for key in keys if (top / key).resolve() not in files_of_truth]
        by_source = sources_of(truths, sources)
        known = {truth.source for truth in by_source.values()}
        missing = [truth.source for truth in truths if truth.source not in known]
        if missing and not (self.config.skips_missing and by_source):
            some = ", ".join(missing[:_SHOWN]) + (", …" if len(missing) > _SHOWN else "")
            raise MisconfiguredError(
                f"{len(missing)} of {len(truths)} truths in {str(place)!r} have no document in"
                f" {str(folder)!r}: {some}"
            )
        if missing:
            log.warning("truths without a document are left out", extra={"count": len(missing)})
        return [
            Example(
                ref=_ref_of(top / source),
                expected=truth.data,
                document_type=truth.document_type,
                group=truth.group,
                source=source,
            )
            for source, truth in sorted(by_source.items())
        ]


def _ref_of(path: Path) -> Ref:
    return Ref(key_of(path), key_of(Path(path.name)), version=version_of(path))


class ManifestExampleLoaderConfig(ComponentConfig):
    """path: of a file of JSON Lines."""

    path: Path


class ManifestExampleLoader:
    """`ExampleLoader` of the documents that a file of JSON Lines names, each with its truth in its line.

    As `ManifestLister`, with the members `data` (the true values), `document_type` and `group`. Examples are
    named by their `path` as it is written.
    """

    def __init__(self, config: ManifestExampleLoaderConfig | Path | str) -> None:
        if not isinstance(config, ManifestExampleLoaderConfig):
            config = ManifestExampleLoaderConfig(path=Path(config))
        self.config = config

    def load(self, context: Context[Any]) -> Iterator[Example[Any]]:
        """See `ExampleLoader.load`. Raises MisconfiguredError, with the document, for a bad truth."""
        lister = ManifestLister(ManifestListerConfig(path=self.config.path, form="jsonl"))
        above = f"{key_of(self.config.path.parent)}/"
        for ref in lister.list(context):
            metadata = {name: value for name, value in ref.metadata.items() if name not in _OWN}
            data, document_type, group = (ref.metadata.get(name) for name in _OWN)
            where = f"{str(self.config.path)!r}: the line of {ref.key!r}"
            if not isinstance(data, dict):
                raise MisconfiguredError(f"{where} has no `data`, an object with the true values")
            if not isinstance(document_type, str | None):
                raise MisconfiguredError(f"{where} has a `document_type` that is no text")
            yield Example(
                ref=replace(ref, metadata=metadata),
                expected=data,
                document_type=document_type,
                group=None if group is None else str(group),
                source=ref.key.removeprefix(above),
            )
