from collections.abc import AsyncIterator, Callable

import pytest

from contracts.converter import ConverterContract
from docmill.errors import UnsupportedFileTypeError
from docmill.model.document import Document
from docmill.ports import Converter, Original
from docmill.reading.convert import LocalConverter
from docmill.testing.steps import FakeConverter
from docmill.workers.pool import Pool


class TestLocalConverter(ConverterContract):
    @pytest.fixture
    async def converter(self) -> AsyncIterator[Converter]:
        async with Pool(1) as pool:
            yield LocalConverter(pool)

    @pytest.fixture
    def refusing(self, converter: Converter) -> Converter:
        return converter


class TestFakeConverter(ConverterContract):
    @pytest.fixture
    def converter(self, make_document: Callable[..., Document]) -> Converter:
        return FakeConverter(make_document("Invoice 4711"))

    @pytest.fixture
    def refusing(self) -> Converter:
        return FakeConverter(
            UnsupportedFileTypeError("an RTF document cannot be read", media_type="application/rtf")
        )

    async def test_it_remembers_what_it_was_asked(self, converter: FakeConverter, readable: Original) -> None:
        await converter.convert(readable)

        assert converter.originals == [readable]
