"""Layouts of made-up papers with amounts and no table of goods: of tills, banks, accounts and employers."""

from datetime import date, timedelta
from decimal import Decimal

from bench.data.type_paper_layouts import GOODS, HOUSES, OTHER_HOUSE, Content, Text

_TILL = {
    "en": ("Cash", "Change", "Thank you for your visit", "Paid by card"),
    "de": ("Bar", "Rückgeld", "Vielen Dank für Ihren Einkauf", "Kartenzahlung"),
    "fr": ("Espèces", "Rendu", "Merci de votre visite", "Carte bancaire"),
    "es": ("Efectivo", "Cambio", "Gracias por su visita", "Tarjeta"),
    "it": ("Contante", "Resto", "Grazie e arrivederci", "Pagamento elettronico"),
    "nl": ("Contant", "Wisselgeld", "Bedankt en tot ziens", "Pinbetaling"),
    "pl": ("Gotówka", "Reszta", "Dziękujemy za zakupy", "Karta płatnicza"),
    "pt": ("Numerário", "Troco", "Obrigado pela visita", "Multibanco"),
    "sv": ("Kontant", "Växel", "Tack för besöket", "Kort"),
    "da": ("Kontant", "Byttepenge", "Tak for besøget", "Dankort"),
}
EMPLOYEE = ("Maja Lindqvist", "Birch Row 7", "4022 Westbury")


def _items(content: Content) -> list[tuple[str, Decimal]]:
    random_ = content.random
    return [
        (random_.choice(GOODS), Decimal(random_.randrange(120, 9000)) / 100)
        for _ in range(random_.randrange(1, 8))
    ]


