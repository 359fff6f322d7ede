"""Measure how well search ranks real documents: nDCG@10 over labelled questions: by text, by meaning, by
both, and by plain ILIKE.

The questions stand in `bench/data/search_questions.csv`; a document is relevant if its labels fulfil the
conditions of the question (patterns without regard to capitals). Searched are the texts of receipts, as
recognised, and of broadcasters' orders, by their text layer. The search knows nothing but these texts.
"""

import asyncio
import csv
import hashlib
import json
import math
import re
import statistics
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from bench.arguments import argument_parser
from bench.data.shared import DATA
from bench.data.text_layer import text_layer
from docmill.service.meaning import LocalEmbedder, Meaning
from docmill.service.storage.postgres_server import EmbeddedPostgres
from docmill.service.store import document_list, documents
from docmill.service.store.database import DEFAULT_TENANT_ID, Conn, Database
from docmill.service.store.document_list import DocumentFilters
from docmill.service.store.migrate import migrate

QUESTIONS = Path(__file__).parents[1] / "data/search_questions.csv"
RANKS = 10

_CONDITION = re.compile(r"(\w+)\.(\w+) ~ (.+)")


@dataclass(frozen=True, slots=True)
class Paper:
    """A document with its labels. collection: its folder in the shared data."""

    collection: str
    name: str
    text: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Question:
    """A query. conditions: collection, label and pattern; a relevant document fulfils all."""

    kind: str
    text: str
    conditions: Sequence[tuple[str, str, re.Pattern[str]]]

    def is_answered_by(self, paper: Paper) -> bool:
        """Return whether the document is relevant."""
        return all(
            paper.collection == collection and pattern.search(paper.labels.get(label, ""))
            for collection, label, pattern in self.conditions
        )


def questions() -> list[Question]:
    """Return all questions."""
    with QUESTIONS.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [Question(row["kind"], row["question"], _conditions(row["relevant"])) for row in rows]


def _conditions(text: str) -> list[tuple[str, str, re.Pattern[str]]]:
    found = [_CONDITION.fullmatch(part) for part in text.split("; ")]
    return [(match[1], match[2], re.compile(match[3], re.IGNORECASE)) for match in found if match]


def papers() -> list[Paper]:
    """Return all documents. Raises SystemExit where the shared data is absent."""
    if not DATA.exists():
        raise SystemExit(f"{DATA} is not here: the real documents are not part of docmill")
    receipts = [
        Paper("sroie", path.stem, _recognised(DATA / "sroie/ocr" / path.name), json.loads(path.read_text()))
        for path in sorted((DATA / "sroie/key").glob("*.json"))
    ]
    orders: list[Paper] = []
    for entry in json.loads((DATA / "adbuy/labels.json").read_text()):
        path = DATA / "adbuy/pdf" / f"{entry['id']}.pdf"
        if path.exists():
            labels = {label: value or "" for label, value in entry["gold"].items()}
            orders.append(Paper("adbuy", entry["id"], text_layer(path).text, labels))
    return receipts + orders


def _recognised(path: Path) -> str:
    lines: list[list[Any]] = json.loads(path.read_text())["lines"] if path.exists() else []
    return "\n".join(line[1] for line in lines)


async def store(conn: Conn, paper: Paper) -> UUID:
    """Store the document as one that was read, and return its id."""
    document_id, *_ = await documents.upsert(
        conn,
        tenant_id=DEFAULT_TENANT_ID,
        content_hash=hashlib.sha256(f"{paper.collection}/{paper.name}".encode()).hexdigest(),
        byte_size=1,
        file_name=f"{paper.name}.pdf",
        file_path=paper.name,
    )
    await conn.execute(
        "UPDATE document SET text = %s WHERE id = %s", [paper.text.replace("\0", ""), document_id]
    )
    return document_id


async def by_text(conn: Conn, question: str) -> list[UUID]:
    """Search as the vault does."""
    page = await document_list.page(conn, DocumentFilters(query=question), limit=RANKS)
    return [row.id for row in page.rows]


async def by_meaning(
    conn: Conn, question: str, meaning: Meaning, mode: Literal["meaning", "both"]
) -> list[UUID]:
    """Search by meaning, alone or besides the words."""
    near = await meaning.near(question, mode)
    filters = DocumentFilters(query=question)
    page = await document_list.page(conn, filters, limit=RANKS, near=near, mode=mode)
    return [row.id for row in page.rows]


async def by_ilike(conn: Conn, question: str) -> list[UUID]:
    """Search for the question as a part of the text, the newest first."""
    cur = await conn.execute(
        "SELECT id FROM document WHERE strpos(lower(text), lower(%s)) > 0 ORDER BY id DESC LIMIT %s",
        [question, RANKS],
    )
    return [document_id for (document_id,) in await cur.fetchall()]


def ndcg(found: Sequence[UUID], relevant: set[UUID]) -> float:
    """Return nDCG@10 of a ranking with documents that are relevant or not."""
    gained = sum(1 / math.log2(rank + 2) for rank, each in enumerate(found[:RANKS]) if each in relevant)
    return gained / sum(1 / math.log2(rank + 2) for rank in range(min(RANKS, len(relevant))))


async def measure(url: str) -> None:
    """Print nDCG@10 by kind of question, for each way."""
    scores: dict[str, dict[str, list[float]]] = {"text": {}, "meaning": {}, "both": {}, "ilike": {}}
    stored = papers()  # before a transaction begins, which may not idle
    async with Database(url) as database:
        async with database.tenant(DEFAULT_TENANT_ID) as conn:
            ids = {await store(conn, paper): paper for paper in stored}
        meaning = Meaning(database, LocalEmbedder())
        print(f"{await meaning.work()} embeddings made")
        ways: Mapping[str, Callable[[Conn, str], Awaitable[list[UUID]]]] = {
            "text": by_text,
            "meaning": partial(by_meaning, meaning=meaning, mode="meaning"),
            "both": partial(by_meaning, meaning=meaning, mode="both"),
            "ilike": by_ilike,
        }
        for question in questions():
            relevant = {each for each, paper in ids.items() if question.is_answered_by(paper)}
            if not relevant:
                raise SystemExit(f"no document is relevant to {question.text!r}")
            for way, search in ways.items():
                async with database.tenant(DEFAULT_TENANT_ID) as conn:
                    score = ndcg(await search(conn, question.text), relevant)
                scores[way].setdefault(question.kind, []).append(score)
                scores[way].setdefault("all", []).append(score)
    print(f"{len(ids)} documents")
    for kind, each in scores["text"].items():
        means = ", ".join(f"{way} {statistics.mean(scores[way][kind]):.3f}" for way in scores)
        print(f"{kind:>10} n = {len(each):3}: {means}")


def main() -> None:
    """Store the documents in a database of their own, and measure."""
    argument_parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        server = EmbeddedPostgres(Path(folder) / "postgres")
        server.start()
        try:
            migrate(server.url())
            asyncio.run(measure(server.url()))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
