from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from docmill.errors import MisconfiguredError
from docmill.service.config.settings import Settings

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "settings.md"


def names(model: type[BaseModel], prefix: str = "") -> list[str]:
    found: list[str] = []
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            found += names(field.annotation, f"{prefix}{name}.")
        else:
            found.append(prefix + name)
    return found


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", names(Settings))
def test_every_setting_is_documented(name: str) -> None:
    assert f"`{name}`" in DOCS.read_text()


def test_the_defaults_are_those_of_the_specification() -> None:
    settings = Settings.load()

    worker = settings.worker
    assert (worker.heartbeat_s, worker.lease_s, worker.wait_s, worker.batch) == (60, 300, 20, 10)
    assert (worker.max_attempts, worker.reserved_cores, worker.grace_s) == (3, 2, 600)
    assert (settings.ocr.quality_threshold, settings.image.max_dimension_px) == (0.7, 2048)
    assert settings.limits.file_bytes == 50_000_000
    assert settings.limits.times.document_s == 600
    assert settings.database_url is None
    assert settings.web.host == "127.0.0.1"
    assert settings.folder.is_absolute()


def test_the_environment_wins_over_the_file(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (elsewhere / "docmill.toml").write_text('data_dir = "/file"\n[worker]\nbatch = 3\nlease_s = 90\n')
    monkeypatch.setenv("DOCMILL_WORKER__BATCH", "4")

    settings = Settings.load()

    assert (settings.data_dir, settings.worker.batch, settings.worker.lease_s) == (Path("/file"), 4, 90)


def test_a_named_file_must_exist(elsewhere: Path) -> None:
    with pytest.raises(MisconfiguredError, match=r"other\.toml"):
        Settings.load(elsewhere / "other.toml")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("nonsense = 1", "nonsense"),
        ("[worker]\nnonsense = 1", "worker.nonsense"),
        ("[worker]\nbatch = 11", "worker.batch"),
        ("= nonsense", "cannot be read: error at line 1, column 1 of the file"),
        ("[worker]\nbach = 3", r"worker\.bach: there is no such setting"),
        (
            "[otel]\nendpoint = 'localhost:4318'",
            r"otel\.endpoint: this is not what such a setting looks like",
        ),
        ("[notifications]\nslack = 'x'", r"notifications\.slack: this is a section with settings of its own"),
    ],
)
def test_a_wrong_file_is_refused_with_the_key(elsewhere: Path, content: str, fault: str) -> None:
    (elsewhere / "docmill.toml").write_text(content)

    with pytest.raises(MisconfiguredError, match=fault):
        Settings.load()


@pytest.mark.parametrize("name", ["DOCMILL_NONSENSE", "DOCMILL_WORKER__NONSENSE"])
def test_a_wrong_variable_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "1")

    with pytest.raises(MisconfiguredError, match=r"(?i)nonsense"):
        Settings.load()


def test_a_lease_shorter_than_its_heartbeat_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMILL_WORKER__LEASE_S", "30")

    with pytest.raises(MisconfiguredError, match="heartbeat_s must be less than lease_s"):
        Settings.load()


def test_a_wrong_value_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMILL_WORKER__BATCH", "a secret")

    with pytest.raises(MisconfiguredError) as refusal:
        Settings.load()

    assert "a secret" not in refusal.value.message


def test_settings_do_not_change_and_hide_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMILL_DATABASE_URL", "postgresql://me:hunter2@host/docmill")
    settings = Settings.load()

    assert "hunter2" not in repr(settings)
    with pytest.raises(ValidationError):
        settings.data_dir = Path("/other")


def test_a_database_address_that_makes_no_sense_is_refused_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DOCMILL_DATABASE_URL", "postgresql://user:hunter2@[broken/")

    with pytest.raises(MisconfiguredError, match=r"database_url: .*not the address") as refused:
        Settings.load()

    assert "hunter2" not in refused.value.message


def test_an_engine_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMILL_OCR__ENGINES", '["tesseract", "rapidocr", "tesseract"]')

    with pytest.raises(MisconfiguredError, match=r"ocr\.engines: names an engine twice"):
        Settings.load()


def test_engines_and_languages_come_as_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMILL_OCR__ENGINES", '["tesseract", "rapidocr"]')
    monkeypatch.setenv("DOCMILL_OCR__LANGUAGES", '["de"]')

    ocr = Settings.load().ocr

    assert (ocr.engines, ocr.languages) == (("tesseract", "rapidocr"), ("de",))


def test_an_engine_that_is_named_must_be_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMILL_OCR__ENGINES", '["documentai"]')

    with pytest.raises(MisconfiguredError, match=r"documentai\.processor"):
        Settings.load()

    monkeypatch.setenv("DOCMILL_OCR__ENGINES", '["vision"]')
    monkeypatch.setenv("DOCMILL_LLM__MODEL", "gpt-4o")

    with pytest.raises(MisconfiguredError, match=r"llm\.api_key"):
        Settings.load()
