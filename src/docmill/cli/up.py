"""The commands that run until they are told to stop. Apart, since the others need none of what they load."""

import asyncio

from docmill.cli.printing import stderr, stdout
from docmill.cli.serving import run_web_alone, run_worker_alone, running_vault
from docmill.service.logs import configure_logs
from docmill.service.settings import Settings


def up(settings: Settings) -> int:
    """Run the vault until it is told to stop; the exit code."""
    _configure_logs(settings)
    asyncio.run(_up(settings))
    return 0


def web(settings: Settings) -> int:
    """Run pages and API until told to stop; the exit code."""
    _configure_logs(settings)

    def on_ready(address: str) -> None:
        stdout.print(f"docmill is at {address}", markup=False)

    asyncio.run(run_web_alone(settings, on_ready))
    return 0


def worker(settings: Settings) -> int:
    """Run a worker until told to stop; the exit code."""
    _configure_logs(settings)

    def on_ready(address: str | None) -> None:
        stdout.print(f"the worker takes documents{f', and is watched at {address}' if address else ''}")

    asyncio.run(run_worker_alone(settings, on_ready))
    return 0


def _configure_logs(settings: Settings) -> None:
    usual = "WARNING" if stderr.is_terminal else "INFO"
    configure_logs(level=settings.logs.level.upper() if settings.logs.level else usual)


async def _up(settings: Settings) -> None:
    if stderr.is_terminal:  # making the database takes a while, and silence looks like a failure
        stderr.print("starting; the first time makes the database, which can take half a minute")
    async with running_vault(settings) as vault:
        stdout.print(f"docmill is at {vault.address}", markup=False)
        stdout.print(
            "It listens on this machine only, because signing in does not exist yet. Ctrl-C stops it."
        )
        await vault.stop.wait()
        stdout.print("stopping: finishing the documents in work (Ctrl-C again to leave them for later)")
