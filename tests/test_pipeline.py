import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import pytest
import zstandard

from docmill.errors import (
    AiContentBlockedError,
    CorruptError,
    DocmillError,
    InternalError,
    NetworkError,
    RateLimitedError,
    ServerError,
    SetupError,
    TimeLimitError,
    TooLargeError,
    TransientError,
    UnauthorizedError,
    UnsupportedFileTypeError,
)
from docmill.model import codec
from docmill.model.corrections import CorrectedValue, Correction, Corrections
from docmill.model.document import Document, Part, Usage
from docmill.model.result import Classification, Evidence, Extraction, Failure, Schema, Suggestion, Verdict
from docmill.pipeline import DocumentIO, Steps, TimeLimits, process
from docmill.ports import Findings, Journal, Original, PageJournal, PartFile, Ref, Understood
from docmill.resilience.spending import Meter, Spending
from docmill.runs.in_memory import MemoryExporter, MemoryJournal
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Party, Receipt
from docmill.testing.steps import FakeExtractor, FakeUnderstander, MemoryReader
from docmill.understanding.gate import RuleGate
from docmill.understanding.router import GateRouter
from docmill.understanding.second_readers import ModelReader

MakeIO = Callable[..., DocumentIO]
REF = Ref(key="a.pdf", name="a.pdf")
FREE, PAID = Usage(), Usage(input_tokens=9)
CALL = Usage(input_tokens=100, output_tokens=10, model="small", cost=Decimal("0.01"))


class Converting:
    """Gives one document and counts how often it was asked."""

    def __init__(
        self, document: Document, *, error: Exception | None = None, pictures: bytes | None = None
    ) -> None:
        self.calls = 0
        self._document = document
        self._error = error
        self._pictures = pictures

    async def convert(self, original: Original, pages: PageJournal | None = None) -> Document:
        self.calls += 1
        assert original.path.read_bytes() == b"%PDF"
        if self._error:
            raise self._error
        if self._pictures is not None and pages is not None:
            await pages.keep_pictures(self._pictures)
        return self._document


class Classifying:
    def __init__(self, *, error: Exception | None = None) -> None:
        self._error = error

    async def understand(
        self,
        document: Document,
        original: Original | None = None,
        *,
        schemas: Mapping[str, Schema],
        tags: Sequence[str] = (),
    ) -> Understood:
        del original, schemas, tags
        assert document.pages
        if self._error:
            raise self._error
        return Understood(Classification(document_type="receipt", title="Receipt", confidence=1))


class Endless:
    cancelled = False

    async def understand(
        self,
        document: Document,
        original: Original | None = None,
        *,
        schemas: Mapping[str, Schema],
        tags: Sequence[str] = (),
    ) -> Understood:
        del original, schemas, tags
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled = True
        return Understood(Classification(title=document.text))


class Extracting:
    def __init__(self, *, endless: bool = False) -> None:
        self._endless = endless

    async def extract(
        self, document: Document, schema: Schema, original: Original | None = None
    ) -> Extraction:
        del original
        if self._endless:
            await asyncio.Event().wait()
        (place,) = document.find("12.50")
        evidence = Evidence(
            page=place.page_number, box=place.box, text=place.text, match="exact", confidence=1.0
        )
        return Extraction(document_type=schema.name, data=Receipt(), evidence={"gross_total": evidence})


class Judging:
    def judge(self, document: Document, extraction: Extraction, schema: Schema) -> Verdict:
        assert schema.name == extraction.document_type
        assert document.find("12.50")
        assert "gross_total" in extraction.evidence
        return Verdict(failures=(Failure(check="critical", message="no date", fields=("issue_date",)),))


@pytest.fixture
def steps(make_document: Callable[..., Document]) -> Steps:
    return Steps(
        converter=Converting(make_document("Total   12.50")),
        understander=Classifying(),
        extractor=Extracting(),
        router=GateRouter(Judging()),
    )


@pytest.fixture
def io(tmp_path: Path) -> MakeIO:
    """From a file in memory into memory, with the given parts instead."""

    def make(journal: Journal | None = None, **parts: object) -> DocumentIO:
        usual = DocumentIO(
            MemoryReader({"a.pdf": b"%PDF"}, tmp_path), MemoryExporter(), journal or MemoryJournal()
        )
        return replace(usual, **parts)  # pyright: ignore[reportArgumentType]

    return make


