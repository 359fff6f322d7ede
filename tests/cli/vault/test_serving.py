"""The halves of a vault in this process, ended by signals as from outside."""

import asyncio
import os
import signal
import socket

import httpx
import pytest

from docmill.cli.vault.serving import run_web_alone, run_worker_alone
from docmill.errors import MisconfiguredError
from docmill.service.config.settings import Settings, Web


def with_ports(settings: Settings, *, web: int = 0, worker: int | None = None) -> Settings:
    """Both ports; the worker does not wait long at its end."""
    changed = settings.worker.model_copy(update={"port": worker, "wait_s": 0.1})
    return settings.model_copy(update={"web": Web(port=web), "worker": changed})


async def status_then_stop(address: str, path: str) -> int:
    """The status of an answer; then a signal ends this process's server."""
    async with httpx.AsyncClient() as client:
        answer = await client.get(address + path)
    os.kill(os.getpid(), signal.SIGTERM)
    return answer.status_code


async def test_a_web_server_alone_takes_files_in_and_does_not_work_on_them(settings: Settings) -> None:
    ready = asyncio.Future[str]()
    running = asyncio.create_task(run_web_alone(with_ports(settings), ready.set_result))

    status = await status_then_stop(await asyncio.wait_for(ready, 20), "readyz")
    await asyncio.wait_for(running, 20)

    assert status == 200
    assert not (settings.folder / "work").exists()
    assert list((settings.folder / "addresses").iterdir()) == []


async def test_a_worker_alone_is_watched_on_its_port(settings: Settings) -> None:
    ready = asyncio.Future[str | None]()
    running = asyncio.create_task(run_worker_alone(with_ports(settings, worker=0), ready.set_result))

    address = await asyncio.wait_for(ready, 20)
    assert address is not None
    status = await status_then_stop(address, "metrics")
    await asyncio.wait_for(running, 20)

    assert status == 200


async def test_a_worker_without_a_port_listens_nowhere(settings: Settings) -> None:
    ready = asyncio.Future[str | None]()
    running = asyncio.create_task(run_worker_alone(with_ports(settings), ready.set_result))

    address = await asyncio.wait_for(ready, 20)
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.wait_for(running, 20)

    assert address is None


async def test_a_port_that_is_taken_is_named_by_its_setting(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(MisconfiguredError, match=r"web\.port"):
            await run_web_alone(with_ports(settings, web=port), print)
        with pytest.raises(MisconfiguredError, match=r"worker\.port"):
            await run_worker_alone(with_ports(settings, worker=port), print)


async def test_a_web_server_does_not_open_itself_to_other_machines(settings: Settings) -> None:
    open_to_all = settings.model_copy(update={"web": Web(host="0.0.0.0")})  # noqa: S104  the address under test

    with pytest.raises(MisconfiguredError, match="sign"):
        await run_web_alone(open_to_all, print)
