"""The steps of docmill, put together: the same for the library, for runs over folders and for the vault."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from docmill.model.result import Schema
from docmill.pipeline import Steps, TimeLimits
from docmill.ports import Gate, Understander
from docmill.reading.convert import LocalConverter, PooledUnpacker
from docmill.reading.engines.engine import PageReader
from docmill.reading.files.options import ReadingOptions
from docmill.reading.page_source import PageSource
from docmill.schemas.registry import REGISTRY
from docmill.understanding.digit_looks import DigitsLook
from docmill.understanding.gate import RuleGate
from docmill.understanding.pooled import PooledUnderstanding
from docmill.understanding.router import GateRouter
from docmill.understanding.second_readers import ModelReader, SecondLook, SecondReader
from docmill.workers.capacity import capacity
from docmill.workers.pool import Pool

if TYPE_CHECKING:
    from docmill.understanding.llm.client import ModelClient
    from docmill.understanding.llm.prompts import Pictures

READING = ReadingOptions()
LIMITS = TimeLimits()
NO_SCHEMA_MODELS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class LanguageModels:
    """Language models that may be asked.

    for_fields: by what they are called in reasons, in the order in which they are asked for doubted fields.
    for_types: says what documents are; None for the rules. budget: US dollars for a document; None for no
    limit. limit_s: for all models of one step together.
    """

    for_fields: "Mapping[str, ModelClient]"
    for_types: "ModelClient | None" = None
    budget: Decimal | None = None
    limit_s: float | None = None

    def understander(self, otherwise: Understander, pictures: "Pictures | None" = None) -> Understander:
        """The model that says what documents are, or `otherwise`."""
        if self.for_types is None:
            return otherwise
        from docmill.understanding.llm.classifier import LlmClassifier  # noqa: PLC0415 - loads the library

        return LlmClassifier(
            self.for_types, otherwise, pictures=pictures, budget=self.budget, limit_s=self.limit_s
        )

    def router(
        self,
        gate: Gate,
        readers: Sequence[SecondReader] = (),
        pictures: "Pictures | None" = None,
        confirmers: Sequence[SecondReader] = (),
    ) -> GateRouter:
        """The router that asks `confirmers`, `readers` for doubted fields, then the models."""
        if not self.for_fields:
            return GateRouter(gate, readers, confirmers=confirmers)
        from docmill.understanding.llm.extractor import LlmExtractor  # noqa: PLC0415 - loads the library

        models = [
            ModelReader(LlmExtractor(client, name=name, pictures=pictures))
            for name, client in self.for_fields.items()
        ]
        return GateRouter(
            gate, [*readers, *models], confirmers=confirmers, budget=self.budget, limit_s=self.limit_s
        )


NO_LANGUAGE_MODELS = LanguageModels({})


def reading_pool(workers: int | None = None) -> Pool:
    """Processes that read documents: one for each core, as memory allows, unless told otherwise."""
    return Pool(workers or capacity().processes())


def steps_for(
    pool: Pool,
    *,
    reading: ReadingOptions = READING,
    limits: TimeLimits = LIMITS,
    engines: Sequence[PageReader] = (),
    schemas: Mapping[str, Schema] = REGISTRY,
    schema: Schema | None = None,
    schema_models: Mapping[str, str] = NO_SCHEMA_MODELS,
    models: LanguageModels = NO_LANGUAGE_MODELS,
) -> Steps:
    """Build steps that read and understand in `pool`, and ask language models only where some are given.

    engines: for recognition, see `LocalConverter`. schemas: by document type. schema: used for every
    document, whatever its type. schema_models: trained models as text, by the name of their schema; see
    `model_in` of understanding.user_schemas.schema_model.
    """
    pages, offline = PageSource(pool, reading), PooledUnderstanding(pool, schema_models)
    return Steps(
        converter=LocalConverter(pool, reading, engines),
        understander=models.understander(offline, pages),
        extractor=offline,
        router=models.router(RuleGate(), [SecondLook(pages)], pages, [DigitsLook(pages)]),
        limits=limits,
        unpacker=PooledUnpacker(pool, reading),
        schemas=schemas,
        schema=schema,
        corrector=offline,
        reads_in_turns=True,
    )