async def test_a_document_is_named_by_its_fields(io: MakeIO, steps: Steps) -> None:
    class Reading(Extracting):
        async def extract(
            self, document: Document, schema: Schema, original: Original | None = None
        ) -> Extraction:
            found = await super().extract(document, schema, original)
            return found.model_copy(update={"data": Receipt(seller=Party(name="Corner Shop"))})

    result = await process(REF, replace(steps, extractor=Reading()), io())

    assert result.classification.title == "Receipt, Corner Shop"
    assert result.classification.summary == "Receipt from Corner Shop."


@pytest.mark.parametrize("is_read_by_one_schema", [True, False])
async def test_the_type_is_asked_only_where_it_decides_the_schema(
    io: MakeIO, steps: Steps, *, is_read_by_one_schema: bool
) -> None:
    class Doubting(Classifying):
        async def understand(
            self,
            document: Document,
            original: Original | None = None,
            *,
            schemas: Mapping[str, Schema],
            tags: Sequence[str] = (),
        ) -> Understood:
            del tags
            read = await Extracting().extract(document, schemas["receipt"], original)
            doubt = Failure(check="document_type", message="Please say of which type it is.")
            found = Classification(
                document_type="receipt", title="Receipt", confidence=1, doubt=doubt.message
            )
            return Understood(found, read.model_copy(update={"failures": (doubt,)}))

    schema = REGISTRY["receipt"] if is_read_by_one_schema else None
    result = await process(REF, replace(steps, understander=Doubting(), schema=schema), io())

    assert result.extraction is not None
    asked = {failure.check for failure in result.extraction.failures}
    assert ("document_type" in asked) is not is_read_by_one_schema
    assert bool(result.classification.doubt) is not is_read_by_one_schema


async def test_a_document_whose_values_stay_as_they_were_read_keeps_its_name(
    io: MakeIO, steps: Steps
) -> None:
    class Naming(Classifying):
        async def understand(
            self,
            document: Document,
            original: Original | None = None,
            *,
            schemas: Mapping[str, Schema],
            tags: Sequence[str] = (),
        ) -> Understood:
            found = await super().understand(document, original, schemas=schemas, tags=tags)
            read = await Extracting().extract(document, schemas["receipt"], original)
            data = Receipt(seller=Party(name="Corner Shop"))
            named = found.classification.model_copy(update={"title": "Receipt of the corner shop"})
            return Understood(named, read.model_copy(update={"data": data}))

    result = await process(REF, replace(steps, understander=Naming()), io())

    assert result.classification.title == "Receipt of the corner shop"


async def test_a_party_that_is_only_suggested_is_no_tag(io: MakeIO, steps: Steps) -> None:
    class Doubting(Extracting):
        async def extract(
            self, document: Document, schema: Schema, original: Original | None = None
        ) -> Extraction:
            read = await super().extract(document, schema, original)
            perhaps = Suggestion(value="Corner Shop", evidence=read.evidence["gross_total"])
            return read.model_copy(update={"suggestions": {"seller.name": (perhaps,)}})

    named = Classification(document_type="receipt", tags=("Corner shop", "bread"), confidence=1)

    result = await process(
        REF, replace(steps, understander=FakeUnderstander(named), extractor=Doubting()), io()
    )

    assert result.classification.tags == ("bread",)


async def test_fields_that_come_with_the_type_are_not_read_again(io: MakeIO, steps: Steps) -> None:
    class Whole(Classifying):
        async def understand(
            self,
            document: Document,
            original: Original | None = None,
            *,
            schemas: Mapping[str, Schema],
            tags: Sequence[str] = (),
        ) -> Understood:
            found = await super().understand(document, original, schemas=schemas, tags=tags)
            read = await Extracting().extract(document, schemas["receipt"], original)
            return Understood(found.classification, read)

    unasked = replace(steps, understander=Whole(), extractor=Extracting(endless=True))

    result = await process(REF, unasked, io())

    assert result.extraction is not None
    assert "gross_total" in result.extraction.evidence


async def test_fields_by_the_schema_of_another_type_are_read_again(io: MakeIO, steps: Steps) -> None:
    class Elsewhere(Classifying):
        async def understand(
            self,
            document: Document,
            original: Original | None = None,
            *,
            schemas: Mapping[str, Schema],
            tags: Sequence[str] = (),
        ) -> Understood:
            found = await super().understand(document, original, schemas=schemas, tags=tags)
            read = await Extracting().extract(document, schemas["invoice"], original)
            return Understood(found.classification, read)

    result = await process(REF, replace(steps, understander=Elsewhere()), io())

    assert result.extraction is not None
    assert result.extraction.document_type == "receipt"


@dataclass(frozen=True)
class Known:
    """`CorrectionSource` that knows these documents."""

    documents: tuple[Correction, ...] = ()

    async def find(self, document: Document, schema: Schema) -> Corrections:
        assert document.pages
        assert schema.name
        return Corrections(self.documents)


