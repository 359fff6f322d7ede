"""What the service says of documents on which docmill's own understanding fails."""

import pytest

from docmill.errors import InternalError
from docmill.pipeline import Steps
from docmill.wiring import steps_for
from docmill.workers.pool import Pool
from support import raising_classifier
from support.scripted_steps import Observer, RunWorker, Upload


@pytest.fixture
def steps(pool: Pool) -> Steps:
    return steps_for(pool)


async def test_a_fault_in_the_classification_fails_the_document_and_the_log_names_no_word_of_it(
    upload: Upload,
    working: RunWorker,
    observer: Observer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    raising_classifier.install(monkeypatch)
    monkeypatch.setattr(InternalError, "delays_s", (0.0,))
    accepted = await upload(b"Secret Bill 119.00", file_name="bill.txt")

    async with working():
        document = await observer.until(accepted, "failed")

    ingestion = await observer.ingestion(accepted)
    assert (ingestion.attempt_count, ingestion.error_code, ingestion.failed_step) == (
        3,
        "internal",
        "classify",
    )
    assert document.needs_human_review
    assert "KeyError" in (document.error_message or "")
    assert "classification failed" in caplog.text
    assert "Secret" not in f"{document.error_message}{caplog.text}"
