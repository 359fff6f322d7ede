"""Where known values contradict each other, it is said that this cannot be learned."""

from collections.abc import Callable

from docmill.model.document import Document
from docmill.schemas.user_schemas import schema_of
from docmill.understanding.corrections.endings import Disagreement, Endings

MakeDocument = Callable[..., Document]

WANTED = schema_of(
    {
        "title": "booking",
        "type": "object",
        "properties": {"client": {"type": "string", "description": "name of the client"}},
    }
)
NAME, CODE = "Harbour Lights Ltd", "(4711)"


def endings(make_document: MakeDocument, *given: str, printed: str = f"{NAME} {CODE}") -> Endings:
    made = Endings(WANTED)
    for value in given:
        made.add(make_document(f"Booking\nClient: {printed}\nthank you"), {"client": value})
    return made


def test_names_given_with_and_without_their_code_cannot_be_learned(make_document: MakeDocument) -> None:
    mixed = endings(make_document, f"{NAME} {CODE}", NAME, f"{NAME} {CODE}", NAME, NAME)

    assert mixed.disagreements() == [Disagreement("client", with_brackets=2, without=3)]


def test_a_single_exception_is_no_contradiction(make_document: MakeDocument) -> None:
    assert endings(make_document, NAME, NAME, NAME, f"{NAME} {CODE}").disagreements() == []


def test_a_name_that_is_printed_without_a_code_contradicts_nothing(make_document: MakeDocument) -> None:
    plain = endings(make_document, NAME, NAME, NAME, printed=NAME)
    plain.add(make_document(f"Booking\nClient: {NAME} {CODE}"), {"client": f"{NAME} {CODE}"})
    plain.add(make_document(f"Booking\nClient: {NAME} {CODE}"), {"client": f"{NAME} {CODE}"})

    assert plain.disagreements() == []
