"""What every state store promises."""

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from docmill.errors import RunExistsError, UnknownRunError
from docmill.runs.states import (
    Added,
    DeadLetter,
    DocumentState,
    DocumentStatus,
    NewDocument,
    Run,
    Settlement,
    StageResult,
    StateStore,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def new(*paths: str, version: str = "1") -> list[NewDocument]:
    return [NewDocument(path, path.upper(), {"page": 1}, version) for path in paths]


def end(path: str, status: DocumentStatus = "completed", **changes: object) -> Settlement:
    values: dict[str, object] = {"path": path, "status": status, "attempts": 1, "at": NOW}
    return Settlement(**(values | changes))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def letter(path: str, message: str = "broken") -> DeadLetter:
    return DeadLetter(path, "extract", "ValueError", "internal", message, "Traceback …", 4, NOW, {"page": 1})


async def paths_of(store: StateStore, status: DocumentStatus | None = None) -> list[str]:
    return [document.path async for document in store.documents("run", status=status)]


async def state_of(store: StateStore, path: str) -> DocumentState:
    document = await store.find_document("run", path)
    assert document is not None
    return document


class StateStoreContract:
    """Tests of one store. The subclass has a fixture `store` with nothing in it."""

    async def claim(self, store: StateStore, owner: str = "me", limit: int = 10) -> list[str]:
        claimed = await store.claim("run", owner=owner, limit=limit, lease_s=60)
        assert all(state.status == "in_progress" for state in claimed)
        return [state.path for state in claimed]

    async def begun(self, store: StateStore, *paths: str, version: str = "1") -> None:
        await store.create_run(Run("run", NOW, "f1"))
        await self.list_again(store, *paths, version=version)

    async def list_again(self, store: StateStore, *paths: str, version: str = "1") -> tuple[Added, int]:
        listing = await store.begin_listing("run")
        added = await store.add("run", new(*paths, version=version), listing=listing)
        return added, await store.end_listing("run", listing=listing)

    async def test_a_run_is_found_again_as_it_was_made(self, store: StateStore) -> None:
        run = Run("run", NOW, "f1", configuration={"reader": {"kind": "local"}})
        await store.create_run(run)
        assert await store.find_run("run") == run
        await store.update_run(
            "run", status="completed", completed_at=NOW + timedelta(hours=1), fingerprint="f2"
        )
        found = await store.find_run("run")
        assert (found.status, found.completed_at, found.fingerprint) == (
            "completed",
            NOW + timedelta(hours=1),
            "f2",
        )
        await store.update_run("run", status="running")
        assert (await store.find_run("run")).fingerprint == "f2"

    async def test_runs_are_listed_from_the_newest_on(self, store: StateStore) -> None:
        await store.create_run(Run("old", NOW))
        await store.create_run(Run("new", NOW + timedelta(days=1)))
        assert [run.run_id for run in await store.list_runs()] == ["new", "old"]

    async def test_a_name_is_given_once(self, store: StateStore) -> None:
        await store.create_run(Run("run", NOW))
        with pytest.raises(RunExistsError, match="'run'"):
            await store.create_run(Run("run", NOW))

    async def test_a_run_that_is_not_there_is_an_error(self, store: StateStore) -> None:
        calls: list[Callable[[], object]] = [
            lambda: store.find_run("no"),
            lambda: store.update_run("no", status="running"),
            lambda: store.remove_run("no"),
            lambda: store.begin_listing("no"),
            lambda: store.add("no", new("a"), listing=1),
            lambda: store.end_listing("no", listing=1),
            lambda: store.claim("no", owner="me", limit=1, lease_s=60),
            lambda: store.count("no"),
            lambda: store.requeue("no"),
            lambda: store.purge("no"),
        ]
        for call in calls:
            with pytest.raises(UnknownRunError, match="'no'"):
                await call()  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]

    async def test_documents_are_claimed_in_the_order_in_which_they_are_listed(
        self, store: StateStore
    ) -> None:
        await self.begun(store, "c", "a", "b")
        assert await self.claim(store, limit=2) == ["c", "a"]
        assert await self.claim(store) == ["b"]
        assert await self.claim(store) == []

    async def test_a_claimed_document_knows_what_was_listed(self, store: StateStore) -> None:
        await self.begun(store, "a")
        (state,) = await store.claim("run", owner="me", limit=1, lease_s=60)
        assert state == DocumentState("a", "A", "in_progress", metadata={"page": 1}, version="1")

    async def test_two_runners_at_once_never_get_the_same_document(self, store: StateStore) -> None:
        await self.begun(store, *(f"d{number:03}" for number in range(200)))
        owners = [f"runner {number}" for number in range(8)]
        claims = await asyncio.gather(
            *(store.claim("run", owner=owner, limit=7, lease_s=60) for owner in owners for _ in range(5))
        )
        claimed = [state.path for claim in claims for state in claim]
        assert len(claimed) == len(set(claimed)) == 200

    async def test_an_end_is_kept_with_all_that_it_says(self, store: StateStore) -> None:
        await self.begun(store, "a")
        await self.claim(store)
        settled = end("a", content_hash="h", timings_s={"read": 0.5}, tokens=12, cost=Decimal("0.000123"))
        assert not await store.settle("run", [settled], owner="me")
        assert await state_of(store, "a") == DocumentState(
            "a",
            "A",
            "completed",
            content_hash="h",
            attempts=1,
            last_attempt=NOW,
            completed_at=NOW,
            metadata={"page": 1},
            version="1",
            timings_s={"read": 0.5},
            tokens=12,
            cost=Decimal("0.000123"),
        )

    async def test_what_attempts_cost_adds_up(self, store: StateStore) -> None:
        await self.begun(store, "a")
        for attempt in (1, 2):
            await self.claim(store)
            again = end("a", "pending", attempts=attempt, tokens=10, cost=Decimal("0.01"))
            await store.settle("run", [again], owner="me")
        state = await state_of(store, "a")
        assert (state.tokens, state.cost, state.attempts) == (20, Decimal("0.02"), 2)

    async def test_the_error_goes_when_the_document_succeeds(self, store: StateStore) -> None:
        await self.begun(store, "a")
        await self.claim(store)
        await store.settle("run", [end("a", "pending", error="[read] no")], owner="me")
        assert (await state_of(store, "a")).error == "[read] no"
        await self.claim(store)
        await store.settle("run", [end("a", attempts=2)], owner="me")
        assert (await state_of(store, "a")).error is None

    async def test_a_document_waits_until_its_next_attempt(self, store: StateStore) -> None:
        await self.begun(store, "a", "b")
        await self.claim(store)
        later = datetime.now(UTC) + timedelta(seconds=30)
        await store.settle("run", [end("a", "pending", retry_at=later), end("b")], owner="me")
        assert await self.claim(store) == []
        due_s = await store.next_due_s("run")
        assert due_s is not None
        assert 20 < due_s <= 30

    async def test_due_documents_come_before_nothing_and_after_those_that_never_waited(
        self, store: StateStore
    ) -> None:
        await self.begun(store, "a", "b", "c")
        assert await self.claim(store, limit=1) == ["a"]
        before = datetime.now(UTC) - timedelta(seconds=1)
        await store.settle("run", [end("a", "pending", retry_at=before)], owner="me")
        assert await self.claim(store) == ["b", "c", "a"]

    async def test_nothing_is_due_when_all_have_come_to_their_end(self, store: StateStore) -> None:
        await self.begun(store, "a", "b")
        assert await store.next_due_s("run") == 0
        await self.claim(store)
        await store.settle(
            "run", [end("a"), end("b", "failed", error="[read] no", dead_letter=letter("b"))], owner="me"
        )
        assert await store.next_due_s("run") is None

    async def test_a_dead_runners_documents_are_claimed_by_another_and_marked(
        self, store: StateStore
    ) -> None:
        await self.begun(store, "a")
        await store.claim("run", owner="dead", limit=1, lease_s=0.05)
        assert await self.claim(store, "me") == []
        await asyncio.sleep(0.1)
        (state,) = await store.claim("run", owner="me", limit=1, lease_s=60)
        assert state.is_uncertain
        assert state.attempts == 0
        assert await store.settle("run", [end("a", content_hash="late")], owner="dead") == ["a"]
        assert not await store.settle("run", [end("a", content_hash="good")], owner="me")
        state = await state_of(store, "a")
        assert (state.content_hash, state.is_uncertain) == ("good", False)

    async def test_a_runner_that_lives_keeps_its_documents(self, store: StateStore) -> None:
        await self.begun(store, "a")
        await store.claim("run", owner="me", limit=1, lease_s=0.2)
        for _ in range(4):
            await asyncio.sleep(0.1)
            await store.renew("run", owner="me", lease_s=0.2)
        assert await self.claim(store, "other") == []
        assert not await store.settle("run", [end("a")], owner="me")

    async def test_what_is_given_back_is_claimed_at_once_and_counts_no_attempt(
        self, store: StateStore
    ) -> None:
        await self.begun(store, "a", "b")
        await self.claim(store, "me", limit=1)
        await self.claim(store, "other", limit=1)
        await store.release("run", owner="me")
        (state,) = await store.claim("run", owner="third", limit=5, lease_s=60)
        assert (state.path, state.attempts, state.is_uncertain) == ("a", 0, True)

    async def test_settling_a_strangers_document_changes_nothing(self, store: StateStore) -> None:
        await self.begun(store, "a", "b")
        await self.claim(store, "other", limit=1)
        assert set(await store.settle("run", [end("a"), end("b"), end("none")], owner="me")) == {
            "a",
            "b",
            "none",
        }
        assert (await state_of(store, "a")).status == "in_progress"
        assert (await state_of(store, "b")).status == "pending"

    async def test_listing_again_finds_what_is_new_changed_and_gone(self, store: StateStore) -> None:
        await self.begun(store, "same", "changed", "gone", "failed", "done")
        await self.claim(store)
        await store.settle(
            "run",
            [
                end("same", content_hash="h1"),
                end("changed", "needs_review", content_hash="h2"),
                end("done", content_hash="h3"),
                end("failed", "failed", error="[read] no", dead_letter=letter("failed")),
                end("gone", "pending"),
            ],
            owner="me",
        )
        listing = await store.begin_listing("run")
        assert await store.add("run", new("same", "failed", "new"), listing=listing) == (1, 0)
        assert await store.add("run", new("changed", version="2"), listing=listing) == (0, 1)
        assert await store.end_listing("run", listing=listing) == 1
        assert (await state_of(store, "gone")).status == "vanished"
        assert (await state_of(store, "done")).status == "completed", "its result is there"
        assert (await state_of(store, "failed")).status == "failed"
        claimed = await store.claim("run", owner="me", limit=9, lease_s=60)
        assert [(state.path, state.done_as, state.content_hash) for state in claimed] == [
            ("changed", "needs_review", "h2"),
            ("new", None, None),
        ]

    async def test_listings_at_the_same_time_make_nothing_vanish(self, store: StateStore) -> None:
        await self.begun(store)
        first, second = await store.begin_listing("run"), await store.begin_listing("run")
        await store.add("run", new("a"), listing=second)
        await store.add("run", new("a"), listing=first)
        await store.add("run", new("b"), listing=second)
        assert await store.end_listing("run", listing=first) == 0
        assert await store.end_listing("run", listing=second) == 0

    async def test_without_a_version_everything_that_is_done_is_looked_at_again(
        self, store: StateStore
    ) -> None:
        await self.begun(store, "a", version="")
        await self.claim(store)
        await store.settle("run", [end("a", content_hash="h", tokens=5)], owner="me")
        added, _ = await self.list_again(store, "a", version="")
        assert added == (0, 1)
        (state,) = await store.claim("run", owner="me", limit=9, lease_s=60)
        assert state.done_as == "completed"
        unchanged = end("a", is_unchanged=True, at=NOW + timedelta(days=1), attempts=7)
        await store.settle("run", [unchanged], owner="me")
        state = await state_of(store, "a")
        assert (state.status, state.completed_at, state.attempts, state.tokens) == ("completed", NOW, 1, 5)
        assert state.done_as is None

    async def test_what_another_runner_has_listed_meanwhile_has_not_vanished(self, store: StateStore) -> None:
        await self.begun(store, "a", "b")
        first, second = await store.begin_listing("run"), await store.begin_listing("run")
        await store.add("run", new("a", "b", "c"), listing=second)
        await store.add("run", new("b", version="0"), listing=first)
        assert await store.end_listing("run", listing=first) == 0
        await store.add("run", new("d"), listing=second)
        assert await store.end_listing("run", listing=second) == 0
        assert await self.claim(store) == ["a", "b", "c", "d"]

    async def test_a_document_that_came_back_is_processed(self, store: StateStore) -> None:
        await self.begun(store, "a", "b")
        assert await self.list_again(store, "b") == ((0, 0), 1)
        assert await self.claim(store) == ["b"]
        assert (await self.list_again(store, "a", "b"))[0].changed == 1
        assert await self.claim(store) == ["a"]

    async def test_listing_again_keeps_the_metadata_unless_new_ones_are_given(
        self, store: StateStore
    ) -> None:
        await self.begun(store, "a", "b")
        listing = await store.begin_listing("run")
        again = [NewDocument("a", "A", version="1"), NewDocument("b", "B", {"page": 2}, "1")]
        await store.add("run", again, listing=listing)
        assert (await state_of(store, "a")).metadata == {"page": 1}
        assert (await state_of(store, "b")).metadata == {"page": 2}

    async def test_documents_are_counted_and_given_by_status(self, store: StateStore) -> None:
        await self.begun(store, "a", "b", "c")
        await self.claim(store, limit=2)
        await store.settle("run", [end("b", "needs_review")], owner="me")
        assert dict(await store.count("run")) == {"in_progress": 1, "needs_review": 1, "pending": 1}
        assert await paths_of(store) == ["a", "b", "c"]
        assert await paths_of(store, "pending") == ["c"]

    async def test_all_of_a_long_list_is_given(self, store: StateStore) -> None:
        await self.begun(store, *(f"d{number:04}" for number in range(2500)))
        assert await paths_of(store) == [f"d{number:04}" for number in range(2500)]

    async def test_dead_letters_are_kept_until_the_document_succeeds(self, store: StateStore) -> None:
        await self.begun(store, "a", "b")
        await self.claim(store)
        await store.settle(
            "run",
            [end(path, "failed", error="[extract] broken", dead_letter=letter(path)) for path in "ab"],
            owner="me",
        )
        assert [one async for one in store.dead_letters("run")] == [letter("a"), letter("b")]
        assert await store.requeue("run", ["a", "none"]) == 1
        assert [one.path async for one in store.dead_letters("run")] == ["a", "b"]
        (state,) = await store.claim("run", owner="me", limit=9, lease_s=60)
        assert (state.path, state.attempts) == ("a", 0)
        again = end("a", "failed", error="[extract] worse", dead_letter=letter("a", "worse"))
        await store.settle("run", [again], owner="me")
        assert sorted([one.message async for one in store.dead_letters("run")]) == ["broken", "worse"]
        assert await store.requeue("run") == 2
        await self.claim(store)
        await store.settle("run", [end("a")], owner="me")
        assert [one.path async for one in store.dead_letters("run")] == ["b"]

    async def test_purging_removes_dead_letters_and_leaves_the_documents_failed(
        self, store: StateStore
    ) -> None:
        await self.begun(store, "a", "b", "c")
        await self.claim(store)
        await store.settle(
            "run",
            [end(path, "failed", error="[extract] no", dead_letter=letter(path)) for path in "abc"],
            owner="me",
        )
        assert await store.purge("run", ["b", "none"]) == 1
        assert await store.purge("run") == 2
        assert [one async for one in store.dead_letters("run")] == []
        assert await paths_of(store, "failed") == ["a", "b", "c"]

    async def test_stage_results_are_kept_until_the_document_is_done(self, store: StateStore) -> None:
        await self.begun(store, "a", "b")
        await self.claim(store)
        await store.keep_stages(
            "run",
            [
                StageResult("a", "pages/2", b"two"),
                StageResult("a", "pages/1", b"one"),
                StageResult("a", "convert", b"\0\xff"),
                StageResult("b", "convert", b"other"),
            ],
        )
        await store.keep_stages("run", [StageResult("a", "convert", b"newer")])
        assert dict(await store.stages("run", "a")) == {
            "convert": b"newer",
            "pages/1": b"one",
            "pages/2": b"two",
        }
        assert list(await store.stages("run", "a", prefix="pages/")) == ["pages/1", "pages/2"]
        await store.remove_stages("run", "a", prefix="pages/")
        assert list(await store.stages("run", "a")) == ["convert"]
        await store.settle("run", [end("a", "pending"), end("b")], owner="me")
        assert list(await store.stages("run", "a")) == ["convert"]
        assert await store.stages("run", "b") == {}

    async def test_a_removed_run_takes_everything_along(self, store: StateStore) -> None:
        await self.begun(store, "a")
        await self.claim(store)
        await store.keep_stages("run", [StageResult("a", "convert", b"x")])
        await store.remove_run("run")
        assert await store.list_runs() == []
        await self.begun(store, "a")
        assert await store.stages("run", "a") == {}
        assert await self.claim(store) == ["a"]

    async def test_runs_do_not_touch_each_other(self, store: StateStore) -> None:
        await self.begun(store, "a")
        await store.create_run(Run("second", NOW))
        await store.add("second", new("a", "b"), listing=await store.begin_listing("second"))
        await self.claim(store)
        await store.settle("run", [end("a")], owner="me")
        assert [state.path for state in await store.claim("second", owner="me", limit=9, lease_s=60)] == [
            "a",
            "b",
        ]

    async def test_names_with_odd_characters_come_back_as_they_are(self, store: StateStore) -> None:
        odd: Sequence[str] = ["a'b\"c", "ü/ß 文.pdf", "%_*?", "a\nb", "x" * 2000]
        await self.begun(store, *odd)
        assert await self.claim(store, limit=9) == odd
        assert not await store.settle("run", [end(path) for path in odd], owner="me")
