"""Measure names and addresses of sellers and buyers on made-up pages, with the type of the page given.

The pages have 30 layouts, 12 languages (two of them not in the vocabulary) and 30 countries. A value is right
if its letters and digits equal those printed; a wrong one is believed if its probability is .9 or more. Half
of the pages are set aside: their errors are not listed.

Usage: python -m bench sellers_and_buyers [--errors FIELD]
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bench.arguments import argument_parser
from bench.data.party_pages import PartyPage, generate_party_pages
from docmill.model.document import letters_and_digits
from docmill.model.paths import leaves
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.extractor import extract_by_rules

FIELDS = ("seller.name", "buyer.name", "seller.address", "buyer.address")
PAGES = 600
SEEDS = {"looked at": 21, "set aside": 22}
BELIEVED = 0.9


class Answer(NamedTuple):
    """The value that the rules read for one field of one page. probability: 0 where they read none."""

    page: PartyPage
    given: str
    probability: float
    is_right: bool


def read_page(page: PartyPage) -> dict[str, Answer]:
    """Extract the fields of a page: the answer by field."""
    extraction = extract_by_rules(page.document, REGISTRY[page.document_type])
    values = dict(leaves(extraction.data))
    answers: dict[str, Answer] = {}
    for field in FIELDS:
        given = str(values.get(field) or "")
        evidence = extraction.evidence.get(field)
        probability = evidence.confidence if evidence is not None and given else 0.0
        is_right = letters_and_digits(given) == letters_and_digits(printed_text(page, field))
        answers[field] = Answer(page, given, probability, is_right)
    return answers


def printed_text(page: PartyPage, field: str) -> str:
    """The true value of a field, with the lines of an address joined."""
    value = page.truth[field]
    return value if isinstance(value, str) else " ".join(value)


def show_fields(answers: Mapping[str, Sequence[Answer]]) -> None:
    for field, of_field in answers.items():
        right = sum(answer.is_right for answer in of_field) / len(of_field)
        believed = [answer for answer in of_field if answer.probability >= BELIEVED]
        wrong = sum(not answer.is_right for answer in believed) / max(1, len(believed))
        print(
            f"{field:15} {right:.3f}; believed {len(believed)} of {len(of_field)}, {wrong:.1%} of them wrong"
        )


def show_parts(answers: Mapping[str, Sequence[Answer]]) -> None:
    """Print the share of right values by language and by layout, all fields together."""
    for part in ("language", "layout"):
        outcomes: dict[str, list[bool]] = defaultdict(list)
        for of_field in answers.values():
            for answer in of_field:
                outcomes[getattr(answer.page, part)].append(answer.is_right)
        print(part, {name: f"{sum(right) / len(right):.3f}" for name, right in sorted(outcomes.items())})


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument(
        "--errors", choices=FIELDS, help="list the wrong values of a field, not those set aside"
    )
    arguments = parser.parse_args()
    for half, seed in SEEDS.items():
        read = [read_page(page) for page in generate_party_pages(PAGES, seed=seed)]
        answers = {field: [page[field] for page in read] for field in FIELDS}
        print(f"{half}, {PAGES} pages")
        show_fields(answers)
        show_parts(answers)
        if half == "looked at" and arguments.errors:
            for answer in answers[arguments.errors]:
                if not answer.is_right:
                    page = answer.page
                    printed = printed_text(page, arguments.errors)
                    print(
                        page.language,
                        page.layout,
                        "|",
                        printed,
                        "|",
                        answer.given,
                        f"{answer.probability:.2f}",
                    )


if __name__ == "__main__":
    main()
