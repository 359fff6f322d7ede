"""The report of a run as one HTML file, which loads nothing and runs no scripts."""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import NamedTuple

from docmill.runs.reporting.progress_words import duration_text
from docmill.runs.reporting.run_figures import Failure, RunFigures
from docmill.runs.reporting.run_page_style import STYLE
from docmill.runs.states import DocumentState, DocumentStatus, Run

Counts = Mapping[DocumentStatus, int]
_WORDS: Mapping[DocumentStatus, str] = {
    "completed": "completed",
    "needs_review": "need a review",
    "failed": "failed",
    "pending": "not done yet",
    "in_progress": "being processed",
    "vanished": "not listed any more",
}
_LONGEST_TRACEBACK = 6000
"""Characters of a traceback that are shown, of its end: there is what failed."""
_MILLISECONDS = 1000
_SHORT_S, _LONG_S = 1.0, 60.0


class RunSummary(NamedTuple):
    """What is known of a run without its documents. seconds: of the last call."""

    run: Run
    counts: Counts
    seconds: float
    is_interrupted: bool


def build_run_page(summary: RunSummary, figures: RunFigures, pictures: Mapping[str, bytes]) -> str:
    """Build the page. pictures: WebP of first pages, by the path of the document; of each that was tried.

    An empty picture is shown as a grey box.
    """
    run = summary.run
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:;'
        " style-src 'unsafe-inline'\">"
        f"<title>Run {escape(run.run_id)}: {_headline(summary)}</title><style>{STYLE}</style></head><body>"
        f"<header><h1>Run <bdi>{escape(run.run_id)}</bdi></h1>{_state(summary)}</header><main>"
        f"{_tiles(summary.counts)}{_facts(summary, figures)}{_stages(figures)}{_reasons(figures)}"
        f"{_failures(figures.failures, summary.counts.get('failed', 0), pictures)}"
        f"{_reviews(figures.reviews, summary.counts.get('needs_review', 0))}"
        "</main></body></html>\n"
    )


def build_short_report(summary: RunSummary) -> str:
    """The counts of a run as a part of a page, for a notebook."""
    cells = [(word, f"{summary.counts.get(status, 0):,}") for status, word in _shown(summary.counts)]
    heads = "".join(f'<th style="text-align:left">{word}</th>' for word, _ in cells)
    values = "".join(f'<td style="text-align:left">{count}</td>' for _, count in cells)
    state = (
        "interrupted; resume it to go on" if summary.is_interrupted else f"took {_seconds(summary.seconds)}"
    )
    return (
        f"<div><p><b>Run {escape(summary.run.run_id)}</b>: {state}</p>"
        f"<table><thead><tr>{heads}</tr></thead><tbody><tr>{values}</tr></tbody></table></div>"
    )


def _headline(summary: RunSummary) -> str:
    failed = summary.counts.get("failed", 0)
    return f"{failed:,} of {_total(summary.counts):,} documents failed" if failed else _status_of(summary)[1]


def _status_of(summary: RunSummary) -> tuple[str, str]:
    """The class and the words of the run's state."""
    if summary.is_interrupted:
        return "warn", "interrupted"
    if summary.counts.get("failed"):
        return "error", "completed, with failures"
    return "ok", "completed"


def _state(summary: RunSummary) -> str:
    role, words = _status_of(summary)
    hint = '<p class="quiet">Resume the run to go on with it.</p>' if summary.is_interrupted else ""
    return f'<p><span class="pill {role}">{words}</span></p>{hint}'


def _tiles(counts: Counts) -> str:
    tiles = "".join(
        f'<li class="{status}"><b>{counts.get(status, 0):,}</b> {word}</li>'
        for status, word in _shown(counts)
    )
    return f'<section aria-label="Documents by status"><ul class="tiles">{tiles}</ul></section>'


def _facts(summary: RunSummary, figures: RunFigures) -> str:
    facts = [
        ("Documents", f"{_total(summary.counts):,}"),
        ("Begun", _moment(summary.run.started_at)),
        ("Ended", _moment(summary.run.completed_at)),
        ("The last call took", _seconds(summary.seconds)),
        ("Tokens of models", f"{figures.tokens:,}"),
        ("Cost of models", f"{figures.cost:,.4f} US dollars" if figures.cost else "nothing"),
        ("Pipeline", summary.run.fingerprint),
    ]
    rows = "".join(f"<div><dt>{name}</dt><dd>{escape(value)}</dd></div>" for name, value in facts if value)
    return f'<section aria-label="Facts"><dl>{rows}</dl></section>'


