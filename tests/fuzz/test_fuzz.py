"""A little of what `make fuzz` does for long."""

from collections.abc import AsyncIterator

import pytest

from docmill.reading.pool import Pool
from fuzz.mutations import MUTATIONS
from fuzz.runs import Entry, entries, fuzz
from fuzz.targets import damaged

FEW = 6


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    async with Pool(1) as pool:
        yield pool


async def test_no_damaged_file_does_worse_than_be_refused(pool: Pool) -> None:
    findings = [finding for entry in entries() for finding in await fuzz(pool, entry, 0, FEW)]

    assert findings == []


async def test_a_target_that_fails_is_found_with_its_number(pool: Pool) -> None:
    findings = await fuzz(pool, Entry("broken", "no such target", [b"seed"]), 0, 2)

    assert [finding.partition(":")[0] for finding in findings] == ["broken 0", "broken 1"]


def test_the_same_number_gives_the_same_file() -> None:
    (entry, *_) = entries()

    assert damaged(entry.files, entry.name, 7) == damaged(entry.files, entry.name, 7)
    assert len({damaged(entry.files, entry.name, number) for number in range(50)}) > 2 * len(MUTATIONS)
