"""The service put together for one process."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from docmill.errors import MisconfiguredError
from docmill.resilience.concurrency import cancel_and_wait, keep_doing
from docmill.service.bin import Bin
from docmill.service.config.fingerprint import Fingerprint
from docmill.service.config.settings import Settings
from docmill.service.dead_letters import DeadLetters
from docmill.service.events.matching_requests import MatchingRequests
from docmill.service.events.outbox import Outbox
from docmill.service.events.wakeups import EventFeed, Wakeups
from docmill.service.intake.accept import Intake
from docmill.service.intake.resumable_uploads import ResumableUploads
from docmill.service.intake.type_choice import TypeChoices
from docmill.service.meaning import Meaning, open_embedder
from docmill.service.notify.channels import open_channels
from docmill.service.notify.guarded_http import GuardedHttp
from docmill.service.notify.notifier import Notifier, StoredNotifications
from docmill.service.observe.tracing import NO_TRACER, Tracer, open_tracer
from docmill.service.people.accounts import Accounts
from docmill.service.people.invitations import Invitations
from docmill.service.people.keys import ApiKeys
from docmill.service.people.mail import Mailer
from docmill.service.people.openid import OpenIdProvider
from docmill.service.people.passwords import Passwords
from docmill.service.people.sign_in import SignIn
from docmill.service.ports import Queue, Sender
from docmill.service.ports.matching import FailureNotifier, Matcher, MatchingStep
from docmill.service.protocol.queues import INGESTION, MATCHING, QueuePolicy
from docmill.service.queue.postgres import PostgresQueue
from docmill.service.record_matcher import RecordMatcher
from docmill.service.review.edits import Edits
from docmill.service.review.reviews import Reviews
from docmill.service.secret_box import SecretBox, open_secret_box
from docmill.service.signed_addresses import SignedAddresses
from docmill.service.sources.sources import Sources
from docmill.service.storage.blobs import Blobs
from docmill.service.storage.postgres_server import EmbeddedPostgres
from docmill.service.storage.private_files import close_content, private_folder
from docmill.service.store import sweeps
from docmill.service.store.database import DEFAULT_TENANT_ID, Database
from docmill.service.store.login_role import LOGIN_ROLE, create_login_role, warn_of_superuser
from docmill.service.store.migrate import migrate
from docmill.service.webhooks.webhook_deliverer import WebhookDeliverer
from docmill.service.webhooks.webhook_message import WebhookMessages
from docmill.service.webhooks.webhook_notice import OwnerMails
from docmill.service.webhooks.webhook_registry import WebhookRegistry
from docmill.service.webhooks.webhook_sender import WebhookSender
from docmill.understanding.gate import RuleGate

_WATCH_S = 1.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenQueue:
    """A queue, and the sender into it within a transaction."""

    queue: Queue
    sender: Sender


@dataclass(frozen=True)
class Service:
    """Everything a web or worker process needs.

    vault_id: of the database, the same for ever. owner_url: of the database, for the owner of its schema.
    queue: of ingestions. sender: into it, within a transaction. matching_requests: how a document is asked to
    be matched. fingerprint: of the pipeline, see `Fingerprint`.
    matching: None if the settings want none; nothing is asked to be matched then.
    """

    vault_id: UUID
    settings: Settings
    database: Database
    blobs: Blobs
    secret_box: SecretBox
    queue: Queue
    sender: Sender
    matching_requests: MatchingRequests
    intake: Intake
    dead_letters: DeadLetters
    bin: Bin
    signed_addresses: SignedAddresses
    reviews: Reviews
    edits: Edits
    type_choices: TypeChoices
    wakeups: Wakeups
    feed: EventFeed
    fingerprint: Fingerprint
    accounts: Accounts
    invitations: Invitations
    sign_in: SignIn
    api_keys: ApiKeys
    mailer: Mailer
    openid: OpenIdProvider
    meaning: Meaning
    notifier: Notifier
    webhooks: WebhookRegistry
    webhook_deliverer: WebhookDeliverer
    sources: Sources
    tracer: Tracer = NO_TRACER
    owner_url: str = field(default="", repr=False)
    default_tenant_id: UUID = DEFAULT_TENANT_ID
    matching: MatchingStep | None = None

    @property
    def resumable_uploads(self) -> ResumableUploads:
        """Uploads in pieces."""
        return ResumableUploads(
            self.database, self.blobs, self.intake, max_bytes=self.settings.limits.file_bytes
        )

    @property
    def queues(self) -> Mapping[str, Queue]:
        """Every queue by its name."""
        queues = {INGESTION.name: self.queue}
        return queues if self.matching is None else {**queues, MATCHING.name: self.matching.queue}


@asynccontextmanager
async def open_service(
    settings: Settings,
    tracer: Tracer | None = None,
    *,
    matcher: Matcher[Any] | None = None,
    notifier: FailureNotifier | None = None,
) -> AsyncGenerator[Service]:
    """The running service; its database is started, if it is our own, and brought to this release's schema.

    tracer: instead of that of the settings. matcher: instead of that of the settings; nothing is matched if
    they say so. notifier: is told of failures, instead of those whom the settings name. Raises SetupError
    if that is impossible, ServerError if the database cannot be reached.
    """
    async with AsyncExitStack() as stack:
        tracer = tracer or await stack.enter_async_context(open_tracer(settings))
        await asyncio.to_thread(_close_data_folder, settings.folder)
        owner_url, url = await _database_urls(settings, stack)
        database = await stack.enter_async_context(Database(url))
        wakeups = await stack.enter_async_context(Wakeups(database))
        resources = _open_resources(settings, database, wakeups)
        opened = await stack.enter_async_context(resources)
        feed, fingerprint = EventFeed(database, wakeups), Fingerprint(settings)
        requests = MatchingRequests(opened.matching and opened.matching.sender)
        intake = Intake(
            database,
            opened.blobs,
            opened.ingestion.sender,
            feed,
            max_bytes=settings.limits.file_bytes,
            fingerprint=fingerprint,
            matching=requests,
            tracer=tracer,
        )
        reviews = Reviews(database, opened.blobs, feed, RuleGate(), settings.own.by_choice, matching=requests)
        mailer, box = Mailer(settings.smtp), open_secret_box(settings)
        sender_of_webhooks = _webhook_sender(settings, database, reviews, box, mailer)
        yield Service(
            await _vault_id(database),
            settings,
            database,
            opened.blobs,
            box,
            opened.ingestion.queue,
            sender := opened.ingestion.sender,
            requests,
            intake,
            DeadLetters(database, sender, feed, requests),
            Bin(database, opened.blobs, sender, feed, days=settings.bin.days, matching=requests),
            SignedAddresses(database, settings.secrets.keys()),
            reviews,
            Edits(database, reviews, feed, requests),
            TypeChoices(database, intake, settings.own.by_choice),
            wakeups,
            feed,
            fingerprint,
            Accounts(database, passwords := Passwords()),
            Invitations(database, passwords),
            SignIn(database, passwords, settings.web),
            ApiKeys(database, settings.web),
            mailer,
            OpenIdProvider(settings.oidc),
            Meaning(database, open_embedder(settings.embedding)),
            Notifier(
                database,
                open_channels(settings),
                settings.notifications.window_s,
                settings.web.public_url,
            ),
            WebhookRegistry(database, wakeups, box, sender_of_webhooks, settings.webhooks),
            WebhookDeliverer(
                database,
                wakeups,
                sender_of_webhooks,
                timeout_s=settings.webhooks.timeout_s,
                keep_days=settings.webhooks.keep_days,
            ),
            Sources(database, intake, box, settings, wakeups),
            tracer,
            owner_url=owner_url,
            matching=opened.matching
            and MatchingStep(
                opened.matching.queue,
                opened.matching.sender,
                matcher or _matcher_of(settings, database, tracer),
                notifier or StoredNotifications(),
            ),
        )


def _webhook_sender(
    settings: Settings, database: Database, reviews: Reviews, box: SecretBox, mailer: Mailer
) -> WebhookSender:
    http = GuardedHttp(
        allow_private=settings.webhooks.allow_private_addresses,
        setting="webhooks.allow_private_addresses",
        limit_s=settings.webhooks.timeout_s,
    )
    public_url = settings.web.public_url
    return WebhookSender(
        database,
        http,
        box,
        WebhookMessages(database, reviews, public_url=public_url),
        settings.webhooks,
        tell=OwnerMails(database, mailer, public_url=public_url, keep_days=settings.webhooks.keep_days).tell,
    )


def _matcher_of(settings: Settings, database: Database, tracer: Tracer) -> Matcher[Any]:
    if settings.matching.model == "off":
        return RecordMatcher(database)
    from docmill.service.steps import open_matcher  # noqa: PLC0415  loads all that reads documents

    return open_matcher(settings, database, tracer)


async def _vault_id(database: Database) -> UUID:
    async with database.connection() as conn:
        return await sweeps.vault_id(conn)


def _close_data_folder(folder: Path) -> None:
    """Close to other users what an older start left open to them. Raises MisconfiguredError if it cannot."""
    try:
        closed = close_content(private_folder(folder))
    except OSError as error:
        raise MisconfiguredError(f"cannot use the data folder {str(folder)!r}: {error.strerror}") from error
    if closed:
        log.warning(
            "other users of this machine could read files of the data folder, and no longer can",
            extra={"folder": str(folder), "closed": closed},
        )


async def _database_urls(settings: Settings, stack: AsyncExitStack) -> tuple[str, str]:
    """The addresses of the database for its owner and for sessions; its schema is that of this release."""
    if settings.database_url is not None:
        url = settings.database_url.get_secret_value()
        owner = settings.database_owner_url
        owner_url = url if owner is None else owner.get_secret_value()
        await asyncio.to_thread(migrate, owner_url)
        await asyncio.to_thread(warn_of_superuser, url)
        return owner_url, url
    server = EmbeddedPostgres(settings.folder / "postgres")
    await asyncio.to_thread(server.start)
    stack.push_async_callback(asyncio.to_thread, server.stop)
    revive = partial(asyncio.to_thread, server.revive)
    watching = asyncio.create_task(keep_doing(revive, what="embedded database", pause_s=_WATCH_S))
    stack.push_async_callback(cancel_and_wait, [watching])
    await asyncio.to_thread(migrate, server.url())
    await asyncio.to_thread(create_login_role, server.url())
    return server.url(), server.url(user=LOGIN_ROLE)


@dataclass(frozen=True, slots=True)
class _Resources:
    """Queues and file store, in the database and a folder or in AWS. matching: None if nothing is matched."""

    ingestion: OpenQueue
    matching: OpenQueue | None
    blobs: Blobs


@asynccontextmanager
async def _open_resources(
    settings: Settings, database: Database, wakeups: Wakeups
) -> AsyncGenerator[_Resources]:
    if not settings.aws.enabled:

        def open_queue(policy: QueuePolicy, visibility_s: float) -> OpenQueue:
            queue = PostgresQueue(
                database, wakeups, policy.name, visibility_s=visibility_s, max_receives=policy.max_receives
            )
            return OpenQueue(queue, queue)

        yield _Resources(
            open_queue(INGESTION, settings.worker.lease_s),
            open_queue(MATCHING, settings.matching.lease_s) if settings.matching.enabled else None,
            Blobs.in_folder(settings.folder / "blobs"),
        )
        return
    try:
        from docmill.service.aws.resources import open_aws_resources  # noqa: PLC0415  an extra that most do without
    except ModuleNotFoundError as error:
        raise MisconfiguredError(
            f"aws.enabled needs {error.name!r}; run: pip install 'docmill[aws]'"
        ) from error
    async with AsyncExitStack() as stack:
        aws = await stack.enter_async_context(open_aws_resources(settings))
        outbox = await stack.enter_async_context(Outbox(database, wakeups, aws.queue, INGESTION.name))
        matching = None
        if aws.matching is not None:
            sender = await stack.enter_async_context(Outbox(database, wakeups, aws.matching, MATCHING.name))
            matching = OpenQueue(aws.matching, sender)
        yield _Resources(OpenQueue(aws.queue, outbox), matching, aws.blobs)
