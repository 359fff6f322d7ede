"""E-invoices of ../shared/data read from their pages alone: values of their XML, and records of reading."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from bench.accuracy.einvoice_files import HEADER, born_digital, files, relative_name
from bench.golden.records import Record
from docmill.model.document import Document
from docmill.model.paths import leaves
from docmill.schemas.registry import REGISTRY
from docmill.understanding.einvoice.reading import einvoice
from docmill.understanding.gate import RuleGate
from docmill.understanding.offline import understand
from docmill.understanding.router import GateRouter

FIELDS = HEADER


@cache
def documents() -> Sequence[tuple[Path, Document]]:
    """Read the invoices that are not wrong on purpose, with a text layer and an XML."""
    paths = [path for path in files() if path.suffix == ".pdf" and "fail" not in path.parts]
    read = ((path, born_digital(path)) for path in paths)
    return [(path, document) for path, document in read if document is not None and document.embedded]


def name_of(path: Path) -> str:
    return relative_name(path).replace("/", "_")


def labels() -> dict[str, dict[str, list[str]]]:
    """Load the header values of each invoice's XML, by `name_of` its file."""
    return {
        name_of(path): {
            field: [str(value)]
            for field, value in leaves(einvoice(document.embedded[0].content).data)
            if field in FIELDS
        }
        for path, document in documents()
    }


def is_right(field: str, answer: str, accepted: str, score: Any) -> bool:
    """Return whether a value is that of the XML: amounts to the cent without their sign, others by S2."""
    if field.endswith("_total") or field == "amount_due":
        return abs(abs(Decimal(answer)) - abs(Decimal(accepted))) < Decimal("0.005")
    return bool(score.s2_text(answer) == score.s2_text(accepted))


def records(pages: Callable[[Path], Document] | None = None) -> list[Record]:
    """Make the record of each invoice without its XML. pages: read them instead of the text layer."""
    router = GateRouter(RuleGate())
    made: list[Record] = []
    for path, document in documents():
        read = replace(document, embedded=()) if pages is None else pages(path)
        found = understand(read)
        schema = REGISTRY[found.classification.document_type]
        judged = asyncio.run(router.judge(found.extraction, read, schema))
        extraction = judged.extraction
        made.append(
            {
                "source": name_of(path),
                "document_type": found.classification.document_type,
                "status": "completed" if judged.verdict.passed else "needs_review",
                "data": extraction.data.model_dump(mode="json"),
                "evidence": {
                    path: proof.model_dump(mode="json") for path, proof in extraction.evidence.items()
                },
                "verdict": judged.verdict.model_dump(mode="json"),
            }
        )
    return made
