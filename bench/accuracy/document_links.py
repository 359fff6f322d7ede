"""Measure which documents are found to belong together, beside other matchers, on made-up documents.

python -m bench document_links                       # both sets of edits, all matchers
python -m bench document_links --edits other         # the set that nothing was fitted to, alone
python -m bench document_links --only docmill --by   # also by relation, discrepancy and edit
python -m bench document_links --part development    # other vendors: train, development, test
python -m bench document_links --speed 100000        # one tenant of so many documents, time alone

Deals are made from real invoices (those of the demo where they are absent): `training/linked_documents`.
There are ten decoys for each true link. Figures are sums over tenants. pair F1: automatic links, whatever
their relation; without what nobody can tell: the same without payments that cite nothing and would pay a
decoy as well, with the number of these; with first suggestions: also the best suggestion of each record that
has none; automatic: share of the true links that are automatic, of the right relation; false: automatic links
between records that do not belong together; candidates: true links that are named in any state; groups: those
that a cluster equals; discrepancies by the true links: what would be told if every link was found.
"""

import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from bench.arguments import argument_parser
from bench.data.link_records import Matcher
from bench.data.link_scores import COLUMNS, LinkScores, Share
from bench.data.link_seeds import seeds
from bench.peers import exact_references, midday_formula, token_sort_ratio
from docmill.matching import match, records_of
from docmill.matching.discrepancies import find_discrepancies
from docmill.matching.match_record import MatchRecord
from docmill.matching.outcome import Link, Matching
from docmill.training.linked_documents.generator import generate_linked_documents
from docmill.training.linked_documents.styles import KNOWN, OTHER
from docmill.training.linked_documents.truth import GeneratedDocument, LabelledDocuments

STYLES = {style.name: style for style in (KNOWN, OTHER)}
TUNING_TENANTS, TUNING_LINKS = 3, 150
"""Of the train part, for the thresholds of a matcher that is compared."""
FEWEST = 8
"""True links from which on an edit is shown."""
MOST_KINDS = 12
"""Kinds of false links that are shown."""


def match_by_docmill(documents: Sequence[GeneratedDocument]) -> Matching:
    """The product's own matching, with the weights that it comes with."""
    return match(records_of_documents(documents))


def records_of_documents(documents: Sequence[GeneratedDocument]) -> list[MatchRecord]:
    return [
        record
        for document in documents
        for record in records_of(
            document.id, document.document_type, document.data.model_dump(mode="json"), document.text
        )
    ]


def matchers() -> dict[str, Matcher]:
    """The matchers that are compared, by name."""
    return {
        "docmill": match_by_docmill,
        "exact references": exact_references.match,
        "Midday's formula": midday_formula.match,
        "token sort ratio": match_by_token_sort_ratio,
    }


def match_by_token_sort_ratio(documents: Sequence[GeneratedDocument]) -> Matching:
    return token_sort_ratio.matcher(_tuned_thresholds())(documents)


@cache
def _tuned_thresholds() -> token_sort_ratio.Thresholds:
    """The thresholds of the train part, found when they are first needed."""
    return token_sort_ratio.tuned_thresholds(tenants("known", "train", TUNING_TENANTS, TUNING_LINKS))


def tenants(style: str, part: Any, count: int, links: int, *, first: int = 0) -> list[LabelledDocuments]:
    return [
        generate_linked_documents(seeds(), seed=number, links=links, part=part, style=STYLES[style])
        for number in range(first, first + count)
    ]


def scored(matcher: Matcher, labelled: Sequence[LabelledDocuments]) -> LinkScores:
    scores = LinkScores()
    for tenant in labelled:
        scores.add(matcher(tenant.documents), tenant.truth)
    return scores