def till(content: Content) -> list[Text]:
    """A strip with items, the total, and what was paid in cash."""
    house, say, random_ = HOUSES[content.language], content.say, content.random
    cash, change, thanks, _ = _TILL[content.language]
    texts = [Text(40, 30 + 12 * row, 9, line) for row, line in enumerate(house)]
    texts += [
        Text(40, 82, 10, content.title),
        Text(30, 100, 9, f"{say.day(content.day)}  {random_.randrange(8, 21)}:{random_.randrange(10, 60)}"),
        Text(30, 113, 9, f"{say.label('receipt.number')} {content.number}"),
    ]
    y, total = 135.0, Decimal(0)
    for name, price in _items(content):
        texts += [Text(30, y, 9, name), Text(210, y, 9, say.number(price))]
        y, total = y + 13, total + price
    paid = (total // 10 + 1) * 10
    rows = (
        (say.label("gross_total"), total), (say.label("tax"), total / 6), (cash, paid),
        (change, paid - total),
    )  # fmt: skip
    for label, value in rows:
        y += 14
        texts += [Text(30, y, 9, label), Text(200, y, 9, say.money(value.quantize(Decimal("0.01"))))]
    return [*texts, Text(60, y + 30, 9, thanks)]


def till_by_card(content: Content) -> list[Text]:
    """A strip without a title that stands alone: it follows the number, and little is said."""
    house, say = HOUSES[content.language], content.say
    texts = [Text(60, 30, 12, house[0].upper())]
    texts += [Text(40, 52, 8, ", ".join(house[1:])), Text(40, 70, 8, f"{content.title}  {content.number}")]
    y, total = 92.0, Decimal(0)
    for name, price in _items(content):
        texts.append(Text(30, y, 8, f"1 x {name}"))
        texts.append(Text(215, y, 8, say.number(price)))
        y, total = y + 12, total + price
    texts += [
        Text(30, y + 12, 12, say.label("gross_total").upper()), Text(190, y + 12, 12, say.number(total)),
        Text(30, y + 30, 8, _TILL[content.language][3]), Text(215, y + 30, 8, say.number(total)),
        Text(30, y + 46, 8, f"{say.day(content.day)} 17:42"),
    ]  # fmt: skip
    return texts


def _bookings(content: Content) -> list[tuple[date, str, Decimal]]:
    random_ = content.random
    return [
        (
            content.day + timedelta(days=3 * row),
            random_.choice((OTHER_HOUSE[0], "Kestrel Freight", "City Works", "Salary")),
            Decimal(random_.randrange(-90000, 90000)) / 100,
        )
        for row in range(random_.randrange(3, 9))
    ]


def account(content: Content) -> list[Text]:
    """A bank's statement with opening and closing balances and two columns of amounts."""
    say = content.say
    texts = [
        Text(60, 50, 14, "Hansa Bank"), Text(60, 90, 13, content.title), Text(400, 90, 9, content.number),
        Text(60, 115, 9, "IBAN DE02 1203 0000 0000 2020 51"), Text(330, 115, 9, "BIC BYLADEM1001"),
        *(Text(60, 140 + 12 * row, 9, line) for row, line in enumerate(OTHER_HOUSE)),
    ]  # fmt: skip
    heads = ("day", "details", "debit", "credit_column")
    columns = (60, 130, 380, 470)
    texts += [Text(x, 210, 8, say.label(head)) for x, head in zip(columns, heads, strict=True)]
    y, balance = 226.0, Decimal(123456) / 100
    texts += [Text(130, y, 9, say.label("opening_balance")), Text(470, y, 9, say.number(balance))]
    for day, name, value in _bookings(content):
        y, balance = y + 14, balance + value
        place = columns[2] if value < 0 else columns[3]
        texts += [
            Text(60, y, 9, say.day(day)),
            Text(130, y, 9, name),
            Text(place, y, 9, say.number(abs(value))),
        ]
    return [
        *texts,
        Text(130, y + 18, 9, say.label("closing_balance")),
        Text(470, y + 18, 9, say.money(balance)),
    ]


def account_list(content: Content) -> list[Text]:
    """The same as a program prints it: one size of print, one column of signed amounts, a running balance."""
    say = content.say
    texts = [
        Text(50, 50, 9, f"{content.title} {content.number}"),
        Text(50, 64, 9, "DE02 1203 0000 0000 2020 51"),
    ]
    columns = (50, 130, 380, 470)
    heads = ("day", "details", "amount", "balance")
    texts += [Text(x, 90, 9, say.label(head)) for x, head in zip(columns, heads, strict=True)]
    y, balance = 90.0, Decimal(50000) / 100
    for day, name, value in _bookings(content):
        y, balance = y + 13, balance + value
        cells = (say.day(day), name, say.number(value), say.number(balance))
        texts += [Text(x, y, 9, cell) for x, cell in zip(columns, cells, strict=True)]
    return texts


def open_items(content: Content) -> list[Text]:
    """A seller's list of the invoices that a customer has not paid, or has."""
    house, say, random_ = HOUSES[content.language], content.say, content.random
    texts = [Text(380, 50 + 12 * row, 9, line) for row, line in enumerate(house)]
    texts += [Text(60, 100 + 12 * row, 10, line) for row, line in enumerate(OTHER_HOUSE)]
    texts += [
        Text(60, 170, 14, content.title),
        Text(60, 190, 9, f"{say.label('day')}: {say.day(content.day)}"),
    ]
    columns = (60, 170, 290, 420)
    heads = ("invoice.number", "day", "due_date", "amount")
    texts += [Text(x, 220, 9, say.label(head)) for x, head in zip(columns, heads, strict=True)]
    y, total = 220.0, Decimal(0)
    for row in range(random_.randrange(3, 8)):
        y, value = y + 14, Decimal(random_.randrange(2000, 90000)) / 100
        total += value
        day = content.day - timedelta(days=9 * row)
        cells = (
            f"R{random_.randrange(1000, 9999)}",
            say.day(day),
            say.day(day + timedelta(30)),
            say.number(value),
        )
        texts += [Text(x, y, 9, cell) for x, cell in zip(columns, cells, strict=True)]
    return [*texts, Text(290, y + 20, 10, say.label("balance")), Text(420, y + 20, 10, say.money(total))]


_PAY = (
    "basic_pay",
    "bonus",
    "gross_pay",
    "income_tax",
    "social_contributions",
    "total_deductions",
    "net_pay",
)


def _pay(content: Content) -> list[tuple[str, Decimal]]:
    basic = Decimal(content.random.randrange(180000, 520000)) / 100
    bonus, tax, social = basic / 20, basic / 5, basic / 8
    values = (basic, bonus, basic + bonus, tax, social, tax + social, basic + bonus - tax - social)
    return [
        (content.say.label(name), value.quantize(Decimal("0.01")))
        for name, value in zip(_PAY, values, strict=True)
    ]


def payslip(content: Content) -> list[Text]:
    """The employer on top, the employee in the window, one row for each amount."""
    house, say = HOUSES[content.language], content.say
    texts = [Text(60, 50 + 12 * row, 9, line) for row, line in enumerate(house)]
    texts += [Text(60, 120 + 12 * row, 10, line) for row, line in enumerate(EMPLOYEE)]
    texts += [
        Text(330, 110, 13, content.title), Text(330, 130, 9, f"{say.label('employee_number')}: 4471"),
        Text(330, 144, 9, f"{say.label('pay_period')}: {say.day(content.day)}"),
    ]  # fmt: skip
    for row, (label, value) in enumerate(_pay(content)):
        texts += [Text(60, 210 + 16 * row, 9, label), Text(440, 210 + 16 * row, 9, say.number(value))]
    return texts


def payslip_labels(content: Content) -> list[Text]:
    """Everything beside its label, earnings at the left and deductions at the right."""
    house, say = HOUSES[content.language], content.say
    texts = [Text(200, 50, 14, content.title)]
    facts = (
        ("employer", house[0]), ("employee", EMPLOYEE[0]), ("employee_number", "4471"),
        ("payment_date", say.day(content.day)),
    )  # fmt: skip
    for row, (label, value) in enumerate(facts):
        texts += [Text(60, 90 + 15 * row, 9, say.label(label)), Text(200, 90 + 15 * row, 9, value)]
    rows = _pay(content)
    for side, part in ((60, rows[:3]), (310, rows[3:])):
        for row, (label, value) in enumerate(part):
            texts += [
                Text(side, 180 + 15 * row, 9, label),
                Text(side + 160, 180 + 15 * row, 9, say.number(value)),
            ]
    return texts
