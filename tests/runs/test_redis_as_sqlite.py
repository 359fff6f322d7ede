"""The store in Redis and that in SQLite do the same, whatever is asked of them in whatever order."""

import random
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.runs.stores import NOW, letter

from docmill.runs.states import (
    DocumentState,
    DocumentStatus,
    NewDocument,
    Run,
    Settlement,
    StageResult,
    StateStore,
)
from docmill.runs.stores.opening import open_store
from docmill.runs.stores.sqlite import SqliteStore
from support.redis_servers import RedisServer

if find_spec("redis") is None:
    pytest.skip("redis-py is not installed", allow_module_level=True)

PATHS = [f"document {number}" for number in range(12)]
OWNERS = ("me", "you")
ENDS: Sequence[DocumentStatus] = ("pending", "completed", "needs_review", "failed")
STEPS = 150


class Twins:
    """Asks two stores the same, and finds them to answer the same."""

    def __init__(self, stores: Sequence[StateStore], generator: random.Random) -> None:
        self.stores = stores
        self.draw = generator
        self.asked: Counter[str] = Counter()
        self.states: dict[str, DocumentState] = {}
        self.moment = datetime.now(UTC)

    async def ask(self, name: str, *args: object, **options: object) -> Any:
        self.asked[name] += 1
        first, second = [await getattr(store, name)("run", *args, **options) for store in self.stores]
        assert first == second, (name, args, options)
        return first

    def some(self) -> list[str]:
        return self.draw.sample(PATHS, self.draw.randrange(1, 6))

    async def list_inputs(self) -> None:
        listing = await self.ask("begin_listing")
        documents = [
            NewDocument(
                path,
                path.upper(),
                self.draw.choice([{}, {"a": self.draw.random()}]),
                self.draw.choice(["", "1", "2"]),
            )
            for path in self.some() + self.some()
        ]
        paths = {document.path: document for document in documents}
        await self.ask("add", list(paths.values()), listing=listing)
        if self.draw.random() < 0.7:
            await self.ask("end_listing", listing=listing)

    async def claim(self) -> None:
        lease_s = self.draw.choice([0, 60, 60, 60])
        owner = self.draw.choice(OWNERS)
        for state in await self.ask("claim", owner=owner, limit=self.draw.randrange(1, 6), lease_s=lease_s):
            self.states[state.path] = state

    async def settle(self) -> None:
        await self.ask("settle", [self.end_of(path) for path in self.some()], owner=self.draw.choice(OWNERS))

    def end_of(self, path: str) -> Settlement:
        known = self.states.get(path)
        self.moment += timedelta(seconds=1)
        if known is not None and known.done_as is not None and self.draw.random() < 0.5:
            return Settlement(path, known.done_as, 1, self.moment, is_unchanged=True)
        status = self.draw.choice(ENDS)
        far = self.moment + timedelta(seconds=self.draw.choice([-99999, 99999]))
        return Settlement(
            path,
            status,
            self.draw.randrange(1, 5),
            self.moment,
            content_hash=self.draw.choice([None, "h1", "h2"]),
            error=None if status in ("completed", "needs_review") else "[read] no",
            retry_at=far if status == "pending" and self.draw.random() < 0.5 else None,
            dead_letter=letter(path, f"at {self.moment}") if status == "failed" else None,
            timings_s={"read": self.draw.random()},
            tokens=self.draw.randrange(1000),
            cost=Decimal(self.draw.randrange(1000)) / 1000,
        )

    async def keep_stages(self) -> None:
        known = [path for path in self.some() if path in self.states]
        results = [
            StageResult(path, self.draw.choice(["a", "a/b", "c"]), self.draw.randbytes(9)) for path in known
        ]
        await self.ask("keep_stages", results)

    async def change_others(self) -> None:
        owner = self.draw.choice(OWNERS)
        match self.draw.randrange(6):
            case 0:
                await self.ask("release", owner=owner)
            case 1:
                await self.ask("renew", owner=owner, lease_s=60)
            case 2:
                await self.ask("requeue", self.draw.choice([None, self.some()]))
            case 3:
                await self.ask("purge", self.draw.choice([None, self.some()]))
            case 4:
                await self.ask("remove_stages", self.draw.choice(PATHS), prefix=self.draw.choice(["", "a"]))
            case _:
                await self.ask("update_run", status="completed", completed_at=self.moment)

    async def compare(self) -> None:
        """Everything that can be asked is the same."""
        for path in PATHS:
            await self.ask("find_document", path)
            await self.ask("stages", path)
        await self.ask("find_run")
        await self.ask("count")
        for status in (None, *ENDS, "in_progress", "vanished"):
            first, second = [
                [state async for state in store.documents("run", status=status)] for store in self.stores
            ]
            assert first == second
        first, second = [[one async for one in store.dead_letters("run")] for store in self.stores]
        assert first == second
        due_s, other_due_s = [await store.next_due_s("run") for store in self.stores]
        assert due_s == other_due_s or abs((due_s or 0) - (other_due_s or 0)) < 5


@pytest.mark.parametrize("seed", range(6))
async def test_both_stores_give_the_same_answers(
    redis_server: RedisServer, tmp_path: Path, seed: int
) -> None:
    stores = [SqliteStore(tmp_path / "runs.sqlite"), open_store(redis_server.address)]
    twins = Twins(stores, random.Random(seed))  # noqa: S311  no secrets
    for store in stores:
        await store.create_run(Run("run", NOW))
    steps = [
        twins.list_inputs,
        *[twins.claim] * 3,
        *[twins.settle] * 4,
        twins.keep_stages,
        twins.change_others,
    ]
    for number in range(STEPS):
        await twins.draw.choice(steps)()
        if number % 10 == 0:
            await twins.compare()
    await twins.compare()
    for store in stores:
        await store.close()
    assert len(twins.asked) > 12
