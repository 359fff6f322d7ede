"""Everything a person can set, from `docmill.toml` and `DOCMILL_…` environment variables."""

import os
import re
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, Self

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict
from pydantic import (
    AfterValidator,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from docmill.errors import MisconfiguredError
from docmill.pipeline import AI_STEP_S, RULES_S, PartLimits, TimeLimits
from docmill.service.config.bookkeeping import Bookkeeping
from docmill.service.config.notifications import Notifications
from docmill.service.config.receiver_settings import SmtpReceiver
from docmill.service.config.secrets import Secrets
from docmill.service.config.section import Section
from docmill.service.config.source_settings import SourceSettings
from docmill.service.config.sources import DEFAULT_FILE, PREFIX, variables
from docmill.service.config.user_schemas import OwnSchema, OwnSchemas, check_schemas
from docmill.service.config.web import Oidc, Smtp, Web
from docmill.service.config.webhook_settings import TenantWebhooks

_PLACE = re.compile(r"at line \d+, column \d+")
"""The place of a TOML error in the parser's message, which quotes the line, too."""


class WorkerSettings(Section):
    """The way a worker takes documents from the queue; times in seconds."""

    heartbeat_s: float = Field(default=60, gt=0)
    lease_s: float = Field(default=300, gt=0)
    wait_s: float = Field(default=20, ge=0)
    batch: int = Field(default=10, ge=1, le=10)
    max_attempts: int = Field(default=3, ge=1)
    reserved_cores: int = Field(default=2, ge=0)
    processes: int | None = Field(default=None, ge=1)
    grace_s: float = Field(default=600, ge=0)
    concurrency: int = Field(default=8, ge=1)
    pause_s: float = Field(default=60, gt=0)
    patience_s: float = Field(default=86_400, gt=0)
    sweep_s: float = Field(default=30, gt=0)
    port: int | None = Field(default=None, ge=0, le=65535)

    @model_validator(mode="after")
    def _beats_in_time(self) -> Self:
        if self.heartbeat_s >= self.lease_s:
            raise ValueError("heartbeat_s must be less than lease_s: a lease ends unless it is extended")
        return self


class MatchingSettings(Section):
    """The way a worker takes documents to be matched; times in seconds. limit_s: of one delivery's work.

    model: asked about links of which the rules are not sure; one of `understanding`.
    """

    enabled: bool = True
    model: Literal["off", "small", "large"] = "off"
    concurrency: int = Field(default=4, ge=1)
    heartbeat_s: float = Field(default=20, gt=0)
    lease_s: float = Field(default=60, gt=0)
    limit_s: float = Field(default=300, gt=0)

    @model_validator(mode="after")
    def _beats_in_time(self) -> Self:
        if self.heartbeat_s >= self.lease_s:
            raise ValueError("heartbeat_s must be less than lease_s: a lease ends unless it is extended")
        return self


EngineName = Literal["rapidocr", "tesseract", "documentai", "vision"]
Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}(_[a-z]+)?$")]


class Ocr(Section):
    """The OCR engines in their order, and the quality below which a page counts as hard to read.

    languages: that pages may be in, for engines that must be told; ISO 639-1.
    """

    engines: tuple[EngineName, ...] = Field(default=("rapidocr",), min_length=1)
    languages: tuple[Language, ...] = ()
    quality_threshold: float = Field(default=0.7, ge=0, le=1)

    @field_validator("engines")
    @classmethod
    def _each_once(cls, engines: tuple[EngineName, ...]) -> tuple[EngineName, ...]:
        if len(set(engines)) < len(engines):
            raise ValueError("names an engine twice")
        return engines


class DocumentAi(Section):
    """Google's Document AI: the processor and the credentials. See `docmill.reading.engines.document_ai`.

    concurrency: pages under way at once.
    """

    project: str | None = None
    location: str = Field(default="eu", pattern=r"^[a-z0-9-]+$")
    processor: str | None = None
    version: str | None = None
    credentials_file: Path | None = None
    adc: bool = False
    endpoint: str | None = Field(default=None, pattern=r"^https?://[^/]+/?$")
    concurrency: int = Field(default=8, ge=1)


