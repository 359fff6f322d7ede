"""The totals of a document, chosen together: net plus tax is gross."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import combinations, product

from docmill.schemas.document_types import DEFINITIONS, DocumentType
from docmill.understanding.constraints.tax_rates import TaxSums, tax_sums
from docmill.understanding.fields.candidates import Candidate, Candidates
from docmill.understanding.fields.findings import MOST_RIVALS, Finding, best, finding_of, probabilities
from docmill.understanding.fields.meaning import built_in_meaning
from docmill.understanding.page.layout import Span
from docmill.understanding.tables.items import NO_ITEMS, Items
from docmill.understanding.text.money import CASH_ROUNDING, CENT, currency_code, currency_spans
from docmill.understanding.text.united_states import has_us_address, has_us_phone
from docmill.understanding.vocabulary import Concept

FIELDS = ("net_total", "tax_total", "gross_total")
_BEST = 7
"""Candidates per field that are tried together."""
_ADDS_UP = 3.0
_DOES_NOT_ADD_UP = -4.0
_KNOWN_RATE = 1.0
_HIGHEST_TAX = Decimal("0.5")
_PLAIN = -1.6
_LAST_AMOUNT = 0.9
"""Score added at the end of a document, less towards its beginning: totals come last."""
_LARGEST = 0.8
_UNLIKELY = -1.5
_UNLABELLED = 0.2
_NEVER = -9.0
_CASH_LESS_CHANGE = 2.0
"""Score added to a total that is the cash less the change."""
_TOTALS = frozenset({Concept.TOTAL, Concept.NET, Concept.GROSS, Concept.DUE, Concept.GRAND})
_ROUNDED_TOTAL = 1.6
_TILL_TOTALS = frozenset({Concept.TOTAL, Concept.DUE})
_NO_TOTALS = frozenset({Concept.PAID, Concept.CHANGE, Concept.TAX})
_MOST_SUMMANDS = 20
_SUM_OF_ITEMS = (1.0, 0.0, 0.3)
"""Score added to a net, tax and gross total that the items add up to."""
_UNROUNDED_TOTAL = -1.2
_SUM_OF_TOTALS, _SUMMAND = 5.0, -2.0
"""Score added to a total that is the sum of two others, and to one that is part of such a sum."""
_PAID_AMOUNT = 0.6
_SUM_OF_RATES, _OF_ONE_RATE = 4.0, 2.0
"""Score added to a total that the rows of all rates of tax make, and taken from an amount of one such row."""
_COMPUTED = 0.95
"""Confidence in a sum that is not printed, as a share of that in the total which proves it."""
_SURE = 0.5
"""The clue from which on an amount counts as labelled."""
ROUNDED_BY = tuple(Decimal(cents) / 100 for cents in range(-4, 5) if cents)
"""Differences by which a total may be rounded to what can be paid in coins."""

Amount = Candidate[Decimal]
Scored = tuple[Amount, float]
"""An amount, and how far its score is above that of none."""
_Option = tuple[Amount | None, float]


def totals(
    candidates: Candidates,
    document_type: DocumentType,
    gross_total: Decimal | None = None,
    *,
    table: Items = NO_ITEMS,
) -> dict[str, Finding]:
    """Net, tax and gross total, and the amount due.

    gross_total: the value, if another reader has found it. table: the items, whose amounts are no totals, and
    whose headings are no labels of amounts below them.
    """
    amounts = candidates.amounts_outside(table.cells, table.headings)
    ranking = _AmountRanking(amounts)
    is_till = DEFINITIONS[document_type].line_items == "till"
    rates_sums = None if is_till else tax_sums(candidates)
    scored_by_field = _score_totals(ranking, amounts, rates_sums, is_till=is_till)
    options: list[list[_Option]] = [
        [(None, 0.0), *((amount, score + worth * (amount.value == table.total)) for amount, score in scored)]
        for scored, worth in zip(scored_by_field, _SUM_OF_ITEMS, strict=True)
    ]
    stated = next((amount for amount in amounts if amount.value == gross_total), None)
    if stated is not None:
        options[-1] = [(stated, 0.0)]
    rates = {rate / 100 for rate in candidates.percentages if rate > 0}
    slack = CASH_ROUNDING if is_till else CENT
    weighed = [(chosen, _combined_score(chosen, rates, slack)) for chosen in product(*options)]
    best_options, _ = max(weighed, key=lambda combination: combination[1])
    findings = {
        field: _finding(weighed, index, amount)
        for index, (field, (amount, _)) in enumerate(zip(FIELDS, best_options, strict=True))
        if amount is not None
    }
    if rates_sums is not None:
        findings |= dict(_computed_sums(rates_sums, findings))
    amount_due = _find_amount_due(ranking, best_options[-1][0])
    return findings if amount_due is None else findings | {"amount_due": amount_due}


def _score_totals(
    ranking: "_AmountRanking", amounts: Sequence[Amount], rates_sums: TaxSums | None, *, is_till: bool
) -> list[list[Scored]]:
    """The best amounts for each of `FIELDS`. rates_sums: the sums of the rows of rates of tax, if any."""
    gross = ranking.best("gross_total", least=-1.0 if is_till else 0.0)
    if is_till:
        by_till = _till_scores(amounts)
        gross = [(amount, score + by_till.get(amount.value, 0.0)) for amount, score in gross]
    scored_by_field = [ranking.best("net_total"), ranking.best("tax_total"), gross]
    if rates_sums is None:
        return scored_by_field
    return [
        _by_rates(rates_sums, value, scored, amounts)
        for value, scored in zip(rates_sums.by_field.values(), scored_by_field, strict=True)
    ]


def _find_amount_due(ranking: "_AmountRanking", gross: Amount | None) -> Finding | None:
    """The amount due that is printed; it is no more than the gross total, if that is known."""
    limit = None if gross is None else abs(gross.value) + CASH_ROUNDING
    payable = [
        (amount, score)
        for amount, score in ranking.best("amount_due")
        if score > 0 and (limit is None or abs(amount.value) <= limit)
    ]
    return best(payable, null=0)


def _by_rates(
    sums: TaxSums, value: Decimal, scored: Sequence[Scored], amounts: Sequence[Amount]
) -> list[Scored]:
    """The options of a total; the sum over all rates scores higher, amounts of single rates lower."""
    options = [
        (
            amount,
            score + _SUM_OF_RATES * (amount.value == value) - _OF_ONE_RATE * (amount.value in sums.parts),
        )
        for amount, score in scored
    ]
    if not any(amount.value == value for amount, _ in scored):
        options += [
            (amount, _SUM_OF_RATES) for amount in amounts if amount.value == value and not amount.plain
        ][-1:]
    return options


def _computed_sums(sums: TaxSums, findings: Mapping[str, Finding]) -> Iterator[tuple[str, Finding]]:
    """Sums that are not printed, such as that of two taxes, if the printed total confirms them."""
    gross = findings.get("gross_total")
    if gross is None or gross.value != sums.gross:
        return
    for field, value in sums.by_field.items():
        finding = findings.get(field)
        if finding is None or finding.value != value:
            yield field, Finding(value, (), gross.probability * _COMPUTED)


def _combined_score(options: Sequence[_Option], rates: set[Decimal], slack: Decimal) -> float:
    """The score of net, tax and gross together: of each, and of how well they agree."""
    net, tax, gross = (None if amount is None else amount.value for amount, _ in options)
    score = 0.0
    if net is not None and tax is not None and gross is not None:
        score += _ADDS_UP if abs(net + tax - gross) <= slack else _DOES_NOT_ADD_UP
    elif _exceeds(net, gross) or _exceeds(tax, gross, _HIGHEST_TAX) or _exceeds(tax, net):
        score += _DOES_NOT_ADD_UP
    if net is not None and tax is not None and any(abs(net * rate - tax) <= 2 * CENT for rate in rates):
        score += _KNOWN_RATE
    return sum(score for _, score in options) + score


def _exceeds(part: Decimal | None, whole: Decimal | None, share: Decimal = Decimal(1)) -> bool:
    return part is not None and whole is not None and abs(part) > abs(whole) * share


def _finding(weighed: Sequence[tuple[Sequence[_Option], float]], index: int, chosen: Amount) -> Finding:
    """The amount in field `index` as a finding; each rival has the score of its best combination."""
    best_scores: dict[Decimal, Scored] = {}
    null = _NEVER
    for options, score in weighed:
        amount, _ = options[index]
        if amount is None:
            null = max(null, score)
        elif amount.value not in best_scores or score > best_scores[amount.value][1]:
            best_scores[amount.value] = amount, score
    _, score = best_scores.pop(chosen.value)
    rivals = sorted(best_scores.values(), key=lambda scored: -scored[1])
    shares = probabilities([score, *(score for _, score in rivals)], null=null)
    others = zip(rivals[:MOST_RIVALS], shares[1:], strict=False)
    return finding_of(chosen, shares[0], tuple(finding_of(amount, share) for (amount, _), share in others))


def balances(candidates: Candidates) -> dict[str, Finding]:
    """Opening and closing balance of an account."""
    ranking = _AmountRanking(candidates.amounts)
    opening, closing = (best(ranking.best(field), null=0) for field in ("opening_balance", "closing_balance"))
    if opening is not None and closing is not None and opening.spans == closing.spans:
        opening = None  # `Solde au` may label either
    findings = {"opening_balance": opening, "closing_balance": closing}
    return {field: finding for field, finding in findings.items() if finding is not None}


def balance_options(candidates: Candidates, field: str) -> list[Finding]:
    """Candidates for the balance `field`, the best first."""
    ranking = _AmountRanking(candidates.amounts).best(field)
    return [finding_of(amount, 0.5) for amount, _ in ranking]


def tip(candidates: Candidates) -> Iterator[tuple[str, Finding]]:
    """The tip on a receipt."""
    finding = best(_AmountRanking(candidates.amounts).best("tip")[:1], null=0)
    if finding is not None:
        yield "tip", finding


def currency(candidates: Candidates) -> Iterator[tuple[str, Finding]]:
    """The document's currency, where it is first printed; the same mark may stand for several."""
    code, language = candidates.conventions.currency, candidates.conventions.language
    if code is None:
        return
    for segment in candidates.layout.segments:
        for symbol, start, stop in currency_spans(segment.text):
            meant = currency_code(symbol, language)
            if meant == code or (symbol == "$" and meant == "USD"):
                sure = 0.97 if symbol.upper() == code or symbol != "$" else _sureness_of_dollars(candidates)
                yield "currency", Finding(code, (Span(segment, start, stop),), sure)
                return


