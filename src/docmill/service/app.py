"""The service put together for one process."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from docmill.errors import MisconfiguredError
from docmill.resilience.concurrency import cancel_and_wait, keep_doing
from docmill.service.bin import Bin
from docmill.service.config.fingerprint import Fingerprint
from docmill.service.config.settings import Settings
from docmill.service.dead_letters import DeadLetters
from docmill.service.events.outbox import Outbox
from docmill.service.events.wakeups import EventFeed, Wakeups
from docmill.service.intake.accept import Intake
from docmill.service.intake.type_choice import TypeChoices
from docmill.service.meaning import Meaning, open_embedder
from docmill.service.notify.channels import open_channels
from docmill.service.notify.notifier import Notifier
from docmill.service.observe.tracing import NO_TRACER, Tracer, open_tracer
from docmill.service.people.accounts import Accounts
from docmill.service.people.keys import ApiKeys
from docmill.service.people.mail import Mailer
from docmill.service.people.openid import OpenIdProvider
from docmill.service.people.passwords import Passwords
from docmill.service.people.sign_in import SignIn
from docmill.service.ports import Queue, Sender
from docmill.service.queue.postgres import PostgresQueue
from docmill.service.review.edits import Edits
from docmill.service.review.reviews import Reviews
from docmill.service.signed_addresses import SignedAddresses
from docmill.service.storage.blobs import Blobs
from docmill.service.storage.postgres_server import EmbeddedPostgres
from docmill.service.store import sweeps
from docmill.service.store.database import DEFAULT_TENANT_ID, Database
from docmill.service.store.migrate import migrate
from docmill.understanding.gate import RuleGate

INGESTION_QUEUE = "ingestion"

_WATCH_S = 1.0


@dataclass(frozen=True)
class Service:
    """Everything a web or worker process needs.

    vault_id: of the database, the same for ever. sender: into `queue`, within a transaction. fingerprint: of
    the pipeline, see `Fingerprint`.
    """

    vault_id: UUID
    settings: Settings
    database: Database
    blobs: Blobs
    queue: Queue
    sender: Sender
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
    sign_in: SignIn
    api_keys: ApiKeys
    mailer: Mailer
    openid: OpenIdProvider
    meaning: Meaning
    notifier: Notifier
    tracer: Tracer = NO_TRACER
    default_tenant_id: UUID = DEFAULT_TENANT_ID


@asynccontextmanager
async def open_service(settings: Settings, tracer: Tracer | None = None) -> AsyncGenerator[Service]:
    """The running service; its database is started, if it is our own, and brought to this release's schema.

    tracer: instead of the one that the settings ask for. Raises SetupError if that is impossible, ServerError
    if the database cannot be reached.
    """
    async with AsyncExitStack() as stack:
        tracer = tracer or await stack.enter_async_context(open_tracer(settings))
        url = await _database_url(settings, stack)
        await asyncio.to_thread(migrate, url)
        database = await stack.enter_async_context(Database(url))
        wakeups = await stack.enter_async_context(Wakeups(database))
        opened = await stack.enter_async_context(_open_resources(settings, database, wakeups))
        async with database.connection() as conn:
            vault_id = await sweeps.vault_id(conn)
        feed, fingerprint = EventFeed(database, wakeups), Fingerprint(settings)
        intake = Intake(
            database,
            opened.blobs,
            opened.sender,
            feed,
            max_bytes=settings.limits.file_bytes,
            fingerprint=fingerprint,
            tracer=tracer,
        )
        passwords = Passwords()
        reviews = Reviews(database, opened.blobs, feed, RuleGate(), settings.own.by_choice)
        yield Service(
            vault_id,
            settings,
            database,
            opened.blobs,
            opened.queue,
            opened.sender,
            intake,
            DeadLetters(database, opened.sender, feed),
            Bin(database, opened.blobs, opened.sender, feed, days=settings.bin.days),
            SignedAddresses(database, settings.secrets.keys()),
            reviews,
            Edits(database, reviews, feed),
            TypeChoices(database, intake, settings.own.by_choice),
            wakeups,
            feed,
            fingerprint,
            Accounts(database, passwords),
            SignIn(database, passwords, settings.web),
            ApiKeys(database),
            Mailer(settings.smtp),
            OpenIdProvider(settings.oidc),
            Meaning(database, open_embedder(settings.embedding)),
            Notifier(
                database,
                open_channels(settings),
                settings.notifications.window_s,
                settings.web.public_url,
            ),
            tracer,
        )


async def _database_url(settings: Settings, stack: AsyncExitStack) -> str:
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    server = EmbeddedPostgres(settings.folder / "postgres")
    await asyncio.to_thread(server.start)
    stack.push_async_callback(asyncio.to_thread, server.stop)
    revive = partial(asyncio.to_thread, server.revive)
    watching = asyncio.create_task(keep_doing(revive, what="embedded database", pause_s=_WATCH_S))
    stack.push_async_callback(cancel_and_wait, [watching])
    return server.url()


@dataclass(frozen=True, slots=True)
class _Resources:
    """Queue, sender and file store, in the database and a folder or in AWS."""

    queue: Queue
    sender: Sender
    blobs: Blobs


@asynccontextmanager
async def _open_resources(
    settings: Settings, database: Database, wakeups: Wakeups
) -> AsyncGenerator[_Resources]:
    if not settings.aws.enabled:
        queue = PostgresQueue(database, wakeups, INGESTION_QUEUE, visibility_s=settings.worker.lease_s)
        yield _Resources(queue, queue, Blobs.in_folder(settings.folder / "blobs"))
        return
    try:
        from docmill.service.aws.resources import open_aws_resources  # noqa: PLC0415  an extra that most do without
    except ModuleNotFoundError as error:
        raise MisconfiguredError(
            f"aws.enabled needs {error.name!r}; run: pip install 'docmill[aws]'"
        ) from error
    async with (
        open_aws_resources(settings) as aws,
        Outbox(database, wakeups, aws.queue, INGESTION_QUEUE) as outbox,
    ):
        yield _Resources(aws.queue, outbox, aws.blobs)