class Embedding(Section):
    """The model that turns texts into vectors for search by meaning.

    provider: `words`, on this machine; `openai`, or a server that speaks its language; `none`. least,
    least_of_tag: the least likeness of a document and of a tag's name, a cosine; of a provider's model alone.
    """

    provider: Literal["words", "openai", "none"] = "words"
    model: str | None = None
    base_url: str | None = Field(default=None, pattern=r"^https?://[^/]+")
    api_key: SecretStr | None = None
    least: float = Field(default=0.25, ge=0, le=1)
    least_of_tag: float = Field(default=0.4, ge=0, le=1)

    @model_validator(mode="after")
    def _has_a_model(self) -> Self:
        if self.provider == "openai" and not self.model:
            raise ValueError("the provider 'openai' needs a model, such as 'text-embedding-3-small'")
        return self


class Llm(Section):
    """The language model, and the budget of a document.

    base_url: of another server that speaks the provider's language, such as one's own; concurrency: calls
    under way at once.
    """

    provider: Literal["openai", "anthropic", "google"] = "openai"
    model: str | None = None
    base_url: str | None = Field(default=None, pattern=r"^https?://[^/]+")
    api_key: SecretStr | None = None
    budget_usd: Decimal = Field(default=Decimal("0.50"), gt=0)
    concurrency: int = Field(default=4, ge=1)


class ChosenModel(Section):
    """A model that reads fields. What is not set is as in `llm`, if it is at the same provider and address.

    sees: whether pages that were read badly are shown to it as pictures. input_usd, output_usd: for a million
    tokens, where the usual prices do not hold.
    """

    model: str
    provider: Literal["openai", "anthropic", "google"] | None = None
    base_url: str | None = Field(default=None, pattern=r"^https?://[^/]+")
    api_key: SecretStr | None = None
    sees: bool = False
    input_usd: Decimal | None = Field(default=None, ge=0)
    output_usd: Decimal | None = Field(default=None, ge=0)

    def within(self, llm: Llm) -> "ChosenModel":
        """The same with what it takes from `llm`: a key goes to nobody but the address it is set with."""
        if self.base_url or self.provider not in (None, llm.provider):
            return self.model_copy(update={"provider": self.provider or llm.provider})
        taken = {"provider": llm.provider, "base_url": llm.base_url, "api_key": self.api_key or llm.api_key}
        return self.model_copy(update=taken)

    @model_validator(mode="after")
    def _prices_are_two(self) -> Self:
        if (self.input_usd is None) != (self.output_usd is None):
            raise ValueError("input_usd and output_usd are given together or not at all")
        return self


class UnderstandingSettings(Section):
    """The models that are asked for values the rules do not find, the small one first.

    classify: who says what a document is.
    """

    small: ChosenModel | None = None
    large: ChosenModel | None = None
    classify: Literal["rules", "small", "large"] = "rules"

    @model_validator(mode="after")
    def _who_classifies_is_set_up(self) -> Self:
        if self.classify != "rules" and getattr(self, self.classify) is None:
            raise ValueError(f"classify names the {self.classify} model, which is not set")
        return self


class Image(Section):
    """The preprocessing of pictures before they are read."""

    max_dimension_px: int = Field(default=2048, ge=256)


class ReadingSettings(Section):
    """The handling of files that hold several documents."""

    split: Literal["off", "auto"] = "off"
    separator: str = Field(default="DOCMILL-SPLIT", min_length=4)
    asn_prefix: str = Field(default="ASN", max_length=20)


