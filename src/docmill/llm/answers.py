"""The cost of answers of language models, and the errors of their providers."""

from collections.abc import Generator
from contextlib import contextmanager, suppress
from decimal import Decimal
from typing import NamedTuple

from genai_prices import calc_price
from pydantic_ai import exceptions
from pydantic_ai.messages import ModelResponse

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
