"""`docmill match`: says which documents of a folder belong together, and where they differ."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from docmill.cli.console import counted, put, shown, stdout
from docmill.cli.files.run import RunOptions, run_folder
from docmill.errors import MisconfiguredError
from docmill.matching import match, records_of
from docmill.matching.outcome import Link, Matching, State
from docmill.matching.record_building import is_matchable
from docmill.matching.wording import RELATION_NAMES, discrepancy_text, reason_text
from docmill.model.result import percent_text
from docmill.runs.components.records import Record
from docmill.runs.folders.record_file import RecordFile

_MARKS = {
    "confirmed": "[green]✓[/green]",
    "automatic": "[green]✓[/green]",
    "suggested": "[yellow]?[/yellow]",
}
_REASONS_SHOWN = 3
_EXAMPLE = '{"confirmed": [["order.pdf", "bill.pdf"]]}'


class PairDecisions(BaseModel):
    """Decisions of people from a file: pairs of names of documents, and of names that are one party."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    confirmed: tuple[tuple[str, str], ...] = ()
    declined: tuple[tuple[str, str], ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()

    def status_of(self, link: Link) -> Literal["confirmed"] | State:
        """What a person decided about a link, else the matcher's state."""
        ends = frozenset((link.first_id, link.second_id))
        return "confirmed" if ends in self.confirmed_ends else link.state

    @cached_property
    def confirmed_ends(self) -> frozenset[frozenset[str]]:
        """The ends of confirmed links, which stand in either order."""
        return frozenset(map(frozenset, self.confirmed))


NO_DECISIONS = PairDecisions()


def load_decisions(path: Path) -> PairDecisions:
    """Read what people decided. Raises MisconfiguredError for a file that is not of this form."""
    try:
        return PairDecisions.model_validate_json(path.read_bytes())
    except OSError as error:
        raise MisconfiguredError(f"cannot read {str(path)!r}: {error.strerror}") from error
    except ValidationError as error:
        raise MisconfiguredError(f"{str(path)!r}: {_explained(error)}") from error


def _explained(error: ValidationError) -> str:
    """What is wrong with a file of decisions, in words."""
    first = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "json_invalid":
        return "this is no JSON"
    if first["type"] == "extra_forbidden":
        return f"there is no key {place!r}; there are {', '.join(PairDecisions.model_fields)}"
    return f"{place or 'the file'}: give lists of two names, such as {_EXAMPLE}"


def match_folder(
    options: RunOptions,
    decisions: PairDecisions = NO_DECISIONS,
    *,
    keeps_records: bool,
    out: Path | None,
    as_json: bool,
) -> int:
    """Read a folder, or take the records of an earlier run, and print what belongs together.

    options: of the run; quiet: only a summary is printed. keeps_records: whether its records are kept for
    the next time. Returns the exit code of the run.
    """
    with TemporaryDirectory() as folder:
        if options.folder.is_file() and options.folder.suffix == ".jsonl":
            options, code = replace(options, out=options.folder), 0
        else:
            if not keeps_records:
                options = replace(options, out=Path(folder) / "records.jsonl", is_temporary=True)
            code = run_folder(replace(options, quiet=True, keeps_text=True, has_summary=not as_json))
        if options.dry_run:
            return code
        records = {str(record["source"]): record for record in RecordFile(options.out).read()}
    matchable = {name: record for name, record in records.items() if _is_matchable(record)}
    found = match(
        [
            each
            for name, record in matchable.items()
            for each in records_of(name, record["document_type"], record["data"], record.get("text") or "")
        ],
        confirmed=decisions.confirmed,
        declined=decisions.declined,
        aliases=decisions.aliases,
    )
    data = as_data(found, decisions) | {
        "not_matched": [
            {"source": name, "document_type": record["document_type"], "error": record.get("error")}
            for name, record in records.items()
            if name not in matchable
        ]
    }
    if out is not None:
        put(out, json.dumps(data, ensure_ascii=False, indent=1) + "\n")
    if as_json:
        stdout.print_json(data=data)
    else:
        if not options.quiet:
            _print_links(found, decisions)
        _print_summary(found, len(matchable), len(records))
    return code


def as_data(found: Matching, decisions: PairDecisions) -> dict[str, object]:
    """The result of matching as JSON, with a sentence for each reason and discrepancy."""
    return {
        "links": [
            {
                **asdict(link),
                "status": decisions.status_of(link),
                "reasons": [{**asdict(each), "text": reason_text(each)} for each in link.reasons],
            }
            for link in found.links
        ],
        "clusters": [list(cluster) for cluster in found.clusters],
        "discrepancies": [{**asdict(each), "text": discrepancy_text(each)} for each in found.discrepancies],
    }


def _is_matchable(record: Record) -> bool:
    return is_matchable(record["document_type"]) and isinstance(record["data"], Mapping)


def _print_links(found: Matching, decisions: PairDecisions) -> None:
    linked = {each for cluster in found.clusters for each in cluster}
    for number, cluster in enumerate(found.clusters, 1):
        stdout.print(f"[bold]{number}[/bold]  {', '.join(map(_escaped, cluster))}")
        for link in found.links:
            if link.first_id in cluster and link.second_id in cluster and link.state != "outranked":
                _print_link(link, decisions)
        for each in found.discrepancies:
            if each.record_id in cluster:
                stdout.print(
                    f"   [red]≠[/red] {_escaped(each.record_id)}: {_escaped(discrepancy_text(each))}"
                )
    others = [
        link
        for link in found.links
        if link.state == "suggested" and not {link.first_id, link.second_id} <= linked
    ]
    if others:
        stdout.print("[bold]To be decided by a person[/bold]")
        for link in others:
            _print_link(link, decisions)


def _print_summary(found: Matching, matchable: int, all_documents: int) -> None:
    groups = counted(len(found.clusters), "group")
    differences = counted(len(found.discrepancies), "discrepancy", "discrepancies")
    documents = f"{counted(all_documents, 'document')}, {matchable} of types that can be matched"
    stdout.print(f"{documents}, {groups}, {differences}")


def _print_link(link: Link, decisions: PairDecisions) -> None:
    reasons = " ".join(reason_text(each) for each in link.reasons[:_REASONS_SHOWN] if each.weight > 0)
    status = decisions.status_of(link)
    sure = status if status == "confirmed" else percent_text(link.score)
    stdout.print(
        f"   {_MARKS[status]} {_escaped(link.first_id)} - {_escaped(link.second_id)}: "
        f"{RELATION_NAMES[link.relation]}, {sure}. [dim]{_escaped(reasons)}[/dim]"
    )


def _escaped(text: str) -> str:
    return shown(text).replace("[", r"\[")
