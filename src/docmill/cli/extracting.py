"""`docmill extract`: one file by one schema, as JSON."""

import json
from pathlib import Path

from pydantic import BaseModel

from docmill.api import Extracted, extract
from docmill.cli.console import stdout
from docmill.cli.schemas import model_of, schema_called


def extract_file(
    file: Path,
    schema: str,
    *,
    model: Path | None,
    labels: Path | None,
    config: Path | None,
    passwords: tuple[str, ...],
) -> int:
    """Read the file and print what it says; the exit code."""
    wanted = schema_called(schema, labels, config)
    extracted = extract(file, wanted, model=model or model_of(schema, config), passwords=passwords)
    stdout.print(json.dumps(_content(extracted), indent=2, ensure_ascii=False), markup=False)
    return 0


def _content(extracted: Extracted[BaseModel]) -> dict[str, object]:
    return {
        "data": extracted.data.model_dump(mode="json"),
        "evidence": {path: proof.model_dump(mode="json") for path, proof in extracted.evidence.items()},
        "verdict": {"passed": extracted.verdict.passed, **extracted.verdict.model_dump(mode="json")},
    }
