"""Who is asked for what, and whose values stay."""

import asyncio
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from docmill.errors import (
    AiContentBlockedError,
    DocmillError,
    NetworkError,
    RateLimitedError,
    ServerError,
    SetupError,
    TransientError,
    UnauthorizedError,
)
from docmill.model.document import Document, Usage
from docmill.model.result import Evidence, Extraction, Failure, Schema, StepTaken
from docmill.ports import Judged, Original
from docmill.resilience.spending import Meter
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Invoice
from docmill.understanding.gate import RuleGate
from docmill.understanding.locate.evidence import located
from docmill.understanding.router import GateRouter
from docmill.understanding.second_readers import ModelReader

Typeset = Callable[..., Document]

INVOICE = REGISTRY["invoice"]
PAGE = """
Harbour Ltd                       Invoice R-1
12 Quay Street                    Date 05.03.2024
Pens   4.00
Ink    16.00
                     Net           20.00
                     VAT 20 %       4.00
                     Total         24.00 EUR
"""
WHOLE: dict[str, Any] = {
    "number": "R-1",
    "issue_date": "2024-03-05",
    "seller": {"name": "Harbour Ltd"},
    "net_total": "20.00",
    "tax_total": "4.00",
    "gross_total": "24.00",
}
COST = Usage(input_tokens=100, output_tokens=10, model="m", cost=Decimal("0.01"))


class Model:
    """Says always the same, at a price."""

    def __init__(
        self,
        name: str,
        data: dict[str, Any] | None = None,
        *,
        error: DocmillError | None = None,
        failures: tuple[Failure, ...] = (),
    ) -> None:
        self.name = name
        self.asked: list[tuple[str, ...]] = []
        self._data = data or {}
        self._error = error
        self._failures = failures

    async def ask(
        self,
        document: Document,
        schema: Schema,
        original: Original | None = None,
        *,
        meter: Meter,
        only: Sequence[str] = (),
    ) -> Extraction:
        del schema, original
        self.asked.append(tuple(only))
        meter.add(COST)
        if self._error:
            raise self._error
        return extraction(document, self._data, reason=f"{self.name}: m", failures=self._failures)


class Silent(Model):
    async def ask(
        self,
        document: Document,
        schema: Schema,
        original: Original | None = None,
        *,
        meter: Meter,
        only: Sequence[str] = (),
    ) -> Extraction:
        del document, schema, original, meter, only
        await asyncio.Event().wait()
        raise AssertionError


def extraction(
    document: Document,
    data: dict[str, Any],
    *,
    reason: str = "rules",
    failures: tuple[Failure, ...] = (),
    sure: dict[str, float] | None = None,
) -> Extraction:
    model = Invoice.model_validate(data)
    evidence = located(document, model, INVOICE)
    evidence.update(
        {path: evidence[path].model_copy(update={"confidence": one}) for path, one in (sure or {}).items()}
    )
    return Extraction(
        document_type="invoice",
        data=model,
        evidence=evidence,
        steps=(StepTaken(kind="read", by=reason),),
        failures=failures,
    )


@pytest.fixture
def document(typeset: Typeset) -> Document:
    return typeset(PAGE)


async def routed(
    document: Document, first: Extraction, *models: Model, budget: str = "1", limit_s: float | None = None
) -> Extraction:
    return (await judged(document, first, *models, budget=budget, limit_s=limit_s)).extraction


async def judged(
    document: Document, first: Extraction, *models: Model, budget: str = "1", limit_s: float | None = None
) -> Judged:
    readers = [ModelReader(model) for model in models]
    router = GateRouter(RuleGate(), readers, budget=Decimal(budget), limit_s=limit_s)
    return await router.judge(first, document, INVOICE)


async def test_what_is_believed_costs_nothing(document: Document) -> None:
    first, model = extraction(document, WHOLE), Model("small model")

    found = await routed(document, first, model)

    assert found == first
    assert model.asked == []