def _sureness_of_dollars(candidates: Candidates) -> float:
    """The probability of the dollar that a bare `$` was taken for: twenty countries have one."""
    text = "\n".join(segment.text for segment in candidates.layout.segments)
    is_named = candidates.conventions.currency != "USD"
    return 0.8 if is_named or has_us_address(text) or has_us_phone(text) else 0.5


class _AmountRanking:
    """The amounts of a document, ranked for a field by label, place and size."""

    def __init__(self, amounts: Sequence[Amount]) -> None:
        self._amounts = amounts
        self._largest = max((abs(amount.value) for amount in amounts if not amount.plain), default=Decimal(0))
        sums = [amount.value for amount in amounts if amount.value and not _TOTALS.isdisjoint(amount.clues)]
        self._is_credit = sum(value < 0 for value in sums) > len(sums) / 2  # most sums may be negative

    def best(self, field: str, *, least: float = 0.0) -> list[Scored]:
        """The best amounts of a field, one for each value, whose labels say more than `least` for it."""
        meaning = built_in_meaning(field)
        by_value: dict[Decimal, Scored] = {}
        unlabelled: list[Scored] = []
        for index, amount in enumerate(self._amounts):
            if field == "gross_total" and _is_without_tax(amount):
                continue
            by_label = meaning.score(amount.clues)
            by_place = _LAST_AMOUNT * index / max(1, len(self._amounts))
            if amount.plain:
                by_place += _PLAIN
            if field == "gross_total" and abs(amount.value) == self._largest:
                by_place += _LARGEST
            if (amount.value < 0 and not self._is_credit) or (amount.value == 0 and field != "tax_total"):
                by_place += _UNLIKELY
            if by_label > (0 if amount.plain else least):
                score = by_label + by_place - meaning.null
                rival = by_value.get(amount.value)
                if rival is None or score > rival[1]:
                    by_value[amount.value] = (amount, score)
            if not amount.plain and not amount.clues.get(Concept.CHANGE):
                unlabelled.append((amount, _UNLABELLED + 0.1 * by_place))
        net = {amount.value for amount in self._amounts if _is_without_tax(amount)}
        unlabelled = [(amount, score) for amount, score in unlabelled if amount.value not in net]
        if not by_value and field == "gross_total" and unlabelled:
            # Where no label was read, the largest amount may still be the total.
            return [max(unlabelled, key=lambda scored: scored[0].value)]
        return sorted(by_value.values(), key=lambda scored: -scored[1])[:_BEST]


