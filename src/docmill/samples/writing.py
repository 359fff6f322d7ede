"""Write the samples to disk."""

from pathlib import Path

import pypdfium2 as pdfium

from docmill.samples.catalogue import plans
from docmill.samples.layouts.families import draw
from docmill.samples.plan import Plan
from docmill.samples.truth import TRUTH_FILE, Sample, write_truth


def write_samples(folder: Path) -> list[Sample]:
    """See `docmill.samples.generate`."""
    documents = folder / "documents"
    documents.mkdir(parents=True, exist_ok=True)
    samples = [_make(plan, documents) for plan in plans()]
    write_truth(samples, folder / TRUTH_FILE)
    return samples


def _make(plan: Plan, folder: Path) -> Sample:
    pdf = draw(plan.layout, plan.paper)
    path = folder / plan.name
    path.write_bytes(pdf)
    return Sample(
        path=path,
        document_type=plan.document_type,
        form=plan.form,
        language=plan.paper.wording.language,
        country=plan.country,
        layout=plan.layout,
        pages=_pages(pdf),
        truth=plan.truth,
    )


def _pages(pdf: bytes) -> int:
    document = pdfium.PdfDocument(pdf)
    try:
        return len(document)
    finally:
        document.close()