async def test_a_date_that_may_be_two_days_is_null_with_both_as_suggestions(typeset: Typeset) -> None:
    # Without a currency or a country nothing says which of the two numbers is the month.
    page = typeset(PAGE.replace("05.03.2024", "05/03/2024").replace(" EUR", "").replace("VAT", "Tax"))
    first = extraction(page, WHOLE, sure=dict.fromkeys(("issue_date", "number", "seller.name"), 0.98))

    found, verdict = await judged(page, first)

    assert isinstance(found.data, Invoice)
    assert found.data.issue_date is None
    assert "issue_date" not in found.evidence
    offers = found.suggestions["issue_date"]
    assert [(offer.value, offer.evidence.confidence) for offer in offers] == [
        ("2024-03-05", 0.49),
        ("2024-05-03", 0.49),
    ]
    asked = [failure.check for failure in verdict.failures if "issue_date" in failure.fields]
    assert asked == ["ambiguous_date"]


async def test_a_model_is_asked_only_for_what_failed_and_the_reason_tells(document: Document) -> None:
    first = extraction(document, {**WHOLE, "issue_date": None, "net_total": "19.00"})
    small = Model("small model", {"issue_date": "2024-03-05", "net_total": "20.00", "number": "R-9"})
    large = Model("large model")

    found = await routed(document, first, small, large)

    assert isinstance(found.data, Invoice)
    assert found.data == Invoice.model_validate(WHOLE)
    assert RuleGate().judge(document, found, INVOICE).passed
    assert small.asked == [("issue_date", "net_total", "tax_total", "gross_total")]
    assert large.asked == []
    assert found.usage == COST
    assert found.reason == (
        "rules; asked small model: m for issue date, net total, tax total, gross total: "
        "issue date, net total, tax total, gross total mended"
    )


async def test_the_next_model_is_asked_for_what_the_last_left(document: Document) -> None:
    first = extraction(document, {"gross_total": "24.00", "seller": {"name": "Harbour Ltd"}})
    small = Model("small model", {"issue_date": "2024-03-05", "number": "R-77"})
    large = Model("large model", {"number": "R-1"})

    found = await routed(document, first, small, large)

    assert large.asked == [("number",)]
    assert isinstance(found.data, Invoice)
    assert found.data.number == "R-1"
    assert found.usage == COST.plus(COST)
    assert found.reason.endswith("asked large model: m for number: number mended")


async def test_a_value_that_is_on_no_page_takes_no_place(document: Document) -> None:
    first = extraction(document, {**WHOLE, "number": None})

    found = await routed(document, first, Model("small model", {"number": "R-99"}))

    assert isinstance(found.data, Invoice)
    assert found.data.number is None
    assert found.reason.endswith("for number: nothing better")


async def test_two_readers_of_one_value_make_it_surer(document: Document) -> None:
    first = extraction(document, WHOLE, sure={"number": 0.2})

    found = await routed(document, first, Model("small model", {"number": "r-1"}))

    assert isinstance(found.data, Invoice)
    assert found.data.number == "R-1"
    assert found.evidence["number"].confidence == 1
    assert found.reason.endswith("number mended")


async def test_a_reader_who_is_less_sure_of_the_same_value_changes_nothing(typeset: Typeset) -> None:
    document = typeset(PAGE.replace("Harbour Ltd", "H4RB0UR LTD"), source="ocr")
    first = extraction(document, {**WHOLE, "seller": {"name": "HARBOUR LTD"}}, sure={"seller.name": 0.88})

    found = await routed(document, first, Model("small model", {"seller": {"name": "Harbour Ltd"}}))

    assert found.evidence["seller.name"].confidence == 0.88


async def test_values_that_add_up_less_are_not_taken(document: Document) -> None:
    first = extraction(document, {**WHOLE, "number": None})
    first = first.model_copy(update={"evidence": {**first.evidence, "net_total": NOWHERE}})
    worse = Model("small model", {"number": None, "net_total": "16.00"})

    found = await routed(document, first, worse)

    assert [suggestion.value for suggestion in found.suggestions["net_total"]] == ["20.00"]


NOWHERE = Evidence(page=None, box=None, text=None, match="none", confidence=0)


