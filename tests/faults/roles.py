"""What the fixtures of this folder are."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import pytest

from docmill.service.intake.accept import Accepted
from faults.processes import WorkerProcess

on_both_queues = pytest.mark.parametrize(
    "emulator", [None, "ministack"], ids=["postgresql", "sqs"], indirect=True
)

StartWorker = Callable[..., Awaitable[WorkerProcess]]
Heir = Callable[[], AbstractAsyncContextManager[None]]
Inherited = Callable[[Accepted], Awaitable[None]]
Put = Callable[[bytes], Awaitable[Accepted]]
AllIsWell = Callable[[], Awaitable[None]]
Come = Callable[[], Awaitable[None]]
Settled = Callable[[], Awaitable[None]]
Finished = Callable[..., Awaitable[None]]
