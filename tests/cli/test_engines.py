"""What `docmill doctor` says of the chosen engines."""

import json
from pathlib import Path

import pytest
from pydantic import SecretStr

from docmill.cli import doctor
from docmill.cli.doctor import engine_findings, model_findings
from docmill.reading.ocr import tesseract
from docmill.service.config.settings import ChosenModel, DocumentAi, Llm, Ocr, Settings, UnderstandingSettings

GOOGLE = DocumentAi(project="mill", processor="4711", adc=True)
MODEL = Llm(model="seer", api_key=SecretStr("secret"))


def remedies(settings: Settings) -> list[str | None]:
    return [finding.remedy for finding in engine_findings(settings)]


def test_engines_that_have_all_they_need_are_told() -> None:
    settings = Settings(ocr=Ocr(engines=("rapidocr", "documentai", "vision")), documentai=GOOGLE, llm=MODEL)

    findings = list(engine_findings(settings))

    assert [finding.remedy for finding in findings] == [None, None, None]
    assert "secret" not in str(findings)
    assert "seer of openai, with a key" in findings[2].detail


def test_a_missing_tesseract_is_a_fault_if_it_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tesseract, "PLACES", "/nowhere")

    (remedy,) = remedies(Settings(ocr=Ocr(engines=("tesseract",))))

    assert remedy is not None
    assert "apt-get install tesseract-ocr" in remedy


def test_libraries_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_: str) -> bool:
        return False

    monkeypatch.setattr(doctor, "is_installed", nothing)

    found = remedies(Settings(ocr=Ocr(engines=("documentai", "vision")), documentai=GOOGLE, llm=MODEL))

    assert found == ["run: pip install 'docmill[documentai]'", "run: pip install 'docmill[llm]'"]


def test_models_that_read_fields_are_told_without_their_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    large = ChosenModel(model="big", provider="anthropic", base_url="http://127.0.0.1:8")
    settings = Settings(
        llm=MODEL, understanding=UnderstandingSettings(small=ChosenModel(model="tiny"), large=large)
    )

    told = [finding.detail for finding in model_findings(settings)]
    monkeypatch.setattr(doctor, "is_installed", lambda _: False)  # pyright: ignore[reportUnknownArgumentType, reportUnknownLambdaType]
    remedies = {finding.remedy for finding in model_findings(settings)}

    assert told == [
        "tiny of openai, with a key; not asked",
        "big of anthropic, with no key, at http://127.0.0.1:8; not asked",
    ]
    assert remedies == {"run: pip install 'docmill[llm]'"}
    assert list(model_findings(Settings())) == []


@pytest.mark.parametrize(
    ("content", "is_right"),
    [
        (json.dumps({"client_email": "a@b", "private_key": "x"}), True),
        ("{}", False),
        ("[]", False),
        ("nothing", False),
        (None, False),
    ],
)
def test_the_file_with_the_key_is_looked_into(tmp_path: Path, content: str | None, *, is_right: bool) -> None:
    file = tmp_path / "key.json"
    if content is not None:
        file.write_text(content)
    chosen = DocumentAi(project="mill", processor="4711", credentials_file=file)

    (remedy,) = remedies(Settings(ocr=Ocr(engines=("documentai",)), documentai=chosen))

    assert (remedy is None) is is_right


def test_document_ai_without_credentials_is_a_fault() -> None:
    chosen = DocumentAi(project="mill", processor="4711")

    (remedy,) = remedies(Settings(ocr=Ocr(engines=("documentai",)), documentai=chosen))

    assert remedy is not None
    assert "documentai.adc" in remedy


def test_a_package_that_is_not_there_holds_no_module() -> None:
    assert not doctor.is_installed("nowhere.to.be.found")