async def test_lists_are_taken_as_a_whole_if_all_of_it_stands_there(document: Document) -> None:
    wrong = {**WHOLE, "lines": [{"description": "Pencils", "net_amount": "4.00"}]}
    right = {
        "lines": [
            {"description": "Pens", "net_amount": "4.00"},
            {"description": "Ink", "net_amount": "16.00"},
        ]
    }

    found = await routed(document, extraction(document, wrong), Model("small model", right))
    kept = await routed(
        document, extraction(document, wrong), Model("small model", {"lines": [{"description": "Nibs"}]})
    )

    assert isinstance(found.data, Invoice)
    assert isinstance(kept.data, Invoice)
    assert [line.description for line in found.data.lines] == ["Pens", "Ink"]
    assert found.evidence["lines[1].description"].text == "Ink"
    assert [line.description for line in kept.data.lines] == [None]
    assert [suggestion.value for suggestion in kept.suggestions["lines[0].description"]] == ["Pencils"]


async def test_what_an_extractor_itself_found_wrong_is_for_a_person_and_no_model(document: Document) -> None:
    own = Failure(check="xml_mismatch", message="They differ.", fields=("gross_total",))
    model = Model("small model")

    found = await routed(document, extraction(document, WHOLE, failures=(own,)), model)

    assert model.asked == []
    assert found.failures == (own,)


async def test_what_a_model_finds_suspicious_is_kept(document: Document) -> None:
    suspicion = Failure(check="injection", message="Orders.")
    first = extraction(document, {**WHOLE, "number": None})

    better = await routed(document, first, Model("small model", {"number": "R-1"}, failures=(suspicion,)))
    same = await routed(document, first, Model("small model", {}, failures=(suspicion,)))

    assert better.failures == same.failures == (suspicion,)


async def test_nobody_is_asked_once_the_budget_is_spent(document: Document) -> None:
    first, large = extraction(document, {"number": "R-1"}), Model("large model")

    found = await routed(document, first, Model("small model"), large, budget="0.01")

    assert large.asked == []
    assert found.usage == COST
    assert found.reason.endswith("large model not asked: the budget of $0.01 is spent")


@pytest.mark.parametrize(
    "error", [RateLimitedError("slow"), NetworkError("gone"), AiContentBlockedError("no")]
)
async def test_a_model_that_fails_leaves_what_there_is_to_the_next(
    error: DocmillError, document: Document
) -> None:
    first = extraction(document, {**WHOLE, "number": None})

    found = await routed(
        document, first, Model("small model", error=error), Model("large model", {"number": "R-1"})
    )

    assert isinstance(found.data, Invoice)
    assert found.data.number == "R-1"
    assert f"asked small model for number: it failed ({error.code}): {error.message}" in found.reason
    assert found.usage == COST.plus(COST)


@pytest.mark.parametrize(
    "error",
    [RateLimitedError("slow"), NetworkError("later", attempted=False), UnauthorizedError("no key")],
)
async def test_a_model_that_can_be_asked_later_is_told_with_what_there_is(
    error: TransientError | SetupError, document: Document
) -> None:
    first = extraction(document, {**WHOLE, "number": None, "issue_date": None})

    found = await routed(
        document, first, Model("small model", error=error), Model("large model", {"number": "R-1"})
    )

    assert found.model_error is error
    assert isinstance(found.data, Invoice)
    assert found.data.number == "R-1"
    assert "asked large model: m for number, issue date: number mended" in found.reason


async def test_nothing_needs_to_be_asked_later_once_another_model_has_mended_it(document: Document) -> None:
    first = extraction(document, {**WHOLE, "number": None})
    left_alone = Model("small model", error=NetworkError("later", attempted=False))

    found = await routed(document, first, left_alone, Model("large model", {"number": "R-1"}))

    assert found.model_error is None


async def test_what_a_model_refuses_is_said_and_not_asked_later(document: Document) -> None:
    first = extraction(document, {**WHOLE, "number": None})

    found = await routed(document, first, Model("small model", error=AiContentBlockedError("no")))

    assert found.model_error is None
    assert "it failed (ai_content_blocked): no" in found.reason


async def test_the_failure_of_a_model_that_was_asked_counts_before_that_of_one_left_alone(
    document: Document,
) -> None:
    asked = ServerError("down")
    small = Model("small model", error=NetworkError("later", attempted=False))

    found = await routed(
        document, extraction(document, {"number": "R-1"}), small, Model("large model", error=asked)
    )

    assert found.model_error is asked


