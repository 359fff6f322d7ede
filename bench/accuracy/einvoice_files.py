"""Measure e-invoices: terms of the XML, wrong files, altered copies, and fields read from the page alone.

python -m bench einvoice_files                      # all but the visual path
python -m bench einvoice_files --visual --every 10  # also every tenth PDF through OCR, its XML taken away
python -m bench einvoice_files --visual --dpi 300 --cache FOLDER
python -m bench einvoice_files --visual --spread 30 # 30 PDFs, taken in turn from all folders, seeded
python -m bench einvoice_files --layer              # only the pages' own text, its XML taken away; no OCR

terms: every mapped term against XPaths written apart from docmill's tables. pairs: the same case in UBL and
CII. wrong, right: files that the corpus calls so, and which of them are flagged. altered: PDFs whose XML was
changed in one term, or in all amounts alike. visual: pages drawn without the XML, read by OCR and the rules;
header fields by S2, lines by the cells of an optimal assignment; a field or a list that the XML does not have
is not counted. layer: the same from the text layer, all PDFs.
"""

import io
import pickle
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree
from PIL import Image

from bench.arguments import argument_parser
from bench.data.einvoice_xpaths import elements, expected
from bench.data.shared import DATA, load_scorer
from docmill.evaluation.judge import best_pairs
from docmill.model.document import Document, Embedded, Page
from docmill.model.paths import leaves
from docmill.model.result import Failure
from docmill.reading.child import tasks
from docmill.reading.files.options import ReadingOptions
from docmill.reading.pdf import attachments, pdf_file
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.extractor import extract_by_rules
from docmill.understanding.einvoice.reading import einvoice
from docmill.understanding.einvoice.terms import UnreadableError
from docmill.understanding.offline import understand

CORPUS = DATA / "einvoice/zugferd-corpus"
OPTIONS = ReadingOptions()
OTHER = {
    "payment.iban": "DE02120300000000202051",
    "seller.name": "Quick Money Ltd",
    "seller.vat_id": "DE811569869",
}
AMOUNTS = ("gross_total", "net_total", "tax_total", "amount_due")
HEADER = (
    "number",
    "issue_date",
    "due_date",
    "delivery_date",
    "seller.name",
    "seller.vat_id",
    "buyer.name",
    "order_number",
    "customer_number",
    "currency",
    *AMOUNTS,
    "payment.iban",
    "payment.bic",
)
PAYMENT = ("payment.terms", "payment.method")
"""Counted apart from the header: figures from before they were read stay comparable."""
CELLS = ("description", "quantity", "unit_price", "net_amount")


def files() -> list[Path]:
    folders = (DATA / "einvoice", DATA / "orders")
    return sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in (".xml", ".pdf"))


def embedded_files(path: Path) -> tuple[Embedded, ...]:
    if path.suffix != ".pdf":
        return attachments.in_file(path)
    with pdf_file.open_document(path) as document:
        return attachments.in_pdf(document, path).einvoices


def relative_name(path: Path) -> str:
    return str(path.relative_to(DATA))


def same(said: str | None, got: object) -> bool:
    """Tell whether a value equals the text of its term."""
    if said is None or got is None:
        is_month = said is not None and len(said) == len("201412") and said.isdigit()  # valid, but no date
        return got is None and (said is None or is_month)
    if isinstance(got, Decimal):
        return Decimal(said) == got
    if isinstance(got, date):
        return said.replace("-", "")[:8] == got.strftime("%Y%m%d")
    return said.replace(" ", "") == str(got).replace(" ", "")


def score_terms(paths: Sequence[Path]) -> None:
    counts: Counter[str] = Counter()
    for path in paths:
        for item in embedded_files(path):
            try:
                said, got = expected(item.content), dict(leaves(einvoice(item.content).data))
            except (UnreadableError, etree.XMLSyntaxError):
                counts["unreadable"] += 1
                continue
            if said is None:
                counts["without XPaths"] += 1
                continue
            counts["files"] += 1
            for term, text in said.items():
                if text is None and got.get(term) is None:
                    continue
                counts["terms"] += 1
                counts["exact"] += same(text, got.get(term))
                if not same(text, got.get(term)):
                    print(f"  {relative_name(path)} {term}: XML {text!r}, read {got.get(term)!r}")
    print(f"terms: {dict(counts)}")


def pairs() -> Iterator[tuple[Path, Path]]:
    for ubl in sorted((DATA / "einvoice/xrechnung").rglob("*_ubl.xml")):
        yield ubl, ubl.with_name(ubl.name.replace("_ubl", "_uncefact"))
    for ubl in sorted((CORPUS / "XML-Rechnung/UBL").glob("*.xml")):
        yield ubl, CORPUS / "XML-Rechnung/CII" / ubl.name.replace(".ubl.", ".cii.")


