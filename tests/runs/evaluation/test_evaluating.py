"""Evaluations of pipelines: what becomes of documents in the figures, good and bad."""

import json
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, field_serializer
from tests.runs.components import QUICK, FirstWordExtractor, Letter, MemoryExporter, text_pipeline
from tests.runs.evaluation.evaluated import CallEvaluator, ListExporter, ListLoader, letter_evaluation

from docmill.errors import (
    CorruptError,
    MisconfiguredError,
    RateLimitedError,
    RunExistsError,
    ServerError,
    UnauthorizedError,
    UnknownRunError,
)
from docmill.model.document import Document, Usage
from docmill.ports import Ref
from docmill.runs.context import Context
from docmill.runs.definition import Kind
from docmill.runs.evaluation.evaluating import aevaluate, evaluate
from docmill.runs.evaluation.evaluation_report import EvaluationReport
from docmill.runs.evaluation.evaluators import (
    ExactEvaluator,
    FieldEvaluator,
    FieldEvaluatorConfig,
    FunctionEvaluator,
)
from docmill.runs.events import Event, RunEnded
from docmill.runs.roles import Example, Score
from docmill.runs.stores.memory import MemoryStore

SENDERS = {"anna 1": "anna", "bert 2": "bert", "carl 3": "karl", "dora 4": None}


def refuse(key: str, error: Exception) -> Any:
    def before(document: str, _: int) -> None:
        if document == key:
            raise error

    return before


def test_ten_lines_say_how_good_a_pipeline_is(tmp_path: Path) -> None:
    exporter, shown = MemoryExporter(), ListExporter()

    report = evaluate(
        text_pipeline(exporter=exporter),
        ListLoader(SENDERS),
        [FieldEvaluator()],
        [shown],
        predictions=tmp_path / "predictions.jsonl",
        store=tmp_path / "runs.sqlite",
    )

    figures = report.figures
    assert figures["documents_right"].value == 0.5
    assert figures["recall"].value == pytest.approx(2 / 3)
    assert figures["precision"].value == 0.5
    assert figures["f1"].parts["sender"].value == pytest.approx(4 / 7)
    low, high = figures["f1"].interval or (0, 0)
    assert low < 4 / 7 < high
    assert report.failed == 0
    assert exporter.exported == {}, "results of an evaluation go nowhere else"
    assert shown.reports == [report.content]
    assert "f1: 0.571" in str(report)
    lines = (tmp_path / "predictions.jsonl").read_text().splitlines()
    assert {json.loads(line)["data"]["sender"] for line in lines} == {"anna", "bert", "carl", "dora"}


async def test_figures_are_those_of_docmill_eval(tmp_path: Path) -> None:
    report = await letter_evaluation(tmp_path, SENDERS).arun(store=MemoryStore())

    s2 = report.content["figures"]["tiers"]["S2"]
    for name in ("f1", "precision", "recall", "documents_right"):
        assert report.figures[name].value == pytest.approx(s2[name])
    assert report.figures["f1"].interval == pytest.approx(s2["f1_interval"])


async def test_a_document_that_fails_counts_with_all_its_values_missing(tmp_path: Path) -> None:
    extractor = FirstWordExtractor(refuse("bert 2", CorruptError("torn")))
    own = CallEvaluator()
    evaluation = letter_evaluation(
        tmp_path,
        {"anna 1": "anna", "bert 2": "bert"},
        FieldEvaluator(),
        own,
        pipeline=text_pipeline(extractor=extractor),
    )

    report = await evaluation.arun(store=MemoryStore())

    assert report.failed == 1
    assert report.content["errors"] == {"corrupt": 1}
    assert report.figures["recall"].value == 0.5
    assert report.figures["documents_right"].value == 0.5
    assert own.extracted == {"anna 1": Letter(sender="anna"), "bert 2": None}
    assert [(row.source, row.status) for row in report.documents] == [
        ("anna 1", "completed"),
        ("bert 2", "failed"),
    ]


class SilentEvaluator:
    """Says nothing of documents that failed."""

    def evaluate(self, expected: Letter, extracted: Letter | None, context: Context[Any]) -> Sequence[Score]:
        del expected, context
        return [] if extracted is None else [Score("silent", 1.0, {"part": 1.0}, 3.0, {"part": 2.0})]