async def test_nothing_is_asked_later_that_the_budget_does_not_allow(document: Document) -> None:
    small = Model("small model", error=ServerError("down"))

    found = await routed(document, extraction(document, {"number": "R-1"}), small, budget="0.01")

    assert found.model_error is None


async def test_models_that_take_too_long_leave_what_there_is(document: Document) -> None:
    first = extraction(document, {**WHOLE, "number": None})

    found = await routed(document, first, Silent("small model"), limit_s=0.05)

    assert found.data == first.data
    assert found.reason == "rules; given up after 0.05 s"
    assert found.model_error is not None
    assert found.model_error.code == "timeout"


async def test_many_fields_are_named_shortly(document: Document) -> None:
    first = extraction(
        document, {"net_total": "1", "tax_total": "2", "gross_total": "4", "due_date": "1980-01-01"}
    )

    found = await routed(document, first, Model("small model"))

    assert "and 1 more: nothing better" in found.reason or "and 2 more: nothing better" in found.reason


class Owner(BaseModel):
    name: str | None = None


class Car(BaseModel):
    """Of a user's own."""

    plate: str | None = None
    owner: Owner | None = None


async def test_a_schema_of_the_users_own_is_filled_in_wherever_it_lacks_something(typeset: Typeset) -> None:
    schema = Schema("car", Car, critical=("plate", "owner.name"))
    document = typeset("Plate: LX 71\nOwner: Ann Lee")

    def said(data: dict[str, Any]) -> Extraction:
        car = Car.model_validate(data)
        return Extraction(document_type="car", data=car, evidence=located(document, car, schema))

    class Seer(Model):
        async def ask(
            self,
            document: Document,
            schema: Schema,
            original: Original | None = None,
            *,
            meter: Meter,
            only: Sequence[str] = (),
        ) -> Extraction:
            del document, schema, original, meter
            self.asked.append(tuple(only))
            return said({"owner": {"name": "Ann Lee"}} if len(self.asked) > 1 else {"plate": "LX 71"})

    seer = Seer("model")
    router = GateRouter(RuleGate(), [ModelReader(seer), ModelReader(seer)])

    found, _ = await router.judge(said({}), document, schema)

    assert found.data == Car(plate="LX 71", owner=Owner(name="Ann Lee"))
    assert seer.asked == [("plate", "owner.name"), ("owner.name",)]


async def test_the_verdict_is_that_of_what_was_taken_in_the_end(document: Document) -> None:
    first = extraction(document, {**WHOLE, "number": None})
    suspicion = Failure(check="injection", message="Orders.")

    before = await judged(document, first)
    mended = await judged(document, first, Model("small model", {"number": "R-1"}))
    suspected = await judged(document, first, Model("small model", {}, failures=(suspicion,)))

    assert [failure.fields for failure in before.verdict.failures] == [("number",)]
    assert mended.verdict.passed
    for one in (before, mended, suspected):
        assert one.verdict == RuleGate().judge(document, one.extraction, INVOICE)


async def test_the_steps_say_who_was_asked_for_what(document: Document) -> None:
    first = extraction(document, {**WHOLE, "number": None})

    found = await routed(
        document,
        first,
        Model("small model", error=NetworkError("gone")),
        Model("large model", {"number": "R-1"}),
    )

    assert [(step.kind, step.by, step.fields, step.mended) for step in found.steps] == [
        ("read", "rules", (), ()),
        ("failed", "small model", ("number",), ()),
        ("asked", "large model: m", ("number",), ("number",)),
    ]


async def test_a_reader_that_needs_no_model_says_so_only_until_one_is_asked(document: Document) -> None:
    read = StepTaken(kind="read", by="rules", note="no embedded data", without_model="no model needed")
    whole, part = (
        extraction(document, data).model_copy(update={"steps": (read,)})
        for data in (WHOLE, {**WHOLE, "number": None})
    )

    alone = await routed(document, whole, Model("small model"))
    asked = await routed(document, part, Model("small model", {"number": "R-1"}))

    assert alone.reason == "rules: no embedded data and no model needed"
    assert asked.reason == "rules: no embedded data; asked small model: m for number: number mended"