class Correcting:
    """`Corrector` that takes the shop's name from the corrections."""

    async def correct(
        self, document: Document, schema: Schema, read: Extraction, corrections: Corrections
    ) -> Extraction:
        assert document.pages
        assert schema.name == read.document_type
        name = corrections.documents[0].values["seller.name"].value
        return read.model_copy(update={"data": Receipt(seller=Party(name=name))})


async def test_what_was_read_is_put_right_by_corrections_of_earlier_documents(
    io: MakeIO, steps: Steps
) -> None:
    values = {"seller.name": CorrectedValue("Corner Shop")}
    known = Known((Correction("earlier.pdf", frozenset(), frozenset(), values),))

    corrected = await process(REF, replace(steps, corrector=Correcting()), io(corrections=known))
    nobody_asked = await process(REF, replace(steps, corrector=Correcting()), io())
    nothing_found = await process(REF, replace(steps, corrector=Correcting()), io(corrections=Known()))

    assert corrected.classification.title == "Receipt, Corner Shop"
    assert nobody_asked.classification.title == nothing_found.classification.title == "Receipt"


async def test_a_document_goes_from_its_source_to_its_export(io: MakeIO, steps: Steps) -> None:
    exporter = MemoryExporter()

    result = await process(REF, steps, io(exporter=exporter))

    assert exporter.results["a.pdf"] is result
    assert result.extraction is not None
    assert result.verdict is not None
    assert not result.verdict.passed
    assert result.classification.title == "Receipt"
    assert {"read", "transcribe", "classify", "extract"} <= set(result.timings_s)


async def test_a_retry_reuses_the_transcription(
    io: MakeIO, steps: Steps, make_document: Callable[..., Document]
) -> None:
    converter, journal = Converting(make_document("Total   12.50")), MemoryJournal()
    steps = replace(steps, converter=converter)

    await process(REF, steps, io(journal))
    await process(REF, steps, io(journal))

    assert converter.calls == 1
    assert codec.loads(await journal.get("transcription") or b"").text == "Total   12.50"


async def test_an_unreadable_transcription_is_made_anew(
    io: MakeIO, steps: Steps, make_document: Callable[..., Document]
) -> None:
    converter = Converting(make_document("Total   12.50"), pictures=b"%PDF pictures")
    journal = MemoryJournal()
    await journal.put("transcription", b"torn")
    await journal.put("preprocessed", b"torn, too")
    steps = replace(steps, converter=converter)

    await process(REF, steps, io(journal))
    await process(REF, steps, io(journal), attempt=2)

    assert converter.calls == 1
    assert codec.loads(await journal.get("transcription") or b"").text == "Total   12.50"
    assert await journal.get("preprocessed") == b"%PDF pictures"


async def test_a_transcription_of_a_newer_release_waits_for_it_and_is_no_attempt(
    io: MakeIO, steps: Steps, make_document: Callable[..., Document]
) -> None:
    converter, journal = Converting(make_document("Total   12.50")), MemoryJournal()
    newer = zstandard.compress(b'{"format": 99}')
    await journal.put("transcription", newer)

    with pytest.raises(ServerError, match="newer release") as caught:
        await process(REF, replace(steps, converter=converter), io(journal))

    assert not caught.value.attempted
    assert converter.calls == 0
    assert await journal.get("transcription") == newer


async def test_preprocessed_pictures_are_kept_before_the_transcription_that_speaks_of_them(
    io: MakeIO, steps: Steps, make_document: Callable[..., Document]
) -> None:
    class Noting(MemoryJournal):
        def __init__(self) -> None:
            super().__init__()
            self.put_so_far: list[str] = []

        async def put(self, step: str, result: bytes) -> None:
            self.put_so_far.append(step)
            await super().put(step, result)

    converter = Converting(make_document("Total   12.50"), pictures=b"%PDF pictures")
    journal = Noting()

    await process(REF, replace(steps, converter=converter), io(journal))
    await process(REF, replace(steps, converter=converter), io(journal))

    assert journal.put_so_far == ["preprocessed", "transcription"]
    assert await journal.get("preprocessed") == b"%PDF pictures"


