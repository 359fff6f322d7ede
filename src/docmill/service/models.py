"""The models that the settings name, put together to understand documents."""

from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from docmill.errors import MisconfiguredError
from docmill.ports import Classifier, Gate
from docmill.resilience.breaker import Breaker
from docmill.resilience.time_limits import Slots
from docmill.service.config.settings import ChosenModel, Settings
from docmill.service.observe.tracing import NO_TRACER, Tracer, asking, traced_calls
from docmill.service.protocol.pause import guarded_part
from docmill.understanding.model_answers import ModelReader
from docmill.understanding.ports import SecondReader
from docmill.understanding.router import GateRouter

if TYPE_CHECKING:
    from docmill.understanding.llm.asking import Asker
    from docmill.understanding.llm.windows import Pictures


class Understanding:
    """How the settings have documents understood: by rule, and by models where the rules do not do.

    Raises MisconfiguredError if a model is named and the library is not installed.
    """

    def __init__(
        self, settings: Settings, pictures: "Pictures | None" = None, tracer: Tracer = NO_TRACER
    ) -> None:
        self._settings = settings
        self._pictures = pictures
        chosen = settings.understanding
        named = {"small": chosen.small, "large": chosen.large}
        self._askers = {
            name: _asker(name, one, settings, tracer) for name, one in named.items() if one is not None
        }

    @property
    def asks_models(self) -> bool:
        """Whether any model is set up."""
        return bool(self._askers)

    def router(self, gate: Gate, *free: SecondReader) -> GateRouter:
        """Who reads doubted fields again: `free`, then the models."""
        if not self._askers:
            return GateRouter(gate, free)
        from docmill.understanding.llm.extractor import LlmExtractor  # noqa: PLC0415 - loads the library

        settings = self._settings
        models = [
            LlmExtractor(asker, budget=settings.llm.budget_usd, name=f"{name} model", pictures=self._pictures)
            for name, asker in self._askers.items()
        ]
        return GateRouter(
            gate,
            [*free, *map(ModelReader, models)],
            budget=settings.llm.budget_usd,
            limit_s=settings.limits.ai_all_s,
        )

    def classifier(self, otherwise: Classifier) -> Classifier:
        """Who says what documents are."""
        who = self._settings.understanding.classify
        if who == "rules":
            return otherwise
        from docmill.understanding.llm.classifier import LlmClassifier  # noqa: PLC0415 - loads the library

        return LlmClassifier(
            self._askers[who],
            otherwise,
            pictures=self._pictures,
            budget=self._settings.llm.budget_usd,
            limit_s=self._settings.limits.ai_all_s,
        )


def _asker(name: str, chosen: ChosenModel, settings: Settings, tracer: Tracer) -> "Asker":
    """Who asks one model; each has a breaker and slots of its own."""
    # Here, since it takes seconds and 100 MB, which only who wants it should spend.
    try:
        from docmill.llm.answers import Price  # noqa: PLC0415
        from docmill.llm.providers import model_of  # noqa: PLC0415
        from docmill.understanding.llm.asking import Asker  # noqa: PLC0415
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
    return Asker(
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