class Limits(Section):
    """Limits of size, above which files are refused, and of time, after which steps are cancelled."""

    file_mb: float = Field(default=50, gt=0)
    pages: int = Field(default=1000, ge=1)
    parts: int = Field(default=1000, ge=1)
    parts_in_all: int = Field(default=5000, ge=1)
    parts_depth: int = Field(default=5, ge=0)
    unpacked_mb: float = Field(default=500, gt=0)
    document_s: float = Field(default=600, gt=0)
    page_s: float = Field(default=10, ge=0)
    ai_s: float = Field(default=90, gt=0)
    ai_step_s: float = Field(default=AI_STEP_S, gt=0)
    download_s: float = Field(default=60, gt=0)
    upload_s: float = Field(default=60, gt=0)
    unpack_s: float = Field(default=300, gt=0)
    events_days: float = Field(default=30, gt=0)

    @property
    def file_bytes(self) -> int:
        """The largest file taken."""
        return round(self.file_mb * 1_000_000)

    @property
    def unpacked_bytes(self) -> int:
        """The limit of bytes for all files in one document together."""
        return round(self.unpacked_mb * 1_000_000)

    @property
    def parts_of_upload(self) -> PartLimits:
        """The limits for the parts of one upload."""
        return PartLimits(depth=self.parts_depth, in_all=self.parts_in_all)

    @property
    def ai_all_s(self) -> float:
        """The limit for all calls of models in one step, in seconds; at least that of one call."""
        return max(self.ai_s, self.ai_step_s)

    @property
    def times(self) -> TimeLimits:
        """The limits of the pipeline's steps."""
        return TimeLimits(
            document_s=self.document_s,
            page_s=self.page_s,
            read_s=self.download_s,
            unpack_s=self.unpack_s,
            classify_s=self.ai_all_s + RULES_S,
            extract_s=self.ai_all_s + RULES_S,
            export_s=self.upload_s,
        )


class ReviewSettings(Section):
    """The way values are shown for review. sure, unsure: the least confidence of a value shown as that."""

    sure: float = Field(default=0.9, ge=0, le=1)
    unsure: float = Field(default=0.7, ge=0, le=1)

    @model_validator(mode="after")
    def _sure_is_more(self) -> Self:
        if self.unsure > self.sure:
            raise ValueError("unsure must not be more than sure: what is sure is not unsure")
        return self


class BinSettings(Section):
    """The bin of deleted documents. days: for which they are kept."""

    days: float = Field(default=30, gt=0)


class Logs(Section):
    """The form and level of the log. format: None for `plain` at a terminal, else `json`."""

    format: Literal["json", "plain"] | None = None
    level: Literal["debug", "info", "warning", "error"] | None = None


class Otel(Section):
    """The receiver of traces. endpoint: its base address (OTLP/HTTP); without one there are no traces."""

    endpoint: str | None = Field(default=None, pattern=r"^https?://[^/@?#]+(/[^@?#]*)?$")


class Aws(Section):
    """Queue and file store in AWS. endpoint: of an emulator, instead of AWS."""

    enabled: bool = False
    region: str = "eu-central-1"
    endpoint: str | None = Field(default=None, pattern=r"^https?://[^/]+/?$")
    create: bool = False


QueueName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,75}$")]
BucketName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")]


class Queues(Section):
    """The names of the queues in SQS. That of dead messages has "-dead" at the end."""

    ingestion: QueueName = "docmill-ingestion"
    matching: QueueName = "docmill-matching"
    acquisition: QueueName = "docmill-acquisition"


class Buckets(Section):
    """The names of the buckets in S3."""

    storage: BucketName = "docmill-storage"
    emails: BucketName = "docmill-emails"


def default_data_dir(name: str) -> Path:
    """The data folder where none is named. Root's is where the user of its database server gets, too."""
    return Path("/var/lib" if os.geteuid() == 0 else "~/.local/share", name)


