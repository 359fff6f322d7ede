"""Measure how long failing documents hold up those behind them, until the first good one is exported.

The first documents fail, as many as are processed at a time: for good, since their files are gone; at the
first attempt, for a reason of their own; or since the server that all of them ask does not answer for a
moment. Attempts follow each other after 2 s and more. The peer is the resumable pipeline of a production
guide (bench/peers/production_guide.py), which waits without giving up its place.
"""

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.arguments import argument_parser
from bench.data.run_components import KeyReader, Letter, TextConverter, TextExtractor
from bench.peers.production_guide import CheckpointFolder, Components, DeadLetterFolder, ResumablePipeline
from docmill.model.document import Document
from docmill.ports import Ref
from docmill.runs.policy import RunPolicy
from docmill.runs.roles import ExtractionResult
from docmill.runs.running import Pipeline

EXTRACTION_S = 0.01
MAX_ATTEMPTS = 3


class FailingReader(KeyReader):
    """Files of failing documents are gone."""

    def read(self, ref: Ref, context: Any) -> bytes:
        if ref.key.startswith("failing"):
            raise FileNotFoundError(ref.key)
        return super().read(ref, context)


class FailingOnceExtractor(TextExtractor):
    """Fails at the first attempt at each failing document."""

    def __init__(self, error: Callable[[str], Exception]) -> None:
        super().__init__(EXTRACTION_S)
        self._error = error
        self._calls: Counter[str] = Counter()

    async def extract(self, document: Document, schema: type[Letter], context: Any) -> Letter:
        letter = await super().extract(document, schema, context)
        self._calls[letter.sender] += 1
        if letter.sender.startswith("failing") and self._calls[letter.sender] == 1:
            raise self._error("try again")
        return letter


class TimingExporter:
    """Notes when documents come."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self.first_good_s: float | None = None
        self.last_s = 0.0

    async def export(self, document: Document, data: ExtractionResult[Any] | Letter, context: Any) -> None:
        self.last_s = time.monotonic() - self._started
        if self.first_good_s is None and document.text.startswith("good"):
            self.first_good_s = self.last_s


@dataclass(frozen=True)
class Case:
    """Makes reader and extractor, which count calls."""

    reader: Callable[[], KeyReader]
    extractor: Callable[[], TextExtractor]


CASES: Mapping[str, Case] = {
    "for good": Case(FailingReader, lambda: TextExtractor(EXTRACTION_S)),
    "once, each for itself": Case(KeyReader, lambda: FailingOnceExtractor(RuntimeError)),
    "once, the server of all": Case(KeyReader, lambda: FailingOnceExtractor(ConnectionError)),
}


@dataclass(frozen=True)
class Times:
    """Seconds until the first good document was exported, and until the last one was."""

    first_good_s: float
    last_s: float


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--documents", type=int, default=25)
    parser.add_argument("--failing", type=int, default=5)
    parser.add_argument("--backoff", type=float, default=2.0, help="base of the waits, in s")
    options = parser.parse_args()
    first = f"{'first good, s: docmill':>24} {'peer':>7} {'docmill/peer':>13}"
    print(f"{'failing':26} {first}   last: docmill   peer")
    for name, case in CASES.items():
        own = asyncio.run(measure_docmill(case, options.documents, options.failing, options.backoff))
        peer = asyncio.run(measure_peer(case, options.documents, options.failing, options.backoff))
        ratio = own.first_good_s / peer.first_good_s
        print(
            f"{name:26} {own.first_good_s:24.3f} {peer.first_good_s:7.3f} {ratio:13.3f}"
            f"   {own.last_s:13.2f} {peer.last_s:6.2f}",
            flush=True,
        )


async def measure_docmill(case: Case, documents: int, failing: int, backoff_s: float) -> Times:
    exporter = TimingExporter()
    pipeline = Pipeline(
        schema=Letter,
        reader=case.reader(),
        converter=TextConverter(),
        extractor=case.extractor(),
        exporter=exporter,
        policy=RunPolicy(concurrency=failing, max_retries=MAX_ATTEMPTS - 1, backoff_base=backoff_s),
    )
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        await pipeline.arun(refs(documents, failing), store=Path(folder, "runs.sqlite"))
    return times_of(exporter)


async def measure_peer(case: Case, documents: int, failing: int, backoff_s: float) -> Times:
    exporter = TimingExporter()
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        pipeline = ResumablePipeline(
            Components(case.reader(), TextConverter(), case.extractor(), exporter, Letter),
            CheckpointFolder(Path(folder, "checkpoints")),
            DeadLetterFolder(Path(folder, "dead")),
            max_attempts=MAX_ATTEMPTS,
            concurrency=failing,
            backoff_base=backoff_s,
        )
        await pipeline.run(refs(documents, failing))
    return times_of(exporter)


def times_of(exporter: TimingExporter) -> Times:
    assert exporter.first_good_s is not None, "no good document was exported"
    return Times(exporter.first_good_s, exporter.last_s)


def refs(documents: int, failing: int) -> list[Ref]:
    names = [f"{'failing' if number < failing else 'good'} {number}" for number in range(documents)]
    return [Ref(name, name) for name in names]


if __name__ == "__main__":
    main()