class Hearing:
    """`Observer` that notes what it is told."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.ended: list[tuple[str, BaseException | None]] = []
        self.found: list[Findings] = []

    async def step_started(self, step: str) -> None:
        self.steps.append(step)

    def step_ended(self, step: str, *, seconds: float, error: BaseException | None) -> None:
        assert seconds >= 0
        assert step == self.steps[-1]
        self.ended.append((step, error))

    async def record(self, findings: Findings) -> None:
        self.found.append(findings)


async def test_the_observer_hears_the_start_and_end_of_each_step_in_order(io: MakeIO, steps: Steps) -> None:
    observer = Hearing()

    await process(REF, steps, io(observer=observer))

    assert observer.steps == ["read", "transcribe", "classify", "extract", "export"]
    assert observer.ended == [(step, None) for step in observer.steps]
    read, classified = observer.found
    assert read.document is not None
    assert read.document.text == "Total   12.50"
    assert classified.classification == Classification(document_type="receipt", title="Receipt", confidence=1)


async def test_the_observer_hears_which_error_ended_a_step(io: MakeIO, steps: Steps) -> None:
    away, late = Hearing(), Hearing()
    error = NetworkError("away")

    await process(REF, replace(steps, understander=Classifying(error=error)), io(observer=away))
    await process(
        REF, replace(steps, understander=Endless(), limits=TimeLimits(classify_s=0.01)), io(observer=late)
    )

    assert dict(away.ended)["classify"] is error
    assert isinstance(dict(late.ended)["classify"], TimeLimitError)


@pytest.mark.parametrize("error", [NetworkError("away"), CorruptError("a rule failed.")])
async def test_a_failed_classification_leaves_the_document_without_title_and_asks_for_its_type(
    io: MakeIO, steps: Steps, error: Exception
) -> None:
    failing = replace(steps, understander=Classifying(error=error))

    result = await process(REF, failing, io())

    assert result.classification.title is None
    assert result.classification.document_type == "other"
    assert result.extraction is not None
    (asked,) = result.extraction.failures
    assert asked.check == "document_type"
    assert str(error).rstrip(".") in asked.message
    assert result.classification.model_error is error
    assert [step.kind for step in result.extraction.steps].count("not_classified") == 1


async def test_a_classification_that_failed_is_tried_again_before_a_person_is_asked(
    io: MakeIO, steps: Steps
) -> None:
    failing = replace(steps, understander=Classifying(error=NetworkError("away")))

    with pytest.raises(NetworkError, match="away") as caught:
        await process(REF, failing, io(), attempt=1, max_attempts=2)

    assert caught.value.step == "classify"


async def test_a_fault_in_the_classification_fails_the_document(
    io: MakeIO, steps: Steps, caplog: pytest.LogCaptureFixture
) -> None:
    failing = replace(steps, understander=Classifying(error=InternalError("reading failed with KeyError")))

    with pytest.raises(InternalError, match="KeyError") as caught:
        await process(REF, failing, io())

    assert caught.value.step == "classify"
    logged = [record for record in caplog.records if record.getMessage() == "classification failed"]
    assert [(record.levelname, vars(record)["code"]) for record in logged] == [("ERROR", "internal")]


async def test_a_chosen_type_needs_no_classification_that_works(io: MakeIO, steps: Steps) -> None:
    failing = replace(steps, understander=Classifying(error=InternalError("reading failed with KeyError")))

    result = await process(REF, failing, io(document_type="receipt"))

    assert result.classification.document_type == "receipt"
    assert result.extraction is not None
    assert not result.extraction.failures


async def test_a_failed_classification_asks_nothing_where_a_person_chose_the_type(
    io: MakeIO, steps: Steps
) -> None:
    failing = replace(steps, understander=Classifying(error=NetworkError("away")))

    result = await process(REF, failing, io(document_type="receipt"))

    assert result.classification.document_type == "receipt"
    assert result.extraction is not None
    assert not result.extraction.failures


async def test_a_classifier_that_never_answers_is_cancelled_and_the_document_is_of_use(
    io: MakeIO, steps: Steps
) -> None:
    classifier = Endless()

    result = await process(
        REF, replace(steps, understander=classifier, limits=TimeLimits(classify_s=0.01)), io()
    )

    assert classifier.cancelled
    assert result.classification.title is None
    assert result.extraction is not None
    assert [failure.check for failure in result.extraction.failures] == ["document_type"]


@pytest.mark.parametrize(("confidence", "title"), [(0.5, "a.pdf"), (0.49, None)])
async def test_a_document_that_says_no_title_is_called_by_its_file_if_its_kind_is_sure(
    io: MakeIO, steps: Steps, confidence: float, title: str | None
) -> None:
    untitled = FakeUnderstander(Classification(confidence=confidence))

    result = await process(REF, replace(steps, understander=untitled), io())

    assert result.classification.title == title


async def test_a_classifier_is_told_the_tags_in_use(io: MakeIO, steps: Steps) -> None:
    async def tags() -> list[str]:
        return ["Rent", "Paper"]

    class Tagging:
        async def understand(
            self,
            document: Document,
            original: Original | None = None,
            *,
            schemas: Mapping[str, Schema],
            tags: Sequence[str] = (),
        ) -> Understood:
            del document, original, schemas
            return Understood(Classification(title="Lease", tags=tuple(tags)))

    result = await process(REF, replace(steps, understander=Tagging()), io(tags=tags))

    assert result.classification.tags == ("Rent", "Paper")


async def test_a_document_whose_classifier_was_not_asked_waits_for_it(io: MakeIO, steps: Steps) -> None:
    waiting = replace(steps, understander=Classifying(error=NetworkError("left alone", attempted=False)))

    with pytest.raises(NetworkError) as caught:
        await process(REF, waiting, io())

    assert caught.value.step == "classify"


async def test_a_setup_that_cannot_classify_is_for_a_person_to_mend(io: MakeIO, steps: Steps) -> None:
    failing = replace(steps, understander=Classifying(error=UnauthorizedError("no key")))

    with pytest.raises(UnauthorizedError):
        await process(REF, failing, io())


async def test_an_unsupported_type_is_completed_under_its_file_name(
    io: MakeIO, steps: Steps, make_document: Callable[..., Document]
) -> None:
    refusal = UnsupportedFileTypeError("cannot read films", media_type="video/mp4")
    exporter = MemoryExporter()
    steps = replace(steps, converter=Converting(make_document("x"), error=refusal))

    result = await process(REF, steps, io(exporter=exporter))

    assert (result.classification.title, result.media_type) == ("a.pdf", "video/mp4")
    assert result.refusal == "cannot read films"
    assert exporter.results["a.pdf"].extraction is None


@pytest.mark.parametrize(
    ("text", "problem", "reason"),
    [("", None, "no word was read"), ("Please wait...", "kept as XFA", "kept as XFA")],
)
async def test_pages_on_which_nothing_was_read_are_kept_under_their_file_name(
    io: MakeIO,
    make_document: Callable[..., Document],
    text: str,
    problem: str | None,
    reason: str,
) -> None:
    document = make_document(text)
    document = replace(document, pages=[replace(page, problem=problem) for page in document.pages])
    steps = Steps(Converting(document), FakeUnderstander(), FakeExtractor(), GateRouter(RuleGate()))

    result = await process(REF, steps, io())
    chosen = await process(REF, steps, io(document_type="invoice"))

    assert result.classification.title == "a.pdf"
    assert (result.refusal or "").startswith(reason)
    assert result.extraction is None
    assert chosen.refusal is None


@pytest.mark.parametrize("schema", [None, Schema("folder", Receipt)])
async def test_xml_that_is_no_known_einvoice_is_kept_unless_a_person_or_a_model_has_it_read(
    io: MakeIO, make_document: Callable[..., Document], schema: Schema | None
) -> None:
    document = make_document("<Fattura> <Numero>7</Numero> </Fattura>", media_type="application/xml")
    steps = Steps(Converting(document), FakeUnderstander(), FakeExtractor(), GateRouter(RuleGate()))
    paid = Extraction(document_type="receipt", data=Receipt(), evidence={}, usage=CALL)
    asked = replace(steps, extractor=FakeExtractor(paid), understander=Classifying())

    result = await process(REF, replace(steps, schema=schema), io())
    chosen = await process(REF, steps, io(document_type="invoice"))
    by_model = await process(REF, asked, io())

    assert bool(result.refusal) is (schema is None)
    assert result.document == document  # its text is found and shown
    assert chosen.refusal is by_model.refusal is None


async def test_an_error_says_which_step_it_came_from(
    io: MakeIO, steps: Steps, make_document: Callable[..., Document]
) -> None:
    steps = replace(steps, converter=Converting(make_document("x"), error=ServerError("full")))

    with pytest.raises(ServerError) as caught:
        await process(REF, steps, io())

    assert caught.value.step == "transcribe"


async def test_a_missing_original_is_an_error_of_the_read_step(io: MakeIO, steps: Steps) -> None:
    with pytest.raises(CorruptError, match="gone") as caught:
        await process(Ref("b.pdf", "b.pdf"), steps, io())

    assert caught.value.step == "read"


async def test_a_step_over_its_limit_is_cancelled(io: MakeIO, steps: Steps) -> None:
    steps = replace(steps, extractor=Extracting(endless=True), limits=TimeLimits(extract_s=0.01))

    with pytest.raises(TimeLimitError, match=r"'extract' took longer than 0\.01 s") as caught:
        await process(REF, steps, io())

    assert caught.value.step == "extract"


async def test_the_limit_of_the_whole_document_holds_too(io: MakeIO, steps: Steps) -> None:
    steps = replace(steps, extractor=Extracting(endless=True), limits=TimeLimits(document_s=0.05))

    with pytest.raises(TimeLimitError) as caught:
        await process(REF, steps, io())

    assert caught.value.step == "process"


class Silent:
    name = "silent model"

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


@pytest.mark.parametrize("limits", [TimeLimits(extract_s=4), TimeLimits(document_s=4)])
async def test_what_rules_found_survives_a_model_that_never_answers(
    io: MakeIO, steps: Steps, limits: TimeLimits
) -> None:
    router = GateRouter(Judging(), [ModelReader(Silent())], limit_s=600)

    result = await process(REF, replace(steps, router=router, limits=limits), io())

    assert result.extraction is not None
    assert "gross_total" in result.extraction.evidence
    assert re.search(r"given up after 3\.\d", result.extraction.reason)


class Wanting:
    """Finds what it finds by rule, since a model failed."""

    def __init__(self, error: TransientError | SetupError | None, usage: Usage = FREE) -> None:
        self._update = {"model_error": error, "usage": usage}

    async def extract(
        self, document: Document, schema: Schema, original: Original | None = None
    ) -> Extraction:
        return (await Extracting().extract(document, schema, original)).model_copy(update=self._update)


class Telling:
    """A model that says what a document is, or fails to, and counts how often it was asked."""

    def __init__(self, error: DocmillError | None = None, usage: Usage = PAID) -> None:
        self.calls = 0
        self._found = Classification(
            document_type="receipt", title="Receipt", confidence=1, usage=usage, model_error=error
        )

    async def understand(
        self,
        document: Document,
        original: Original | None = None,
        *,
        schemas: Mapping[str, Schema],
        tags: Sequence[str] = (),
    ) -> Understood:
        del schemas, tags
        assert document.pages
        assert original
        self.calls += 1
        return Understood(self._found)


async def test_what_a_model_may_say_later_is_not_exported_before_the_last_attempt(
    io: MakeIO, steps: Steps
) -> None:
    exporter = MemoryExporter()
    steps = replace(steps, extractor=Wanting(ServerError("down")))

    with pytest.raises(ServerError, match="down") as caught:
        await process(REF, steps, io(exporter=exporter), attempt=2, max_attempts=3)
    nothing = dict(exporter.results)
    result = await process(REF, steps, io(exporter=exporter), attempt=3, max_attempts=3)

    assert caught.value.step == "extract"
    assert nothing == {}
    assert exporter.results == {"a.pdf": result}


async def test_a_title_that_a_model_may_say_later_is_waited_for_too_and_the_reason_says_it(
    io: MakeIO,
    steps: Steps,
) -> None:
    steps = replace(steps, understander=Telling(RateLimitedError("slow", retry_after_s=7)))

    with pytest.raises(RateLimitedError) as caught:
        await process(REF, steps, io(), attempt=1, max_attempts=2)
    result = await process(REF, steps, io(), attempt=2, max_attempts=2)

    assert (caught.value.step, caught.value.retry_after_s) == ("classify", 7)
    assert result.classification.title == "Receipt"
    assert result.extraction is not None
    assert result.extraction.reason == "no model said what it is: it failed (rate_limited): slow"


async def test_a_model_that_refuses_the_document_is_not_waited_for(io: MakeIO, steps: Steps) -> None:
    steps = replace(steps, understander=Telling(AiContentBlockedError("not this")))

    result = await process(REF, steps, io(), max_attempts=3)

    assert result.extraction is not None
    assert result.extraction.reason == "no model said what it is: it failed (ai_content_blocked): not this"


async def test_a_document_waits_as_long_as_nobody_could_be_asked(io: MakeIO, steps: Steps) -> None:
    left_alone = ServerError("left alone", retry_after_s=30, attempted=False)
    steps = replace(steps, extractor=Wanting(left_alone))

    with pytest.raises(ServerError) as caught:
        await process(REF, steps, io(), attempt=3, max_attempts=3)

    assert not caught.value.attempted


@pytest.mark.parametrize("usage", [FREE, PAID])
async def test_a_document_waits_for_a_person_who_must_mend_a_model_and_shows_what_rules_found(
    io: MakeIO, steps: Steps, usage: Usage
) -> None:
    observer = Hearing()
    steps = replace(steps, extractor=Wanting(UnauthorizedError("no key"), usage=usage))

    with pytest.raises(UnauthorizedError) as caught:
        await process(REF, steps, io(observer=observer), attempt=3, max_attempts=3)

    assert caught.value.step == "extract"
    assert observer.found[-1].extraction is not None


async def test_a_document_waits_for_a_person_who_must_mend_the_model_that_says_what_it_is(
    io: MakeIO,
    steps: Steps,
) -> None:
    observer = Hearing()
    steps = replace(steps, understander=Telling(UnauthorizedError("no key"), usage=FREE))

    with pytest.raises(UnauthorizedError) as caught:
        await process(REF, steps, io(observer=observer), attempt=3, max_attempts=3)

    assert caught.value.step == "classify"
    assert observer.found[-1].classification is not None
    assert observer.found[-1].extraction is not None


async def test_what_there_is_counts_where_a_model_refuses_one_document_alone_at_its_last_attempt(
    io: MakeIO,
    steps: Steps,
) -> None:
    alone = UnauthorizedError("403")
    alone.is_own = True
    steps = replace(steps, extractor=Wanting(alone))

    with pytest.raises(UnauthorizedError):
        await process(REF, steps, io(), attempt=2, max_attempts=3)
    result = await process(REF, steps, io(), attempt=3, max_attempts=3)

    assert result.extraction is not None
    assert "gross_total" in result.extraction.evidence


async def test_an_attempt_in_which_another_model_was_paid_counts(io: MakeIO, steps: Steps) -> None:
    left_alone = ServerError("left alone", retry_after_s=30, attempted=False)
    steps = replace(steps, extractor=Wanting(left_alone, usage=PAID))

    with pytest.raises(ServerError, match="left alone") as caught:
        await process(REF, steps, io(), attempt=1, max_attempts=2)
    result = await process(REF, steps, io(), attempt=2, max_attempts=2)

    assert caught.value.attempted
    assert caught.value.retry_after_s == 30
    assert result.extraction is not None


async def test_what_a_model_said_a_document_is_is_not_asked_again(io: MakeIO, steps: Steps) -> None:
    classifier, journal = Telling(), MemoryJournal()
    failing = replace(steps, understander=classifier, extractor=Wanting(ServerError("down")))

    with pytest.raises(ServerError):
        await process(REF, failing, io(journal), attempt=1, max_attempts=2)
    result = await process(REF, failing, io(journal), attempt=2, max_attempts=2)

    assert classifier.calls == 1
    assert result.classification.title == "Receipt"


async def test_a_stored_classification_that_cannot_be_read_is_made_anew(io: MakeIO, steps: Steps) -> None:
    classifier, journal = Telling(), MemoryJournal()
    await journal.put("classification", b"half a fi")

    await process(REF, replace(steps, understander=classifier), io(journal), attempt=2, max_attempts=2)

    assert classifier.calls == 1


class Paying:
    """Pays for a call while it extracts, and fails or says of itself what it has cost."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    async def extract(
        self, document: Document, schema: Schema, original: Original | None = None
    ) -> Extraction:
        meter = Meter(Decimal(1), document.usage)
        meter.add(CALL)
        if self._error is not None:
            raise self._error
        found = await Extracting().extract(document, schema, original)
        return found.model_copy(update={"usage": meter.usage})


