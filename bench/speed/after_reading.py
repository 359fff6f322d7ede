"""Measure the CPU time of a document after reading, offline: type, fields and verdict, by kind of document.

Usage: python -m bench after_reading --receipts FOLDER --orders FOLDER --invoices FOLDER [--every 4]

The folders are those where other benchmarks keep what they read: `receipts_model --readings`,
`orders_own_schema --cache`, `einvoice_files --visual --cache`. CPU seconds of one process, as its children
spend them in the pipeline; the first documents of each kind are read twice, for what is loaded once.
"""

import itertools
import pickle
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from bench.accuracy.orders_own_schema import own_schema
from bench.arguments import argument_parser
from docmill.model import codec
from docmill.model.document import Document
from docmill.model.result import Schema
from docmill.schemas.registry import REGISTRY
from docmill.understanding.gate import RuleGate
from docmill.understanding.offline import SchemaWithModel, choose_built_in, understand


class Cost(NamedTuple):
    """CPU seconds of the steps."""

    understand: float
    judge: float


def cost(document: Document, own: Schema | None) -> Cost:
    """Take one document through the steps, as a visit to the pool's children and the parent do."""
    at = [time.process_time()]
    _, extraction = understand(document, (lambda _: SchemaWithModel(own)) if own else choose_built_in)
    at.append(time.process_time())
    RuleGate().judge(document, extraction, own or REGISTRY[extraction.document_type])
    at.append(time.process_time())
    return Cost(*(after - before for before, after in itertools.pairwise(at)))


def transcriptions(folder: Path, pattern: str) -> Iterator[Document]:
    for path in sorted(folder.glob(pattern)):
        yield codec.loads(path.read_bytes())


def pickled_documents(folder: Path) -> Iterator[Document]:
    for path in sorted(folder.glob("*.pickle")):
        yield pickle.loads(path.read_bytes())  # noqa: S301 - written by our own benchmark


def report(name: str, documents: list[Document], own: Schema | None = None) -> None:
    for document in documents[:3]:
        cost(document, own)
    costs = [cost(replace(document), own) for document in documents]
    whole = sorted(1000 * sum(each) for each in costs)
    steps = ", ".join(
        f"{step} {1000 * statistics.fmean(getattr(each, step) for each in costs):.1f}"
        for step in Cost._fields
    )
    pages = statistics.fmean(len(document.pages) for document in documents)
    print(
        f"{name} (n={len(documents)}, {pages:.1f} pages): mean {statistics.fmean(whole):.1f} ms, "
        f"median {statistics.median(whole):.1f}, 95 % within {whole[int(0.95 * len(whole))]:.1f}; {steps}"
    )


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--receipts", type=Path)
    parser.add_argument("--orders", type=Path)
    parser.add_argument("--invoices", type=Path)
    parser.add_argument("--every", type=int, default=1)
    args = parser.parse_args()
    if args.receipts:
        report("receipts", list(transcriptions(args.receipts, "*.json.zst"))[:: args.every])
    if args.orders:
        orders = list(transcriptions(args.orders, "*.transcription"))[:: args.every]
        report("orders, built-in", orders)
        report("orders, a schema of one's own", orders, own_schema({}))
    if args.invoices:
        report("e-invoices' pages", list(pickled_documents(args.invoices))[:: args.every])


if __name__ == "__main__":
    main()
