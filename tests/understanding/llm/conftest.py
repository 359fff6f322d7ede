from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from docmill.llm import model_of
from docmill.resilience.time_limits import Slots
from docmill.understanding.llm.client import ModelClient
from support.llm_server import KEY, MODELS, Provider, Server, serving


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as server:
        yield server


@asynccontextmanager
async def unguarded() -> AsyncGenerator[None]:
    yield


@pytest.fixture
def pauses() -> list[float]:
    """How long it was waited between calls."""
    return []


@pytest.fixture
def client_of(server: Server, pauses: list[float]) -> Callable[..., ModelClient]:
    """Who asks the server in a provider's language, without waiting."""

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    def client(provider: Provider = "openai", **arguments: object) -> ModelClient:
        model = model_of(provider, MODELS[provider], base_url=server.url(provider), api_key=KEY)
        output = "tool" if provider == "anthropic" else "native"
        client = ModelClient(model, unguarded, Slots(4), output=output, pause=pause, limit_s=10)
        return replace(client, **arguments)  # pyright: ignore[reportArgumentType] - what a test wants otherwise

    return client
