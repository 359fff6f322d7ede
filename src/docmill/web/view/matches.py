"""The matches of a document as its page shows them, and links as the list of all shows them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal
from uuid import UUID

from docmill.matching.three_way import STAGES as STAGE_ORDER
from docmill.matching.three_way import Stage, ThreeWayMatch
from docmill.model.result import percent_text
from docmill.service.matches import Choice, DocumentMatches, ListedMatch, MatchedRecord
from docmill.service.protocol.matching_rules import BY_RULES_ALONE
from docmill.service.store.match_links import LinkRow
from docmill.service.store.matching_states import MatchingState
from docmill.web.languages import amount_text, gettext
from docmill.web.view.match_graph import Graph, match_graph
from docmill.web.view.match_words import (
    STAGES,
    STATUSES,
    discrepancy_words,
    end_details,
    end_name,
    kind_name,
    quantity_text,
    reason_words,
    relation_name,
)
from docmill.web.view.words import Tone

Action = Literal["confirm", "decline", "unlink", "undo"]

_MOST_ITEMS = 50


@dataclass(frozen=True, slots=True)
class EndView:
    """A document or payment at an end of a link."""

    document_id: UUID
    name: str
    kind: str
    details: str

    @classmethod
    def of(cls, record: MatchedRecord) -> "EndView":
        """The record as a page shows it."""
        return cls(record.document.id, end_name(record), kind_name(record), end_details(record))


@dataclass(frozen=True, slots=True)
class MatchEntry:
    """A link in a list. other: the end that is not the document at hand. percent: None if a person is sure.

    decided_by: the person's name, None if nobody has decided. actions: what a person can do about it.
    """

    id: UUID
    first: EndView
    other: EndView
    relation: str
    status: str
    tone: Tone
    percent: str | None
    reasons: Sequence[str]
    decided_by: str | None
    decided_at: datetime | None
    actions: Sequence[Action]
    discrepancies: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class StageRow:
    """A line of the three-way table: a stage in a currency. difference: to the stage before, if known."""

    name: str
    documents: int
    currency: str
    net: str
    gross: str
    difference: str
    differs: bool


@dataclass(frozen=True, slots=True)
class ItemRow:
    """An item with its quantities, one for each stage of the table."""

    description: str
    quantities: Sequence[str]
    differs: bool


@dataclass(frozen=True, slots=True)
class ThreeWayTable:
    """What was ordered, delivered, billed and paid. stages: the names of the columns of `items`."""

    rows: Sequence[StageRow]
    stages: Sequence[str]
    items: Sequence[ItemRow]


@dataclass(frozen=True, slots=True)
class DiscrepancyView:
    """A discrepancy, at the document that departs from the others."""

    text: str
    document_id: UUID
    name: str


@dataclass(frozen=True, slots=True)
class MatchesView:
    """The tab of a document's matches. others: links of its cluster between other documents.

    state: how far its matching is; None if it is not matched. model_awaited_until: when rules decide alone if
    the model for which it waits stays away.
    """

    graph: Graph | None
    linked: Sequence[MatchEntry]
    suggested: Sequence[MatchEntry]
    declined: Sequence[MatchEntry]
    others: Sequence[MatchEntry]
    discrepancies: Sequence[DiscrepancyView]
    three_way: ThreeWayTable | None
    is_whole: bool
    state: MatchingState | None = None
    model_awaited_until: datetime | None = None

    @property
    def missing_model(self) -> str | None:
        """The error of a model that was waited for in vain, so that rules alone have linked the document."""
        if self.state is None or self.state.status != "succeeded" or self.state.error is None:
            return None
        return self.state.error.removeprefix(BY_RULES_ALONE)


@dataclass(frozen=True, slots=True)
class LinkOption:
    """A way to link by hand. value: of the form's field."""

    value: str
    text: str


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document that a search for one to link has found."""

    document_id: UUID
    name: str
    kind: str
    details: str
    options: Sequence[LinkOption]


def matches_view(
    found: DocumentMatches,
    people: Mapping[UUID, str],
    state: MatchingState | None = None,
    *,
    patience_s: float = 0.0,
) -> MatchesView:
    """Build the tab. people: names of those who decided. patience_s: how long a model is waited for."""
    waiting_since = None if state is None or state.status == "succeeded" else state.waiting_since
    own = set(found.own_ids)

    def entries(links: Sequence[LinkRow]) -> list[MatchEntry]:
        return [_entry(link, found.records, people, own) for link in links]

    suggested = found.of_status("suggested")
    drawn = {link.pair: link for link in (*found.cluster_links, *suggested)}
    shown = {link.pair for link in found.links}
    return MatchesView(
        graph=match_graph(found.own_ids, list(drawn.values()), found.records),
        linked=entries(found.of_status("automatic", "confirmed")),
        suggested=entries(suggested),
        declined=entries(found.of_status("declined")),
        others=entries([link for link in found.cluster_links if link.pair not in shown]),
        discrepancies=[
            DiscrepancyView(
                discrepancy_words(each),
                found.records[each.record_id].document.id,
                end_name(found.records[each.record_id]),
            )
            for each in found.discrepancies
            if each.record_id in found.records
        ],
        three_way=_three_way(found.three_way),
        is_whole=found.is_whole,
        state=state,
        model_awaited_until=waiting_since and waiting_since + timedelta(seconds=patience_s),
    )


def listed_entry(listed: ListedMatch, people: Mapping[UUID, str]) -> MatchEntry:
    """Build the entry of a link in the list of all."""
    ends = {listed.first.id: listed.first, listed.second.id: listed.second}
    differing = [discrepancy_words(each) for each in listed.discrepancies]
    return _entry(listed.link, ends, people, {listed.first.id}, differing)


def link_options(choices: Sequence[Choice]) -> list[LinkOption]:
    """Build what the form to link by hand offers for a document that was found."""
    options: list[LinkOption] = []
    for choice in choices:
        parts = [relation_name(choice.pair.relation)]
        for record in (choice.own, choice.other):
            if record.payment is not None:
                number = gettext("payment %(number)s", number=record.payment)
                parts.append(" · ".join(filter(None, (number, end_details(record)))))
        pair = choice.pair
        options.append(LinkOption(f"{pair.first_id} {pair.second_id} {pair.relation}", ": ".join(parts)))
    return options


def _entry(
    link: LinkRow,
    ends: Mapping[str, MatchedRecord],
    people: Mapping[UUID, str],
    own: set[str],
    discrepancies: Sequence[str] = (),
) -> MatchEntry:
    first, other = link.first_id, link.second_id
    if other in own and first not in own:
        first, other = other, first
    name, tone = STATUSES[link.status]
    return MatchEntry(
        id=link.pair.id,
        first=EndView.of(ends[first]),
        other=EndView.of(ends[other]),
        relation=relation_name(link.relation),
        status=gettext(name),
        tone=tone,
        percent=None if link.score is None or link.decision == "confirmed" else percent_text(link.score),
        reasons=[reason_words(reason) for reason in link.link.reasons],
        decided_by=None if link.decision is None else people.get(link.decided_by or UUID(int=0), ""),
        decided_at=link.decided_at,
        actions=_actions(link),
        discrepancies=discrepancies,
    )


def _actions(link: LinkRow) -> Sequence[Action]:
    match link.status:
        case "suggested" | "outranked":
            return ("confirm", "decline")
        case "automatic":
            return ("confirm", "unlink")
        case "confirmed":
            return ("undo", "unlink")
        case "declined":
            return ("undo",)


def _three_way(three_way: ThreeWayMatch) -> ThreeWayTable | None:
    """The table; None if there is nothing to compare."""
    if len(three_way.stages) < 2:  # noqa: PLR2004  two of them
        return None
    differences = {(each.stage, each.currency): each for each in three_way.differences}
    rows = [
        StageRow(
            name=gettext(STAGES[each.stage]),
            documents=each.records,
            currency=each.currency,
            net=_amount(each.net),
            gross=_amount(each.gross),
            difference=_signed(difference.amount) if difference else "",
            differs=difference is not None and difference.amount != 0,
        )
        for each in three_way.totals
        for difference in [differences.get((each.stage, each.currency))]
    ]
    columns: list[Stage] = [
        stage for stage in STAGE_ORDER if any(stage in item.quantities for item in three_way.items)
    ]
    items = [
        ItemRow(
            item.description,
            [_quantity(item.quantities, stage) for stage in columns],
            item.differs,
        )
        for item in three_way.items[:_MOST_ITEMS]
    ]
    return ThreeWayTable(rows, [gettext(STAGES[stage]) for stage in columns], items)


def _quantity(quantities: Mapping[Stage, Decimal | None], stage: Stage) -> str:
    if stage not in quantities:
        return "–"  # noqa: RUF001  a dash stands for none
    quantity = quantities[stage]
    return "?" if quantity is None else quantity_text(quantity)


def _amount(amount: Decimal | None) -> str:
    return "" if amount is None else amount_text(amount)


def _signed(amount: Decimal) -> str:
    return f"+{amount_text(amount)}" if amount > 0 else amount_text(amount)
