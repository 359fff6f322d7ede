"""Documents that a file names: one in each row of a table, or in each line of JSON."""

import csv
import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, cast

from docmill.errors import MisconfiguredError
from docmill.ports import Ref
from docmill.runs.components.config import ComponentConfig
from docmill.runs.context import Context
from docmill.runs.inputs import key_of, version_of

_OWN = ("path", "name", "metadata")


class ManifestListerConfig(ComponentConfig):
    """path: of the manifest. form: by its name unless given. delimiter: between the columns of CSV."""

    path: Path
    form: Literal["csv", "jsonl"] | None = None
    delimiter: str = ","


class ManifestLister:
    """`Lister` of the documents that a CSV or JSON Lines file names, row by row.

    path: of a document, from the manifest's folder unless it is absolute; an address with `://` stays as it
    is. name: what a person calls it; the last part of the path unless given. Every other column, and each
    member of an object `metadata`, becomes metadata. Bad rows are errors that say their line.
    """

    def __init__(self, config: ManifestListerConfig | Path | str) -> None:
        self.config = (
            config if isinstance(config, ManifestListerConfig) else ManifestListerConfig(path=Path(config))
        )

    def list(self, context: Context[Any]) -> Iterator[Ref]:
        """See `Lister.list`. Raises MisconfiguredError, with the line, where a row cannot be used."""
        del context
        rows = self._csv_rows() if self._form() == "csv" else self._json_rows()
        for line_number, row in rows:
            yield self._ref(row, line_number)

    def _form(self) -> Literal["csv", "jsonl"]:
        if self.config.form is not None:
            return self.config.form
        match self.config.path.suffix.lower():
            case ".csv" | ".tsv" | ".txt":
                return "csv"
            case ".jsonl" | ".ndjson":
                return "jsonl"
            case _:
                raise MisconfiguredError(
                    f"{str(self.config.path)!r} ends neither in .csv nor in .jsonl; say its form"
                )

    def _csv_rows(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        path = self.config.path
        with _opened(path) as file:
            delimiter = "\t" if path.suffix.lower() == ".tsv" else self.config.delimiter
            try:
                reader = csv.reader(file, delimiter=delimiter, strict=True)
            except TypeError as error:
                raise MisconfiguredError(f"{delimiter!r} cannot part columns; give one character") from error
            try:
                header = next(reader, None)
                if header is None or "path" not in header:
                    raise self._error(1, "the first row must name the columns, one of them `path`")
                if len(set(header)) < len(header):
                    raise self._error(1, "two columns have the same name")
                for cells in reader:
                    if not any(cells):
                        continue
                    if len(cells) != len(header):
                        raise self._error(reader.line_num, f"it has {len(cells)} cells, not {len(header)}")
                    yield reader.line_num, dict(zip(header, cells, strict=True))
            except csv.Error as error:
                raise self._error(reader.line_num, f"it is no CSV ({error})") from error

    def _json_rows(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        with _opened(self.config.path) as file:
            for line_number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise self._error(line_number, "it is no JSON") from error
                if not isinstance(row, dict):
                    raise self._error(line_number, "it is no JSON object")
                yield line_number, cast("Mapping[str, Any]", row)

    def _ref(self, row: Mapping[str, Any], line_number: int) -> Ref:
        given, name = row.get("path"), row.get("name") or ""
        described: object = row.get("metadata") or None
        if not isinstance(given, str) or not given.strip():
            raise self._error(line_number, "it has no `path`")
        if "\0" in given:
            raise self._error(line_number, "its `path` has a null character")
        if not isinstance(name, str):
            raise self._error(line_number, "its `name` is no text")
        metadata = {key: value for key, value in row.items() if key not in _OWN}
        if isinstance(described, dict):
            metadata |= cast("Mapping[str, Any]", described)
        elif isinstance(described, str) and self._form() == "csv":
            metadata["metadata"] = described
        elif described is not None:
            raise self._error(line_number, "its `metadata` is no JSON object")
        if "://" in given:
            return Ref(given, name or given.rstrip("/").rpartition("/")[2], metadata)
        path = self.config.path.parent / given
        return Ref(key_of(path), name or key_of(Path(path.name)), metadata, version_of(path))

    def _error(self, line_number: int, problem: str) -> MisconfiguredError:
        return MisconfiguredError(f"{str(self.config.path)!r}, line {line_number}: {problem}")


@contextmanager
def _opened(path: Path) -> Generator[Any]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield file
    except FileNotFoundError as error:
        raise MisconfiguredError(f"there is no manifest {str(path)!r}") from error
    except UnicodeDecodeError as error:
        raise MisconfiguredError(f"{str(path)!r} is not written in UTF-8") from error
    except OSError as error:
        raise MisconfiguredError(f"cannot read {str(path)!r}: {error.strerror}") from error
