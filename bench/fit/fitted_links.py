"""Fit the weights of matching in `weights.json` to generated documents that belong together.

python -m bench fitted_links [--links N] [--tenants N] [--write]

Documents are of vendors of the training part. Weights are drawn to those that are shipped. They are written
only where the shared data is there.
"""

from collections import Counter
from pathlib import Path

import docmill.matching
from bench.arguments import argument_parser
from bench.data.link_scores import originals
from bench.data.link_seeds import absent_data, seeds
from docmill.matching import records_of
from docmill.matching.scoring import shipped_weights
from docmill.training.linked_documents.generator import generate_linked_documents
from docmill.training.linked_documents.truth import LabelledDocuments
from docmill.training.match_weights import LabelledPair, as_json, fit, labelled_pairs

WEIGHTS = Path(docmill.matching.__file__).with_name("weights.json")


def main() -> None:
    """Fit, print how many pairs there were, and write the file if that is asked for."""
    parser = argument_parser(__doc__)
    parser.add_argument("--links", type=int, default=250, help="links of each tenant")
    parser.add_argument("--tenants", type=int, default=6)
    parser.add_argument("--write", action="store_true", help="replace the shipped weights")
    options = parser.parse_args()
    if options.write and (absent := absent_data()):
        parser.error(
            f"{absent} is not here: weights are written only if they are fitted to all real invoices"
        )
    labelled: list[LabelledPair] = []
    for seed in range(1, options.tenants + 1):
        labelled.extend(pairs_of_tenant(generate_linked_documents(seeds(), seed=seed, links=options.links)))
    right = Counter(pair.relation for pair in labelled if pair.is_right)
    for relation, count in Counter(pair.relation for pair in labelled).most_common():
        print(f"{relation:24} {count:7} pairs, {right[relation]:4} right")
    text = as_json(fit(labelled, shipped_weights()))
    if options.write:
        WEIGHTS.write_text(text, encoding="utf-8")


def pairs_of_tenant(tenant: LabelledDocuments) -> list[LabelledPair]:
    """The labelled pairs of a tenant; copies of documents count for duplicates alone."""
    truth = tenant.truth
    copies = set(originals(truth.duplicates))
    true = {frozenset((link.first_id, link.second_id)) for link in (*truth.links, *truth.duplicates)}
    records = [
        record
        for each in tenant.documents
        for record in records_of(each.id, each.document_type, each.data.model_dump(mode="json"), each.text)
    ]
    return labelled_pairs(records, true, copies, shipped_weights())


if __name__ == "__main__":
    main()
