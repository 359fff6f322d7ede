"""What answers of language models cost, and what their providers' errors mean."""

from collections.abc import Generator
from contextlib import contextmanager
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
    """What an answer cost; by the usual prices of its provider unless one is given.

    Nothing where neither is known: for a server of one's own.
    """
    counted = answer.usage
    return Usage(
        input_tokens=counted.input_tokens,
        output_tokens=counted.output_tokens,
        model=answer.model_name,
        cost=_usual_cost(answer)
        if price is None
        else (counted.input_tokens * price.input + counted.output_tokens * price.output) / MILLION,
    )


def _usual_cost(answer: ModelResponse) -> Decimal:
    if not answer.model_name:
        return Decimal(0)
    try:
        found = calc_price(answer.usage, answer.model_name, provider_api_url=answer.provider_url)
    except LookupError:
        return Decimal(0)
    return found.total_price


@contextmanager
def translated(name: str, what: str, *, otherwise: str) -> Generator[None]:
    """The providers' errors as `docmill.errors`. What they say stays out: it may quote what was sent.

    what: was sent to the model; otherwise: what a person can do with it if this model refuses it.
    """
    try:
        yield
    except exceptions.ContentFilterError as error:
        raise AiContentBlockedError(f"the model refuses the {what}; {otherwise}") from error
    except exceptions.ModelAPIError as error:
        raise _refused(error, name, what, otherwise) or _down(error, name, what) from error
    except exceptions.UnexpectedModelBehavior as error:
        raise BadModelOutputError(f"the model {name!r} answered with something that is no text") from error
    except exceptions.UserError as error:
        raise MisconfiguredError(f"the model {name!r} cannot be asked so; look at its settings") from error


def _refused(error: exceptions.ModelAPIError, name: str, what: str, otherwise: str) -> DocmillError | None:
    match error:
        case exceptions.ModelAuthenticationError():
            return UnauthorizedError(
                f"the provider of {name!r} refuses the key; set this model's api_key in the settings"
            )
        case exceptions.ModelNotFoundError():
            return MisconfiguredError(f"the provider has no model {name!r}; name another in the settings")
        case exceptions.ModelContextWindowExceededError():
            return ContextTooLongError(f"the {what} does not fit the model {name!r}")
        case exceptions.ModelRequestRejectedError():
            return ValidationError(f"the provider of {name!r} refuses the {what}; {otherwise}")
        case _:
            return None


def _down(error: exceptions.ModelAPIError, name: str, what: str) -> DocmillError:
    wait_s: float | None = getattr(error, "retry_after", None)
    match error:
        case exceptions.ModelRateLimitError():
            return RateLimitedError(f"the provider of {name!r} asks to slow down", retry_after_s=wait_s)
        case exceptions.ModelQuotaExceededError():
            return AiQuotaError(f"the quota at the provider of {name!r} is used up", retry_after_s=wait_s)
        case exceptions.ModelTimeoutError():
            return TimeLimitError(f"the model {name!r} took too long for a {what}")
        case exceptions.ModelConnectionError():
            return NetworkError(f"the provider of {name!r} cannot be reached")
        case _:
            return ServerError(f"the provider of {name!r} failed", retry_after_s=wait_s)
