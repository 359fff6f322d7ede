from pathlib import Path

import numpy as np
import pytest

from docmill.errors import (
    AiContentBlockedError,
    CrashedError,
    DocmillError,
    MisconfiguredError,
    NetworkError,
    UnauthorizedError,
)
from docmill.model.document import Page, Words
from docmill.reading.child.tasks import broken_page
from docmill.reading.engines.engine import EngineChoice, PageRequest

SIGHT = PageRequest(Path("scan.png"), "image/png", 1)


def page(engine: str, quality: float) -> Page:
    words = Words(
        texts=[engine],
        boxes=np.array([[0, 0, 1, 1]], np.float32),
        confidences=np.array([quality], np.float32),
        lines=np.zeros(1, np.int32),
        blocks=np.zeros(1, np.int32),
    )
    return Page(1, 595, 842, words, source="ocr", quality=quality, engine=engine)


class Scripted:
    """`PageReader` that reads as well as it is told, or fails."""

    at_once = 1

    def __init__(self, name: str, outcome: float | DocmillError) -> None:
        self.name = name
        self.outcome = outcome
        self.asked = 0

    async def read(self, request: PageRequest, so_far: Page | None) -> Page:
        del so_far
        self.asked += 1
        if isinstance(self.outcome, DocmillError):
            raise self.outcome
        return page(self.name, self.outcome) if self.outcome else broken_page(request.number, "it is damaged")


async def best(*readers: Scripted) -> Page:
    return await EngineChoice(readers, 0.7).best(SIGHT)


async def test_a_page_that_is_read_well_is_not_read_again() -> None:
    second = Scripted("second", 0.9)

    assert (await best(Scripted("first", 0.7), second)).engine == "first"
    assert second.asked == 0


async def test_the_next_engine_is_asked_where_one_reads_badly_and_the_better_page_is_kept() -> None:
    assert (await best(Scripted("first", 0.4), Scripted("second", 0.6))).engine == "second"
    assert (await best(Scripted("first", 0.6), Scripted("second", 0.4))).engine == "first"
    assert (await best(Scripted("first", 0.5), Scripted("second", 0.5))).engine == "first"


@pytest.mark.parametrize(
    "error", [NetworkError("x"), CrashedError("x"), MisconfiguredError("x"), AiContentBlockedError("x")]
)
async def test_an_engine_that_fails_costs_no_page_that_another_can_read(error: DocmillError) -> None:
    assert (await best(Scripted("first", error), Scripted("second", 0.2))).engine == "second"
    assert (await best(Scripted("first", 0.2), Scripted("second", error))).engine == "first"


async def test_a_page_that_could_not_be_drawn_gives_way_to_any_other() -> None:
    assert (await best(Scripted("first", 0), Scripted("second", 0.1))).engine == "second"
    assert (await best(Scripted("first", 0), Scripted("second", NetworkError("x")))).source == "none"


async def test_what_may_pass_comes_before_what_a_person_must_mend() -> None:
    with pytest.raises(NetworkError):
        await best(Scripted("first", UnauthorizedError("x")), Scripted("second", NetworkError("x")))
    with pytest.raises(UnauthorizedError):
        await best(Scripted("first", AiContentBlockedError("x")), Scripted("second", UnauthorizedError("x")))


async def test_an_attempt_that_was_made_comes_before_one_that_was_not() -> None:
    with pytest.raises(CrashedError):
        await best(
            Scripted("first", NetworkError("x", attempted=False)), Scripted("second", CrashedError("x"))
        )


async def test_a_page_that_is_refused_for_what_is_on_it_says_so() -> None:
    refusal = AiContentBlockedError("the provider refuses this content")
    choice = EngineChoice([Scripted("only", refusal)], 0.7)

    refused = await choice.best(SIGHT)

    assert (refused.source, refused.problem) == ("none", "the provider refuses this content")
    assert choice.refusal is refusal


async def test_an_engine_that_is_not_set_up_is_asked_once_for_all_pages() -> None:
    first, second = Scripted("first", UnauthorizedError("x")), Scripted("second", 0.9)
    choice = EngineChoice([first, second], 0.7)

    pages = [await choice.best(SIGHT) for _ in range(3)]

    assert [page.engine for page in pages] == ["second"] * 3
    assert (first.asked, second.asked) == (1, 3)


async def test_what_is_known_already_is_kept_if_it_is_better() -> None:
    known = page("text layer", 0.6)

    assert await EngineChoice([Scripted("only", 0.5)], 0.7).best(SIGHT, known) is known
    assert (await EngineChoice([Scripted("only", 0.65)], 0.7).best(SIGHT, known)).engine == "only"
