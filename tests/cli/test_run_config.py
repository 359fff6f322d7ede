from pathlib import Path

import pytest

from docmill.cli.run_config import Means, means_of
from docmill.workers.pool import Pool


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def means(
    config: Path | None = None, max_bytes: int | None = None, time_limit_s: float | None = None
) -> Means:
    return means_of(config, max_bytes=max_bytes, time_limit_s=time_limit_s, passwords=("open sesame",))


def test_an_empty_settings_file_changes_nothing(tmp_path: Path) -> None:
    without = means()
    (tmp_path / "docmill.toml").touch()

    found = means()

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

    found = means()

    assert (found.reading.languages, found.reading.split, found.parts.depth) == (("de",), True, 2)
    assert found.reading.passwords == ("open sesame",)
    async with found.readers(Pool(1)) as readers:
        assert [reader.name for reader in readers] == ["tesseract", "rapidocr"]


async def test_without_settings_the_usual_engine_reads() -> None:
    async with means().readers(Pool(1)) as readers:
        assert list(readers) == []


def test_a_variable_wins_over_the_file_and_the_command_line_over_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "other.toml"
    config.write_text("[limits]\nfile_mb = 1\ndocument_s = 10\npages = 7\n")
    monkeypatch.setenv("DOCMILL_LIMITS__FILE_MB", "2")

    found, told = means(config), means(config, 3_000_000, 30)

    assert (found.max_bytes, found.reading.max_part_bytes, found.limits.document_s) == (
        2_000_000,
        2_000_000,
        10,
    )
    assert (told.max_bytes, told.reading.max_part_bytes, told.limits.document_s) == (3_000_000, 3_000_000, 30)
    assert (found.limits.page_s, told.limits.page_s) == (10, 0)
    assert told.reading.max_pages == 7
