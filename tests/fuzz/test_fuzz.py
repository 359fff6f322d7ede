"""A little of what `make fuzz` does for long."""

from pathlib import Path

import pytest

from docmill.reading.files import file_types
from docmill.workers.pool import Pool
from fuzz.mutations import MUTATIONS
from fuzz.runs import Entry, entries, fuzz
from fuzz.seeds import coded, made
from fuzz.targets import TARGETS, damaged

FEW = 6


async def test_no_damaged_file_does_worse_than_be_refused(pool: Pool) -> None:
    findings = [finding for entry in entries() for finding in await fuzz(pool, entry, 0, FEW)]

    assert findings == []


async def test_a_target_that_fails_is_found_with_its_number(pool: Pool) -> None:
    findings = await fuzz(pool, Entry("broken", "no such target", [b"seed"]), 0, 2)

    assert [finding.partition(":")[0] for finding in findings] == ["broken 0", "broken 1"]


def test_every_type_that_is_read_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "made"
    found: set[str] = set()
    for content in (content for files in made().values() for content in files):
        path.write_bytes(content)
        found.add(file_types.media_type(path))

    assert found == file_types.READ | {file_types.MAILBOX.media_type, file_types.TNEF.media_type}


def test_what_is_damaged_is_read_while_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    for content in (content for files in made().values() for content in files):
        TARGETS["file"](content)
    for content in coded():
        TARGETS["codes"](content)


def test_the_same_number_gives_the_same_file() -> None:
    (entry, *_) = entries()

    assert damaged(entry.files, entry.name, 7) == damaged(entry.files, entry.name, 7)
    assert len({damaged(entry.files, entry.name, number) for number in range(50)}) > 2 * len(MUTATIONS)