class Settings(BaseSettings):
    """The settings of one process. Unknown keys are errors.

    database_url: of a PostgreSQL server; without one, docmill runs its own under `data_dir`.
    database_owner_url: of the same database, for the owner of its schema, if that is another user. tenant:
    the one that commands act for, by its name or id; None for the one of the first migration.
    """

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", env_prefix=PREFIX, env_nested_delimiter="__", env_ignore_empty=True
    )

    data_dir: Path = Field(default_factory=lambda: default_data_dir("docmill"))
    database_url: SecretStr | None = None
    database_owner_url: SecretStr | None = None
    tenant: str | None = None
    worker: WorkerSettings = WorkerSettings()
    matching: MatchingSettings = MatchingSettings()
    ocr: Ocr = Ocr()
    documentai: DocumentAi = DocumentAi()
    llm: Llm = Llm()
    embedding: Embedding = Embedding()
    understanding: UnderstandingSettings = UnderstandingSettings()
    image: Image = Image()
    reading: ReadingSettings = ReadingSettings()
    limits: Limits = Limits()
    review: ReviewSettings = ReviewSettings()
    bin: BinSettings = BinSettings()
    web: Web = Web()
    smtp: Smtp = Smtp()
    smtp_receiver: SmtpReceiver = SmtpReceiver()
    oidc: Oidc = Oidc()
    secrets: Secrets = Secrets()
    logs: Logs = Logs()
    otel: Otel = Otel()
    aws: Aws = Aws()
    queues: Queues = Queues()
    buckets: Buckets = Buckets()
    notifications: Notifications = Notifications()
    webhooks: TenantWebhooks = TenantWebhooks()
    sources: SourceSettings = SourceSettings()
    bookkeeping: Bookkeeping = Bookkeeping()
    schemas: Annotated[dict[str, OwnSchema], AfterValidator(check_schemas)] = {}

    @field_validator("database_url", "database_owner_url")
    @classmethod
    def _is_an_address(cls, url: SecretStr | None) -> SecretStr | None:
        """Refuse an invalid address here, because the driver's message would quote the password."""
        if url is not None:
            try:
                conninfo_to_dict(url.get_secret_value())
            except ProgrammingError:
                raise ValueError("is not the address of a PostgreSQL database") from None
        return url

    @model_validator(mode="after")
    def _owner_is_of_the_database(self) -> Self:
        if self.database_owner_url is not None and self.database_url is None:
            raise ValueError("database_owner_url needs database_url, the address for everything else")
        return self

    @model_validator(mode="after")
    def _engines_are_set_up(self) -> Self:
        if "documentai" in self.ocr.engines and not (self.documentai.project and self.documentai.processor):
            raise ValueError(
                "ocr.engines names documentai, which needs documentai.project and documentai.processor"
            )
        for name, chosen in (("small", self.understanding.small), ("large", self.understanding.large)):
            whole = chosen and chosen.within(self.llm)
            if whole and not (whole.api_key or whole.base_url):
                raise ValueError(
                    f"understanding.{name} needs an api_key or a base_url, its own or that of llm"
                )
        asked = self.matching.model
        if asked != "off" and getattr(self.understanding, asked) is None:
            raise ValueError(f"matching.model names the {asked} model, which is not set in understanding")
        if "vision" in self.ocr.engines and not (self.llm.model and (self.llm.api_key or self.llm.base_url)):
            raise ValueError(
                "ocr.engines names vision, which needs llm.model, and llm.api_key or llm.base_url"
            )
        return self

    @property
    def own(self) -> OwnSchemas:
        """The user's own schemas."""
        return OwnSchemas(self.schemas)

    @property
    def folder(self) -> Path:
        """`data_dir` as an absolute path."""
        return self.data_dir.expanduser().absolute()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments win over the environment, the environment over the file; there are no other sources."""
        del dotenv_settings, file_secret_settings
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    @classmethod
    def load(cls, file: Path | None = None) -> "Settings":
        """The settings of this process, from `file` (`docmill.toml` in the current folder) and environment.

        Raises MisconfiguredError for a key that does not exist, a value that does not fit, or a `file` that
        was named and is absent.
        """
        if file is not None and not file.is_file():
            raise MisconfiguredError(f"the settings file {str(file)!r} does not exist")
        for name in variables():  # pydantic ignores those whose first part is unknown
            if name.removeprefix(PREFIX).split("__")[0].lower() not in cls.model_fields:
                raise MisconfiguredError(f"the environment variable {name!r} names no setting")

        class FileSettings(Settings, toml_file=file or DEFAULT_FILE):
            pass

        try:
            return FileSettings()
        except (ValidationError, SettingsError, ValueError) as error:
            raise MisconfiguredError(_explained(error)) from error


def _explained(error: ValueError) -> str:
    """A sentence for each wrong key; never with its value, which may be a secret."""
    if not isinstance(error, ValidationError):
        place = _PLACE.search(str(error))
        return f"the settings cannot be read{f': error {place[0]} of the file' if place else ''}"
    faults: list[str] = []
    for fault in error.errors(include_input=False, include_url=False):
        reason = _REASONS.get(fault["type"]) or fault["msg"].removeprefix("Value error, ")
        faults.append(f"{'.'.join(map(str, fault['loc']))}: {reason}")
    return f"wrong settings: {'; '.join(faults)}"


_REASONS = {
    "extra_forbidden": "there is no such setting",
    "string_pattern_mismatch": (
        "this is not what such a setting looks like; docs/reference/settings.md describes it"
    ),
    "model_type": "this is a section with settings of its own, and not one value",
}
"""Our words for errors of validation, by their type."""
