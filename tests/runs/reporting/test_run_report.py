"""The report of a run as an HTML file."""

import asyncio
import os
import re
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest
from PIL import Image
from tests.runs.components import (
    QUICK,
    FirstWordExtractor,
    Letter,
    MemoryExporter,
    TextConverter,
    text_document,
    text_pipeline,
)

from docmill.demo import Sample
from docmill.errors import CorruptError, MisconfiguredError, ServerError
from docmill.model.document import Document
from docmill.model.result import Failure, Verdict
from docmill.runs.components.local import LocalReader
from docmill.runs.context import Context
from docmill.runs.document_bytes import DocumentBytes
from docmill.runs.reporting.first_pages import draw_first_pages
from docmill.runs.roles import ExtractionResult
from docmill.runs.running import Pipeline
from docmill.runs.states import DocumentState
from docmill.runs.stores.memory import MemoryStore
from docmill.runs.stores.sqlite import SqliteStore

DOES_NOT_ADD_UP = Failure(check="total", message="does not add up")


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fail(key: str, _call: int) -> None:
    if "bad" in key:
        raise ValueError(f"cannot parse <b>{key}</b> & more")


async def written(path: Path, names: list[str], **options: Any) -> str:
    """The report of a run in which all documents with `bad` in their names fail."""
    report = await text_pipeline(extractor=FirstWordExtractor(fail)).arun(
        names, run_id="the-run", store=MemoryStore(), **options
    )
    await report.awrite_html(path)
    return path.read_text()


async def test_a_report_says_what_failed_where_and_why(tmp_path: Path) -> None:
    page = await written(tmp_path / "report.html", ["good.pdf", "in/bad.pdf"])

    assert "<title>Run the-run: 1 of 2 documents failed</title>" in page
    assert '<li class="completed"><b>1</b> completed</li>' in page
    assert '<li class="failed"><b>1</b> failed</li>' in page
    assert "Failed (1)" in page
    (article,) = re.findall("<article>.*?</article>", page, re.DOTALL)
    assert "<bdi>bad.pdf</bdi>" in article
    assert "<bdi>in/bad.pdf</bdi>" in article
    assert [*re.findall(r'<span class="pill">(.*?)</span>', article)] == ["extract", "ValueError", "internal"]
    assert "4 attempts, the last one 20" in article
    assert "<details><summary>Traceback</summary><pre>Traceback (most recent call last)" in article
    assert "Time by stage" in page
    assert re.search(r'<th scope="row">extract</th><td>2</td><td>[^<]* ms</td>', page.replace("&lt;", "~"))


async def test_names_and_messages_are_text(tmp_path: Path) -> None:
    page = await written(tmp_path / "report.html", ['<script>alert("bad")</script>.pdf'])

    assert "<script" not in page
    assert "&lt;script&gt;alert(&quot;bad&quot;)" in page
    assert "cannot parse &lt;b&gt;" in page


