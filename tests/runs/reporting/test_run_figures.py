"""What a report says of a run as a whole."""

import math
import random
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from docmill.runs.reporting.run_figures import MOST_LISTED, Durations, Reason, read_figures
from docmill.runs.states import DeadLetter, NewDocument, Run, Settlement
from docmill.runs.stores.memory import MemoryStore

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


def failed(path: str, *, stage: str = "extract", error_type: str = "ValueError") -> Settlement:
    letter = DeadLetter(path, stage, error_type, "internal", "no total", "Traceback …", 4, NOW)
    return Settlement(
        path, "failed", 4, NOW, error="[extract] no total", dead_letter=letter, timings_s={"read": 2.0}
    )


async def store_of(*settlements: Settlement) -> MemoryStore:
    store = MemoryStore()
    await store.create_run(Run("run", NOW))
    documents = [NewDocument(end.path, end.path) for end in settlements]
    await store.add("run", documents, listing=await store.begin_listing("run"))
    await store.claim("run", owner="me", limit=len(documents), lease_s=60)
    await store.settle("run", settlements, owner="me")
    return store


async def test_tokens_costs_and_times_are_those_of_all_documents() -> None:
    done = [
        Settlement(
            f"{number}.pdf",
            "completed",
            1,
            NOW,
            timings_s={"read": 0.1 * number, "extract": 1.0},
            tokens=100,
            cost=Decimal("0.001"),
        )
        for number in range(1, 101)
    ]
    figures = await read_figures(await store_of(*done), "run")

    assert (figures.tokens, figures.cost) == (10_000, Decimal("0.100"))
    read, extract = figures.stages
    assert (read.stage, read.documents, read.longest_s) == ("read", 100, pytest.approx(10.0))
    assert read.median_s == pytest.approx(5.0, rel=0.01)
    assert read.p95_s == pytest.approx(9.5, rel=0.01)
    assert extract[1:] == (100, pytest.approx(1.0, rel=0.01), pytest.approx(1.0, rel=0.01), 1.0)
    assert figures.failures == figures.reviews == []


async def test_all_failures_are_counted_and_the_first_ones_listed_with_their_dead_letters() -> None:
    ends = [failed(f"{number}.pdf") for number in range(MOST_LISTED + 5)]
    ends += [failed("read.pdf", stage="read", error_type="OSError")]
    ends += [Settlement(f"review {number}.pdf", "needs_review", 1, NOW) for number in range(3)]

    figures = await read_figures(await store_of(*ends), "run")

    assert figures.reasons == {
        Reason("extract", "ValueError", "internal"): MOST_LISTED + 5,
        Reason("read", "OSError", "internal"): 1,
    }
    assert [failure.document.path for failure in figures.failures] == [
        f"{number}.pdf" for number in range(MOST_LISTED)
    ]
    assert all(failure.letter is not None for failure in figures.failures)
    assert len(figures.reviews) == 3


async def test_a_dead_letter_that_was_purged_leaves_the_document_listed() -> None:
    store = await store_of(failed("a.pdf"))
    await store.purge("run")

    figures = await read_figures(store, "run")

    assert [(failure.document.path, failure.letter) for failure in figures.failures] == [("a.pdf", None)]


def test_quantiles_are_right_to_one_per_cent_in_little_memory() -> None:
    drawn = random.Random(7)  # noqa: S311  no secrets
    seconds = [drawn.lognormvariate(0, 3) for _ in range(20_000)]
    durations = Durations()
    for each in seconds:
        durations.add(each)

    ordered = sorted(seconds)
    for share in (0.01, 0.5, 0.95, 0.999, 1.0):
        exact = ordered[math.ceil(share * len(ordered)) - 1]
        assert exact * 0.999 <= durations.quantile(share) <= exact * 1.01
    assert len(vars(durations)["_classes"]) < 3000


def test_no_duration_at_all_is_a_duration() -> None:
    durations = Durations()
    assert durations.quantile(0.5) == 0.0

    durations.add(0.0)

    assert durations.quantile(0.5) == 0.0