def score_true_links(labelled: Sequence[LabelledDocuments]) -> LinkScores:
    """The discrepancies that the product names where every link is known and none is wrong."""
    scores = LinkScores()
    for tenant in labelled:
        records = {record.id: record for record in records_of_documents(tenant.documents)}
        links = tuple(
            Link(link.first_id, link.second_id, link.relation, 1.0, "automatic")
            for link in (*tenant.truth.links, *tenant.truth.duplicates)
        )
        scores.add(Matching(links, (), tuple(find_discrepancies(records, links))), tenant.truth)
    return scores


def print_table(scores: dict[str, LinkScores]) -> None:
    print(f"| matcher | {' | '.join(COLUMNS)} |")
    print(f"|---|{'---|' * len(COLUMNS)}")
    for name, each in scores.items():
        print(f"| {name} | {' | '.join(column(each) for column in COLUMNS.values())} |")


def print_details(name: str, scores: LinkScores) -> None:
    print(f"\n{name}: automatic links by relation")
    for relation, share in sorted(scores.by_relation.items()):
        print(
            f"  {relation:<24} precision {share.precision:.3f}, recall {share.recall:.3f}, "
            f"{share.true} true, {scores.false_by_relation[relation]} between strangers"
        )
    print(f"\n{name}: automatic links between strangers, by what they join")
    for kinds, count in scores.false_by_decoy.most_common(MOST_KINDS):
        print(f"  {count:>5} {kinds}")
    print(f"\n{name}: discrepancies")
    for code, share in sorted(scores.by_code.items()):
        print(f"  {code:<24} precision {share.precision:.3f}, recall {share.recall:.3f}, {share.true} true")
    print(f"\n{name}: share of the true links that are automatic, by edit, lowest first")
    recall: Callable[[tuple[str, Share]], float] = lambda item: item[1].recall  # noqa: E731 - the key of a sort
    for edit, share in sorted(scores.by_edit.items(), key=recall):
        if share.true >= FEWEST:
            print(f"  {edit:<36} {share.recall:.3f} of {share.true}")


def print_speed(count: int, chosen: dict[str, Matcher]) -> None:
    """Time the matchers on one tenant of at least `count` documents."""
    few = generate_linked_documents(seeds(), seed=0, links=100, part="test")
    links = round(count * 100 / len(few.documents))
    tenant = generate_linked_documents(seeds(), seed=0, links=links, part="test")
    print(f"{len(tenant.documents)} documents, {len(tenant.truth.links)} true links")
    for name, matcher in chosen.items():
        started = time.perf_counter()
        matcher(tenant.documents)
        print(f"{name}: {time.perf_counter() - started:.1f} s")


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--edits", choices=STYLES)
    parser.add_argument("--part", choices=("train", "development", "test"), default="test")
    parser.add_argument("--tenants", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first tenant; others are unseen")
    parser.add_argument("--links", type=int, default=300, help="of each tenant, at least")
    parser.add_argument("--only", action="append", help="a matcher; may be repeated")
    parser.add_argument("--by", action="store_true", help="by relation, discrepancy and edit")
    parser.add_argument("--speed", type=int, metavar="DOCUMENTS")
    arguments = parser.parse_args()
    chosen = {name: matcher for name, matcher in matchers().items() if name in (arguments.only or matchers())}
    if arguments.speed:
        print_speed(arguments.speed, chosen)
        return
    for style in [arguments.edits] if arguments.edits else STYLES:
        labelled = tenants(style, arguments.part, arguments.tenants, arguments.links, first=arguments.first)
        documents = sum(len(tenant.documents) for tenant in labelled)
        links = sum(len(tenant.truth.links) for tenant in labelled)
        print(f"\n{style} edits, {arguments.part} vendors, {len(labelled)} tenants:", end=" ")
        print(f"{documents} documents, {links} links\n")
        scores = {name: scored(matcher, labelled) for name, matcher in chosen.items()}
        print_table(scores)
        if "docmill" in chosen:
            true = score_true_links(labelled).discrepancies
            print(f"\ndiscrepancies by the true links: F1 {true.f1:.3f}, of {true.true}")
        if arguments.by:
            for name, each in scores.items():
                print_details(name, each)


if __name__ == "__main__":
    main()
