import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from docmill.errors import MisconfiguredError
from docmill.model.corrections import Weights
from docmill.model.document import Document
from docmill.schemas.user_schemas import schema_of
from docmill.understanding.corrections.evaluate import held_out_figures, learned_model
from docmill.understanding.corrections.fit import fit_layouts, fit_model, fit_weights
from docmill.understanding.log_odds import Outcome, fitted_shift
from docmill.understanding.offline import make_judged_example, read_pages
from docmill.understanding.user_schemas.extractor import extract_user_schema
from docmill.understanding.user_schemas.schema_model import (
    Example,
    FieldExample,
    HeldOut,
    SchemaModel,
    dumps,
    loads,
)

Typeset = Callable[..., Document]
MakeExample = Callable[..., Example]

WANTED = schema_of({"title": "job", "type": "object", "properties": {"job_number": {"type": "string"}}})


def ticket(number: int) -> str:
    """What its owner calls the job number stands beside a label that says something else."""
    return f"""
Workshop ticket of the garage by the river

Job number    {number + 40000}
Kennung       KN{number:05}

Please bring this paper along when collecting your bicycle
"""


def read(document: Document, model: SchemaModel | None = None) -> Any:  # noqa: ANN401 - of the schema's model
    extraction = extract_user_schema(document, WANTED, model)
    return extraction.data.model_dump()["job_number"]


def test_one_correction_teaches_its_layout(typeset: Typeset, example: MakeExample) -> None:
    assert read(typeset(ticket(2))) == "40002"

    model = fit_layouts(
        SchemaModel("job", examples=(example(typeset(ticket(1)), WANTED, job_number="KN00001"),))
    )

    assert read(typeset(ticket(2)), model) == "KN00002"


def test_another_layout_is_read_as_before(typeset: Typeset, example: MakeExample) -> None:
    model = fit_layouts(
        SchemaModel("job", examples=(example(typeset(ticket(1)), WANTED, job_number="KN00001"),))
    )
    other = typeset(
        "Repair shop of the old town\n\nJob number  77001\n\nKennung  KN00009\n\nthanks for your visit today"
    )

    assert read(other, model) == "77001"


def test_corrections_that_do_not_agree_change_nothing(typeset: Typeset, example: MakeExample) -> None:
    taught = [
        example(
            typeset(ticket(number)),
            WANTED,
            job_number=f"KN{number:05}" if number == 1 else str(number + 40000),
        )
        for number in (1, 2, 3)
    ]

    model = fit_model("job", taught)

    assert read(typeset(ticket(9)), model) == "40009"


def with_repair(number: int) -> str:
    """The job number goes on with the number of the repair, which its owner may or may not count as his."""
    return ticket(number).replace(f"{number + 40000}", f"{number + 40000}/7")


def test_a_value_that_is_cut_otherwise_once_is_an_exception(typeset: Typeset, example: MakeExample) -> None:
    assert read(typeset(with_repair(5))) == "40005"

    model = fit_layouts(
        SchemaModel("job", examples=(example(typeset(with_repair(1)), WANTED, job_number="40001/7"),))
    )

    assert read(typeset(with_repair(5)), model) == "40005"


def test_a_value_is_cut_as_people_cut_it_again_and_again(typeset: Typeset, example: MakeExample) -> None:
    taught = [
        example(typeset(with_repair(number)), WANTED, job_number=f"{number + 40000}/7") for number in (1, 2)
    ]

    model = loads(dumps(fit_model("job", taught)))

    assert read(typeset(with_repair(5)), model) == "40005/7"


def test_a_value_that_people_cut_now_so_now_otherwise_is_read_as_before(
    typeset: Typeset, example: MakeExample
) -> None:
    taught = [
        example(
            typeset(with_repair(number)), WANTED, job_number=f"{number + 40000}{'/7' if number < 3 else ''}"
        )
        for number in (1, 2, 3, 4)
    ]

    assert read(typeset(with_repair(5)), fit_model("job", taught)) == "40005"


def test_a_second_correction_makes_a_rule_of_an_exception(typeset: Typeset, example: MakeExample) -> None:
    def model_of(*corrections: int) -> SchemaModel:
        return fit_model(
            "job",
            [
                example(
                    typeset(ticket(number).replace("Job number", "Job nr.") if other else ticket(number)),
                    WANTED,
                    job_number=f"KN{number:05}" if other else str(number + 40000),
                )
                for number in (1, 2, 3, 4)
                for other in [number in corrections]
            ],
        )

    new = typeset(ticket(9).replace("Job number", "Job nr."))

    assert read(new, model_of(1)) == "40009"
    assert read(new, model_of(1, 2)) == "KN00009"


