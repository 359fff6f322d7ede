"""What a document is, by a model that is asked over HTTP."""

import asyncio
import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from docmill.errors import TimeLimitError, UnauthorizedError
from docmill.llm import Price
from docmill.model.document import Document, Usage
from docmill.model.result import Classification
from docmill.pipeline import DocumentIO, Steps, TimeLimits, process
from docmill.ports import Original, PageJournal, Ref
from docmill.runs.in_memory import MemoryExporter, MemoryJournal
from docmill.schemas.registry import REGISTRY
from docmill.testing.steps import FakeExtractor, FakeGate, FakeUnderstander, MemoryReader
from docmill.understanding.llm.classifier import LlmClassifier
from docmill.understanding.llm.client import ModelClient
from docmill.understanding.router import GateRouter
from support.llm_server import Reply, Server, spoken

Typeset = Callable[..., Document]
ClientOf = Callable[..., ModelClient]

RULES = Classification(
    document_type="invoice",
    title="Invoice",
    summary="An invoice.",
    document_date=dt.date(2024, 1, 1),
    confidence=0.7,
)
ANSWER = {
    "document_type": "invoice",
    "title": "Invoice R-1\n Harbour Ltd",
    "summary": "Paper and pens.",
    "document_date": "2024-03-05",
    "tags": ["office", "Office", "PAPER", "", 7, "pens", "harbour", "spring", "extra"],
    "language": "en",
}


@pytest.fixture
def document(typeset: Typeset) -> Document:
    return typeset("Harbour Ltd\nInvoice R-1")


async def classified(
    classifier: LlmClassifier, document: Document, tags: Sequence[str] = ()
) -> Classification:
    return (await classifier.understand(document, schemas=REGISTRY, tags=tags)).classification


async def test_a_model_says_what_a_document_is_with_the_tags_that_are_in_use_first(
    server: Server, client_of: ClientOf, document: Document
) -> None:
    server.replies = [spoken("openai", ANSWER)]
    client = client_of(price=Price(Decimal(3), Decimal(10)))

    found = await classified(
        LlmClassifier(client, FakeUnderstander(RULES)), document, tags=("Paper", "Rent", 'Taxes"')
    )

    assert found == Classification(
        document_type="invoice",
        title="Invoice R-1 Harbour Ltd",
        summary="Paper and pens.",
        document_date=dt.date(2024, 3, 5),
        tags=("Paper", "office", "pens", "harbour", "spring"),
        language="en",
        confidence=0.9,
        usage=Usage(input_tokens=1000, output_tokens=100, model="gpt-4o", cost=Decimal("0.004")),
    )
    assert '["Paper", "Rent", "Taxes\\""]' in _asked(server)


@pytest.mark.parametrize("day", ["2024-02-30", "soon", 7, None, "31.02.2024", "0024-03-05", "2924-03-05"])
async def test_what_is_of_no_use_in_an_answer_is_replaced_by_the_rules(
    day: object, server: Server, client_of: ClientOf, document: Document
) -> None:
    bad = {
        "document_type": "novel",
        "title": " ",
        "summary": 3,
        "document_date": day,
        "tags": "x",
        "language": "english",
    }
    server.replies = [spoken("openai", bad)]

    found = await classified(LlmClassifier(client_of(), FakeUnderstander(RULES)), document)

    assert found.model_copy(update={"usage": Usage(), "confidence": 0.7}) == RULES


@pytest.mark.parametrize("day", ["5. März 2024", "2024-05-03", " 2024-03-05 "])
async def test_a_date_in_another_form_or_with_day_and_month_exchanged_is_repaired(
    day: str, server: Server, client_of: ClientOf, typeset: Typeset
) -> None:
    server.replies = [spoken("openai", {**ANSWER, "document_date": day})]

    found = await classified(
        LlmClassifier(client_of(), FakeUnderstander(RULES)), typeset("Hamburg, 05.03.2024")
    )

    assert found.document_date == dt.date(2024, 3, 5)


