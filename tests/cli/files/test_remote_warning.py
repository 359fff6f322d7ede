"""What a run says of a settings file that lies where it was started."""

from collections.abc import Callable
from pathlib import Path

import pytest

from docmill.cli.files.run_config import run_config, warn_about_remote_services

AWAY = """
[ocr]
engines = ["rapidocr", "documentai"]
[documentai]
project = "p"
processor = "c"
"""
VISION = """
[ocr]
engines = ["vision"]
[llm]
model = "seeing"
base_url = "{address}"
"""
MODELS = """
[llm]
base_url = "{address}"
[understanding.small]
model = "little"
[understanding.large]
model = "big"
sees = true
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


Told = Callable[..., str]


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    def tell(config: Path | None = None) -> str:
        settings = run_config(config, max_bytes=None, time_limit_s=None, passwords=()).settings
        warn_about_remote_services(settings, config)
        return capsys.readouterr().err

    return tell


def test_an_engine_that_works_elsewhere_is_named_with_its_file_in_one_line(
    told: Told, tmp_path: Path
) -> None:
    (tmp_path / "docmill.toml").write_text(AWAY)

    said = told()

    assert said.count("\n") == 1
    assert f"{tmp_path / 'docmill.toml'} names the engine documentai (pages go to Google)" in said
    assert "--config" in said


def test_who_named_the_file_knows(told: Told, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(AWAY)
    (tmp_path / "empty.toml").touch()
    (tmp_path / "docmill.toml").write_text(AWAY)

    assert told(tmp_path / "mine.toml") == told(tmp_path / "empty.toml") == ""


def test_who_set_a_variable_knows(told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docmill.toml").write_text(AWAY.replace("engines", "languages = []\n#"))
    monkeypatch.setenv("DOCMILL_OCR__ENGINES", '["documentai"]')

    assert told() == ""


def test_a_variable_keeps_pages_here_whatever_the_file_says(
    told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docmill.toml").write_text(AWAY)
    monkeypatch.setenv("DOCMILL_OCR__ENGINES", '["rapidocr"]')

    assert told() == ""


def test_without_settings_or_with_engines_of_this_machine_nothing_is_said(told: Told, tmp_path: Path) -> None:
    without = told()
    (tmp_path / "docmill.toml").write_text('[ocr]\nengines = ["rapidocr"]')

    assert without == told() == ""


@pytest.mark.parametrize(
    ("address", "is_away"),
    [
        ("https://models.example/v1", True),
        ("http://192.168.1.7:8000", True),
        ("http://127.0.0.1:11434/v1", False),
        ("http://localhost:11434/v1", False),
        ("http://[::1]:8000", False),
    ],
)
def test_a_model_on_this_machine_is_not_elsewhere(
    told: Told, tmp_path: Path, address: str, *, is_away: bool
) -> None:
    (tmp_path / "docmill.toml").write_text(VISION.format(address=address))
    seen = told()
    (tmp_path / "docmill.toml").write_text(MODELS.format(address=address))
    asked = told()

    assert (f"the engine vision (pages go to {address})" in seen) == is_away
    small = f"the small model little (text goes to {address})"
    assert (f"{small} and the large model big (text and pages go to {address})" in asked) == is_away
    assert bool(seen) == bool(asked) == is_away
