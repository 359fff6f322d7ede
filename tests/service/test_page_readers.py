"""From settings to engines."""

import sys

import pytest

from docmill.errors import MisconfiguredError
from docmill.reading.engines.engine import LocalReader
from docmill.reading.engines.remote import RemoteReader
from docmill.service.config.settings import DocumentAi, Llm, Ocr, Settings
from docmill.service.steps import page_readers, reading_options
from docmill.workers.pool import Pool

GOOGLE = DocumentAi(project="mill", processor="4711", endpoint="http://127.0.0.1:9", concurrency=3)


async def test_engines_come_in_their_order() -> None:
    settings = Settings(ocr=Ocr(engines=("tesseract", "documentai", "rapidocr")), documentai=GOOGLE)

    async with page_readers(settings, Pool(1), reading_options(settings)) as readers:
        assert [reader.name for reader in readers] == ["tesseract", "documentai", "rapidocr"]
        assert [type(reader) for reader in readers] == [LocalReader, RemoteReader, LocalReader]
        assert readers[1].at_once == 3


async def test_a_model_that_sees_is_put_together_from_the_settings() -> None:
    settings = Settings(
        ocr=Ocr(engines=("rapidocr", "vision")), llm=Llm(model="own", base_url="http://127.0.0.1:9")
    )

    async with page_readers(settings, Pool(1), reading_options(settings)) as readers:
        assert [reader.name for reader in readers] == ["rapidocr", "vision"]
        assert readers[1].at_once == 4


async def test_only_this_machine_is_asked_unless_told_otherwise() -> None:
    settings = Settings()

    async with page_readers(settings, Pool(1), reading_options(settings)) as readers:
        assert [(type(reader), reader.name) for reader in readers] == [(LocalReader, "rapidocr")]


def test_reading_follows_the_settings() -> None:
    options = reading_options(Settings(ocr=Ocr(quality_threshold=0.4, languages=("de",))))

    assert (options.quality_threshold, options.languages) == (0.4, ("de",))


async def test_an_engine_whose_library_is_absent_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "docmill.reading.engines.document_ai", None)
    settings = Settings(ocr=Ocr(engines=("documentai",)), documentai=GOOGLE)

    with pytest.raises(MisconfiguredError, match=r"pip install 'docmill\[documentai\]'"):
        async with page_readers(settings, Pool(1), reading_options(settings)):
            pass