async def test_what_failed_attempts_have_cost_counts_with_the_document(io: MakeIO, steps: Steps) -> None:
    journal, totals = MemoryJournal(), list[Usage]()
    spending = Spending(changed=totals.append)

    failing = replace(steps, extractor=Paying(ServerError("down")))
    with pytest.raises(ServerError):
        await process(REF, failing, io(journal), spending=spending)
    later = Spending(spending.total, changed=totals.append)
    result = await process(REF, replace(steps, extractor=Paying()), io(journal), attempt=2, spending=later)

    assert totals == [CALL, CALL.plus(CALL)]
    assert result.usage == later.total == CALL.plus(CALL)
    assert later.attempt == CALL


async def test_what_a_step_says_of_its_own_cost_counts_once_and_reading_is_paid_once(
    io: MakeIO, steps: Steps, make_document: Callable[..., Document]
) -> None:
    read = replace(make_document("Total   12.50"), usage=CALL)
    journal, spending = MemoryJournal(), Spending()
    steps = replace(steps, converter=Converting(read), understander=Telling(usage=CALL))

    with pytest.raises(ServerError):
        await process(
            REF, replace(steps, extractor=Paying(ServerError("down"))), io(journal), spending=spending
        )
    result = await process(
        REF, replace(steps, extractor=Paying()), io(journal), attempt=2, spending=Spending(spending.total)
    )
    uncounted = await process(REF, replace(steps, extractor=Extracting()), io(journal), attempt=3)

    assert spending.total.cost == 3 * CALL.cost
    assert result.usage
    assert result.usage.cost == 4 * CALL.cost
    assert uncounted.usage == CALL


