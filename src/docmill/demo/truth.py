"""The truth of a sample: written beside the documents, read by demo and tests."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from docmill.schemas.document_types import DocumentType
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Fields

Form = Literal["born-digital", "scan", "photo"]

TRUTH_FILE = "truth.json"


@dataclass(frozen=True, slots=True)
class Sample:
    """One document on disk and what is printed on it.

    name: the file's name. layout: its layout family. fields: in the schema of `document_type`.
    """

    path: Path
    document_type: DocumentType
    form: Form
    language: str
    country: str
    layout: str
    pages: int
    truth: Fields

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name


def write_truth(samples: Sequence[Sample], file: Path) -> None:
    """Every sample's truth in one JSON file; paths are relative to it."""
    records = [
        {
            "path": sample.path.relative_to(file.parent).as_posix(),
            "document_type": sample.document_type,
            "form": sample.form,
            "language": sample.language,
            "country": sample.country,
            "layout": sample.layout,
            "pages": sample.pages,
            "data": sample.truth.model_dump(mode="json"),
        }
        for sample in samples
    ]
    file.write_text(json.dumps(records, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def load_truth(folder: Path) -> list[Sample]:
    """The samples that `generate` wrote into `folder`. Raises FileNotFoundError if there are none."""
    return [
        Sample(
            path=folder / record["path"],
            document_type=record["document_type"],
            form=record["form"],
            language=record["language"],
            country=record["country"],
            layout=record["layout"],
            pages=record["pages"],
            truth=cast("Fields", REGISTRY[record["document_type"]].fields.model_validate(record["data"])),
        )
        for record in json.loads((folder / TRUTH_FILE).read_text("utf-8"))
    ]
