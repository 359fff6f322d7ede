"""Models of the providers that settings can name, the cost of their answers, and their errors.

Their libraries do not retry: the queue does.
"""

from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from typing import Literal, NamedTuple

from anthropic import AsyncAnthropic
from genai_prices import calc_price
from openai import AsyncOpenAI
from pydantic_ai import exceptions
from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider

from docmill.errors import (
    AiContentBlockedError,
    AiQuotaError,
    BadModelOutputError,
    ContextTooLongError,
    DocmillError,
    MisconfiguredError,
    NetworkError,
    RateLimitedError,
    ServerError,
    TimeLimitError,
    UnauthorizedError,
    ValidationError,
)
from docmill.model.document import Usage

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


def embedding_model(
    name: str, *, base_url: str | None, api_key: str | None, dimensions: int
) -> Callable[[Sequence[str]], Awaitable[Sequence[Sequence[float]]]]:
    """A function that asks OpenAI, or a server that speaks its language, for the vectors of texts.

    dimensions: asked for; a model that cannot shorten its vectors gives its own number. Raises as
    `translated`.
    """
    client = AsyncOpenAI(
        api_key=api_key or NO_KEY, base_url=base_url or "https://api.openai.com/v1", max_retries=0
    )
    model = OpenAIEmbeddingModel(name, provider=OpenAIProvider(openai_client=client))

    async def embed(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        with translated(name, "text", remedy="search by its words"):
            answer = await model.embed(
                list(texts), input_type="document", settings={"dimensions": dimensions}
            )
        return answer.embeddings

    return embed


MILLION = 1_000_000


class Price(NamedTuple):
    """US dollars for a million tokens."""

    input: Decimal
    output: Decimal


def usage_of(answer: ModelResponse, price: Price | None = None) -> Usage:
    """The tokens and cost of an answer, by the provider's usual price unless one is given.

    The cost is zero if neither is known, as for a server of one's own.
    """
    counted = answer.usage
    cost = Decimal(0)
    if price is not None:
        cost = (counted.input_tokens * price.input + counted.output_tokens * price.output) / MILLION
    elif answer.model_name:
        with suppress(LookupError):
            cost = calc_price(counted, answer.model_name, provider_api_url=answer.provider_url).total_price
    return Usage(
        input_tokens=counted.input_tokens,
        output_tokens=counted.output_tokens,
        model=answer.model_name,
        cost=cost,
    )


@contextmanager
def translated(name: str, content: str, *, remedy: str) -> Generator[None]:
    """Raise the providers' errors as `docmill.errors`, without their messages, which may quote the document.

    name: of the model. content: the kind of content sent, such as `page`. remedy: advice for a person if
    the model refuses it.
    """
    try:
        yield
    except exceptions.ContentFilterError as error:
        raise AiContentBlockedError(f"the model refuses the {content}; {remedy}") from error
    except exceptions.ModelAPIError as error:
        raise _translate(error, name, content, remedy) from error
    except exceptions.UnexpectedModelBehavior as error:
        raise BadModelOutputError(f"the model {name!r} answered with something that is no text") from error
    except exceptions.UserError as error:
        raise MisconfiguredError(f"the model {name!r} cannot be asked so; look at its settings") from error


def _translate(error: exceptions.ModelAPIError, name: str, content: str, remedy: str) -> DocmillError:
    wait_s: float | None = getattr(error, "retry_after", None)
    translation: DocmillError
    match error:
        case exceptions.ModelAuthenticationError():
            translation = UnauthorizedError(
                f"the provider of {name!r} refuses the key; set this model's api_key in the settings"
            )
        case exceptions.ModelNotFoundError():
            translation = MisconfiguredError(
                f"the provider has no model {name!r}; name another in the settings"
            )
        case exceptions.ModelContextWindowExceededError():
            translation = ContextTooLongError(f"the {content} does not fit the model {name!r}")
        case exceptions.ModelRequestRejectedError():
            translation = ValidationError(f"the provider of {name!r} refuses the {content}; {remedy}")
        case exceptions.ModelRateLimitError():
            message = f"the provider of {name!r} asks to slow down"
            translation = RateLimitedError(message, retry_after_s=wait_s)
        case exceptions.ModelQuotaExceededError():
            message = f"the quota at the provider of {name!r} is used up"
            translation = AiQuotaError(message, retry_after_s=wait_s)
        case exceptions.ModelTimeoutError():
            translation = TimeLimitError(f"the model {name!r} took too long for a {content}")
        case exceptions.ModelConnectionError():
            translation = NetworkError(f"the provider of {name!r} cannot be reached")
        case _:
            translation = ServerError(f"the provider of {name!r} failed", retry_after_s=wait_s)
    return translation