async def test_an_evaluator_that_says_nothing_of_a_failure_gives_it_nothing(tmp_path: Path) -> None:
    extractor = FirstWordExtractor(refuse("bert 2", CorruptError("torn")))
    pipeline = text_pipeline(extractor=extractor)

    report = await letter_evaluation(
        tmp_path, {"anna 1": "anna", "bert 2": "bert"}, SilentEvaluator(), pipeline=pipeline
    ).arun(store=MemoryStore())

    assert report.figures["silent"].value == 0.5
    assert report.figures["silent"].parts["part"].value == 0.5


async def test_an_evaluation_that_stopped_is_resumed_without_extracting_again(tmp_path: Path) -> None:
    store, fails = tmp_path / "runs.sqlite", True

    def before(key: str, _: int) -> None:
        if fails and key == "bert 2":
            raise UnauthorizedError("no key")

    extractor = FirstWordExtractor(before)
    evaluation = letter_evaluation(
        tmp_path, {"anna 1": "anna", "bert 2": "bert"}, pipeline=text_pipeline(extractor=extractor)
    )
    with pytest.raises(UnauthorizedError):
        await evaluation.arun(run_id="night", store=store)
    fails = False

    report = await evaluation.aresume("night", store=store)

    assert report.figures["f1"].value == 1
    assert extractor.calls["anna 1"] == 1
    with pytest.raises(RunExistsError):
        await evaluation.arun(run_id="night", store=store)
    with pytest.raises(UnknownRunError):
        await evaluation.aresume("day", store=store)


async def test_failed_documents_are_tried_again_on_request(tmp_path: Path) -> None:
    store, fails = tmp_path / "runs.sqlite", True

    def before(key: str, _: int) -> None:
        if fails and key == "anna 1":
            raise CorruptError("torn")

    pipeline = text_pipeline(extractor=FirstWordExtractor(before))
    evaluation = letter_evaluation(tmp_path, {"anna 1": "anna"}, pipeline=pipeline)
    first = await evaluation.arun(run_id="x", store=store)
    fails = False

    again = await evaluation.aresume("x", store=store)
    retried = await evaluation.aresume("x", retry_failed=True, store=store)

    assert [report.failed for report in (first, again, retried)] == [1, 1, 0]
    assert retried.figures["f1"].value == 1


