"""Measure how long it takes to find what belongs to a document, in a tenant with few and with many documents.

Usage: python -m bench linking [--few 1000] [--many 100000] [--documents 300]

Documents are made as in `document_links`, from real invoices where they are there. Library: records,
candidates and scores of all documents and the decision about them, in one process, beside a matcher that
looks for equal numbers alone (`exact references`). Vault: records, keys, pairs and links of all documents but
a sample are in the database, as if they had been matched one by one; then those of the sample arrive, one
after the other: candidates alone, and all three phases (prepared, decided, written). Times are of the wall;
the database is embedded and new.
"""

import asyncio
import random
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID, uuid5

from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from bench.arguments import argument_parser
from bench.data.link_seeds import seeds
from bench.peers import exact_references
from docmill.matching import records_of
from docmill.matching.clusters import clusters_of
from docmill.matching.decision import decide
from docmill.matching.match_record import MatchRecord
from docmill.matching.pairs import ScoredPair, pairs_of
from docmill.matching.scoring import shipped_weights
from docmill.matching.sums import wholes_of
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.ports.matching import DocumentToMatch
from docmill.service.record_matcher import RecordMatcher
from docmill.service.store import match_clusters, match_edges, match_records, match_regions
from docmill.service.store.database import lock_matches
from docmill.training.linked_documents.generator import generate_linked_documents
from docmill.training.linked_documents.truth import GeneratedDocument

if TYPE_CHECKING:
    from docmill.matching.outcome import Link

CANDIDATES_GOAL_MS = 50
_LINKS_OF_DOCUMENTS = 1 / 6
_BATCH = 500
Value = TypeVar("Value")
_IDS = UUID("5f9f0c5e-7c55-4a8e-9df1-2f1b1a0f6d11")


def made(count: int) -> list[GeneratedDocument]:
    """Make the documents of a tenant, about so many."""
    return list(
        generate_linked_documents(
            seeds(), seed=0, links=round(count * _LINKS_OF_DOCUMENTS), part="test"
        ).documents
    )


def id_of(document: GeneratedDocument) -> UUID:
    return uuid5(_IDS, document.id)


def records(documents: Sequence[GeneratedDocument]) -> list[MatchRecord]:
    return [record for each in documents for record in records_of(*values_of(each))]


def values_of(document: GeneratedDocument) -> tuple[str, str, dict[str, object], str]:
    """The arguments of `records_of`."""
    data = document.data.model_dump(mode="json")
    return str(id_of(document)), document.document_type, data, document.text


def measure_library(documents: Sequence[GeneratedDocument]) -> tuple[list[MatchRecord], list[ScoredPair]]:
    """Match all documents in this process, print the times, and return what the vault is filled with."""
    values = [values_of(each) for each in documents]
    start = time.process_time()
    found = [record for each in values for record in records_of(*each)]
    prepared = time.process_time()
    pairs = list(pairs_of(found, shipped_weights()))
    scored = time.process_time()
    links = decide(pairs, shipped_weights())
    decided = time.process_time()
    exact_references.match(documents)
    peer = time.process_time() - decided
    took = decided - start
    print(
        f"library, {len(documents):,} documents ({len(found):,} records):"
        f" {len(documents) / took:.0f} a second;"
        f" records {prepared - start:.1f} s, candidates and scores {scored - prepared:.1f} s,"
        f" decision {decided - scored:.1f} s; {len(pairs):,} pairs, {len(links):,} links;"
        f" exact references take {peer:.1f} s: {took / peer:.1f} times that"
    )
    return found, pairs


async def fill(
    service: Service,
    documents: Sequence[GeneratedDocument],
    found: Sequence[MatchRecord],
    pairs: Sequence[ScoredPair],
) -> None:
    """Store documents, records, keys, pairs and links, as the matcher would have left them."""
    tenant_id = service.default_tenant_id
    of_document: defaultdict[str, list[MatchRecord]] = defaultdict(list)
    for record in found:
        of_document[record.document_id].append(record)
    for batch in _batches(documents):
        await add_documents(service, batch)
        async with service.database.tenant(tenant_id) as conn:
            for each in batch:
                id_ = id_of(each)
                await match_records.replace(conn, id_, of_document[str(id_)], tenant_id=tenant_id)
    for batch in _batches(pairs):
        async with service.database.tenant(tenant_id) as conn:
            await match_edges.add(conn, batch, tenant_id=tenant_id)
    await analyze(service)
    for batch in _batches(sorted({id_ for pair in pairs for id_ in wholes_of(pair)})):
        async with service.database.tenant(tenant_id) as conn:
            await match_regions.find_explained(conn, batch, tenant_id=tenant_id)
    links = decide(pairs, shipped_weights())
    by_end: defaultdict[str, list[Link]] = defaultdict(list)
    for link in links:
        by_end[link.first_id].append(link)
    for regions in _batches(clusters_of((link.first_id, link.second_id) for link in links)):
        ids = [id_ for region in regions for id_ in region]
        async with service.database.tenant(tenant_id) as conn:
            between = [link for id_ in ids for link in by_end[id_]]
            await match_edges.settle(conn, ids, between, tenant_id=tenant_id)
            await match_clusters.recompute(conn, ids, tenant_id=tenant_id)
    await analyze(service)


