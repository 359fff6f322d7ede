from typing import Any

import pytest

from docmill.model.result import Schema
from docmill.schemas.registry import REGISTRY
from docmill.service.config.fingerprint import pipeline_fingerprint
from docmill.service.config.settings import DocumentAi, Image, Limits, Llm, Ocr, Settings, WorkerSettings
from docmill.service.config.web import Web


@pytest.mark.parametrize(
    "changed",
    [
        {"image": Image(max_dimension_px=4096)},
        {"ocr": Ocr(quality_threshold=0.5)},
        {"ocr": Ocr(engines=("tesseract",))},
        {"ocr": Ocr(languages=("de",))},
        {"limits": Limits(pages=5)},
    ],
    ids=str,
)
def test_settings_that_change_results_change_it(changed: dict[str, Any]) -> None:
    settings = Settings()

    assert pipeline_fingerprint(settings.model_copy(update=changed)) != pipeline_fingerprint(settings)


@pytest.mark.parametrize(
    "changed",
    [{"worker": WorkerSettings(concurrency=99)}, {"web": Web(port=1)}, {"limits": Limits(document_s=1)}],
    ids=str,
)
def test_settings_that_change_no_result_do_not(changed: dict[str, Any]) -> None:
    settings = Settings()

    assert pipeline_fingerprint(settings.model_copy(update=changed)) == pipeline_fingerprint(settings)


def test_a_processor_counts_only_where_it_reads() -> None:
    one, other = DocumentAi(project="mill", processor="1"), DocumentAi(project="mill", processor="2")
    asked = Ocr(engines=("documentai",))

    assert fingerprint_with(one, Ocr()) == fingerprint_with(other, Ocr())
    assert fingerprint_with(one, asked) != fingerprint_with(other, asked)


def fingerprint_with(documentai: DocumentAi, ocr: Ocr) -> str:
    return pipeline_fingerprint(Settings(documentai=documentai, ocr=ocr))


def test_a_model_counts_only_where_it_reads() -> None:
    one, other = Llm(model="a", base_url="http://127.0.0.1:9"), Llm(model="b", base_url="http://127.0.0.1:9")
    asked = Ocr(engines=("vision",))

    assert pipeline_fingerprint(Settings(llm=one)) == pipeline_fingerprint(Settings(llm=other))
    assert pipeline_fingerprint(Settings(llm=one, ocr=asked)) != pipeline_fingerprint(
        Settings(llm=other, ocr=asked)
    )


def test_a_changed_schema_changes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = pipeline_fingerprint(Settings())

    monkeypatch.setitem(REGISTRY, "receipt", Schema("receipt", REGISTRY["receipt"].fields))

    assert pipeline_fingerprint(Settings()) != before