def score_pairs() -> None:
    counts: Counter[str] = Counter()
    for ubl, cii in pairs():
        if not cii.exists():
            continue
        item, other = (dict(leaves(einvoice(path.read_bytes()).data)) for path in (ubl, cii))
        differing = {path for path in {*item, *other} if item.get(path) != other.get(path)}
        counts["pairs"] += 1
        counts["equal"] += not differing
        for path in sorted(differing):
            print(f"  {ubl.name} {path}: UBL {item.get(path)!r}, CII {other.get(path)!r}")
    print(f"pairs: {dict(counts)}")


def born_digital(path: Path) -> Document | None:
    """Read the document by its text layer; None if a page needs recognition."""
    opened = tasks.open_original(path, OPTIONS)
    pages = [page for page in opened.pages if page is not None]
    if len(pages) < len(opened.pages):
        return None
    return Document("0" * 64, opened.media_type, pages, embedded=opened.embedded)


def failures(document: Document) -> tuple[Failure, ...]:
    return understand(document).extraction.failures


def score_flags(documents: Mapping[Path, Document]) -> None:
    for name, folder in (("wrong", "fail"), ("right", "correct")):
        members = {path: found for path, found in documents.items() if folder in path.parts}
        flagged = {path: found for path, document in members.items() if (found := failures(document))}
        for path in members:
            checks = ", ".join(sorted({failure.check for failure in flagged.get(path, ())}))
            if (path in flagged) is (name == "right"):
                print(f"  {name}: {relative_name(path)} {checks or 'not flagged'}")
        print(f"{name}: {len(flagged)} of {len(members)} flagged")


