"""Checks of the totals: net, tax, gross and amount due against each other and against the type's own sums."""

from collections.abc import Iterator
from decimal import Decimal

from pydantic import BaseModel

from docmill.model.result import Failure
from docmill.schemas.document_types import PATH_IN_BRACES
from docmill.understanding.gate.inputs import (
    LONGEST_SEARCHED,
    GateInput,
    label_before,
    meanings_before,
    own_meanings,
)
from docmill.understanding.page.labels import LABELS
from docmill.understanding.text.money import CASH_ROUNDING, CENT, find_amounts, number
from docmill.understanding.vocabulary import Concept

_HIGHEST_TAX = Decimal("0.3")
"""Share of the net total that taxes are at most, of countries that are not known."""
_LONGEST_LABEL = 40
_OF_DUE = frozenset({Concept.DUE, Concept.PAID})
"""Meanings of an own field that says what is to be paid."""
_REDUCING = (Concept.PAID, Concept.COMMISSION, Concept.DISCOUNT)
"""Meanings of amounts by which less than the total is due."""
_NOT_TAX = frozenset({Concept.COMMISSION, Concept.DISCOUNT, Concept.TIP, Concept.CHANGE, Concept.PAID})


def check_totals(judged: GateInput) -> Iterator[Failure]:
    """Failures of net, tax and gross."""
    tolerance = tolerance_of(judged)
    net, tax, gross = (judged.amount(role) for role in ("net_total", "tax_total", "gross_total"))
    of_net, of_tax, of_gross = (judged.path(role) for role in ("net_total", "tax_total", "gross_total"))
    if gross is not None and tax is not None:
        if net is not None and abs(net + tax - gross) > tolerance:
            message = f"Net total {net} and tax {tax} do not add up to the total {gross}."
            yield Failure(check="sum", message=message, fields=(of_net, of_tax, of_gross))
        if abs(tax) > abs(gross):
            message = f"Tax {tax} is more than the total {gross}."
            yield Failure(check="tax_above_total", message=message, fields=(of_tax, of_gross))
    if not judged.document.embedded:  # the XML of an e-invoice has rules of its own for its sums
        yield from _check_net(judged)


def _check_net(judged: GateInput) -> Iterator[Failure]:
    """Failures of a net total above the gross total, below the tax, or far below the gross total."""
    net, tax, gross = (judged.amount(role) for role in ("net_total", "tax_total", "gross_total"))
    of_net, of_tax, of_gross = (judged.path(role) for role in ("net_total", "tax_total", "gross_total"))
    if net is not None and tax is not None and abs(tax) > abs(net) > 0:
        message = f"Tax {tax} is more than the net total {net}; they may be swapped."
        yield Failure(check="tax_above_net", message=message, fields=(of_net, of_tax))
    if net is None or gross is None or net * gross <= 0:
        return
    if abs(net) > abs(gross) + tolerance_of(judged):
        message = f"The net total {net} is more than the total {gross}."
        yield Failure(check="net_above_total", message=message, fields=(of_net, of_gross))
    elif tax is None and abs(net) * (1 + _HIGHEST_TAX) < abs(gross):
        message = f"The total {gross} is much more than the net total {net}, and no tax explains it."
        yield Failure(check="net_below_total", message=message, fields=(of_net, of_gross))


def check_tax_label(judged: GateInput) -> Iterator[Failure]:
    """A failure of a tax that stands beside the label of a commission or discount."""
    path = judged.path("tax_total")
    line = judged.line_of(path) if path in judged.values else None
    if line is not None:
        meanings = meanings_before(line)
        if Concept.TAX not in meanings and not _NOT_TAX.isdisjoint(meanings):
            label = label_before(line.before)
            message = f"{judged.name(path)} {judged.values[path]} stands beside another label: {label!r}."
            yield Failure(check="tax_label", message=message, fields=(path,))


def check_amount_due(judged: GateInput) -> Iterator[Failure]:
    """A failure of an amount due beyond the total. E-invoices may ask for earlier debts, as BR-CO-16 says."""
    gross, due = judged.amount("gross_total"), judged.amount("amount_due")
    if judged.own_fields is not None:
        yield from _check_own_due(judged, judged.own_fields)
    if gross is None or due is None or judged.document.embedded:
        return
    tip = judged.amount("tip")
    if tip is not None and abs(gross + tip - due) <= tolerance_of(judged):
        return
    if abs(due) > abs(gross) + tolerance_of(judged) or due * gross < 0:
        message = f"The amount due {due} is more than the total {gross}."
        yield Failure(check="amount_due", message=message, fields=("amount_due", "gross_total"))
    elif due == gross and not judged.definition.is_till_paper and (paid := _partly_paid(judged, gross)):
        message = f"{paid} was paid, as it is printed, but the amount due {due} is the whole total."
        yield Failure(check="payments", message=message, fields=("amount_due",))
    elif abs(gross - due) > tolerance_of(judged) and not _is_paid(judged, abs(gross - due)):
        payment = f"no payment of {gross - due} is printed"
        message = f"The amount due {due} is less than the total {gross}, and {payment}."
        yield Failure(check="payments", message=message, fields=("amount_due", "gross_total"))


