"""The language models that the settings name."""

from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from docmill.errors import MisconfiguredError
from docmill.resilience.breaker import Breaker
from docmill.resilience.time_limits import Slots
from docmill.service.config.settings import ChosenModel, Settings
from docmill.service.observe.tracing import NO_TRACER, Tracer, asking, traced_calls
from docmill.service.protocol.pause import guarded_part
from docmill.wiring import LanguageModels

if TYPE_CHECKING:
    from docmill.understanding.llm.client import ModelClient


def models_of(settings: Settings, tracer: Tracer = NO_TRACER) -> LanguageModels:
    """The models that the settings name; none if they name none.

    Raises MisconfiguredError if a model is named and the library is not installed.
    """
    chosen = settings.understanding
    clients = {
        name: _client(name, model, settings, tracer)
        for name, model in (("small", chosen.small), ("large", chosen.large))
        if model is not None
    }
    return LanguageModels(
        for_fields={f"{name} model": client for name, client in clients.items()},
        for_types=None if chosen.classify == "rules" else clients[chosen.classify],
        budget=settings.llm.budget_usd,
        limit_s=settings.limits.ai_all_s,
    )


def _client(name: str, chosen: ChosenModel, settings: Settings, tracer: Tracer) -> "ModelClient":
    """The client of one model, with a breaker and slots of its own."""
    # Imported here, since it takes seconds and 100 MB.
    try:
        from docmill.llm.answers import Price  # noqa: PLC0415
        from docmill.llm.providers import model_of  # noqa: PLC0415
        from docmill.understanding.llm.client import ModelClient  # noqa: PLC0415
    except ImportError as error:
        raise MisconfiguredError(
            f"understanding.{name} names a model, whose library is not installed; "
            "run: pip install 'docmill[llm]'"
        ) from error
    whole = chosen.within(settings.llm)
    provider, limit_s = whole.provider or "openai", settings.limits.ai_s
    price = None
    if chosen.input_usd is not None:
        price = Price(chosen.input_usd, chosen.output_usd or Decimal(0))
    return ModelClient(
        model_of(
            provider,
            whole.model,
            base_url=whole.base_url,
            api_key=whole.api_key.get_secret_value() if whole.api_key else None,
        ),
        traced_calls(
            tracer,
            partial(guarded_part, Breaker(f"{name} model"), limit_s=limit_s),
            f"chat {whole.model}",
            asking(provider, whole.model),
        ),
        Slots(settings.llm.concurrency),
        output="tool" if provider == "anthropic" else "native",
        sees=chosen.sees,
        price=price,
        limit_s=limit_s,
    )
