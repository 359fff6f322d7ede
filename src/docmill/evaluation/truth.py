"""Truth files: the values of documents as a person has written them down."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any, cast

from rapidfuzz import fuzz, process

from docmill.errors import MisconfiguredError
from docmill.evaluation.judge import leaf_fields
from docmill.model.result import Schema
from docmill.schemas.outline import Kind, outline

_FILE_COLUMN = "file"
_KEYS = ("source", "document_type", "data", "group")
_NEAR = 60
_OWN = "; for fields of a schema of your own, name it with --schema"


@dataclass(frozen=True, slots=True)
class Truth:
    """One document's. data: nested as the schema; what it does not name is not judged."""

    source: str
    data: Mapping[str, Any]
    document_type: str | None = None
    group: str | None = None


def read_truths(path: Path) -> list[Truth]:
    """From JSON Lines, a JSON object by file name, a CSV, or a folder with one NAME.json per document.

    Raises MisconfiguredError for what cannot be read, says nothing, or speaks of a document twice.
    """
    if not path.exists():
        raise MisconfiguredError(
            f"there is no truth {str(path)!r}; give a JSON Lines, JSON or CSV file or a folder"
        )
    truths = list(_of_folder(path) if path.is_dir() else _of_file(path))
    if not truths:
        raise MisconfiguredError(f"{str(path)!r} holds no truth")
    seen: set[str] = set()
    for truth in truths:
        if truth.source in seen:
            raise MisconfiguredError(f"{str(path)!r} speaks of {truth.source!r} twice")
        seen.add(truth.source)
    return truths


def _of_file(path: Path) -> Iterator[Truth]:
    if path.suffix.lower() == ".csv":
        return _of_table(path)
    by_file = _by_file(_text(path))
    if by_file is None:
        return _of_lines(path)
    return (Truth(source, _nested(data)) for source, data in by_file.items())


def _by_file(text: str) -> dict[str, dict[str, Any]] | None:
    """Parse `{"file.pdf": {"field": value}}`; None if the text is no such object."""
    try:
        said: object = json.loads(text, parse_float=_as_written)
    except ValueError:
        return None
    by_file = cast("dict[str, Any]", said) if isinstance(said, dict) else {}
    return by_file if by_file and all(isinstance(one, dict) for one in by_file.values()) else None