async def test_a_report_is_one_well_formed_file_that_loads_nothing(tmp_path: Path) -> None:
    page = await written(tmp_path / "report.html", ["good.pdf", "bad.pdf"])

    class Check(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.open: list[str] = []
            self.sources: list[str] = []

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.sources += [value or "" for name, value in attrs if name in ("src", "href")]
            if tag not in ("meta", "img"):
                self.open.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.open.pop() == tag

    check = Check()
    check.feed(page)
    assert check.open == []
    assert check.sources == []
    assert "http" not in page.replace("http-equiv", "")
    assert "default-src 'none'" in page


async def test_a_name_that_is_no_text_does_not_stop_the_report(tmp_path: Path) -> None:
    page = await written(tmp_path / "report.html", ["bad \ud800.pdf"])

    assert r"<bdi>bad \ud800.pdf</bdi>" in page


async def test_an_interrupted_run_says_that_it_can_be_resumed(tmp_path: Path) -> None:
    store = MemoryStore()
    report = await text_pipeline().arun(["a.pdf"], store=store)
    report = replace(report, is_interrupted=True)
    await report.awrite_html(tmp_path / "report.html")

    assert "Resume the run to go on with it." in (tmp_path / "report.html").read_text()
    assert "interrupted; resume it" in str(getattr(report, "_repr_html_")())  # noqa: B009


async def test_documents_that_need_a_review_are_named(tmp_path: Path) -> None:
    class Doubtful(FirstWordExtractor):
        async def extract(self, document: Document, schema: type[Letter], context: Context[Any]) -> Any:
            return ExtractionResult(schema(), verdict=Verdict(failures=(DOES_NOT_ADD_UP,)))

    report = await text_pipeline(extractor=Doubtful()).arun(["in/a&b.pdf"], store=MemoryStore())
    await report.awrite_html(tmp_path / "report.html")

    page = (tmp_path / "report.html").read_text()
    assert "Need a review (1)" in page
    assert "<li><bdi>a&amp;b.pdf</bdi>" in page
    assert "Failed (" not in page


def test_a_report_is_written_from_a_script_and_its_store_is_closed(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "runs.sqlite")
    report = text_pipeline().run("abc", store=store)

    report.write_html(tmp_path / "new" / "folder" / "report.html")
    report.write_html(tmp_path / "new" / "folder" / "report.html")

    assert "<b>3</b> completed" in (tmp_path / "new" / "folder" / "report.html").read_text()
    assert names_in(tmp_path / "new" / "folder") == ["report.html"]
    assert vars(store)["_connection"] is None


async def test_where_an_event_loop_runs_it_is_said_what_to_write(tmp_path: Path) -> None:
    report = await text_pipeline().arun("abc", store=MemoryStore())

    with pytest.raises(MisconfiguredError, match=r"write: await report\.awrite_html"):
        report.write_html(tmp_path / "report.html")


async def test_a_file_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    report = await text_pipeline().arun("abc", store=MemoryStore())
    (tmp_path / "report.html").mkdir()
    (tmp_path / "file").write_text("")

    with pytest.raises(ServerError, match=r"cannot write .*report\.html"):
        await report.awrite_html(tmp_path / "report.html")
    with pytest.raises(MisconfiguredError, match="cannot write"):
        await report.awrite_html(tmp_path / "file" / "report.html")
    assert names_in(tmp_path) == ["file", "report.html"]


async def test_a_notebook_shows_the_counts() -> None:
    report = await text_pipeline(extractor=FirstWordExtractor(fail)).arun(
        ["a", "bad"], run_id="<i>", store=MemoryStore()
    )

    html = str(getattr(report, "_repr_html_")())  # noqa: B009  the name is that of IPython
    assert "Run &lt;i&gt;" in html
    assert re.findall(r"<td.*?>(\d+)</td>", html) == ["1", "0", "1"]


class NamesConverter(TextConverter):
    def convert(self, document_bytes: DocumentBytes, context: Context[Any]) -> Document:
        return text_document(context.document.ref.name)


def failing_pipeline() -> Pipeline[Letter]:
    """Reads files, and fails with each."""

    def give_up(key: str, _call: int) -> None:
        raise CorruptError("no total")

    return Pipeline(
        schema=Letter,
        reader=LocalReader(),
        converter=NamesConverter(),
        extractor=FirstWordExtractor(give_up),
        exporter=MemoryExporter(),
        policy=QUICK,
    )


def pictures_in(page: str) -> dict[str, str]:
    """The kind of the picture of each failed document."""
    kinds: dict[str, str] = {}
    for article in re.findall("<article>.*?</article>", page, re.DOTALL):
        (name,) = re.findall("<h3><bdi>(.*?)</bdi>", article)
        kinds[name] = "drawn" if "<img" in article else "grey" if "picture none" in article else "none"
    return kinds


async def test_failed_documents_are_shown_with_their_first_page_if_it_can_be_drawn(
    samples: list[Sample], tmp_path: Path
) -> None:
    (paper,) = [sample.path for sample in samples if sample.name == "PO-4500231.pdf"]
    copyfile(paper, tmp_path / "order.pdf")
    copyfile(paper, tmp_path / "changed.pdf")
    copyfile(paper, tmp_path / "gone.pdf")
    Image.new("RGB", (600, 800), "white").save(tmp_path / "scan.png")
    (tmp_path / "torn.pdf").write_bytes(b"%PDF-1.7 torn")
    files = sorted(tmp_path.iterdir())
    report = await failing_pipeline().arun(files, store=MemoryStore())
    Image.new("RGB", (600, 800), "white").save(tmp_path / "changed.pdf", "PNG")
    (tmp_path / "gone.pdf").unlink()

    await report.awrite_html(tmp_path / "report.html")

    page = (tmp_path / "report.html").read_text()
    assert pictures_in(page) == {
        "changed.pdf": "grey",
        "gone.pdf": "grey",
        "order.pdf": "drawn",
        "scan.png": "drawn",
        "torn.pdf": "grey",
    }
    assert 'alt="first page of order.pdf" src="data:image/webp;base64,' in page
    assert '<div class="picture none" aria-hidden="true"><span>torn.pdf</span>' in page

    await report.awrite_html(tmp_path / "report.html", pictures=1)
    assert sorted(pictures_in((tmp_path / "report.html").read_text()).values()) == ["grey", *["none"] * 4]


async def test_what_a_path_names_here_is_drawn_only_if_it_was_processed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("not a document of the run")
    os.mkfifo(tmp_path / "pipe")
    digest = sha256(secret.read_bytes()).hexdigest()

    def state(path: object, content_hash: str | None) -> DocumentState:
        return DocumentState(str(path), "name", "failed", content_hash)

    async with asyncio.timeout(60):
        drawn = await draw_first_pages(
            [
                state(secret, None),
                state(secret, "0" * 64),
                state(tmp_path / "pipe", digest),
                state("\0", digest),
                state("https://example.com/secret.txt", digest),
            ],
            folder=tmp_path,
        )
        assert drawn == {}
        here = [state(secret, digest), state("secret.txt", digest)]
        assert set(await draw_first_pages(here, folder=tmp_path)) == {str(secret), "secret.txt"}