def _is_without_tax(amount: Amount) -> bool:
    """True beside a label such as `Total excluding VAT`, and no other that includes it."""
    clues = amount.clues
    return clues.get(Concept.EXCLUDING, 0) > _SURE and not clues.get(Concept.INCLUDING)


class TillSums:
    """The labelled amounts of a receipt, without signs.

    kept: payments less the change. totals: of goods or due. roundings: amounts by which, or to which, a total
    was rounded.
    """

    def __init__(self, amounts: Sequence[Candidate[Decimal]]) -> None:
        self._marked = [amount for amount in amounts if not amount.plain]
        self.paid = self.labelled(Concept.PAID)
        self.change = self.labelled(Concept.CHANGE)
        self.kept = {paid - back for paid in self.paid for back in self.change if paid > back}
        self.totals = self.labelled(Concept.TOTAL, Concept.DUE)
        self.roundings = self.labelled(Concept.ROUNDING)

    def labelled(self, *concepts: Concept) -> set[Decimal]:
        """The values with a label of one of the concepts."""
        return {
            abs(amount.value)
            for amount in self._marked
            if any(amount.clues.get(concept, 0) > _SURE for concept in concepts)
        }

    def rounded(self, values: Iterable[Decimal]) -> dict[Decimal, Decimal]:
        """The results of rounding values by a printed amount, each with the value."""
        steps = [sign * by for by in self.roundings if 0 < by <= CASH_ROUNDING for sign in (1, -1)]
        return {value + step: value for value in values for step in steps}


