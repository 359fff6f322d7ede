"""Models of the providers that settings can name. Their libraries do not retry: the queue does."""

from typing import Literal

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider

NO_KEY = "none"
"""Given if there is no key, since a library that is given nothing looks for one in the environment."""


def model_of(
    provider: Literal["openai", "anthropic", "google"],
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
) -> Model:
    """A provider's model. base_url: of another server that speaks the provider's language."""
    key = api_key or NO_KEY
    match provider:
        case "openai":
            client = AsyncOpenAI(api_key=key, base_url=base_url or "https://api.openai.com/v1", max_retries=0)
            return OpenAIChatModel(name, provider=OpenAIProvider(openai_client=client))
        case "anthropic":
            anthropic = AsyncAnthropic(
                api_key=key, base_url=base_url or "https://api.anthropic.com", max_retries=0
            )
            return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=anthropic))
        case "google":
            return GoogleModel(name, provider=GoogleProvider(api_key=key, base_url=base_url))