def alterations(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield copies of an XML with one term changed, and one with all amounts tripled."""
    said = expected(content) or {}
    for path in (*AMOUNTS, "number", "issue_date", "due_date", *OTHER):
        text = said.get(path)
        if text:
            yield path, _altered(content, {path: _other(path, text)})
    tripled = {path: str(3 * Decimal(text)) for path in AMOUNTS if (text := said.get(path))}
    yield "all totals", _altered(content, tripled)


def _other(path: str, text: str) -> str:
    if path in OTHER:
        return OTHER[path] if text.replace(" ", "") != OTHER[path] else "DE89370400440532013000"
    if path in AMOUNTS:
        return str(10 * Decimal(text))
    if path == "number":
        return f"{text[:-1]}{'7' if text[-1] != '7' else '4'}"
    changed = date.fromisoformat(text if "-" in text else text[:8]) + timedelta(days=11)
    return changed.strftime("%Y%m%d" if "-" not in text else "%Y-%m-%d")


def _altered(content: bytes, changes: Mapping[str, str]) -> bytes:
    root = etree.fromstring(content.lstrip(b"\xef\xbb\xbf \t\r\n"))
    for path, text in changes.items():
        for element in elements(root, path):
            element.text = text
    return etree.tostring(root)


def score_altered(documents: Mapping[Path, Document]) -> None:
    made: Counter[str] = Counter()
    caught: Counter[str] = Counter()
    flagged: Counter[str] = Counter()
    for path, document in documents.items():
        if "fail" in path.parts or any(failure.check == "xml_mismatch" for failure in failures(document)):
            continue
        for kind, content in alterations(document.embedded[0].content):
            altered = replace(document, embedded=(replace(document.embedded[0], content=content),))
            found = {failure.check for failure in failures(altered)}
            made[kind] += 1
            caught[kind] += "xml_mismatch" in found
            flagged[kind] += bool(found)
    for kind in made:
        print(
            f"  altered {kind:14} {made[kind]:4}: by the page {caught[kind]}, by page or rule {flagged[kind]}"
        )
    print(f"altered: by the page {caught.total()} of {made.total()}, by page or rule {flagged.total()}")


def recognise_pages(path: Path, dpi: int, cache: Path) -> Document:
    """Recognise the document's pages, drawn at `dpi`, without its XML; results are kept in `cache`."""
    kept = cache / f"{path.stem}-{dpi}.pickle"
    if kept.exists():
        return pickle.loads(kept.read_bytes())  # noqa: S301 - written below
    pages: list[Page] = []
    with pdf_file.open_document(path) as document, tempfile.TemporaryDirectory() as folder:
        for number in range(1, len(document) + 1):
            file = Path(folder, f"{number}.png")
            file.write_bytes(_drawn(document, number, dpi))
            page = tasks.recognise_picture(file, "image/png", 1, OPTIONS, "rapidocr").page
            pages.append(replace(page, number=number))
    read = Document("0" * 64, "image/png", pages)
    cache.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(pickle.dumps(read))
    return read


def _drawn(document: Any, number: int, dpi: int) -> bytes:
    with pdf_file.open_page(document, number) as page:
        width, height = page.get_size()
        picture = pdf_file.render(page, (round(width * dpi / 72), round(height * dpi / 72)))
    file = io.BytesIO()
    Image.fromarray(picture.pixels).save(file, "PNG", dpi=(dpi, dpi))
    return file.getvalue()


def choose_spread(paths: Sequence[Path], count: int) -> list[Path]:
    """Choose `count` files, one of each folder in turn; always the same ones for the same files."""
    folders: dict[Path, list[Path]] = {}
    for path in paths:
        folders.setdefault(path.parent, []).append(path)
    for members in folders.values():
        random.Random(len(members)).shuffle(members)
    turns = zip_longest(*folders.values())
    return [path for turn in turns for path in turn if path is not None][:count]


def score_pages(documents: Mapping[Path, Document], pages: Callable[[Path], Document], title: str) -> None:
    """Compare the fields that rules read from the pages alone with those of the XML."""
    score = load_scorer()
    fields: Counter[tuple[str, str]] = Counter()
    cells: Counter[str] = Counter()
    for path, document in documents.items():
        invoice = einvoice(document.embedded[0].content)
        schema = REGISTRY[invoice.document_type]
        given = extract_by_rules(pages(path), schema).data
        truth, got = dict(leaves(invoice.data)), dict(leaves(given))
        for field in (*HEADER, *PAYMENT):
            fields[field, "truth"] += field in truth
            fields[field, "given"] += field in got and field in truth
            fields[field, "right"] += field in got and _hit(score, got[field], truth.get(field))
        if rows(truth):
            _count_cells(score, cells, rows(truth), rows(got))
    _report_visual(score, fields, cells, f"{title}, {len(documents)} documents")


def _hit(score: Any, got: object, said: object) -> bool:
    if isinstance(got, Decimal) and isinstance(said, Decimal):
        return abs(abs(got) - abs(said)) < Decimal("0.005")
    return type(got) is type(said) and bool(score.s2_text(got) == score.s2_text(said))


def rows(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for path, value in values.items():
        line, _, cell = path.partition("].")
        if line.startswith("lines[") and cell in CELLS:
            found.setdefault(line, {})[cell] = value
    return list(found.values())


def _count_cells(
    score: Any, cells: Counter[str], truth: Sequence[dict[str, Any]], got: Sequence[dict[str, Any]]
) -> None:
    equal = np.array(
        [[sum(_hit(score, row.get(cell), item[cell]) for cell in item) for row in got] for item in truth],
        np.float64,
    ).reshape(len(truth), len(got))
    cells["truth"] += sum(map(len, truth))
    cells["given"] += sum(map(len, got))
    cells["right"] += round(sum(equal[pair] for pair in best_pairs(equal)))


def _report_visual(score: Any, fields: Counter[tuple[str, str]], cells: Counter[str], title: str) -> None:
    print(title)
    totals = {kind: sum(fields[field, kind] for field in HEADER) for kind in ("truth", "given", "right")}
    for field in HEADER:
        if fields[field, "truth"]:
            print(f"  {field:16} {fields[field, 'right']:4} of {fields[field, 'truth']}")
    for field in PAYMENT:
        right, given, truths = (fields[field, kind] for kind in ("right", "given", "truth"))
        print(f"  {field:16} {right:4} of {given} given where the XML has it, of {truths} that it has")
    for name, counts in (("header S2", totals), ("line cells", cells)):
        precision, recall = (
            counts["right"] / max(1, counts["given"]),
            counts["right"] / max(1, counts["truth"]),
        )
        both = 2 * precision * recall / max(1e-9, precision + recall)
        low, high = score.wilson(counts["right"], counts["truth"])
        bounds = f"95 % {low:.3f}-{high:.3f}"
        print(f"{name}: P={precision:.3f} R={recall:.3f} ({bounds}) F1={both:.3f} n={counts['truth']}")


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--visual", action="store_true")
    parser.add_argument("--dpi", type=int, default=150)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--spread", type=int, default=0)
    parser.add_argument("--layer", action="store_true")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir(), "docmill-einvoices"))
    arguments = parser.parse_args()
    paths = files()
    read = {path: born_digital(path) for path in paths if path.suffix == ".pdf" and embedded_files(path)}
    documents = {path: document for path, document in read.items() if document is not None}
    if not arguments.layer:
        score_terms(paths)
        score_pairs()
        score_flags(documents)
        score_altered(documents)
    chosen = [path for path in documents if "fail" not in path.parts]
    if arguments.layer:
        own = {path: replace(documents[path], embedded=()) for path in chosen}
        score_pages({path: documents[path] for path in chosen}, own.__getitem__, "text layer")
    if arguments.visual:
        cache, dpi = arguments.cache, arguments.dpi
        cache.mkdir(parents=True, exist_ok=True)
        part = choose_spread(chosen, arguments.spread) if arguments.spread else chosen[:: arguments.every]
        drawn = {path: documents[path] for path in part}
        score_pages(drawn, lambda path: recognise_pages(path, dpi, cache), f"visual, {dpi} dpi")


if __name__ == "__main__":
    main()