def _till_scores(amounts: Sequence[Amount]) -> Mapping[Decimal, float]:
    """Score each value as a receipt's total, by the payment, the change, the rounding and other sums."""
    till = TillSums(amounts)
    printed = {abs(amount.value) for amount in amounts}
    unrounded_by_rounded = {
        after: value for after, value in till.rounded(till.totals).items() if after % CASH_ROUNDING == 0
    } | {
        value: value - by
        for value in till.roundings
        for by in ROUNDED_BY
        if value > CASH_ROUNDING and value % CASH_ROUNDING == 0 and value - by in till.totals
    }
    unrounded = {value for after, value in unrounded_by_rounded.items() if after in printed}
    # Two totals and their sum, as of two rates of tax; the sum of total and change is what was handed over.
    plain_sums = {
        amount.value
        for amount in amounts
        if _TILL_TOTALS & amount.clues.keys()
        and not _NO_TOTALS.intersection(amount.clues)
        and not amount.plain
    }
    largest = sorted((value for value in plain_sums if value > 0), reverse=True)[:_MOST_SUMMANDS]
    pairs = [pair for pair in combinations(largest, 2) if sum(pair) in plain_sums]
    scores: dict[Decimal, float] = defaultdict(float)
    for values, score in (
        (till.kept, _CASH_LESS_CHANGE),
        (set(unrounded_by_rounded), _ROUNDED_TOTAL),
        (unrounded, _UNROUNDED_TOTAL),
        ({sum(pair, Decimal(0)) for pair in pairs} - unrounded, _SUM_OF_TOTALS),
        ({part for pair in pairs for part in pair}, _SUMMAND),
        (till.paid, _PAID_AMOUNT),
    ):
        for value in values:
            scores[value] += score
    return scores
