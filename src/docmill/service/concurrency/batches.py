"""Many small requests as few large ones."""

import asyncio
import contextvars
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

from docmill.errors import DocmillError
from docmill.service.concurrency.tasks import BrokenWorkerError

log = logging.getLogger(__name__)

Item = TypeVar("Item")
Answer = TypeVar("Answer")

LINGER_S = 0.02


class Batches(Generic[Item, Answer]):
    """Gathers what is asked for while the last batch is under way.

    work: answers a batch, in its order. With nothing under way an item goes at once; what comes meanwhile
    waits for the batch to end and `linger_s` more, so that under load a batch holds many. A batch that holds
    `limit` items waits for nothing more: it goes as soon as fewer than `at_once` are under way.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Coroutine[Any, Any, Sequence[Answer]]],
        *,
        limit: int = 40,
        linger_s: float = LINGER_S,
        at_once: int = 1,
    ) -> None:
        self._work = work
        self._limit = limit
        self._linger_s = linger_s
        self._waiting: list[tuple[Item, asyncio.Future[Answer]]] = []
        self._at_once = at_once
        self._running: list[asyncio.Task[None]] = []
        # Not that of who asks first: what is logged in a batch must not name one document of many.
        self._context = contextvars.copy_context()

    def ask(self, item: Item) -> asyncio.Future[Answer]:
        """The answer for `item`, or what `work` raised. Cancelled, the item may be worked on even so.

        Raises BrokenWorkerError if the batch ended without an answer.
        """
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer))
        self._running = [running for running in self._running if not running.done()]
        if not self._running or (len(self._running) < self._at_once and len(self._waiting) >= self._limit):
            self._running.append(asyncio.create_task(self._run(), context=self._context))
        return answer

    async def _run(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[: self._limit], self._waiting[self._limit :]
            await self._answer_or_break(batch)
            if self._linger_s and len(self._waiting) < self._limit:
                await asyncio.sleep(self._linger_s)

    async def _answer_or_break(self, batch: Sequence[tuple[Item, asyncio.Future[Answer]]]) -> None:
        """Answer, come what may: who was never answered would wait for ever."""
        try:
            await self._answer(batch)
        except Exception as error:
            log.exception("a fault in docmill: a batch was not answered")
            for _, answer in batch:
                if not answer.done():
                    broken = BrokenWorkerError("a batch was not answered")
                    broken.__cause__ = error
                    answer.set_exception(broken)

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