async def test_a_type_that_the_rules_do_not_see_is_less_sure(
    server: Server, client_of: ClientOf, document: Document
) -> None:
    server.replies = [spoken("openai", {**ANSWER, "document_type": "ad_buy"})]

    found = await classified(
        LlmClassifier(client_of(), FakeUnderstander(RULES), types=("invoice", "ad_buy")), document
    )

    assert (found.document_type, found.confidence) == ("ad_buy", 0.6)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply({"error": {"message": "slow"}}, 429, {"retry-after": "900"}), "rate_limited"),
        (Reply({"error": {"message": "x"}}, 500), "server_error"),
        (spoken("openai", "no", blocked=True), "ai_content_blocked"),
        (spoken("openai", "no JSON"), "bad_model_output"),
    ],
)
async def test_a_model_that_fails_leaves_the_answer_of_the_rules_and_says_why(
    reply: Reply,
    code: str,
    server: Server,
    client_of: ClientOf,
    document: Document,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server.replies = [reply]

    found = await classified(LlmClassifier(client_of(), FakeUnderstander(RULES)), document)

    assert found.model_copy(update={"usage": Usage(), "model_error": None}) == RULES
    assert found.model_error is not None
    assert found.model_error.code == code
    assert "a model did not classify" in caplog.text


async def test_what_a_person_must_mend_is_not_passed_over(
    server: Server, client_of: ClientOf, document: Document
) -> None:
    server.replies = [Reply({"error": {"message": "x"}}, 401)]

    found = await classified(LlmClassifier(client_of(), FakeUnderstander(RULES)), document)

    assert found.model_copy(update={"model_error": None}) == RULES
    assert isinstance(found.model_error, UnauthorizedError)


async def test_a_model_that_says_nothing_is_given_up_in_time(
    server: Server, client_of: ClientOf, document: Document
) -> None:
    server.silent = True

    found = await classified(LlmClassifier(client_of(), FakeUnderstander(RULES), limit_s=0.05), document)

    assert found.model_copy(update={"model_error": None}) == RULES
    assert isinstance(found.model_error, TimeLimitError)


async def test_a_model_that_would_outlast_the_step_is_given_up_before_and_the_title_of_the_rules_stays(
    server: Server, client_of: ClientOf, document: Document, tmp_path: Path
) -> None:
    server.silent = True

    class Converting:
        async def convert(self, original: Original, pages: PageJournal | None = None) -> Document:
            del pages
            return replace(document, content_hash=original.content_hash)

    steps = Steps(
        converter=Converting(),
        understander=LlmClassifier(client_of(), FakeUnderstander(RULES), limit_s=600),
        extractor=FakeExtractor(),
        router=GateRouter(FakeGate()),
        limits=TimeLimits(classify_s=0.2),
    )

    io = DocumentIO(MemoryReader({"a.pdf": b"%PDF"}, tmp_path), MemoryExporter(), MemoryJournal())

    result = await process(Ref("a.pdf", "a.pdf"), steps, io)

    assert server.asked.is_set()
    by_fields = RULES.model_copy(update={"summary": None, "document_date": None})  # there are none
    assert result.classification.model_copy(update={"model_error": None}) == by_fields
    assert result.extraction is not None
    assert "no model said what it is: it failed (timeout): the model 'gpt-4o' took too long" in (
        result.extraction.reason
    )


async def test_who_cancels_is_heard(server: Server, client_of: ClientOf, document: Document) -> None:
    server.silent = True
    asking = asyncio.create_task(classified(LlmClassifier(client_of(), FakeUnderstander(RULES)), document))
    await server.asked.wait()

    asking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_what_a_failed_question_has_cost_counts(
    server: Server, client_of: ClientOf, document: Document
) -> None:
    server.replies = [spoken("openai", "no JSON")]
    client = client_of(price=Price(Decimal(3), Decimal(10)))

    found = await classified(LlmClassifier(client, FakeUnderstander(RULES)), document)

    assert found.usage.cost == Decimal("0.008")


async def test_nothing_is_asked_about_nothing_or_beyond_the_budget(
    server: Server, client_of: ClientOf, document: Document
) -> None:
    classifier = LlmClassifier(client_of(), FakeUnderstander(RULES), budget=Decimal(1))

    assert await classified(classifier, replace(document, pages=())) == RULES
    assert await classified(classifier, replace(document, usage=Usage(cost=Decimal(1)))) == RULES
    assert not server.requests


def _asked(server: Server) -> str:
    """The texts of the first question, as they were written."""
    (question,) = [one for one in server.bodies[0]["messages"] if one["role"] == "user"]
    content = question["content"]
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)
