"""The matchers that are compared: they answer in the form of the product, on documents made here."""

from bench.accuracy.document_links import matchers, scored
from bench.peers import exact_references

from docmill.training.linked_documents.generator import generate_linked_documents
from docmill.training.linked_documents.seeds import made_up_seeds

TENANT = generate_linked_documents(made_up_seeds(), seed=2, links=40, part="test")


def test_every_matcher_finds_some_links_and_names_known_records() -> None:
    known = {document.id for document in TENANT.documents}

    for name, match in matchers().items():
        matching = match(TENANT.documents)
        assert {
            each.partition("#")[0] for link in matching.links for each in (link.first_id, link.second_id)
        } <= known
        assert scored(match, [TENANT]).first_ranks.right, name


def test_equal_numbers_alone_find_what_was_not_edited() -> None:
    scores = scored(exact_references.match, [TENANT])

    assert 0.3 < scores.links.recall < 0.9
