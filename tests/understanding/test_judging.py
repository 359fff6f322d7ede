"""A large result is judged in a thread, a small one at once."""

import threading
from collections.abc import Awaitable, Callable

import pytest

from docmill.model.document import Document
from docmill.model.result import Evidence, Extraction, Schema, Verdict
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Invoice
from docmill.understanding.judging import judged


class Threads:
    """`Gate` that notes where it is asked."""

    def __init__(self) -> None:
        self.seen: list[threading.Thread] = []

    def judge(self, document: Document, extraction: Extraction, schema: Schema) -> Verdict:
        assert document.pages
        assert schema.name == extraction.document_type
        self.seen.append(threading.current_thread())
        return Verdict(failures=())


@pytest.fixture
def asked_in(make_document: Callable[..., Document]) -> Callable[[int], Awaitable[list[threading.Thread]]]:
    """Where the gate is asked about so many values."""

    async def ask(values: int) -> list[threading.Thread]:
        gate = Threads()
        proof = Evidence(page=None, box=None, text=None, match="embedded", confidence=1.0)
        evidence = {f"lines[{index}].net_amount": proof for index in range(values)}
        extraction = Extraction(document_type="invoice", data=Invoice(), evidence=evidence)
        await judged(gate, make_document("Invoice"), extraction, REGISTRY["invoice"])
        return gate.seen

    return ask


async def test_a_few_values_are_judged_at_once(
    asked_in: Callable[[int], Awaitable[list[threading.Thread]]],
) -> None:
    assert await asked_in(2) == [threading.current_thread()]


async def test_many_values_do_not_hold_up_the_event_loop(
    asked_in: Callable[[int], Awaitable[list[threading.Thread]]],
) -> None:
    (thread,) = await asked_in(1000)

    assert thread is not threading.current_thread()
