"""The halves of a vault in this process, ended by signals as from outside."""

import asyncio
import os
import signal
import socket

import httpx
import pytest

from docmill.cli.vault.serving import running_vault
from docmill.errors import MisconfiguredError
from docmill.service.config.settings import Settings
from docmill.service.config.web import Web


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
    async with running_vault(with_ports(settings), worker=False) as vault:
        status = await status_then_stop(vault.address, "readyz")
        await asyncio.wait_for(vault.stop.wait(), 20)

    assert status == 200
    assert not (settings.folder / "work").exists()
    assert list((settings.folder / "addresses").iterdir()) == []


async def test_a_worker_alone_is_watched_on_its_port(settings: Settings) -> None:
    async with running_vault(with_ports(settings, worker=0), web=False) as vault:
        status = await status_then_stop(vault.address, "metrics")
        await asyncio.wait_for(vault.stop.wait(), 20)

    assert status == 200


async def test_a_worker_without_a_port_listens_nowhere(settings: Settings) -> None:
    async with running_vault(with_ports(settings), web=False) as vault:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.wait_for(vault.stop.wait(), 20)

    assert not vault.address


async def test_a_port_that_is_taken_is_named_by_its_setting(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(MisconfiguredError, match=r"web\.port"):
            async with running_vault(with_ports(settings, web=port), worker=False):
                pass
        with pytest.raises(MisconfiguredError, match=r"worker\.port"):
            async with running_vault(with_ports(settings, worker=port), web=False):
                pass


async def test_a_web_server_does_not_open_itself_to_other_machines(settings: Settings) -> None:
    open_to_all = settings.model_copy(update={"web": Web(host="0.0.0.0")})  # noqa: S104  the address under test

    with pytest.raises(MisconfiguredError, match="tls_certificate"):
        async with running_vault(open_to_all, worker=False):
            pass
