"""The documents that are recorded, by kind: files of ../shared/data, and others made of them or generated."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pypdfium2

from bench.data.shared import DATA
from bench.golden.readings import Reading

OWN_SCHEMA = Path(__file__).with_name("own_schema.json")
OWN_LABELS = Path(__file__).with_name("own_labels.json")
DPI = 150
"""Of e-invoices as pictures."""
PICTURED = 2
"""Every second of the e-invoices becomes pictures: recognition takes long."""


class Kind(NamedTuple):
    """A kind of documents, and the function that finds them.

    patterns: of files below `root`. made: writes the files instead, into a folder. read_as: the kind whose
    readings are used, where the same files are taken once more by a schema of one's own. read_otherwise:
    gives the readings instead of docmill; the files go through no program. in_vault: each how many-th of the
    documents goes through the vault too; 0 for none.
    """

    patterns: tuple[str, ...] = ()
    root: Path = DATA
    made: Callable[[Path], None] | None = None
    read_as: str = ""
    schema: Path | None = None
    labels: Path | None = None
    read_otherwise: Callable[[Mapping[str, Path]], list[Reading]] | None = None
    in_vault: int = 1


def _samples(folder: Path) -> None:
    from docmill.demo import generate  # noqa: PLC0415 - drawing is an extra

    for sample in generate(folder):
        sample.path.rename(folder / sample.path.name)
    (folder / "documents").rmdir()
    (folder / "truth.json").unlink()


def _carriers() -> Iterator[tuple[str, Any]]:
    """PDFs with an embedded XML, by a name that includes their collection."""
    for collection in ("einvoice", "orders"):
        for path in sorted((DATA / collection).rglob("*.pdf")):
            document: Any = pypdfium2.PdfDocument(path)
            if document.count_attachments():
                yield path.relative_to(DATA).with_suffix("").as_posix().replace("/", "--"), document


def _without_xml(folder: Path) -> None:
    for name, document in _carriers():
        while document.count_attachments():
            document.del_attachment(0)
        document.save(folder / f"{name}.pdf")


def _pictures(folder: Path) -> None:
    for name, document in list(_carriers())[::PICTURED]:
        drawn = [document[index].render(scale=DPI / 72) for index in range(len(document))]
        first, *others = [page.to_pil().convert("RGB") for page in drawn]
        first.save(
            folder / f"{name}.tif",
            save_all=True,
            append_images=others,
            compression="tiff_deflate",
            dpi=(DPI, DPI),
        )


def _by_rapidocr(files: Mapping[str, Path]) -> list[Reading]:
    from bench.golden import other_readings  # noqa: PLC0415 - comparing needs nothing of it

    return other_readings.by_rapidocr(files)


def _by_text_layer(files: Mapping[str, Path]) -> list[Reading]:
    from bench.golden import other_readings  # noqa: PLC0415 - comparing needs nothing of it

    return other_readings.by_text_layer(files)


KINDS: Mapping[str, Kind] = {
    "samples": Kind(made=_samples),
    "orders": Kind(("adbuy/pdf/*.pdf",), in_vault=5),
    "own": Kind(("adbuy/pdf/*.pdf",), read_as="orders", schema=OWN_SCHEMA, in_vault=0),
    "own-labels": Kind(
        ("adbuy/pdf/*.pdf",), read_as="orders", schema=OWN_SCHEMA, labels=OWN_LABELS, in_vault=0
    ),
    "einvoices": Kind(("einvoice/**/*.pdf", "einvoice/**/*.xml", "orders/**/*.pdf", "orders/**/*.xml")),
    "einvoices-layer": Kind(made=_without_xml),
    "office": Kind(("office/**/*.*",)),
    "mail": Kind(("mail/**/*.eml", "mail/**/*.msg")),
    "invoices": Kind(("invoices/**/*.pdf", "invoices/**/*.png", "invoices/**/*.jpg")),
    "formats": Kind(("formats/**/*.*",)),
    "receipts-kept": Kind(("sroie/ocr/*.json",), read_otherwise=_by_rapidocr, in_vault=0),
    "oddities": Kind(("hostile/pdf/**/*.pdf",), read_otherwise=_by_text_layer, in_vault=0),
    "receipts": Kind(("sroie/img/*.jpg",), in_vault=10),
    "einvoices-pictures": Kind(made=_pictures, in_vault=5),
    "scans": Kind(("scans/tests/resources/*.*",), in_vault=5),
    "photos": Kind(("photos/**/*.jpeg",), in_vault=10),
}
"""In the order in which they are recorded: what takes long comes last."""


def chosen(documents: Path | None, only: tuple[str, ...]) -> dict[str, Kind]:
    """All kinds or some; `documents`, a folder, is taken instead of them. Raises SystemExit for no kind."""
    kinds = KINDS if documents is None else {"documents": Kind(("**/*",), root=documents)}
    if unknown := sorted({*only} - {*kinds}):
        raise SystemExit(f"no kind {', '.join(unknown)}; there are {', '.join(kinds)}")
    return {name: kind for name, kind in kinds.items() if not only or name in only}


def files(name: str, kind: Kind, folder: Path) -> dict[str, Path]:
    """The kind's files by what they are called in the record. folder: of the golden record, for those made.

    Files that were made stay, so that what is compared is read from the same bytes.
    """
    if kind.made is not None:
        made = folder / "files" / name
        if not made.exists():
            making = made.with_name(f"{name}.making")
            shutil.rmtree(making, ignore_errors=True)
            making.mkdir(parents=True)
            kind.made(making)
            making.rename(made)
        return {f"{name}/{path.name}": path for path in sorted(made.iterdir())}
    found = {path for pattern in kind.patterns for path in kind.root.glob(pattern) if path.is_file()}
    return {path.relative_to(kind.root).as_posix(): path for path in sorted(found)}


def files_for_vault(name: str, kind: Kind, folder: Path) -> dict[str, Path]:
    """Each `in_vault`-th of them."""
    return dict(list(files(name, kind, folder).items())[:: kind.in_vault]) if kind.in_vault else {}