async def test_a_budget_is_that_of_the_document_and_not_of_the_attempt() -> None:
    with Spending(Usage(cost=Decimal("0.03"))).counting():
        meter = Meter(Decimal("0.04"), Usage())
        first = meter.is_spent
        meter.add(CALL)

        assert (first, meter.is_spent) == (False, True)
        assert Meter(Decimal("0.04"), Usage()).is_spent
    assert not Meter(Decimal("0.04"), Usage()).is_spent


async def test_a_time_out_that_is_not_ours_passes_through(
    io: MakeIO, steps: Steps, make_document: Callable[..., Document]
) -> None:
    steps = replace(steps, converter=Converting(make_document("x"), error=TimeoutError()))

    with pytest.raises(TimeoutError):
        await process(REF, steps, io())


class Unpacking:
    """Writes each part's name into its file."""

    async def unpack(self, original: Original, document: Document, folder: Path) -> list[PartFile]:
        assert original.path.is_file()
        files: list[PartFile] = []
        for part in document.parts:
            path = folder / part.name
            path.write_text(part.name)
            files.append(PartFile(part, path))
        return files


class Receiving:
    def __init__(self, folder: Path, *, error: Exception | None = None) -> None:
        self.received: dict[str, str | None] = {}
        self._folder = folder
        self._error = error

    async def folder(self, ref: Ref) -> Path:
        assert ref == REF
        if self._error:
            raise self._error
        return self._folder

    async def receive(self, ref: Ref, parts: Sequence[PartFile]) -> list[Part]:
        assert ref == REF
        self.received |= {file.part.name: file.path.read_text() if file.path else None for file in parts}
        return [file.part for file in parts]


