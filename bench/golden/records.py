"""Records as sorted JSON lines with rounded numbers, and what differs between two of them."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

Record = dict[str, Any]

DIGITS = 6
"""Numbers are rounded to so many decimals: more are noise of the order in which they were added."""


def error_record(source: str, error: Any) -> Record:
    """Of a document that a `docmill.DocmillError` ended."""
    return {"source": source, "error": {"code": error.code, "step": error.step, "message": error.message}}


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in cast("Record", value).items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in cast("list[Any]", value)]
    return value


def write(path: Path, records: Iterable[Record]) -> None:
    """Sorted by source, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps(rounded(record), sort_keys=True, ensure_ascii=False)
        for record in sorted(records, key=lambda record: record["source"])
    ]
    making = path.with_suffix(".making")
    making.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", errors="backslashreplace")
    making.rename(path)


def read(path: Path) -> dict[str, Record]:
    """By source."""
    with path.open(encoding="utf-8") as file:
        return {record["source"]: record for record in map(json.loads, file)}


def differences(before: Mapping[str, Record], now: Mapping[str, Record]) -> Iterator[tuple[str, str]]:
    """Document, and what differs in it in words."""
    for source in sorted({*before, *now}):
        if source not in now:
            yield source, "was recorded and is not there now"
        elif source not in before:
            yield source, "was not recorded and is there now"
        else:
            old, new = dict(_leaves(before[source])), dict(_leaves(now[source]))
            for path in sorted({*old, *new}):
                if old.get(path, "nothing") != new.get(path, "nothing"):
                    yield source, f"{path}: {old.get(path, 'nothing')} -> {new.get(path, 'nothing')}"


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every value within as JSON, by its path; of something empty that it is empty."""
    if isinstance(value, dict) and value:
        for key, item in cast("Record", value).items():
            quoted = f"[{key}]" if "." in key or "[" in key else f".{key}" if path else key
            yield from _leaves(item, f"{path}{quoted}")
    elif _is_nested(cast("Any", value)):
        for index, item in enumerate(cast("list[Any]", value)):
            yield from _leaves(item, f"{path}[{index}]")
    else:
        yield path, json.dumps(value, ensure_ascii=False)


def _is_nested(value: Any) -> bool:
    """Tell a list of something with paths of its own."""
    return isinstance(value, list) and any(isinstance(item, dict | list) for item in cast("list[Any]", value))