async def test_another_pipeline_does_not_go_on_with_an_evaluation(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    evaluation = letter_evaluation(tmp_path, {"anna 1": "anna"})
    await evaluation.arun(run_id="x", store=store)

    class OtherExtractor(FirstWordExtractor):
        pass

    other = replace(evaluation, pipeline=text_pipeline(extractor=OtherExtractor()))
    with pytest.raises(MisconfiguredError, match="the pipeline has changed since the evaluation 'x'"):
        await other.aresume("x", store=store)


async def test_results_of_other_runs_in_the_file_of_predictions_do_not_count(tmp_path: Path) -> None:
    store, senders = tmp_path / "runs.sqlite", {"anna 1": "anna", "bert 2": "bert"}
    await letter_evaluation(tmp_path, senders).arun(store=store)
    extractor = FirstWordExtractor(refuse("anna 1", CorruptError("torn")))
    evaluation = letter_evaluation(tmp_path, senders, pipeline=text_pipeline(extractor=extractor))

    report = await evaluation.arun(store=store)

    assert (report.failed, report.figures["recall"].value) == (1, 0.5)
    assert len((tmp_path / "predictions.jsonl").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("content", "message"), [(None, "cannot read"), ("{", "is no file of predictions"), ("[]", "is no file")]
)
async def test_predictions_that_cannot_be_read_are_told(
    tmp_path: Path, content: str | None, message: str
) -> None:
    path = tmp_path / "predictions.jsonl"

    def spoil(event: Event) -> None:
        if isinstance(event, RunEnded):
            path.unlink()
            if content is not None:
                path.write_text(content)

    evaluation = letter_evaluation(tmp_path, {"anna 1": "anna"})
    with pytest.raises(MisconfiguredError, match=message):
        await evaluation.arun(store=MemoryStore(), on_event=spoil)


class Sealed(BaseModel):
    """Data that cannot be read back from its JSON."""

    sender: str | None = None
    pages: int = 1

    @field_serializer("pages")
    def _in_words(self, pages: int) -> str:
        return "one" if pages == 1 else "many"


async def test_data_that_json_does_not_keep_is_told(tmp_path: Path) -> None:
    pipeline: Any = replace(text_pipeline(), schema=Sealed)
    examples: list[Example[Any]] = [Example(Ref("anna 1", "a"), {"sender": "anna"})]

    with pytest.raises(MisconfiguredError, match="the data of 'anna 1' was written as JSON, and its schema"):
        await letter_evaluation(tmp_path, examples, pipeline=pipeline).arun(store=MemoryStore())


async def test_lost_predictions_are_told(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    evaluation = letter_evaluation(tmp_path, {"anna 1": "anna"})
    await evaluation.arun(run_id="x", store=store)
    (tmp_path / "predictions.jsonl").unlink()

    with pytest.raises(MisconfiguredError, match="has nothing of 'anna 1', which the run has done"):
        await evaluation.aresume("x", store=store)


async def test_an_evaluator_that_fails_for_a_document_gives_it_nothing(tmp_path: Path) -> None:
    def score(key: str, _: int) -> float:
        if key == "anna 1":
            raise ValueError("no answer")
        return 1.0

    report = await letter_evaluation(tmp_path, SENDERS, CallEvaluator(score)).arun(store=MemoryStore())

    assert report.figures["own"].value == 0.75
    (row,) = [row for row in report.content["documents"] if row["source"] == "anna 1"]
    assert row["evaluator_errors"] == {"CallEvaluator 1": "internal: ValueError: no answer"}


async def test_an_evaluator_that_fails_for_all_ends_the_evaluation(tmp_path: Path) -> None:
    def score(_: str, __: int) -> float:
        raise ValueError("no answer")

    with pytest.raises(Exception, match="ValueError: no answer"):
        await letter_evaluation(tmp_path, SENDERS, CallEvaluator(score)).arun(store=MemoryStore())


async def test_an_evaluator_that_cannot_judge_failures_ends_nothing_where_all_failed(tmp_path: Path) -> None:
    extractor = FirstWordExtractor(refuse("anna 1", CorruptError("torn")))
    own = FunctionEvaluator(lambda *_: 1)
    careless = CallEvaluator(refuse("anna 1", ValueError("nothing")), "careless")
    pipeline = text_pipeline(extractor=extractor)

    report = await letter_evaluation(tmp_path, {"anna 1": "anna"}, own, careless, pipeline=pipeline).arun(
        store=MemoryStore()
    )

    assert report.figures["judge"].value == 0
    assert "careless" not in report.figures


def test_a_signal_stops_an_evaluation_which_is_resumed(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"

    def before(_: str, call: int) -> None:
        if call == 1 and len(extractor.calls) == 1:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.2)

    class SlowExtractor(FirstWordExtractor):
        def extract(self, document: Document, schema: type[Letter], context: Context[Any]) -> Any:
            self.calls[context.document.ref.key] += 1
            before(context.document.ref.key, self.calls[context.document.ref.key])
            return schema(sender=document.text.split()[0])

    extractor = SlowExtractor()
    pipeline = text_pipeline(extractor=extractor, policy=replace(QUICK, concurrency=1))
    evaluation = letter_evaluation(tmp_path, SENDERS, pipeline=pipeline)

    with pytest.raises(KeyboardInterrupt, match="evaluation x was stopped; resume it to go on"):
        evaluation.run(run_id="x", store=store)
    report = evaluation.resume("x", store=store)

    assert report.figures["documents_right"].value == 0.5
    assert set(extractor.calls.values()) == {1}


async def test_an_evaluator_is_asked_again_after_a_transient_error(tmp_path: Path) -> None:
    def score(_: str, call: int) -> float:
        if call == 1:
            raise ServerError("later")
        if call == 2:
            raise RateLimitedError("slower", retry_after_s=0.0)
        return 1.0

    own = CallEvaluator(score)
    report = await letter_evaluation(tmp_path, SENDERS, own).arun(store=MemoryStore())

    assert report.figures["own"].value == 1
    assert set(own.calls.values()) == {3}


async def test_a_person_must_act_where_an_evaluator_says_so(tmp_path: Path) -> None:
    own = CallEvaluator(refuse("anna 1", UnauthorizedError("no key")))

    with pytest.raises(UnauthorizedError, match="no key"):
        await letter_evaluation(tmp_path, SENDERS, own).arun(store=MemoryStore())


class WordEvaluator:
    """Returns what is no list of scores."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def evaluate(self, expected: Letter, extracted: Letter | None, context: Context[Any]) -> Any:
        del expected, extracted, context
        return self.answer


@pytest.mark.parametrize("answer", [1.0, [1.0], None])
async def test_what_is_no_list_of_scores_is_refused(tmp_path: Path, answer: Any) -> None:
    with pytest.raises(MisconfiguredError, match=r"WordEvaluator returned \w+; it must be a list of scores"):
        await letter_evaluation(tmp_path, SENDERS, WordEvaluator(answer)).arun(store=MemoryStore())


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
async def test_a_score_that_is_no_number_is_refused(tmp_path: Path, value: float) -> None:
    with pytest.raises(MisconfiguredError, match="a score 'own' with a value that cannot be used"):
        await letter_evaluation(tmp_path, SENDERS, CallEvaluator(lambda _key, _call: value)).arun(
            store=MemoryStore()
        )


async def test_two_figures_of_a_name_are_refused(tmp_path: Path) -> None:
    evaluators = FieldEvaluator(), FieldEvaluator(FieldEvaluatorConfig(tier="S0"))

    with pytest.raises(MisconfiguredError, match="both have a figure 'f1'"):
        await letter_evaluation(tmp_path, SENDERS, *evaluators).arun(store=MemoryStore())


@pytest.mark.parametrize(
    ("examples", "message"),
    list[tuple[Any, str]](
        [
            ([], "there are no examples"),
            ([Example(Ref("a", "a"), Letter()), Example(Ref("a", "a"), Letter())], "'a' is there twice"),
            ([Example(Ref("a", "a"), {"sendr": "x"})], "the truth of 'a' names a field 'sendr' .*'sender'"),
            (["a"], "the loader gave str"),
        ]
    ),
)
async def test_bad_examples_are_refused(tmp_path: Path, examples: Any, message: str) -> None:
    with pytest.raises(MisconfiguredError, match=message):
        await letter_evaluation(tmp_path, examples).arun(store=MemoryStore())


async def test_a_component_without_its_method_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MisconfiguredError, match="Letter has no method 'evaluate'"):
        await letter_evaluation(tmp_path, SENDERS, Letter()).arun(store=MemoryStore())


class Note(BaseModel):
    subject: str
    pages: int = 1
    sender: str | None = None


class SecondWordExtractor:
    async def extract(self, document: Document, schema: type[Note], context: Context[Any]) -> Note:
        del context
        words = document.text.split()
        return schema(sender=words[0], subject=words[1])


class NumberClassifier:
    """What ends in an even number is a note."""

    def classify(self, document: Document, context: Context[Any]) -> str:
        del context
        return "note" if int(document.text.split()[-1]) % 2 == 0 else "letter"


async def test_each_type_of_document_is_compared_by_its_own_schema(tmp_path: Path) -> None:
    own = CallEvaluator()
    pipeline = text_pipeline(
        classifier=NumberClassifier(),
        kinds={"note": Kind(schema=Note, extractor=SecondWordExtractor())},
    )
    examples: list[Example[Any]] = [
        Example(Ref("anna 1", "a"), {"sender": "anna"}, "letter"),
        Example(Ref("bert hello 2", "b"), {"subject": "hello"}, "note"),
        Example(Ref("carl 4", "c"), {"sender": "carl"}, "letter"),
        Example(Ref("dora 5", "d"), {"sender": "dora", "subject": "x"}, "note"),
    ]

    report = await letter_evaluation(tmp_path, examples, ExactEvaluator(), own, pipeline=pipeline).arun(
        store=MemoryStore()
    )

    assert report.figures["exact"].value == pytest.approx(4 / 5)
    assert report.content["classification"]["accuracy"] == 0.5
    assert own.extracted["carl 4"] == Letter(sender="carl"), "as a letter, though it was taken for a note"
    assert isinstance(own.extracted["dora 5"], Note)


class Roman(BaseModel):
    sender: int | None = None


async def test_data_of_another_type_that_does_not_fit_counts_as_missing(tmp_path: Path) -> None:
    own = CallEvaluator()
    pipeline = text_pipeline(classifier=NumberClassifier(), kinds={"note": Kind(schema=Roman)})
    pipeline = replace(pipeline, extractor=FirstWordExtractor())
    examples: list[Example[Any]] = [Example(Ref("anna 1", "a"), {"sender": 7}, "note")]

    report = await letter_evaluation(tmp_path, examples, ExactEvaluator(), own, pipeline=pipeline).arun(
        store=MemoryStore()
    )

    assert report.figures["exact"].value == 0
    assert own.extracted == {"anna 1": None}


async def test_groups_widen_intervals(tmp_path: Path) -> None:
    truths = {f"a {n}": "a" if n % 4 else "b" for n in range(40)}
    alone = [Example(Ref(key, key), Letter(sender=sender)) for key, sender in truths.items()]
    grouped = [replace(one, group=str(one.expected)) for one in alone]

    widths: list[float] = []
    for examples in (alone, grouped):
        folder = tmp_path / str(len(widths))
        report = await letter_evaluation(folder, examples).arun(store=MemoryStore())
        low, high = report.figures["documents_right"].interval or (0, 0)
        widths.append(high - low)

    assert widths[1] > 2 * widths[0]


async def test_an_evaluation_runs_in_an_event_loop(tmp_path: Path) -> None:
    senders = {"anna 1": "anna", "bert 2": "x"}
    options: Any = {"predictions": tmp_path / "p.jsonl", "store": MemoryStore()}

    report = await aevaluate(text_pipeline(), ListLoader(senders), [ExactEvaluator()], **options)

    assert report.figures["exact"].value == 0.5
    with pytest.raises(MisconfiguredError, match=r"write: await evaluation\.arun"):
        evaluate(text_pipeline(), ListLoader(senders), [ExactEvaluator()], **options)


async def test_what_evaluators_spend_is_told_apart_from_what_the_pipeline_does(tmp_path: Path) -> None:
    async def ask(expected: Letter, extracted: Letter, context: Context[Any]) -> bool:
        context.document.count_usage(Usage(input_tokens=3, output_tokens=2, cost=Decimal("0.25")))
        return expected == extracted

    report = await letter_evaluation(tmp_path, SENDERS, FunctionEvaluator(ask)).arun(store=MemoryStore())

    spent = report.content["run"]
    assert (spent["tokens"], Decimal(spent["cost"])) == (0, 0)
    assert (spent["evaluator_tokens"], Decimal(spent["evaluator_cost"])) == (20, 1)


class OpenEvaluator(CallEvaluator):
    def __init__(self) -> None:
        super().__init__()
        self.steps: list[str] = []

    async def open(self, context: Context[Any]) -> None:
        self.steps.append(f"open {context.run_id} {context.shared}")

    def prepare(self, expected: Sequence[Letter]) -> None:
        self.steps.append(f"prepare {len(expected)}")

    def close(self) -> None:
        self.steps.append("close")


async def test_evaluators_are_opened_prepared_and_closed(tmp_path: Path) -> None:
    own = OpenEvaluator()

    await letter_evaluation(tmp_path, SENDERS, own).arun(run_id="x", shared="s", store=MemoryStore())

    assert own.steps == ["open x s", "prepare 4", "close"]


async def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    report = await letter_evaluation(tmp_path, SENDERS).arun(store=MemoryStore())

    report.write(tmp_path / "deep" / "report.json")

    read = EvaluationReport.read(tmp_path / "deep" / "report.json")
    assert read.figures == report.figures
    assert read.documents == [replace(row, evidence={}) for row in report.documents]


async def test_predictions_are_beside_the_state_unless_a_file_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    evaluation = replace(letter_evaluation(tmp_path, SENDERS), predictions=None)

    await evaluation.arun(run_id="../x")

    assert (tmp_path / ".docmill" / "evaluations" / "..%2Fx.jsonl").is_file()
