"""Documents of a tenant: deals with partners, edited, among decoys, with bank statements and the truth."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from docmill.schemas.types import Invoice
from docmill.training.linked_documents.companies import Company, company_of, make_company
from docmill.training.linked_documents.deals import Booking, Deal, Paper
from docmill.training.linked_documents.decoys import Decoy, DecoyCompanies, make_decoys
from docmill.training.linked_documents.edits.payments import first_of
from docmill.training.linked_documents.edits.structure import several_invoices
from docmill.training.linked_documents.misreading import misread
from docmill.training.linked_documents.printed_text import paper_text, statement_text
from docmill.training.linked_documents.purchases import make_purchase, make_till_purchase
from docmill.training.linked_documents.resemblance import pays_equally
from docmill.training.linked_documents.sampling import DAYS, Sampler
from docmill.training.linked_documents.seeds import Part, part_of, usable_seeds
from docmill.training.linked_documents.statements import MadeStatement, make_statements
from docmill.training.linked_documents.styles import KNOWN, Style
from docmill.training.linked_documents.truth import (
    GeneratedDocument,
    LabelledDocuments,
    TrueDiscrepancy,
    TrueLink,
    Truth,
)

_LINKS_OF_A_PARTNER = 12
_SALES = 0.25
_TILL_PURCHASES = 0.06
_REAL_PARTNERS = 0.3
_CHANGES_OF_ACCOUNT = 0.03
_LINKS_OF_SMALL_BUSINESS = 500
_NUMBERS_OF_LINK = 4
"""With more links, the owner gives so many numbers for each, and has to count on as fast: without that, a
free number is searched for longer and longer."""
_Key = tuple[int, str]
"""A deal's index and a key within it."""


def generate_linked_documents(
    seeds: Sequence[Invoice],
    *,
    seed: int,
    links: int,
    part: Part = "train",
    style: Style = KNOWN,
    decoys_per_link: int = 10,
) -> LabelledDocuments:
    """Generate the documents of one tenant with at least `links` true links, duplicates not counted.

    seeds: invoices to make deals from; seed: of all draws. part: the partners' part, see `part_of`. The same
    arguments give the same documents. Raises ValueError if no seed has a priced line or a total.
    """
    tenant = _Tenant(seeds, seed=seed, links=links, part=part, style=style)
    while tenant.count_links() < links:
        tenant.add_deal()
    for index in range(len(tenant.deals)):
        tenant.add_decoys(index, decoys_per_link)
    return tenant.documents()


