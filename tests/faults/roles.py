"""What the fixtures of this folder are."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from docmill.service.intake import Accepted
from faults.processes import WorkerProcess

StartWorker = Callable[..., Awaitable[WorkerProcess]]
Heir = Callable[[], AbstractAsyncContextManager[None]]
Put = Callable[[bytes], Awaitable[Accepted]]
AllIsWell = Callable[[], Awaitable[None]]
Settled = Callable[[], Awaitable[None]]
Finished = Callable[..., Awaitable[None]]
