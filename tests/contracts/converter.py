"""What every `Converter` does, whatever it reads with."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from docmill.errors import UnsupportedFileTypeError
from docmill.ports import Converter, Original


def _draw(canvas: Canvas) -> None:
    canvas.drawString(50, 700, "Invoice 4711")


class ConverterContract(ABC):
    """A subclass brings converters for a readable original and for one of a type that nobody reads."""

    @pytest.fixture
    @abstractmethod
    def converter(self) -> Converter:
        """Reads `readable`."""

    @pytest.fixture
    @abstractmethod
    def refusing(self) -> Converter:
        """Refuses `unreadable`."""

    @pytest.fixture
    def readable(self, make_pdf: Callable[..., Path]) -> Original:
        return Original(make_pdf(_draw), "invoice.pdf", "a" * 64)

    @pytest.fixture
    def unreadable(self, tmp_path: Path) -> Original:
        path = tmp_path / "letter.pdf"
        path.write_bytes(b"\x7fELF\2\1\1")
        return Original(path, "letter.pdf", "b" * 64)

    async def test_the_document_is_that_of_the_original(
        self, converter: Converter, readable: Original
    ) -> None:
        document = await converter.convert(readable)

        assert document.content_hash == readable.content_hash
        assert document.media_type

    async def test_pages_are_numbered_and_their_words_stand_on_them(
        self, converter: Converter, readable: Original
    ) -> None:
        document = await converter.convert(readable)

        assert [page.number for page in document.pages] == list(range(1, len(document.pages) + 1))
        for page in document.pages:
            words = page.words
            assert words.texts
            assert ((words.boxes >= 0) & (words.boxes <= 1)).all()
            assert ((words.confidences >= 0) & (words.confidences <= 1)).all()
            assert (words.lines[1:] >= words.lines[:-1]).all()
            assert (words.blocks[1:] >= words.blocks[:-1]).all()
            assert 0 <= page.quality <= 1

    async def test_reading_twice_gives_the_same(self, converter: Converter, readable: Original) -> None:
        first, second = await converter.convert(readable), await converter.convert(readable)

        assert first.text == second.text

    async def test_an_unsupported_type_is_a_typed_refusal(
        self, refusing: Converter, unreadable: Original
    ) -> None:
        with pytest.raises(UnsupportedFileTypeError) as refusal:
            await refusing.convert(unreadable)

        assert refusal.value.media_type
