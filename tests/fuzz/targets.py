"""What is fuzzed: every way in by which a stranger's bytes reach a parser. Runs in a child of the pool."""

import contextlib
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

from docmill.errors import DocmillError
from docmill.model import codec
from docmill.model.document import Page, Part, Words
from docmill.reading.child import render, tasks
from docmill.reading.child.tasks import CONTAINERS, TEXT_READERS
from docmill.reading.files import file_types
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images import codes, image_file
from docmill.reading.mail import eml
from docmill.workers import replies
from fuzz.mutations import mutated
from fuzz.pdfs import PASSWORD

OPTIONS = ReadingOptions(
    max_pages=50, max_pixels=4_000_000, max_part_bytes=5_000_000, passwords=("wrong", PASSWORD)
)
ROOM = 20_000_000


def read_file(data: bytes) -> None:
    """A file as a converter, an unpacker and a renderer take it, without recognition."""
    path = Path("fuzzed")
    path.write_bytes(data)
    opened = tasks.open_original(path, OPTIONS)
    if opened.media_type in TEXT_READERS:
        for content in tasks.read_flow(path, opened.media_type, OPTIONS).contents:
            with contextlib.suppress(DocmillError):
                tasks.draw_picture(content, opened.media_type, 1, OPTIONS)
    if opened.media_type in CONTAINERS:
        tasks.list_parts(path, opened.media_type, OPTIONS)
        tasks.take_parts(path, opened.media_type, 0, ROOM, OPTIONS)
    if opened.page_count:
        render.draw_page(path, 1, 200, None, OPTIONS)


def take_pdf_apart(data: bytes) -> None:
    """A PDF as it is unlocked, split and put together with what was recognised."""
    path = Path("fuzzed")
    path.write_bytes(data)
    for password in ("wrong", PASSWORD):
        with contextlib.suppress(DocmillError):
            tasks.unlock(path, password)
    with contextlib.suppress(DocmillError):
        tasks.take_sections(
            path, [Part("a.pdf", "section", 1, 2), Part("b.pdf", "section", 3, 3)], ROOM, OPTIONS
        )
    tasks.complete_page(path, Page(1, 595, 842, Words.none(), source="ocr", quality=0.5), OPTIONS)


def read_codes(data: bytes) -> None:
    """The codes on a picture."""
    path = Path("fuzzed")
    path.write_bytes(data)
    codes.read_codes(image_file.load(path, 1, (2000, 2000), OPTIONS).pixels)


def unwrap(data: bytes) -> None:
    """A mail in its signature."""
    eml.unwrap_signed(data)


def name_type(data: bytes) -> None:
    """Only what type it is."""
    path = Path("fuzzed")
    path.write_bytes(data)
    file_types.media_type(path)


def load_transcription(data: bytes) -> None:
    """What a file store gives back."""
    with contextlib.suppress(ValueError):
        codec.loads(data)


def read_reply(data: bytes) -> None:
    """What a child taken over answers."""
    with contextlib.suppress(ValueError):
        replies.loads(data)


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    "file": read_file,
    "apart": take_pdf_apart,
    "codes": read_codes,
    "signed": unwrap,
    "type": name_type,
    "transcription": load_transcription,
    "reply": read_reply,
}


def damaged(seeds: list[bytes], name: str, number: int) -> bytes:
    """The file of a number: the same each time."""
    random = Random(f"{name} {number}")  # noqa: S311 - nothing is secret
    return mutated(seeds[number % len(seeds)], random.choice(seeds), random)


def feed(target: str, seeds: bytes, name: str, first: int, count: int) -> str | None:
    """Feed damaged files to a target; the first that it does not refuse as it should, with what it did.

    seeds: pickled, since a file among the arguments would be lent.
    """
    for number in range(first, first + count):
        try:
            TARGETS[target](damaged(pickle.loads(seeds), name, number))  # noqa: S301 - our own
        except (DocmillError, MemoryError):  # for want of memory a child is replaced, and the file refused
            continue
        except Exception as error:  # noqa: BLE001 - every other error is a finding
            return f"{number}: {error!r:.300} at {_place(error)}"
    return None


def _place(error: BaseException) -> str:
    """The last lines that led there."""
    steps: list[str] = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        steps.append(f"{Path(code.co_filename).name}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return " < ".join(reversed(steps[-5:]))