def test_many_documents_teach_layouts_not_seen(typeset: Typeset, example: MakeExample) -> None:
    words = (
        "alpha beta gamma delta",
        "epsilon zeta eta theta",
        "iota kappa lambda",
        "sigma tau upsilon",
        "chi psi omega",
    )
    taught = [
        example(
            typeset(f"{line}\n\nJob number  {4000 + n}\n\nKennung  KN{n:05}"), WANTED, job_number=f"KN{n:05}"
        )
        for n, line in enumerate(words * 2)
    ]

    figures = held_out_figures(taught)
    model = fit_model("job", taught)

    assert figures.total == HeldOut(10, 0, 10, 10)
    assert figures.is_better
    assert "job_number" in model.general
    assert read(typeset("rho mu nu xi\n\nJob number  4711\n\nKennung  KN00815"), model) == "KN00815"


def test_a_model_is_stored_with_all_it_was_learned_from(typeset: Typeset, example: MakeExample) -> None:
    model = fit_model(
        "job", [example(typeset(ticket(number)), WANTED, job_number=f"KN{number:05}") for number in range(6)]
    )

    again = loads(dumps(model))

    assert dumps(again) == dumps(model)
    assert read(typeset(ticket(8)), again.without_examples()) == "KN00008"
    assert not again.without_examples().examples


def test_a_model_of_the_first_format_is_read_as_it_was(typeset: Typeset, example: MakeExample) -> None:
    model = fit_model(
        "job", [example(typeset(ticket(number)), WANTED, job_number=f"KN{number:05}") for number in (1, 2)]
    )
    content = json.loads(dumps(model))
    content["format"] = 1
    for taught in content["taught"]:
        for field in taught["lessons"].values():
            field["keys"] = list(range(len(field["lengths"])))

    assert dumps(loads(json.dumps(content))) == dumps(model)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"format": 2}',
        '{"format": 3, "schema": "a", "general": {}, "layouts": [], "taught": []}',
        '{"format": 1, "schema": "a"}',
        '{"format": 1, "schema": "a", "general": [], "layouts": [], "taught": []}',
        "[" * 100_000,
    ],
)
def test_what_is_no_model_is_refused(text: str) -> None:
    with pytest.raises(MisconfiguredError):
        loads(text)


def _field(right: int, *features: list[int]) -> FieldExample:
    rows = [np.array(one, np.int32) for one in features]
    marks = np.arange(len(rows)) == right
    return FieldExample(rows, np.zeros(len(rows)), marks)


def test_what_right_values_share_becomes_worth_something() -> None:
    fields = [_field(0, [1, 2], [3]), _field(1, [3, 4], [1])]

    weights = fit_weights(fields, stiffness=0.1)

    worth = dict(zip(weights.indices.tolist(), weights.values.tolist(), strict=True))
    assert worth[1] > 0 > worth[3]
    assert all(one.is_read_right(weights) for one in fields)


def test_examples_without_the_value_teach_nothing() -> None:
    prior = Weights(np.array([7], np.int32), np.array([0.5]))

    assert fit_weights([_field(-1, [1], [2])], prior=prior) is prior
    assert not FieldExample([], np.zeros(0), np.zeros(0, np.bool_)).is_read_right(prior)


def test_what_learning_does_not_help_is_believed_less(typeset: Typeset, example: MakeExample) -> None:
    # The number is right on every second document, whatever was learned.
    wrong = [
        example(typeset(ticket(number)), WANTED, job_number=f"KN{number:05}" if number % 2 else "KN99999")
        for number in range(8)
    ]
    right = [example(typeset(ticket(number)), WANTED, job_number=f"KN{number:05}") for number in range(8)]
    figures = held_out_figures(wrong)

    doubted, believed = (
        extract_user_schema(typeset(ticket(9)), WANTED, learned_model("job", examples)).evidence["job_number"]
        for examples in (wrong, right)
    )

    assert figures.still_wrong == {"job_number": HeldOut(8, 0, 0, 4)}
    assert not held_out_figures(right).still_wrong
    assert doubted.confidence < 0.75 < believed.confidence


def test_errors_on_one_layout_hardly_lower_the_belief_on_others(typeset: Typeset) -> None:
    # All that is known of the field are errors on another layout: where they were not believed they mean
    # nothing here, and one that was believed means little.
    def belief(*outcomes: Outcome) -> float:
        shift = fitted_shift(outcomes, stiffness=1, clip=0.001)
        model = SchemaModel("job", shifts={"job_number": shift})
        return model.on(typeset(ticket(1))).judged("job_number", 0.95, is_choice=False)

    assert belief(Outcome(0.05, came=False)) > 0.94
    assert 0.85 < belief(Outcome(0.95, came=False)) < 0.92
    assert belief(*[Outcome(0.95, came=False)] * 8) < 0.5
    assert belief(*[Outcome(0.95, came=True)] * 8) == 0.95


