"""Many small requests as few large ones."""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

from docmill.errors import DocmillError

Item = TypeVar("Item")
Answer = TypeVar("Answer")

LINGER_S = 0.02


class Batches(Generic[Item, Answer]):
    """Gathers what is asked for while the last batch is under way.

    work: answers a batch, in its order. With nothing under way an item goes at once; what comes meanwhile
    waits for the batch to end and `linger_s` more, so that under load a batch holds many, up to `limit`.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Coroutine[Any, Any, Sequence[Answer]]],
        *,
        limit: int = 40,
        linger_s: float = LINGER_S,
    ) -> None:
        self._work = work
        self._limit = limit
        self._linger_s = linger_s
        self._waiting: list[tuple[Item, asyncio.Future[Answer]]] = []
        self._running: asyncio.Task[None] | None = None
        # Not that of who asks first: what is logged in a batch must not name one document of many.
        self._context = contextvars.copy_context()

    def ask(self, item: Item) -> asyncio.Future[Answer]:
        """The answer for `item`, or what `work` raised. Cancelled, the item may be worked on even so."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer))
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run(), context=self._context)
        return answer

    async def _run(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[: self._limit], self._waiting[self._limit :]
            await self._answer(batch)
            if self._linger_s:
                await asyncio.sleep(self._linger_s)

    async def _answer(self, batch: Sequence[tuple[Item, asyncio.Future[Answer]]]) -> None:
        working = asyncio.create_task(self._work([item for item, _ in batch]))  # noqa: RUF006  awaited in the next line
        await asyncio.wait({working})
        error = working.exception()
        if error is None:
            for (_, answer), value in zip(batch, working.result(), strict=True):
                if not answer.done():
                    answer.set_result(value)
        elif len(batch) > 1 and not isinstance(error, DocmillError):
            for one in batch:  # one of them is at fault; the others shall not pay for it
                await self._answer([one])
        else:
            for _, answer in batch:
                if not answer.done():
                    answer.set_exception(error)