def _of_table(path: Path) -> Iterator[Truth]:
    """The rows of a CSV with a column `file`; what an empty cell stands for is not judged."""
    for number, row in enumerate(csv.DictReader(io.StringIO(_text(path), newline="")), 2):
        source = row.get(_FILE_COLUMN)
        if not source:
            raise MisconfiguredError(
                f'line {number} of {str(path)!r} has no "{_FILE_COLUMN}", the file it speaks of'
            )
        yield Truth(
            source, _nested({name: value for name, value in row.items() if value and name != _FILE_COLUMN})
        )


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as the schema has them: `seller.name` is the name within the seller."""
    found: dict[str, Any] = {}
    for path, value in values.items():
        *owners, name = path.split(".")
        members = found
        for owner in owners:
            inner = members.setdefault(owner, {})
            if not isinstance(inner, dict):
                raise MisconfiguredError(f"a truth names both {owner!r} and {path!r}")
            members = cast("dict[str, Any]", inner)
        members[name] = value
    return found


def _of_lines(path: Path) -> Iterator[Truth]:
    for number, line in enumerate(_text(path).split("\n"), 1):
        if line.strip():
            where = f"line {number} of {str(path)!r}"
            said = _parsed(line, where)
            if not isinstance(said.get("source"), str) or not said["source"]:
                raise MisconfiguredError(f'{where} has no "source", the file it speaks of')
            yield _truth(said, said["source"], where)


def _of_folder(folder: Path) -> Iterator[Truth]:
    for path in sorted(folder.rglob("*.json")):
        source = path.relative_to(folder).with_suffix("").as_posix()
        said = _parsed(_text(path), repr(str(path)))
        is_wrapped = isinstance(said.get("data"), dict) and said.keys() <= set(_KEYS)
        yield _truth(said if is_wrapped else {"data": said}, said.get("source", source), repr(str(path)))


def _truth(said: Mapping[str, Any], source: str, where: str) -> Truth:
    unknown = [key for key in said if key not in _KEYS]
    if unknown:
        raise MisconfiguredError(
            f"{where} has an unknown key {unknown[0]!r}; known are {', '.join(_KEYS)}; fields go into data"
        )
    data: object = said.get("data") or {}
    if not isinstance(data, Mapping):
        raise MisconfiguredError(f'the "data" of {where} must be an object of fields')
    if not isinstance(said.get("document_type"), str | None):
        raise MisconfiguredError(f'the "document_type" of {where} must be a text')
    group = said.get("group")
    return Truth(
        source,
        cast("Mapping[str, Any]", data),
        said.get("document_type"),
        None if group is None else str(group),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise MisconfiguredError(f"cannot read {str(path)!r}: it must be a text file in UTF-8") from error


def _as_written(number: str) -> str:
    """An amount as it is written: 119.10 and not 119.1."""
    return format(Decimal(number), "f")


def _parsed(text: str, where: str) -> dict[str, Any]:
    try:
        said = json.loads(text, parse_float=_as_written)
    except ValueError as error:
        raise MisconfiguredError(f"{where} is no JSON: {error}") from error
    if not isinstance(said, dict):
        raise MisconfiguredError(f"{where} must be an object")
    return cast("dict[str, Any]", said)


@dataclass(frozen=True, slots=True)
class KnownFields:
    """The fields that truths may name. kinds: by field; labelled: those that they do name."""

    kinds: Mapping[str, Kind]
    labelled: frozenset[str]


def known_fields(truths: Sequence[Truth], schemas: Mapping[str, Schema]) -> KnownFields:
    """Look up the fields of the truths in the schemas.

    schemas: by document type. A truth without a type may name the fields of any. Raises MisconfiguredError
    for one that no schema has, with the nearest that is there.
    """
    outlines: dict[str, dict[str, Kind]] = {
        name: {leaf.path: leaf.kind for leaf in outline(one)} for name, one in schemas.items()
    }
    every: dict[str, Kind] = {path: kind for kinds in outlines.values() for path, kind in kinds.items()}
    spoken: set[str] = set()
    meant: list[set[str]] = []
    for truth in truths:
        if truth.document_type is not None and len(schemas) > 1 and truth.document_type not in schemas:
            raise MisconfiguredError(
                f"the truth of {truth.source!r} is of an unknown type {truth.document_type!r}"
                f"{_instead(truth.document_type, schemas)}"
            )
        known = outlines.get(truth.document_type or "", every)
        for field in leaf_fields(truth.data):
            if field in known:
                spoken.add(field)
            else:
                meant.append(_within(field, known, truth, _OWN if len(schemas) > 1 else ""))
    # Of an empty list those values that other documents name; all that there can be where none does.
    return KnownFields(every, frozenset(spoken.union(*(within for within in meant if not within & spoken))))


def _within(field: str, known: Mapping[str, Kind], truth: Truth, hint: str) -> set[str]:
    """The schema's fields in a list or object of which the truth says that there is none. hint: else."""
    within = {path for path in known if path.startswith((f"{field}.", f"{field}[]"))}
    if not within:
        raise MisconfiguredError(
            f"the truth of {truth.source!r} names a field {field!r} that is not there"
            f"{_instead(field, known)}{hint}"
        )
    return within


def _instead(name: str, known: Mapping[str, object]) -> str:
    near = process.extractOne(name, list(known), scorer=fuzz.ratio, score_cutoff=_NEAR)
    return f"; do you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}"


def sources_of(truths: Sequence[Truth], there: Sequence[str]) -> dict[str, Truth]:
    """By the name of a file or record the truth of it; a truth may leave out a file's ending.

    Raises MisconfiguredError where two have the name that a truth gives.
    """
    exact = set(there)
    by_stem: dict[str, list[str]] = {}
    for source in there:
        by_stem.setdefault(PurePosixPath(source).with_suffix("").as_posix(), []).append(source)
    found: dict[str, Truth] = {}
    for truth in truths:
        named = [truth.source] if truth.source in exact else by_stem.get(truth.source, [])
        if len(named) > 1:
            raise MisconfiguredError(
                f"the truth of {truth.source!r} may mean {' or '.join(map(repr, named))}; give the ending"
            )
        found.update(dict.fromkeys(named, truth))
    return found
