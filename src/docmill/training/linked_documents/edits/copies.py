"""The same document twice: sent again, or scanned."""

from collections.abc import Callable
from dataclasses import replace

from docmill.training.linked_documents.deals import Deal, Paper
from docmill.training.linked_documents.edits.identities import read_with_errors
from docmill.training.linked_documents.misreading import CONFUSIONS, OTHER_CONFUSIONS, misread_once
from docmill.training.linked_documents.sampling import Sampler
from docmill.training.linked_documents.truth import TrueLink


def sent_twice(deal: Deal, sampler: Sampler) -> Deal:
    """The same values in another file."""
    return _copied(deal, sampler, lambda paper: paper)


def scanned_copy(deal: Deal, sampler: Sampler) -> Deal:
    """A scan of a document that is there as well, with errors of recognition."""
    return _copied(deal, sampler, lambda paper: read_with_errors(paper, sampler, 0.012, CONFUSIONS))


def copy_with_misread_number(deal: Deal, sampler: Sampler) -> Deal:
    """A scan whose number is read wrongly."""

    def changed(paper: Paper) -> Paper:
        number = misread_once(paper.text("number"), sampler.random)
        return replace(paper.with_values(number=number), is_scanned=True)

    return _copied(deal, sampler, changed)


def copy_by_other_reader(deal: Deal, sampler: Sampler) -> Deal:
    """Of the other set: read by another recogniser, and the lines not at all."""
    return _copied(
        deal,
        sampler,
        lambda paper: read_with_errors(paper, sampler, 0.02, OTHER_CONFUSIONS).with_values(lines=()),
    )


def _copied(deal: Deal, sampler: Sampler, change: Callable[[Paper], Paper]) -> Deal:
    copied = {duplicate.first_id for duplicate in deal.duplicates} | {
        each.second_id for each in deal.duplicates
    }
    papers = [
        paper
        for paper in deal.of_type("invoice", "delivery_note", "purchase_order", "credit_note", "receipt")
        if paper.key not in copied
    ]
    if not papers:
        return deal
    paper = sampler.choice(papers)
    copy = replace(change(paper), key=f"copy of {paper.key}")
    duplicate = TrueLink(paper.key, copy.key, "duplicate")
    return replace(deal.with_paper(copy), duplicates=(*deal.duplicates, duplicate))
