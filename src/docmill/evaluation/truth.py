"""Truth files: the values of documents as a person wrote them down."""

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
    """The true values of one document. data: nested as the schema; other fields are not judged."""

    source: str
    data: Mapping[str, Any]
    document_type: str | None = None
    group: str | None = None


def read_truths(path: Path) -> list[Truth]:
    """Read JSON Lines, a JSON object by file name, a CSV, or a folder with one NAME.json per document.

    Raises MisconfiguredError if it cannot be read, is empty, or names a document twice.
    """
    if not path.exists():
        raise MisconfiguredError(
            f"there is no truth {str(path)!r}; give a JSON Lines, JSON or CSV file or a folder"
        )
    truths: list[Truth] = []
    if path.is_dir():
        for file in sorted(path.rglob("*.json")):
            content = _parse_object(_read_text(file), repr(str(file)))
            is_wrapped = isinstance(content.get("data"), dict) and content.keys() <= set(_KEYS)
            source = content.get("source", file.relative_to(path).with_suffix("").as_posix())
            truths.append(_make_truth(content if is_wrapped else {"data": content}, source, repr(str(file))))
    else:
        truths += _read_table(path) if path.suffix.lower() == ".csv" else _read_json(path)
    if not truths:
        raise MisconfiguredError(f"{str(path)!r} holds no truth")
    seen: set[str] = set()
    for truth in truths:
        if truth.source in seen:
            raise MisconfiguredError(f"{str(path)!r} speaks of {truth.source!r} twice")
        seen.add(truth.source)
    return truths


def _read_table(path: Path) -> Iterator[Truth]:
    """The rows of a CSV with a column `file`; fields with empty cells are not judged."""
    for number, row in enumerate(csv.DictReader(io.StringIO(_read_text(path), newline="")), 2):
        source = row.pop(_FILE_COLUMN, None)
        if not source:
            raise MisconfiguredError(
                f'line {number} of {str(path)!r} has no "{_FILE_COLUMN}", the file it speaks of'
            )
        yield Truth(source, nest_values({name: value for name, value in row.items() if value}))


def _read_json(path: Path) -> Iterator[Truth]:
    """The truths of `{"file.pdf": {"field": value}}`, else of one JSON object per line."""
    text = _read_text(path)
    try:
        content: object = json.loads(text, parse_float=_plain_decimal)
    except ValueError:
        content = None
    by_file = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
    if by_file and all(isinstance(data, dict) for data in by_file.values()):
        yield from (Truth(source, nest_values(data)) for source, data in by_file.items())
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            where = f"line {number} of {str(path)!r}"
            record = _parse_object(line, where)
            if not isinstance(record.get("source"), str) or not record["source"]:
                raise MisconfiguredError(f'{where} has no "source", the file it speaks of')
            yield _make_truth(record, record["source"], where)


def nest_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values nested as in the schema: `seller.name` becomes the name of the seller."""
    nested: dict[str, Any] = {}
    for path, value in values.items():
        *owners, name = path.split(".")
        members = nested
        for owner in owners:
            inner = members.setdefault(owner, {})
            if not isinstance(inner, dict):
                raise MisconfiguredError(f"a truth names both {owner!r} and {path!r}")
            members = cast("dict[str, Any]", inner)
        members[name] = value
    return nested


def _make_truth(record: Mapping[str, Any], source: str, where: str) -> Truth:
    unknown = [key for key in record if key not in _KEYS]
    if unknown:
        raise MisconfiguredError(
            f"{where} has an unknown key {unknown[0]!r}; known are {', '.join(_KEYS)}; fields go into data"
        )
    data: object = record.get("data") or {}
    document_type, group = record.get("document_type"), record.get("group")
    if not isinstance(data, Mapping):
        raise MisconfiguredError(f'the "data" of {where} must be an object of fields')
    if not isinstance(document_type, str | None):
        raise MisconfiguredError(f'the "document_type" of {where} must be a text')
    group = None if group is None else str(group)
    return Truth(source, cast("Mapping[str, Any]", data), document_type, group)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise MisconfiguredError(f"cannot read {str(path)!r}: it must be a text file in UTF-8") from error


def _plain_decimal(number: str) -> str:
    """An amount as it is written: 119.10 and not 119.1."""
    return format(Decimal(number), "f")


def _parse_object(text: str, where: str) -> dict[str, Any]:
    try:
        content = json.loads(text, parse_float=_plain_decimal)
    except ValueError as error:
        raise MisconfiguredError(f"{where} is no JSON: {error}") from error
    if not isinstance(content, dict):
        raise MisconfiguredError(f"{where} must be an object")
    return cast("dict[str, Any]", content)


@dataclass(frozen=True, slots=True)
class KnownFields:
    """The fields that truths may name. kinds: by field; labelled: those that they do name."""

    kinds: Mapping[str, Kind]
    labelled: frozenset[str]


def known_fields(truths: Sequence[Truth], schemas: Mapping[str, Schema]) -> KnownFields:
    """Look up the fields of the truths in the schemas.

    schemas: by document type. A truth without a type may name the fields of any. Raises MisconfiguredError
    for a field that no schema has, with the nearest one.
    """
    outlines: dict[str, dict[str, Kind]] = {
        name: {leaf.path: leaf.kind for leaf in outline(schema)} for name, schema in schemas.items()
    }
    kinds: dict[str, Kind] = {path: kind for fields in outlines.values() for path, kind in fields.items()}
    labelled: set[str] = set()
    owners: list[set[str]] = []
    for truth in truths:
        if truth.document_type is not None and len(schemas) > 1 and truth.document_type not in schemas:
            raise MisconfiguredError(
                f"the truth of {truth.source!r} is of an unknown type {truth.document_type!r}"
                f"{_suggestion(truth.document_type, schemas)}"
            )
        fields = outlines.get(truth.document_type or "", kinds)
        for field in leaf_fields(truth.data):
            # A list or object without values stands for the fields in it.
            members = {path for path in fields if path.startswith((f"{field}.", f"{field}[]"))}
            if field in fields:
                labelled.add(field)
            elif members:
                owners.append(members)
            else:
                raise MisconfiguredError(
                    f"the truth of {truth.source!r} names a field {field!r} that is not there"
                    f"{_suggestion(field, fields)}{_OWN if len(schemas) > 1 else ''}"
                )
    # Of an empty list only the fields that other documents name; all of them if none does.
    empty = (members for members in owners if not members & labelled)
    return KnownFields(kinds, frozenset(labelled.union(*empty)))


def _suggestion(name: str, names: Mapping[str, object]) -> str:
    near = process.extractOne(name, list(names), scorer=fuzz.ratio, score_cutoff=_NEAR)
    return f"; do you mean {near[0]!r}?" if near else f"; there are {', '.join(names)}"


def sources_of(truths: Sequence[Truth], there: Sequence[str]) -> dict[str, Truth]:
    """The truth of each file or record, by its name; a truth may leave out the ending of a file's name.

    Raises MisconfiguredError if a truth's name is that of two files.
    """
    exact = set(there)
    by_stem: dict[str, list[str]] = {}
    for source in there:
        by_stem.setdefault(PurePosixPath(source).with_suffix("").as_posix(), []).append(source)
    by_source: dict[str, Truth] = {}
    for truth in truths:
        sources = [truth.source] if truth.source in exact else by_stem.get(truth.source, [])
        if len(sources) > 1:
            raise MisconfiguredError(
                f"the truth of {truth.source!r} may mean {' or '.join(map(repr, sources))}; give the ending"
            )
        by_source.update(dict.fromkeys(sources, truth))
    return by_source
