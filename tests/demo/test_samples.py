import hashlib
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from PIL import Image
from pillow_heif import (
    register_heif_opener,  # pyright: ignore[reportUnknownVariableType]  # pillow-heif leaves its options untyped
)

from docmill.demo import Sample, load_truth
from docmill.demo.catalogue import plans
from docmill.demo.plan import account
from docmill.demo.writing import make_sample
from docmill.schemas.registry import REGISTRY

_ORIENTATION = 0x0112


def test_there_are_enough_of_every_kind_language_and_form(samples: list[Sample]) -> None:
    forms = Counter(sample.form for sample in samples)
    suffixes = Counter(sample.path.suffix.lower() for sample in samples)

    assert len(samples) >= 30
    assert {sample.document_type for sample in samples} == set(REGISTRY) - {"card_slip", "ticket", "other"}
    assert {"en", "de", "fr", "es", "it", "nl"} <= {sample.language for sample in samples}
    assert len({sample.country for sample in samples}) >= 8
    assert len({sample.layout for sample in samples}) >= 16
    assert forms["born-digital"] >= 10
    assert forms["scan"] + forms["photo"] >= 8
    assert suffixes[".heic"] >= 2
    assert suffixes.keys() == {".pdf", ".tif", ".jpg", ".png", ".webp", ".heic"}


def test_every_truth_is_read_back_as_it_was_made(samples: list[Sample]) -> None:
    folder = samples[0].path.parent.parent

    assert load_truth(folder) == samples
    assert all(type(sample.truth) is REGISTRY[sample.document_type].fields for sample in samples)


def test_only_documents_stand_in_the_folder_of_documents(samples: list[Sample]) -> None:
    folder = samples[0].path.parent

    assert sorted(folder.iterdir()) == sorted(sample.path for sample in samples)


def test_only_born_digital_samples_have_text(samples: list[Sample]) -> None:
    for sample in samples:
        if sample.path.suffix == ".pdf":
            document = pdfium.PdfDocument(sample.path)
            letters = sum(page.get_textpage().count_chars() for page in document)
            assert len(document) == sample.pages
            document.close()
            assert (letters > 100) == (sample.form == "born-digital")


def test_every_image_opens_with_its_pages(samples: list[Sample]) -> None:
    register_heif_opener()
    pages: dict[str, int] = {}
    for sample in samples:
        if sample.path.suffix != ".pdf":
            with Image.open(sample.path) as image:
                image.load()
                pages[sample.name] = getattr(image, "n_frames", 1)

    assert pages == {sample.name: sample.pages for sample in samples if sample.name in pages}
    assert pages["fax_00231.tif"] == 2


def test_some_photographs_are_stored_turned_as_telephones_do(samples: list[Sample]) -> None:
    turned: set[int] = set()
    for sample in samples:
        if sample.path.suffix == ".jpg":
            with Image.open(sample.path) as image:
                turned.add(image.getexif().get(_ORIENTATION, 1))

    assert turned > {1}


@pytest.mark.parametrize(
    "name", ["rechnung-2026-0417.pdf", "IMG_2041.HEIC", "fax_00231.tif", "albaran_5512.jpg"]
)
def test_the_same_seed_gives_the_same_bytes(samples: list[Sample], tmp_path: Path, name: str) -> None:
    plan = next(plan for plan in plans() if plan.name == name)

    again = make_sample(plan, tmp_path, seed=2026)

    before = next(sample.path for sample in samples if sample.name == name)
    assert _hash(again.path) == _hash(before)


def test_another_seed_gives_another_scan_of_the_same_paper(samples: list[Sample], tmp_path: Path) -> None:
    plan = next(plan for plan in plans() if plan.name == "receipt-bolts.webp")

    other = make_sample(plan, tmp_path, seed=7)

    before = next(sample for sample in samples if sample.name == plan.name)
    assert _hash(other.path) != _hash(before.path)
    assert other.truth == before.truth


def test_importing_docmill_and_reading_truths_needs_no_reportlab() -> None:
    code = "import docmill, docmill.demo, sys; sys.exit('reportlab' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_number_that_no_check_digit_can_save_is_refused() -> None:
    with pytest.raises(ValueError, match="no check digits"):
        account("DE??123")


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
