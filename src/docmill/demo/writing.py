"""Write the samples to disk, each drawn in its layout family."""

from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import numpy as np
import pypdfium2 as pdfium

from docmill.demo.canvas import Paper
from docmill.demo.catalogue import plans
from docmill.demo.layouts import accounts, bills, correspondence, forms, letters, payslips, receipts
from docmill.demo.plan import Correspondence, Letter, PaySheet, Plan, Statement
from docmill.demo.scan_effects import encode_pages, photograph_page, render_pages, scan_page
from docmill.demo.truth import TRUTH_FILE, Sample, write_truth

_BILLS: dict[str, Callable[[Paper, Letter], None]] = {
    "envelope": letters.envelope,
    "band": letters.band,
    "airy": letters.airy,
    "sidebar": letters.sidebar,
    "facture": bills.facture,
    "utility": bills.utility,
    "ledger": bills.ledger,
    "poster": bills.poster,
    "typewriter": bills.typewriter,
    "order-grid": forms.order_grid,
    "delivery-slip": forms.delivery_slip,
    "dot-matrix": forms.dot_matrix,
    "mono-till": receipts.mono_till,
    "bistro": receipts.bistro,
    "slip": receipts.slip,
    "boxed-ticket": receipts.boxed_ticket,
}
_STATEMENTS: dict[str, Callable[[Paper, Statement], None]] = {
    "running": accounts.running,
    "in-and-out": accounts.in_and_out,
    "releve": accounts.releve,
}
_PAYSLIPS: dict[str, Callable[[Paper, PaySheet], None]] = {
    "pay-grid": payslips.pay_grid,
    "pay-columns": payslips.pay_columns,
    "pay-lines": payslips.pay_lines,
}
_CORRESPONDENCE: dict[str, Callable[[Paper, Correspondence], None]] = {
    "window-letter": correspondence.window_letter,
    "plain-letter": correspondence.plain_letter,
    "deed": correspondence.deed,
}


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


def draw(layout: str, content: Letter | Statement | PaySheet | Correspondence) -> bytes:
    """`content` as a PDF in the family `layout`."""
    title = f"{content.fields.number}" if isinstance(content, Letter) else layout
    if isinstance(content, Statement):
        title = f"{content.fields.iban}"
    paper = Paper(content.size, title=title)
    match content:
        case Letter():
            _BILLS[layout](paper, content)
        case Statement():
            _STATEMENTS[layout](paper, content)
        case PaySheet():
            _PAYSLIPS[layout](paper, content)
        case Correspondence():
            _CORRESPONDENCE[layout](paper, content)
    return paper.finish()
