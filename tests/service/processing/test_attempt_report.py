import logging
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from docmill.errors import CorruptError, ServerError
from docmill.model.document import Document, Usage
from docmill.model.result import Classification, Extraction, Failure, Result, StepTaken, Verdict
from docmill.schemas.types import Invoice
from docmill.service.observe.metrics import Metrics
from docmill.service.processing.attempt_report import AttemptReport, AttemptReports
from docmill.service.protocol.claim_rules import ClaimLostError

USAGE = Usage(input_tokens=10, output_tokens=5, model="small", cost=Decimal("0.25"))


def found(verdict: Verdict | None = None) -> Result:
    extraction = Extraction(document_type="invoice", data=Invoice(), evidence={}, usage=USAGE)
    return Result(
        content_hash="0" * 64,
        media_type="application/pdf",
        classification=Classification(),
        document=Document("0" * 64, "application/pdf", []),
        extraction=extraction,
        verdict=verdict,
        timings_s={"read": 0.01, "transcribe": 1.5},
    )


def told(caplog: pytest.LogCaptureFixture) -> dict[str, Any]:
    (record,) = caplog.records
    return vars(record)


def outcomes(metrics: Metrics) -> dict[tuple[str, str], float]:
    return {
        (sample.labels["outcome"], sample.labels["code"]): sample.value
        for family in text_string_to_metric_families(metrics.exposition().decode())
        for sample in family.samples
        if sample.name == "docmill_documents_total"
    }


@pytest.fixture(autouse=True)
def heard(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def test_an_attempt_is_one_line_with_the_time_of_each_step(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics()

    with AttemptReports(metrics).attempt(1) as report:
        report.result, report.outcome, report.usage = found(Verdict()), "completed", USAGE

    line = told(caplog)
    assert (line["message"], line["status"]) == ("attempt ended", "completed")
    assert line["durations_ms"] == {"read": 10, "transcribe": 1500}
    assert isinstance(line["duration_ms"], int)
    assert outcomes(metrics) == {("completed", ""): 1}
    assert b'docmill_tokens_total{direction="input",model="small"} 10.0' in metrics.exposition()


def test_what_a_failed_attempt_has_cost_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics()

    with AttemptReports(metrics).attempt(1) as report:
        report.error, report.outcome, report.usage = ServerError("down"), "retried", USAGE

    assert told(caplog)["code"] == "server_error"
    assert b'docmill_tokens_total{direction="input",model="small"} 10.0' in metrics.exposition()


def test_an_attempt_tells_why_the_values_are_those_of_who_read_them(caplog: pytest.LogCaptureFixture) -> None:
    result = found(Verdict())
    assert result.extraction is not None
    steps = (
        StepTaken(kind="read", by="rules"),
        StepTaken(kind="asked", by="small model", fields=("number",), mended=("number",)),
    )
    extraction = result.extraction.model_copy(update={"steps": steps})

    with AttemptReports(Metrics()).attempt(1) as report:
        report.result, report.outcome = replace(result, extraction=extraction), "completed"

    assert told(caplog)["reason"] == "rules; asked small model for number: number mended"


def test_an_attempt_that_failed_names_code_and_step(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics()
    error = CorruptError("words of the document")
    error.step = "transcribe"

    with AttemptReports(metrics).attempt(2) as report:
        report.error, report.outcome = error, "failed"

    line = told(caplog)
    assert (line["status"], line["code"], line["step"]) == ("failed", "corrupt", "transcribe")
    assert "durations_ms" not in line
    assert "words" not in str(line)
    assert outcomes(metrics) == {("failed", "corrupt"): 1}


@pytest.mark.parametrize(
    ("report", "status"),
    [
        (AttemptReport(outcome="completed"), "completed"),
        (AttemptReport(found(), outcome="completed"), "completed"),
        (AttemptReport(found(Verdict(failures=(Failure(check="sums", message=""),)))), "needs_review"),
        (AttemptReport(found(Verdict())), "completed"),
        (AttemptReport(error=ClaimLostError(), outcome="lost"), "lost"),
        (AttemptReport(found(), outcome="released"), "released"),
        (AttemptReport(error=CorruptError("")), "unsettled"),
    ],
    ids=str,
)
def test_what_was_stored_stands_and_the_rest_is_what_followed(report: AttemptReport, status: str) -> None:
    assert report.status == status


def test_an_attempt_is_told_even_when_it_could_not_be_settled(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics()

    with pytest.raises(ClaimLostError), AttemptReports(metrics).attempt(1):
        raise ClaimLostError

    assert told(caplog)["status"] == "unsettled"
    assert b"docmill_jobs_in_flight 0.0" in metrics.exposition()
