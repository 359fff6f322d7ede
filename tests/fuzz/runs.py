"""Feeding damaged files to children, and finding which one it was."""

import pickle
from dataclasses import dataclass, field

from docmill.errors import CrashedError, InternalError, TimeLimitError
from docmill.workers.pool import Pool
from fuzz import targets
from fuzz.holders import MAIL, signed
from fuzz.seeds import coded, replies, seeds, transcriptions

BATCH = 20
LIMIT_S = 30.0


@dataclass
class Entry:
    """A parser's entry and files to damage for it."""

    name: str
    target: str
    files: list[bytes]
    packed: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.packed = pickle.dumps(self.files)


def entries() -> list[Entry]:
    """Every kind of file, and whatever else comes from strangers."""
    kinds = seeds()
    some = [files[0] for files in kinds.values()]
    return [
        *(Entry(kind, "file", files) for kind, files in sorted(kinds.items())),
        Entry("type", "type", some),
        Entry("apart", "apart", kinds["pdf"]),
        Entry("codes", "codes", coded()),
        Entry("signed", "signed", [signed(MAIL)]),
        Entry("transcription", "transcription", transcriptions()),
        Entry("reply", "reply", replies()),
    ]


async def fuzz(pool: Pool, entry: Entry, first: int, count: int = BATCH) -> list[str]:
    """What went wrong with the files of these numbers."""
    found = await _fed(pool, entry, first, count)
    if found is None:
        return []
    singles = [await _fed(pool, entry, number, 1) for number in range(first, first + count)]
    named = [f"{entry.name} {single}" for single in singles if single]
    return named or [f"{entry.name} {first} to {first + count - 1}, together only: {found}"]


async def _fed(pool: Pool, entry: Entry, first: int, count: int) -> str | None:
    arguments = (entry.target, entry.packed, entry.name, first, count)
    try:
        return await pool.run(targets.feed, *arguments, limit_s=LIMIT_S if count == 1 else LIMIT_S * 2)
    except (CrashedError, TimeLimitError, InternalError) as error:
        return f"{first}: {error.code}: {error}"