def _stages(figures: RunFigures) -> str:
    if not figures.stages:
        return ""
    rows = [
        (stage.stage, f"{stage.documents:,}", *map(_seconds, (stage.median_s, stage.p95_s, stage.longest_s)))
        for stage in figures.stages
    ]
    return (
        '<section aria-labelledby="stages"><h2 id="stages">Time by stage</h2>'
        '<p class="quiet">Of the last attempt at each document. Half of all took no longer than the median,'
        " 95 % no longer than p95.</p>"
        f"{_table(('stage', 'documents', 'median', 'p95', 'longest'), rows)}</section>"
    )


def _reasons(figures: RunFigures) -> str:
    if not figures.reasons:
        return ""
    rows = [
        (reason.stage, f"{count:,}", reason.error_type, reason.code)
        for reason, count in figures.reasons.items()
    ]
    return (
        '<section aria-labelledby="reasons"><h2 id="reasons">Why documents failed</h2>'
        f"{_table(('stage', 'documents', 'error', 'code'), rows)}</section>"
    )


def _failures(failures: Sequence[Failure], count: int, pictures: Mapping[str, bytes]) -> str:
    if not failures:
        return ""
    listed = "".join(_failure(failure, pictures) for failure in failures)
    return (
        '<section aria-labelledby="failed"><h2 id="failed">'
        f"Failed ({count:,})</h2>{_bounded(len(failures), count)}{listed}</section>"
    )


def _failure(failure: Failure, pictures: Mapping[str, bytes]) -> str:
    document, letter = failure
    attempts = f"{document.attempts} attempt{'' if document.attempts == 1 else 's'}"
    facts = [letter.stage, letter.error_type, letter.code] if letter else []
    pills = "".join(f'<span class="pill">{escape(fact)}</span> ' for fact in dict.fromkeys(facts))
    moment = letter.failed_at if letter else document.last_attempt
    message = (letter.message if letter else document.error) or "no message"
    trace = ""
    if letter and letter.traceback:
        text = letter.traceback
        cut = "" if len(text) <= _LONGEST_TRACEBACK else "…"
        trace = (
            "<details><summary>Traceback</summary>"
            f"<pre>{cut}{escape(text[-_LONGEST_TRACEBACK:])}</pre></details>"
        )
    return (
        f"<article>{_picture(document, pictures)}<div><h3><bdi>{escape(document.name)}</bdi></h3>"
        f"{_path(document)}<p>{pills}</p><p>{escape(message)}</p>"
        f'<p class="quiet">{attempts}, the last one {_moment(moment) or "at an unknown time"}</p>'
        f"{trace}</div></article>"
    )


def _picture(document: DocumentState, pictures: Mapping[str, bytes]) -> str:
    content = pictures.get(document.path)
    if content is None:
        return ""
    if not content:
        return f'<div class="picture none" aria-hidden="true"><span>{escape(document.name)}</span></div>'
    source = b64encode(content).decode()
    return (
        f'<div class="picture"><img alt="first page of {escape(document.name)}"'
        f' src="data:image/webp;base64,{source}"></div>'
    )


def _path(document: DocumentState) -> str:
    if document.path == document.name:
        return ""
    return f'<p class="quiet"><bdi>{escape(document.path)}</bdi></p>'


def _reviews(reviews: Sequence[DocumentState], count: int) -> str:
    if not reviews:
        return ""
    items = "".join(f"<li><bdi>{escape(document.name)}</bdi>{_path(document)}</li>" for document in reviews)
    return (
        '<section aria-labelledby="reviews"><h2 id="reviews">'
        f"Need a review ({count:,})</h2>{_bounded(len(reviews), count)}"
        f'<details><summary>The documents</summary><ul class="names">{items}</ul></details></section>'
    )


def _bounded(listed: int, count: int) -> str:
    return f'<p class="quiet">The first {listed:,} are listed.</p>' if listed < count else ""


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column has words and whose others are as their heads say."""
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for first, *cells in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _shown(counts: Counts) -> list[tuple[DocumentStatus, str]]:
    """The statuses to show with their words: the first three always, others if there are any."""
    always = ("completed", "needs_review", "failed")
    return [(status, word) for status, word in _WORDS.items() if status in always or counts.get(status)]


def _total(counts: Counts) -> int:
    return sum(counts.values()) - counts.get("vanished", 0)


def _moment(moment: datetime | None) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if moment else ""


def _seconds(seconds: float) -> str:
    if seconds * _MILLISECONDS < 1:
        return "< 1 ms"
    if seconds < _SHORT_S:
        return f"{seconds * _MILLISECONDS:.0f} ms"
    return f"{seconds:.3g} s" if seconds < _LONG_S else duration_text(seconds)
