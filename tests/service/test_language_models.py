"""From settings to models that understand."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import SecretStr

from docmill.cli.files.run_config import run_config
from docmill.errors import MisconfiguredError
from docmill.model.document import Document
from docmill.model.result import Extraction
from docmill.pipeline import RULES_S, DocumentIO, TimeLimits, process
from docmill.ports import Ref
from docmill.runs.folder_files import FolderReader
from docmill.runs.in_memory import MemoryExporter, MemoryJournal
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Invoice
from docmill.service.config.fingerprint import pipeline_fingerprint
from docmill.service.config.settings import ChosenModel, Limits, Llm, Settings
from docmill.service.config.settings import UnderstandingSettings as Chosen
from docmill.service.steps import models_of, open_steps
from docmill.testing.steps import FakeGate, FakeUnderstander
from docmill.understanding.gate import RuleGate
from docmill.understanding.llm.classifier import LlmClassifier
from docmill.understanding.pooled import PooledUnderstanding
from docmill.understanding.router import GateRouter
from docmill.wiring import reading_pool
from docmill.workers.pool import Pool
from support.llm_server import Server, serving, spoken

OWN = Llm(base_url="http://127.0.0.1:9/v1", api_key=SecretStr("llm-key"))
PAGE = """
Harbour Ltd
12 Quay Street, Leeds

Invoice
HARBOUR-X
Date 05.03.2024

Net           20.00
VAT 20 %       4.00
Total         24.00 EUR
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def settings(
    small: ChosenModel | None = None,
    large: ChosenModel | None = None,
    classify: Literal["rules", "small", "large"] = "rules",
) -> Settings:
    return Settings(llm=OWN, understanding=Chosen(small=small, large=large, classify=classify))


async def test_without_models_only_the_rules_are_asked() -> None:
    offline = FakeUnderstander()
    models = models_of(Settings())

    assert models.router(FakeGate()).readers == ()
    assert models.understander(offline) is offline


async def test_models_come_after_the_rules() -> None:
    chosen = settings(small=ChosenModel(model="s"), large=ChosenModel(model="l", sees=True), classify="small")

    async with open_steps(chosen, Pool(1)) as found:
        pass

    assert isinstance(found.router, GateRouter)
    assert [reader.name for reader in found.router.readers] == ["second look", "small model", "large model"]
    assert isinstance(found.understander, LlmClassifier)


async def test_a_model_whose_library_is_absent_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docmill.understanding.llm.client", None)

    with pytest.raises(MisconfiguredError, match=r"pip install 'docmill\[llm\]'"):
        models_of(settings(small=ChosenModel(model="s")))


def test_a_key_goes_to_nobody_but_the_address_it_is_set_with() -> None:
    same = ChosenModel(model="s").within(OWN)
    other = ChosenModel(model="s", provider="anthropic", base_url="http://127.0.0.1:8").within(OWN)
    moved = ChosenModel(model="s", base_url="http://127.0.0.1:8").within(OWN)

    assert (same.provider, same.base_url, same.api_key) == ("openai", OWN.base_url, OWN.api_key)
    assert (other.provider, other.api_key) == ("anthropic", None)
    assert (moved.provider, moved.api_key) == ("openai", None)


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"small": {"model": "s", "provider": "anthropic"}}, "needs an api_key or a base_url"),
        ({"small": {"model": "s", "input_usd": 1}}, "together or not at all"),
        ({"classify": "large"}, "classify names the large model"),
    ],
)
def test_models_that_cannot_be_asked_are_refused(chosen: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Settings(llm=OWN, understanding=Chosen.model_validate(chosen))


def test_another_model_is_another_pipeline_and_another_key_is_not() -> None:
    one = pipeline_fingerprint(settings(small=ChosenModel(model="s")))

    assert one != pipeline_fingerprint(settings())
    assert one != pipeline_fingerprint(settings(small=ChosenModel(model="t")))
    assert one == pipeline_fingerprint(settings(small=ChosenModel(model="s", api_key=SecretStr("k"))))


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as server:
        yield server


async def test_a_run_asks_the_models_that_its_settings_name(server: Server, tmp_path: Path) -> None:
    (tmp_path / "docmill.toml").write_text(
        f"""
        [llm]
        base_url = "{server.url("openai")}"
        [understanding.small]
        model = "own"
        input_usd = 1
        output_usd = 2
        sees = true
        """
    )
    (tmp_path / "invoice.txt").write_text(PAGE)
    server.replies = [spoken("openai", {"seller": {"name": "Harbour Ltd"}, "number": "HARBOUR-X"})]
    config = run_config(None, max_bytes=None, time_limit_s=None, passwords=())
    io = DocumentIO(FolderReader(tmp_path), MemoryExporter(), MemoryJournal())

    async with reading_pool(1) as pool, config.steps(pool) as steps:
        result = await process(Ref("invoice.txt", "invoice.txt"), steps, io)

    assert result.extraction is not None
    assert result.verdict is not None
    assert "asked small model: own for number" in result.extraction.reason
    assert result.extraction.evidence["number"].text == "HARBOUR-X"
    assert result.extraction.usage.cost > 0
    assert "HARBOUR-X" in server.requests[0]


async def test_settings_without_models_ask_nobody(tmp_path: Path) -> None:
    for touch in (False, True):
        if touch:
            (tmp_path / "docmill.toml").touch()
        config = run_config(None, max_bytes=None, time_limit_s=None, passwords=())

        async with config.steps(Pool(1)) as steps:
            assert isinstance(steps.understander, PooledUnderstanding)
            assert isinstance(steps.router, GateRouter)
            assert [reader.name for reader in steps.router.readers] == ["second look"]
            assert steps.schemas == REGISTRY


async def test_a_worker_needs_nothing_of_the_command_line() -> None:
    code = "import sys, docmill.service.worker; print('docmill.cli' in sys.modules)"

    told = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code], capture_output=True, check=True
    )

    assert told.stdout.strip() == b"False"


async def test_one_call_has_the_limit_of_the_settings_and_what_rules_found_survives_it(
    server: Server, make_document: Callable[..., Document]
) -> None:
    server.silent = True
    chosen = Chosen(small=ChosenModel(model="s"), large=ChosenModel(model="l"))
    settings = Settings(
        llm=Llm(base_url=server.url("openai")), understanding=chosen, limits=Limits(ai_s=0.05)
    )
    first = Extraction(document_type="invoice", data=Invoice(number="R-1"), evidence={})
    router = models_of(settings).router(RuleGate())

    found, _ = await router.judge(first, make_document(PAGE), REGISTRY["invoice"])

    assert found.data == first.data
    assert "it failed (timeout): 'small model' did not answer within 0.05 s" in found.reason
    assert "it failed (timeout): 'large model' did not answer within 0.05 s" in found.reason


def test_a_step_may_take_as_long_as_one_of_its_calls_and_rules_have_time_beside_models() -> None:
    usual, slow = Limits().times, Limits(ai_s=900).times

    assert (Limits().ai_s, Limits().ai_step_s) == (90, 300)
    assert usual == TimeLimits()
    assert usual.classify_s == usual.extract_s == 300 + RULES_S
    assert slow.extract_s == 900 + RULES_S
