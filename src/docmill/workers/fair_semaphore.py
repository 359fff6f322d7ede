"""Fair semaphore: waiting tenants are served in turn, and within a tenant its documents."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeAlias


class _Account(NamedTuple):
    tenant: Hashable
    document: Hashable


_NOBODY = _Account(None, None)
_Documents: TypeAlias = OrderedDict[Hashable, deque[asyncio.Future[None]]]

_account: ContextVar[_Account] = ContextVar("account", default=_NOBODY)
_urgent: ContextVar[bool] = ContextVar("urgent", default=False)


@contextmanager
def scheduled_for(tenant: Hashable, document: Hashable) -> Generator[None]:
    """Schedule the work of this block, and of the tasks started in it, for this tenant and document."""
    token = _account.set(_Account(tenant, document))
    try:
        yield
    finally:
        _account.reset(token)


def current_tenant() -> Hashable:
    """The tenant that this code works for; None where nobody has said it."""
    return _account.get().tenant


@contextmanager
def urgently() -> Generator[None]:
    """Schedule the work of this block first, since a person waits for it."""
    token = _urgent.set(True)
    try:
        yield
    finally:
        _urgent.reset(token)


_on_turn: ContextVar[Callable[[], None] | None] = ContextVar("on_turn", default=None)


@contextmanager
def with_turn_callback(on_turn: Callable[[], None]) -> Generator[None]:
    """Call `on_turn` whenever the work of this block gets a turn; before the first it has not begun."""
    token = _on_turn.set(on_turn)
    try:
        yield
    finally:
        _on_turn.reset(token)


class FairSemaphore:
    """Semaphore that serves waiting tasks in a fair order, however often each tenant asks."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._urgent, self._other = _Lane(), _Lane()

    @property
    def waiting(self) -> int:
        """Number of waiting tasks."""
        return self._urgent.count + self._other.count

    async def acquire(self) -> None:
        """Wait for a turn on the account that this code runs on; give it back with `release`."""
        if self._free:
            self._free -= 1
        else:
            lane = self._urgent if _urgent.get() else self._other
            turn = asyncio.get_running_loop().create_future()
            account = _account.get()
            lane.join(account, turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.cancelled():
                    lane.leave(account, turn)
                else:
                    self.release()  # it came, and at the same time nobody wanted it any more
                raise
        if (on_turn := _on_turn.get()) is not None:
            on_turn()

    def release(self, tenant: Hashable = None) -> None:
        """End a turn: the next one's begins. tenant: goes first again, if it waits as urgently as others."""
        turn = self._urgent.next(tenant) or self._other.next(tenant)
        if turn is None:
            self._free += 1
        else:
            turn.set_result(None)


class _Lane:
    """Waiting tasks by tenant and document; whichever had a turn goes to the end."""

    def __init__(self) -> None:
        self.count = 0
        self._tenants: OrderedDict[Hashable, _Documents] = OrderedDict()

    def join(self, account: _Account, turn: asyncio.Future[None]) -> None:
        documents = self._tenants.setdefault(account.tenant, OrderedDict())
        documents.setdefault(account.document, deque()).append(turn)
        self.count += 1

    def leave(self, account: _Account, turn: asyncio.Future[None]) -> None:
        turns = self._tenants.get(account.tenant, _Documents()).get(account.document)
        if turns and turn in turns:
            turns.remove(turn)
            self.count -= 1
            self._drop_if_empty(account)

    def next(self, preferred: Hashable = None) -> asyncio.Future[None] | None:
        """The turn of whoever comes next, taken out; None if nobody waits."""
        while self._tenants:
            is_preferred = preferred is not None and preferred in self._tenants
            tenant = preferred if is_preferred else next(iter(self._tenants))
            documents = self._tenants[tenant]
            document, turns = next(iter(documents.items()))
            turn = turns.popleft()
            self.count -= 1
            self._tenants.move_to_end(tenant)
            documents.move_to_end(document)
            self._drop_if_empty(_Account(tenant, document))
            if not turn.done():  # else it was cancelled, which its owner does not know yet
                return turn
        return None

    def _drop_if_empty(self, account: _Account) -> None:
        documents = self._tenants[account.tenant]
        if not documents[account.document]:
            del documents[account.document]
        if not documents:
            del self._tenants[account.tenant]
