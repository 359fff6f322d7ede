"""Runs of schemathesis against a vault that is served on this machine."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from docmill.service.app import open_service
from docmill.service.config.bookkeeping import Bookkeeping
from docmill.service.config.settings import Settings
from docmill.testing.steps import PaintedPages
from docmill.web.app import create_app
from docmill.web.server import answer, listen
from support.attacked_vault import furnish

_CONFIG = Path(__file__).with_name("schemathesis.toml")
_ALWAYS = ("--workers=1", "--request-timeout=30", "--no-color", "--exclude-path=/api/v1/events")
"""The stream of events does not end. More than one worker at a time breaks hypothesis 6.170."""


def with_bookkeeping(settings: Settings) -> Settings:
    """The settings with what files for DATEV need."""
    return settings.model_copy(update={"bookkeeping": Bookkeeping(consultant_number=1001, client_number=1)})


async def fuzz_api(settings: Settings, arguments: Sequence[str]) -> tuple[int, str]:
    """Exit code and output of schemathesis with a key of all scopes. arguments: for its command `run`."""
    async with open_service(settings) as service:
        app = create_app(service, PaintedPages(), settings)
        key = (await furnish(app, service)).ours.key
        assert key is not None
        stop, address = asyncio.Event(), asyncio.get_running_loop().create_future()
        with listen("127.0.0.1", 0, setting="web.port") as listener:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(answer(app, listener, stop, address.set_result))
                try:
                    result = await _schemathesis(await address, key.secret, arguments)
                finally:
                    stop.set()
        if await service.sign_in.of_key(key.secret) is None:
            return 1, f"{result[1]}The key was revoked on the way: what came after it tried nothing.\n"
        return result


async def _schemathesis(address: str, key: str, arguments: Sequence[str]) -> tuple[int, str]:
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", f"--config-file={_CONFIG}", "run"),
        *(f"{address}api/v1/openapi.json", f"--header=Authorization: Bearer {key}"),
        *(*_ALWAYS, *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await program.communicate()
    return program.returncode or 0, output.decode(errors="replace")
