"""The broadcasters' orders and invoices of ../shared/data/adbuy: documents, labels, right answers."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.data.shared import DATA
from bench.data.text_layer import read_whole
from docmill.model import codec
from docmill.model.document import Document

FIELDS = ("contract_num", "advertiser", "gross_amount", "flight_from", "flight_to")
CACHE = Path(tempfile.gettempdir()) / "docmill-bench-orders"
"""The default folder of the readings."""


def labels() -> list[dict[str, Any]]:
    return json.loads((DATA / "adbuy/labels.json").read_text())


def is_right(field: str, answer: object, truth: str | None, score: Any) -> bool:
    """Compare by S2: texts by letters and digits, amounts by cents, days with the month first."""
    if answer is None or not truth:
        return False
    if field == "gross_amount":
        return score.s2_total(str(answer)) == score.s2_total(truth)
    if field.startswith("flight"):
        return score.s2_date(str(answer), dayfirst=False) == score.s2_date(truth, dayfirst=False)
    return score.s2_text(str(answer)) == score.s2_text(truth)


def documents(cache: Path) -> Iterator[tuple[str, Document]]:
    """Yield every document by its name; those not in `cache` are read."""
    cache.mkdir(parents=True, exist_ok=True)
    for path in sorted((DATA / "adbuy/pdf").glob("*.pdf")):
        stored = cache / f"{path.stem}.transcription"
        if not stored.exists():
            stored.write_bytes(codec.dumps(read_whole(path)))
        yield path.stem, codec.loads(stored.read_bytes())