async def add_documents(service: Service, documents: Sequence[GeneratedDocument]) -> None:
    """Store documents that have been read, and not matched."""
    tenant_id = service.default_tenant_id
    async with service.database.tenant(tenant_id) as conn, conn.cursor() as cur:
        await cur.executemany(
            """
            INSERT INTO document (id, tenant_id, content_hash, media_type, byte_size, file_name,
                                  file_path, document_type, structured_data, text)
            VALUES (%(id)s, %(tenant)s, %(hash)s, 'application/pdf', 1, 'a.pdf', %(hash)s, %(type)s,
                    %(data)s, %(text)s)
            """,
            [
                {
                    "id": id_of(each),
                    "tenant": tenant_id,
                    "hash": f"{int(each.id[1:]):064x}",
                    "type": each.document_type,
                    "data": Jsonb(each.data.model_dump(mode="json")),
                    "text": each.text,
                }
                for each in documents
            ],
        )


async def analyze(service: Service) -> None:
    async with await AsyncConnection.connect(
        service.owner_url, autocommit=True
    ) as owner:  # others are not heeded
        await owner.execute("ANALYZE document, match_record, match_key, match_edge")


async def measure_vault(
    documents: Sequence[GeneratedDocument],
    found: Sequence[MatchRecord],
    pairs: Sequence[ScoredPair],
    *,
    sample: int,
) -> float:
    """Match some documents that arrive in a vault that holds all others; the mean seconds of one."""
    chosen = random.Random(1).sample(list(documents), min(sample, len(documents) // 4))
    arriving = {str(id_of(each)) for each in chosen}
    with tempfile.TemporaryDirectory() as folder:
        async with open_service(Settings(data_dir=Path(folder))) as service:
            start = time.monotonic()
            await fill(
                service,
                [each for each in documents if str(id_of(each)) not in arriving],
                [record for record in found if record.document_id not in arriving],
                [
                    pair
                    for pair in pairs
                    if pair.first.document_id not in arriving and pair.second.document_id not in arriving
                ],
            )
            await add_documents(service, chosen)
            print(f"vault, {len(documents):,} documents: filled in {time.monotonic() - start:.0f} s")
            searches, phases = await measure_arrivals(service, chosen)
    whole = [sum(each) for each in phases]
    shares = ", ".join(
        f"{name} {statistics.median(each) * 1000:.1f}"
        for name, each in zip(("prepare", "decide", "write"), zip(*phases, strict=True), strict=True)
    )
    print(
        f"vault, {len(documents):,} documents: candidates of a record"
        f" p50 {statistics.median(searches) * 1000:.1f},"
        f" p95 {p95(searches) * 1000:.1f} ms (goal {CANDIDATES_GOAL_MS}); a document p50"
        f" {statistics.median(whole) * 1000:.1f}, p95 {p95(whole) * 1000:.1f}, mean"
        f" {statistics.mean(whole) * 1000:.1f} ms (medians: {shares})"
    )
    return statistics.mean(whole)


async def measure_arrivals(
    service: Service, documents: Sequence[GeneratedDocument]
) -> tuple[list[float], list[tuple[float, float, float]]]:
    """Match documents one after the other; the seconds of each search for candidates, and of each phase."""
    tenant_id, matcher = service.default_tenant_id, RecordMatcher(service.database)
    searches: list[float] = []
    phases: list[tuple[float, float, float]] = []
    for each in documents:
        document = DocumentToMatch(id_of(each), tenant_id)
        start = time.perf_counter()
        await matcher.prepare(document)
        prepared = time.perf_counter()
        decision = await matcher.decide(document)
        decided = time.perf_counter()
        async with service.database.tenant(tenant_id) as conn:
            await lock_matches(conn, tenant_id)
            await matcher.write(conn, document, decision)
        phases.append((prepared - start, decided - prepared, time.perf_counter() - decided))
        async with service.database.tenant(tenant_id) as conn:
            for record in await match_records.of_document(conn, document.id):
                start = time.perf_counter()
                await match_records.candidates(conn, record, tenant_id=tenant_id)
                searches.append(time.perf_counter() - start)
    return searches, phases


def _batches(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    return (values[first : first + _BATCH] for first in range(0, len(values), _BATCH))


def p95(values: Sequence[float]) -> float:
    return sorted(values)[round(0.95 * (len(values) - 1))]


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--few", type=int, default=1_000)
    parser.add_argument("--many", type=int, default=100_000)
    parser.add_argument("--documents", type=int, default=300, help="arriving in the vault")
    arguments = parser.parse_args()
    means: list[float] = []
    for count in (arguments.few, arguments.many):
        documents = made(count)
        found, pairs = measure_library(documents)
        means.append(asyncio.run(measure_vault(documents, found, pairs, sample=arguments.documents)))
    print(f"with many documents, one takes {means[1] / means[0]:.2f} times as long as with few")


if __name__ == "__main__":
    main()
