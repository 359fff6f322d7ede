"""Write the samples to disk."""

from pathlib import Path
from zlib import crc32

import numpy as np
import pypdfium2 as pdfium

from docmill.demo.catalogue import plans
from docmill.demo.layouts.families import draw
from docmill.demo.plan import Plan
from docmill.demo.scan_effects import encode_pages, photograph_page, render_pages, scan_page
from docmill.demo.truth import TRUTH_FILE, Sample, write_truth


def write_samples(folder: Path, *, seed: int) -> list[Sample]:
    """See `docmill.demo.generate`."""
    documents = folder / "documents"
    documents.mkdir(parents=True, exist_ok=True)
    samples = [make_sample(plan, documents, seed=seed) for plan in plans()]
    write_truth(samples, folder / TRUTH_FILE)
    return samples


def make_sample(plan: Plan, folder: Path, *, seed: int) -> Sample:
    """Draw one sample and write it to `folder`."""
    pdf = content = draw(plan.layout, plan.paper)
    if plan.form != "born-digital":
        # A stream of its own for each name: a new sample does not change the others.
        name_hash = crc32(plan.name.encode())
        random = np.random.default_rng([seed, name_hash])
        apply_effects = scan_page if plan.form == "scan" else photograph_page
        orientation = (1, 6, 8, 3)[name_hash % 4] if plan.form == "photo" else 1
        pages = [apply_effects(page, random) for page in render_pages(pdf)]
        content = encode_pages(pages, Path(plan.name).suffix, orientation=orientation)
    path = folder / plan.name
    path.write_bytes(content)
    document = pdfium.PdfDocument(pdf)
    page_count = len(document)
    document.close()
    return Sample(
        path=path,
        document_type=plan.document_type,
        form=plan.form,
        language=plan.paper.wording.language,
        country=plan.country,
        layout=plan.layout,
        pages=page_count,
        truth=plan.truth,
    )
