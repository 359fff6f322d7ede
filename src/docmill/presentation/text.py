"""A result as text, for a terminal or a notebook."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from pydantic import BaseModel

from docmill.model.result import Evidence, Suggestion, Verdict, percent_text

LIST_ITEMS = 20
"""Most items of a list that are shown."""
_WIDEST = 60


class Row(NamedTuple):
    """A field with its value, as it is shown. page: on which it stands; None for one that was not read."""

    path: str
    value: str
    evidence: Evidence | None

    @property
    def place(self) -> str:
        """The page and the confidence, in a few letters."""
        if self.evidence is None:
            return ""
        page = f"page {self.evidence.page}, " if self.evidence.page else ""
        return f"{page}{percent_text(self.evidence.confidence)}"


def rows_of(data: BaseModel, evidence: Mapping[str, Evidence]) -> list[Row]:
    """The values that are not null, each with its evidence, in the order of the schema."""
    return [Row(path, str(value), evidence.get(path)) for path, value in _leaves("", data.model_dump())]


def _leaves(path: str, value: object) -> Iterator[tuple[str, object]]:
    match value:
        case None:
            return
        case Mapping():
            for name, part in cast("Mapping[str, Any]", value).items():
                yield from _leaves(f"{path}.{name}" if path else name, part)
        case list() | tuple():
            items = cast("Sequence[Any]", value)
            for index, item in enumerate(items[:LIST_ITEMS]):
                yield from _leaves(f"{path}[{index}]", item)
            if len(items) > LIST_ITEMS:
                yield path, f"… and {len(items) - LIST_ITEMS} more"
        case _:
            yield path, value


def verdict_text(verdict: Verdict | None) -> str:
    """Whether the data can be used, in a few words."""
    if verdict is None:
        return "not read"
    count = len(verdict.failures)
    return "ready" if verdict.passed else f"needs a review: {count} check{'' if count == 1 else 's'} failed"


def result_text(
    heading: str,
    rows: Sequence[Row],
    suggestions: Mapping[str, Sequence[Suggestion]],
    verdict: Verdict | None,
) -> str:
    """A heading, a line for each value, and what speaks against them."""
    lines = [heading]
    width = max((len(row.path) for row in rows), default=0)
    values = [shortened(row.value) for row in rows]
    value_width = max(map(len, values), default=0)
    for row, value in zip(rows, values, strict=True):
        lines.append(f"  {row.path:{width}}  {value:{value_width}}  {row.place}".rstrip())
    for path, several in suggestions.items():
        listed = ", ".join(
            f"{shortened(str(one.value))} ({percent_text(one.evidence.confidence)})" for one in several
        )
        lines.append(f"  {path}: perhaps {listed}")
    if verdict is not None:
        lines += [f"  {failure.check}: {failure.message}" for failure in verdict.failures]
    return "\n".join(lines)


def shortened(value: str) -> str:
    """The value on one line, and no longer than a line."""
    value = " ".join(value.split())
    return value if len(value) <= _WIDEST else f"{value[: _WIDEST - 1]}…"