ATTACHED = (Part("a.pdf", "attachment"), Part("b.pdf", "attachment"))


async def test_parts_are_taken_out_and_handed_on(
    io: MakeIO, steps: Steps, tmp_path: Path, make_document: Callable[..., Document]
) -> None:
    mail = replace(make_document("Total   12.50"), parts=ATTACHED)
    receiver = Receiving(tmp_path)

    result = await process(
        REF,
        replace(steps, converter=Converting(mail), unpacker=Unpacking()),
        io(receiver=receiver),
    )

    assert receiver.received == {"a.pdf": "a.pdf", "b.pdf": "b.pdf"}
    assert result.document is not None
    assert result.document.parts == ATTACHED
    assert result.extraction is not None


async def test_parts_that_cannot_be_taken_out_say_why_and_do_not_stop_the_whole(
    io: MakeIO, steps: Steps, tmp_path: Path, make_document: Callable[..., Document]
) -> None:
    mail = replace(make_document("Total   12.50"), parts=ATTACHED)
    receiver = Receiving(tmp_path, error=TooLargeError("nested too deep"))

    result = await process(
        REF,
        replace(steps, converter=Converting(mail), unpacker=Unpacking()),
        io(receiver=receiver),
    )

    assert receiver.received == {"a.pdf": None, "b.pdf": None}
    assert result.document is not None
    assert {part.problem for part in result.document.parts} == {"nested too deep"}
    assert result.extraction is not None


@pytest.mark.parametrize("count", [2, 12])
async def test_what_only_holds_others_is_named_and_not_extracted(
    io: MakeIO, steps: Steps, make_document: Callable[..., Document], count: int
) -> None:
    names = [f"{number}.pdf" for number in range(count)]
    archive = Document("0" * 64, "application/zip", [], parts=tuple(Part(name, "member") for name in names))
    scan = replace(make_document("x"), parts=tuple(Part(name, "section", 1, 1) for name in names))

    for document in (archive, scan):
        result = await process(REF, replace(steps, converter=Converting(document)), io())

        assert result.classification.title == "a.pdf"
        assert result.classification.document_type == "other"
        assert f"Holds {count} documents: 0.pdf, 1.pdf" in (result.classification.summary or "")
        assert ("and 2 more" in (result.classification.summary or "")) == (count == 12)
        assert result.extraction is None


async def test_parts_are_remembered_with_the_transcription(make_document: Callable[..., Document]) -> None:
    split = replace(
        make_document("x"), parts=(Part("p. 1", "section", 1, 1), Part("b", "member", problem="no"))
    )

    assert codec.loads(codec.dumps(split)).parts == split.parts