def test_learning_of_one_vendor_leaves_the_belief_in_others(typeset: Typeset) -> None:
    wanted = schema_of(
        {"title": "rental", "type": "object", "properties": {"deposit": {"type": "number"}}},
        labels={"deposit": ("Deposit",)},
    )

    def odd(number: int) -> Document:
        return typeset(f"Hirefast plant of the north\n\nBond   {number}50.00\n\nPayable   {number}99.00")

    other = typeset("Toolhub machines and more\n\nDeposit   120.00\n\nPayable   300.00")
    model = learned_model(
        "rental",
        [make_judged_example(odd(number), wanted, {"deposit": f"{number}50.00"}) for number in (1, 2)],
    )

    untaught, taught = (read_pages(other, wanted, learned) for learned in (None, model))

    assert read_pages(odd(3), wanted, model).data.model_dump() == {"deposit": Decimal(350)}
    assert taught.evidence["deposit"].confidence == untaught.evidence["deposit"].confidence > 0.8


def test_a_field_without_learned_weights_is_read_by_the_rules_of_its_type_too(typeset: Typeset) -> None:
    wanted = schema_of(
        {
            "title": "bill",
            "type": "object",
            "properties": {"invoice_number": {"type": "string"}, "depot": {"type": "string"}},
        }
    )
    page = typeset(
        "Invoice\n\nInvoice number   RE-2025-17\n\nInvoice date  12/05/2025\n\nDue date  26/05/2025\n\n"
        "Total   120.00 EUR"
    )
    model = learned_model(
        "bill",
        [
            make_judged_example(
                typeset(f"Rest of the world\n\nPlace   Leith {n}"), wanted, {"depot": f"Leith {n}"}
            )
            for n in range(2)
        ],
    )

    untaught, taught = (read_pages(page, wanted, learned, "invoice") for learned in (None, model))

    assert untaught.evidence["invoice_number"] == taught.evidence["invoice_number"]


def test_a_field_of_which_nothing_was_learned_on_a_layout_keeps_its_rules(
    typeset: Typeset, example: MakeExample
) -> None:
    # With one candidate on each page there is nothing to choose between, so no feature gets a weight.
    taught = [
        example(typeset(f"Ticket of the day\n\nKennung   KN{number:05}"), WANTED, job_number=f"KN{number:05}")
        for number in (1, 2)
    ]

    model = fit_layouts(SchemaModel("job", examples=tuple(taught)))

    assert len(taught[0].fields["job_number"].rows) == 1
    assert [layout.weights for layout in model.layouts] == [{}]


def test_the_place_that_people_showed_counts_more_than_the_words_around_it(
    typeset: Typeset, example: MakeExample
) -> None:
    wanted = schema_of({"title": "rental", "type": "object", "properties": {"total_fee": {"type": "number"}}})

    def page(number: int) -> Document:
        return typeset(f"Hirefast plant\n\nFee   {number}5.50 per month\n\nOther   {number}9.00")

    model = learned_model(
        "rental", [example(page(number), wanted, total_fee=f"{number}5.50") for number in range(1, 9)]
    )
    untaught, taught = (extract_user_schema(page(9), wanted, learned) for learned in (None, model))

    assert untaught.data.model_dump() == taught.data.model_dump() == {"total_fee": Decimal("95.5")}
    assert untaught.evidence["total_fee"].confidence <= 0.6
    assert taught.evidence["total_fee"].confidence > 0.8


def test_the_only_choice_on_a_page_is_offered_and_read_once_it_was_right_on_others(
    typeset: Typeset, example: MakeExample
) -> None:
    wanted = schema_of(
        {"title": "job", "type": "object", "properties": {"result": {"enum": ["PASS", "FAIL"]}}}
    )

    def page(number: int) -> Document:
        return typeset(ticket(number) + "\n\nConformity   PASS")

    model = learned_model("job", [example(page(number), wanted, result="PASS") for number in range(8)])
    untaught, taught = (extract_user_schema(page(9), wanted, learned) for learned in (None, model))

    assert untaught.data.model_dump() == taught.data.model_dump() == {"result": "PASS"}
    assert untaught.evidence["result"].confidence < 0.8 < taught.evidence["result"].confidence


def test_held_out_counts_are_stored(typeset: Typeset, example: MakeExample) -> None:
    model = learned_model(
        "job", [example(typeset(ticket(number)), WANTED, job_number=f"KN{number:05}") for number in range(4)]
    )

    assert loads(dumps(model)).held_out == model.held_out
    assert model.held_out["job_number"].values == 4
