from pathlib import Path

import pytest

from docmill.cli.files.run_config import RunConfig, run_config
from docmill.reading.convert import DEFAULT_ENGINE, LocalConverter
from docmill.workers.pool import Pool


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def configured(
    config: Path | None = None, max_bytes: int | None = None, time_limit_s: float | None = None
) -> RunConfig:
    return run_config(config, max_bytes=max_bytes, time_limit_s=time_limit_s, passwords=("open sesame",))


async def engines(config: RunConfig) -> list[str]:
    """Who recognises pages, in their order."""
    async with config.steps(Pool(1)) as steps:
        assert isinstance(steps.converter, LocalConverter)
        return [reader.name for reader in steps.converter._readers]  # pyright: ignore[reportPrivateUsage]


def test_an_empty_settings_file_changes_nothing(tmp_path: Path) -> None:
    without = configured()
    (tmp_path / "docmill.toml").touch()

    found = configured()

    assert without.settings is None
    assert found.settings is not None
    assert (found.reading, found.limits, found.parts, found.max_bytes) == (
        without.reading,
        without.limits,
        without.parts,
        without.max_bytes,
    )


async def test_the_file_in_the_current_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "docmill.toml").write_text(
        """
        [ocr]
        engines = ["tesseract", "rapidocr"]
        languages = ["de"]
        [reading]
        split = "auto"
        [limits]
        parts_depth = 2
        """
    )

    found = configured()

    assert (found.reading.languages, found.reading.split, found.parts.depth) == (("de",), True, 2)
    assert found.reading.passwords == ("open sesame",)
    assert await engines(found) == ["tesseract", "rapidocr"]


async def test_without_settings_the_usual_engine_reads() -> None:
    assert await engines(configured()) == [DEFAULT_ENGINE]


def test_a_variable_wins_over_the_file_and_the_command_line_over_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "other.toml"
    config.write_text("[limits]\nfile_mb = 1\ndocument_s = 10\npages = 7\n")
    monkeypatch.setenv("DOCMILL_LIMITS__FILE_MB", "2")

    found, told = configured(config), configured(config, 3_000_000, 30)

    assert (found.max_bytes, found.reading.max_part_bytes, found.limits.document_s) == (
        2_000_000,
        2_000_000,
        10,
    )
    assert (told.max_bytes, told.reading.max_part_bytes, told.limits.document_s) == (3_000_000, 3_000_000, 30)
    assert (found.limits.page_s, told.limits.page_s) == (10, 0)
    assert told.reading.max_pages == 7


def test_the_number_of_reading_processes_is_that_of_the_settings(tmp_path: Path) -> None:
    assert configured().processes is None
    (tmp_path / "docmill.toml").write_text("[worker]\nprocesses = 3\n")

    assert configured().processes == 3
