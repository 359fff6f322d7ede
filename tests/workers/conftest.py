"""Pools of both kinds: children that start as programs, and children forked from a template."""

from collections.abc import AsyncIterator

import pytest

from docmill.workers.pool import Pool
from reading import trespass


@pytest.fixture(params=["spawned", "forked"])
async def pool(request: pytest.FixtureRequest) -> AsyncIterator[Pool]:
    """A pool of one child process."""
    async with Pool(1, preload=[trespass.limits] if request.param == "forked" else []) as pool:
        yield pool