def check_old_balance(judged: GateInput) -> Iterator[Failure]:
    """A failure of a total that an older balance is part of: both are printed, and the rest is, too."""
    gross = judged.amount("gross_total")
    if gross is None or judged.definition.line_items == "bookings":
        return
    for balance in _labelled_amounts(judged, Concept.OPENING_BALANCE):
        if 0 < balance < abs(gross) and abs(gross) - balance in judged.printed_numbers:
            message = f"The total {gross} may hold an older balance of {balance}, which is printed as well."
            yield Failure(check="old_balance", message=message, fields=(judged.path("gross_total"),))
            return


def _check_own_due(judged: GateInput, fields: type[BaseModel]) -> Iterator[Failure]:
    """Failures of a user's field for the amount to pay.

    It holds the whole total although the page prints a payment and the rest.
    """
    for path, meaning in own_meanings(fields).items():
        amount = judged.values.get(path)
        if not isinstance(amount, Decimal) or _OF_DUE.isdisjoint(meaning.labels):
            continue
        paid = _partly_paid(judged, amount)
        if paid is not None:
            message = (
                f"{paid} was paid, as it is printed, but {judged.inner_name(path)} {amount} is all of it."
            )
            yield Failure(check="payments", message=message, fields=(path,))


def _partly_paid(judged: GateInput, gross: Decimal) -> Decimal | None:
    """The first printed payment that is less than the total, if the rest is printed, too; else None."""
    for paid in _labelled_amounts(judged, Concept.PAID):
        if 0 < paid < abs(gross) and abs(gross) - paid in judged.printed_numbers:
            return paid
    return None


def _labelled_amounts(judged: GateInput, concept: Concept) -> Iterator[Decimal]:
    """The amounts with cents behind labels of this meaning, each with a decimal point and a comma."""
    for printed in judged.document.text[:LONGEST_SEARCHED].splitlines():
        line = " ".join(printed.split())  # columns are kept apart by spaces
        for label in LABELS.find(line):
            following = find_amounts(line[label.stop : label.stop + _LONGEST_LABEL], misread=False)[:1]
            if concept in label.meanings and following and following[0].has_cents:
                for mark in (".", ","):
                    yield abs(number(following[0].digits, mark))


def _is_paid(judged: GateInput, paid: Decimal) -> bool:
    """Return whether the page prints what was paid, in one amount or in two.

    No payment is a number that a value was read from, or that a person has replaced, unless it is called one
    at another place; what is called a payment may be the total.
    """
    payments = {
        amount
        for concept in _REDUCING
        for amount in _labelled_amounts(judged, concept)
        if judged.has_free_place(amount, but=("gross_total", "amount_due"))
    }
    read = {abs(value) for value in judged.values.values() if isinstance(value, Decimal)}
    others = judged.printed_counts.keys() - read - judged.refuted_numbers
    # Nothing on the page says that so much is due as was computed: a payment must be called one.
    printed = payments if judged.is_computed("amount_due") else payments | others
    return any(
        abs(paid - amount) <= CENT or (paid - amount in printed and {amount, paid - amount} & payments)
        for amount in printed
    )


def check_type_rules(judged: GateInput) -> Iterator[Failure]:
    """Failures of the sums in the definition of the document's type; terms after a `-` are subtracted."""
    for check in judged.definition.checks:
        terms = [*((term, 1) for term in check.left), *((term, -1) for term in check.right)]
        paths = tuple(term.removeprefix("-") for term, _ in terms)
        amounts = [amount for path in paths if isinstance(amount := judged.values.get(path), Decimal)]
        if len(amounts) < len(paths):
            continue
        signs = [-side if term.startswith("-") else side for term, side in terms]
        difference = sum((sign * amount for sign, amount in zip(signs, amounts, strict=True)), Decimal(0))
        is_met = abs(difference) <= CENT if check.relation == "=" else difference >= 0
        if not is_met:
            message = PATH_IN_BRACES.sub(
                lambda path: str(judged.values.get(path[1], "nothing")), check.message
            )
            yield Failure(check=check.name, message=message, fields=paths)


def tolerance_of(judged: GateInput) -> Decimal:
    """The difference up to which sums agree: larger on receipts, where cash payments are rounded."""
    return CASH_ROUNDING if judged.definition.is_till_paper else CENT
