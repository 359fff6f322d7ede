import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from docmill.model.document import Document
from docmill.pipeline import Steps
from docmill.service.app import Service
from docmill.service.aws.client import Session, new_session
from docmill.service.config.settings import Settings
from docmill.service.intake.accept import Accepted
from docmill.service.ports import CorrectionMaker
from docmill.service.worker import run_worker
from support.aws_emulators import Emulator
from support.scripted_steps import Observer, RunWorker, ScriptedSteps, Upload, once


@pytest.fixture
def script(make_document: Callable[..., Document]) -> ScriptedSteps:
    return ScriptedSteps(make_document("Invoice 7\nTotal   119.00\0"))


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Patience for tests: retries come at once, pauses are short."""
    worker = settings.worker.model_copy(update={"wait_s": 1.0, "pause_s": 0.05, "concurrency": 4})
    return settings.model_copy(update={"worker": worker})


@pytest.fixture
def steps(script: ScriptedSteps) -> Steps:
    """What the workers of these tests do."""
    return script.steps()


@pytest.fixture
def corrections() -> CorrectionMaker | None:
    return None


@pytest.fixture
def working(service: Service, steps: Steps, corrections: CorrectionMaker | None) -> RunWorker:
    """Runs a worker for the length of a `with`; it is stopped as by a signal."""

    @asynccontextmanager
    async def run() -> AsyncGenerator[asyncio.Task[None]]:
        stop = asyncio.Event()
        task = asyncio.create_task(run_worker(service, steps, stop, corrections=corrections))
        try:
            yield task
        finally:
            stop.set()
            async with asyncio.timeout(20):
                await task

    return run


@pytest.fixture
def upload(service: Service) -> Upload:
    async def accept(
        data: bytes = b"%PDF-1.7", *, file_name: str = "bill.pdf", force: bool = False
    ) -> Accepted:
        return await service.intake.accept(
            once(data), tenant_id=service.default_tenant_id, file_name=file_name, force=force
        )

    return accept


@pytest.fixture
def observer(service: Service) -> Observer:
    return Observer(service)


@pytest.fixture(params=["ministack", "moto"])
def emulator(request: pytest.FixtureRequest, aws_credentials: None) -> Iterator[Emulator]:
    """Each emulator in turn, with its clock set right."""
    del aws_credentials
    emulator: Emulator = request.getfixturevalue(request.param)
    yield emulator
    emulator.ahead_s = 0


@pytest.fixture(scope="session")
def loaded_session() -> Session:
    return new_session()  # reads megabytes of Amazon's descriptions, once


@pytest.fixture
def aws_session(loaded_session: Session, aws_credentials: None) -> Session:
    del aws_credentials
    return loaded_session