class _Tenant:
    """The deals and decoys of a tenant in the making."""

    def __init__(self, seeds: Sequence[Invoice], *, seed: int, links: int, part: Part, style: Style) -> None:
        self._style = style
        self._part: Part = part
        self._seeds = usable_seeds(seeds, part)
        if not self._seeds:
            raise ValueError("no seed has a priced line or a total")
        least_rate = links * _NUMBERS_OF_LINK / DAYS if links > _LINKS_OF_SMALL_BUSINESS else 0.0
        self.sampler = Sampler(f"{style.name} {part} {seed}", dict(style.patterns), least_rate=least_rate)
        random_ = self.sampler.random
        self._owner = make_company(random_, random_.choice(style.owner_countries))
        real = [
            company
            for each in seeds
            if (company := company_of(each, random_)) and part_of(company.name) == part
        ]
        real = list({company.name: company for company in real}.values())
        count = max(4, links // _LINKS_OF_A_PARTNER)
        kept = random_.sample(real, min(len(real), round(count * _REAL_PARTNERS)))
        self._partners = [*kept, *(self._new_company() for _ in range(count - len(kept)))]
        self._decoy_companies = DecoyCompanies(
            tuple(self._new_company() for _ in range(count)), tuple(self._new_company() for _ in range(count))
        )
        self.deals: list[Deal] = []
        self.decoys: list[tuple[int, Decoy]] = []
        self._links = 0

    def _new_company(self) -> Company:
        return make_company(self.sampler.random, self.sampler.choice(self._style.countries), self._part)

    def count_links(self) -> int:
        return self._links

    def add_deal(self) -> None:
        """Make a deal with one of the partners, and edit it."""
        sampler = self.sampler
        is_last = sampler.chance(_CHANGES_OF_ACCOUNT)
        partner = self._new_company() if is_last else sampler.choice(self._partners)
        is_sale = not is_last and sampler.chance(_SALES)
        deal = Deal(self._owner, partner, is_sale, sampler.choice(self._seeds), is_last=is_last)
        if not is_sale and not is_last and sampler.chance(_TILL_PURCHASES):
            deal = make_till_purchase(deal, sampler)
            edits = [
                (edit, share)
                for edit, share in self._style.edits
                if edit.__module__.endswith(("identities", "copies"))
            ]
        else:
            deal = self._first_papers(make_purchase(deal, sampler))
            edits = list(self._style.edits)
        for edit, share in edits:
            if sampler.chance(share):
                deal = mark_edit(deal, edit(deal, sampler), edit.__name__)
        self.deals.append(deal)
        self._links += len(deal.links)

    def _first_papers(self, deal: Deal) -> Deal:
        edits, weights = zip(*self._style.first, strict=True)
        edit = self.sampler.random.choices(edits, weights)[0]
        if deal.is_last:
            return several_invoices(deal, self.sampler)
        return deal if edit is None else mark_edit(deal, edit(deal, self.sampler), edit.__name__)

    def add_decoys(self, index: int, decoys_per_link: int) -> None:
        deal = self.deals[index]
        count = decoys_per_link * len(deal.links)
        made = make_decoys(deal, count, self.sampler, self._decoy_companies)
        self.decoys.extend((index, decoy) for decoy in made)

    def documents(self) -> LabelledDocuments:
        """Print all papers and statements, give them ids, and translate the truth."""
        papers: list[tuple[_Key, Paper, Deal, Company]] = []
        bookings: list[tuple[_Key, Booking]] = []
        for index, deal in enumerate(self.deals):
            papers.extend(((index, paper.key), paper, deal, deal.partner) for paper in deal.papers)
            bookings.extend(((index, booking.key), booking) for booking in deal.bookings)
        for index, decoy in self.decoys:
            key = index, decoy.item.key
            if isinstance(decoy.item, Paper):
                papers.append((key, decoy.item, self.deals[index], decoy.company))
            else:
                bookings.append((key, decoy.item))
        statements = make_statements(bookings, self._owner, self.sampler, self._style.bank_texts)
        numbers = list(range(len(papers) + len(statements)))
        self.sampler.random.shuffle(numbers)
        ids = [f"D{number:06}" for number in numbers]
        made = [
            self._printed(document_id, paper, deal, company)
            for document_id, (_, paper, deal, company) in zip(ids, papers, strict=False)
        ]
        statement_ids = ids[len(papers) :]
        made.extend(map(self._printed_statement, statement_ids, statements))
        id_of = {key: document_id for document_id, (key, *_) in zip(ids, papers, strict=False)}
        for statement_id, statement in zip(statement_ids, statements, strict=True):
            id_of |= {key: f"{statement_id}#{number}" for number, key in enumerate(statement.keys, 1)}
        decoys = {id_of[index, decoy.item.key]: decoy.kind for index, decoy in self.decoys}
        truth = _truth(self.deals, id_of)
        also = tuple(self._decoys_with_new_account(id_of))
        truth = replace(
            truth,
            decoys=decoys,
            discrepancies=(*truth.discrepancies, *also),
            undecidable=frozenset(self._undecidable_links(id_of)),
        )
        return LabelledDocuments(tuple(sorted(made, key=lambda each: each.id)), truth)

    def _decoys_with_new_account(self, id_of: Mapping[_Key, str]) -> Iterator[TrueDiscrepancy]:
        """Decoys that show the account which a partner changed to: they may be named as well."""
        for index, decoy in self.decoys:
            changes = [each for each in self.deals[index].discrepancies if each.code == "iban_changed"]
            if isinstance(decoy.item, Paper) and any(
                each.found == decoy.item.payment.iban for each in changes
            ):
                yield TrueDiscrepancy("iban_changed", id_of[index, decoy.item.key], is_optional=True)

    def _undecidable_links(self, id_of: Mapping[_Key, str]) -> Iterator[tuple[str, str]]:
        """The pairs of ids of true links to payments that a decoy of the partner explains as well."""
        for index, decoy in self.decoys:
            deal = self.deals[index]
            if not isinstance(decoy.item, Paper) or decoy.item.document_type != "invoice":
                continue
            if decoy.company != deal.partner:
                continue
            for booking in deal.bookings:
                for invoice in deal.invoices_of(booking):
                    if pays_equally(booking, invoice, decoy.item):
                        yield id_of[index, invoice.key], id_of[index, booking.key]

    def _printed(self, document_id: str, paper: Paper, deal: Deal, company: Company) -> GeneratedDocument:
        is_own = deal.is_sale != (paper.document_type == "purchase_order")
        text = paper_text(paper, self._owner if is_own else company)
        if paper.is_scanned:
            text = misread(text, self.sampler.random, rate=0.008)
        return GeneratedDocument(document_id, paper.document_type, paper.data, text, company.name)

    def _printed_statement(self, document_id: str, statement: MadeStatement) -> GeneratedDocument:
        bank = f"{self._owner.country} Bank"
        text = statement_text(statement.data, bank, self._owner)
        return GeneratedDocument(document_id, "bank_statement", statement.data, text, bank)


def mark_edit(before: Deal, after: Deal, name: str) -> Deal:
    """Note the edit at each paper and payment that it made or changed."""
    if name == "pay_invoices":
        return after
    old_papers, old_bookings = set(map(id, before.papers)), set(map(id, before.bookings))
    return replace(
        after,
        papers=tuple(
            paper if id(paper) in old_papers else replace(paper, edits=paper.edits | {name})
            for paper in after.papers
        ),
        bookings=tuple(
            booking if id(booking) in old_bookings else replace(booking, edits=booking.edits | {name})
            for booking in after.bookings
        ),
    )


def _truth(deals: Sequence[Deal], id_of: Mapping[_Key, str]) -> Truth:
    links: list[TrueLink] = []
    duplicates: list[TrueLink] = []
    discrepancies: list[TrueDiscrepancy] = []
    for index, deal in enumerate(deals):
        edits = {each.key: each.edits for each in (*deal.papers, *deal.bookings)}

        def translated(
            link: TrueLink, index: int = index, edits: Mapping[str, frozenset[str]] = edits
        ) -> TrueLink:
            return replace(
                link,
                first_id=id_of[index, link.first_id],
                second_id=id_of[index, link.second_id],
                edits=edits[link.first_id] | edits[link.second_id],
            )

        links.extend(map(translated, deal.links))
        duplicates.extend(map(translated, deal.duplicates))
        discrepancies.extend(
            replace(
                each,
                record_id=id_of[index, each.record_id],
                is_optional=each.is_optional or not _is_legible(deal, each) or _is_total_unclear(deal, each),
            )
            for each in (_of_later_payment(deal, each) for each in deal.discrepancies)
        )
    return Truth(tuple(links), groups_of((*links, *duplicates)), tuple(duplicates), tuple(discrepancies))


def _of_later_payment(deal: Deal, discrepancy: TrueDiscrepancy) -> TrueDiscrepancy:
    """The discrepancy; of an invoice paid twice that of the later payment, though edits have moved one."""
    if discrepancy.code != "paid_twice":
        return discrepancy
    bookings = {booking.key: booking for booking in deal.bookings}
    first, again = bookings.get(first_of(discrepancy.record_id)), bookings[discrepancy.record_id]
    if first is None or first.day <= again.day:
        return discrepancy
    return replace(discrepancy, record_id=first.key)


def _is_legible(deal: Deal, discrepancy: TrueDiscrepancy) -> bool:
    """Whether both accounts can still be read after all edits, where another account is the discrepancy."""
    if discrepancy.code != "iban_changed":
        return True
    invoices = [paper for paper in deal.of_type("invoice") if not paper.key.startswith("copy")]
    accounts = {paper.payment.iban for paper in invoices if paper.key != discrepancy.record_id}
    changed = deal.paper(discrepancy.record_id)
    is_changed_read = changed is not None and changed.payment.iban == discrepancy.found
    return is_changed_read and discrepancy.expected in accounts


def _is_total_unclear(deal: Deal, discrepancy: TrueDiscrepancy) -> bool:
    """Whether another edit has changed a total that is too high or too low by one edit."""
    return discrepancy.code in ("over_billed", "under_billed") and any(
        each.is_optional and each.code == "over_billed" and each.record_id == discrepancy.record_id
        for each in deal.discrepancies
    )


def groups_of(links: Iterable[TrueLink]) -> tuple[frozenset[str], ...]:
    """The sets of ids that links connect, in the order of their first link."""
    group_of: dict[str, set[str]] = {}
    for link in links:
        first = group_of.setdefault(link.first_id, {link.first_id})
        second = group_of.setdefault(link.second_id, {link.second_id})
        if first is not second:
            first |= second
            group_of.update(dict.fromkeys(second, first))
    return tuple(frozenset(group) for group in {id(group): group for group in group_of.values()}.values())
