"""How banks print a payment: which of its words and numbers stand in which field of the statement."""

from collections.abc import Callable

from docmill.schemas.types import Transaction
from docmill.training.linked_documents.deals import Booking
from docmill.training.linked_documents.name_variants import transliterated
from docmill.training.linked_documents.sampling import Sampler

BankText = Callable[[Booking, Sampler], Transaction]


def plain_text(booking: Booking, sampler: Sampler) -> Transaction:
    """The purpose as the payer wrote it."""
    words = _purpose(booking, sampler.choice(("{}", "Rechnung {}", "RE {}", "Invoice {}", "Rg.Nr. {}")))
    kind = "Gutschrift" if booking.amount > 0 else sampler.choice(("Überweisung", "Online-Überweisung", ""))
    return _transaction(booking, description=f"{kind} {words}".strip())


def reference_field(booking: Booking, sampler: Sampler) -> Transaction:
    """The number alone in the reference, and the kind of booking as description."""
    kind = sampler.choice(("SEPA-Überweisung", "Faster payment", "Bill payment", "SEPA-Gutschrift"))
    number = " ".join(booking.numbers)[: booking.limit]
    return _transaction(booking, reference=number or None, description=f"{kind} {booking.remark}".strip())


def sepa_keywords(booking: Booking, sampler: Sampler) -> Transaction:
    """Keywords of the German banks, upper case without umlauts, the purpose behind `SVWZ+`."""
    random_ = sampler.random
    end_to_end = "NOTPROVIDED"
    if booking.numbers and random_.random() < 0.3:
        end_to_end = booking.numbers[0]
    elif random_.random() < 0.4:
        end_to_end = f"{random_.randrange(10**14, 10**15)}"
    purpose = _purpose(booking, sampler.choice(("{}", "RECHNUNG {}", "RNR {}", "RE.NR.{}")))
    fields = [f"EREF+{end_to_end}", f"KREF+{random_.randrange(10**9, 10**10)}", f"SVWZ+{purpose}"]
    if booking.amount < 0 and random_.random() < 0.2:
        fields.insert(1, f"MREF+M{random_.randrange(10**5, 10**6)}")
    shown = transliterated(" ".join(fields)).upper()
    return _transaction(booking, description=shown, counterparty=transliterated(booking.counterparty).upper())


def end_to_end_id(booking: Booking, sampler: Sampler) -> Transaction:
    """The first number as end-to-end id in the reference, all words in the description."""
    purpose = _purpose(booking, sampler.choice(("{}", "Ihre Rechnung {}", "Payment for {}", "zu {}")))
    return _transaction(
        booking,
        reference=(booking.numbers[0][:35] if booking.numbers else "NOTPROVIDED"),
        description=purpose,
    )


def name_in_text(booking: Booking, sampler: Sampler) -> Transaction:
    """The counterparty only in the description, in front of or behind the purpose."""
    purpose = _purpose(booking, "{}")
    parts = [booking.counterparty, purpose]
    sampler.random.shuffle(parts)
    return _transaction(booking, description=" ".join(filter(None, parts)), counterparty="", iban="")


BANK_TEXTS: tuple[BankText, ...] = (
    plain_text,
    reference_field,
    sepa_keywords,
    sepa_keywords,
    end_to_end_id,
    name_in_text,
)


# The other set, for measuring only.


def french_transfer(booking: Booking, sampler: Sampler) -> Transaction:
    """Fields behind slashes, as banks in France print a transfer."""
    direction = "RECU /DE" if booking.amount > 0 else "EMIS /BEN"
    purpose = _purpose(booking, sampler.choice(("FACT {}", "FACTURE N {}", "REGLT {}", "{}")))
    reference = f"/REF {sampler.random.randrange(10**6, 10**8)}" if sampler.chance(0.4) else ""
    name = transliterated(booking.counterparty).upper()
    text = f"VIR SEPA {direction} {name} /MOTIF {transliterated(purpose).upper()} {reference}"
    return _transaction(booking, description=text.strip(), counterparty=name if sampler.chance(0.4) else "")


def nordic_giro(booking: Booking, sampler: Sampler) -> Transaction:
    """A giro with an OCR number, KID or message, without an IBAN."""
    label = sampler.choice(("OCR", "KID", "Meddelande", "Betalings-ID", "Viite"))
    account = f"BG {sampler.random.randint(100, 9999)}-{sampler.random.randint(1000, 9999)}"
    number = " ".join(booking.numbers)[: booking.limit]
    text = f"{account} {label} {number} {booking.remark}" if number else f"{account} {booking.remark}"
    return _transaction(booking, description=text.strip(), iban="")


def iso_remittance(booking: Booking, sampler: Sampler) -> Transaction:
    """Remittance information of ISO 20022, with the amounts' documents in a list."""
    listed = "".join(f"/RFB/{number}" for number in booking.numbers)[: booking.limit]
    text = (
        f"{listed}/INS/{sampler.random.randrange(10**7)}"
        if sampler.chance(0.3)
        else f"{listed} {booking.remark}"
    )
    return _transaction(booking, description=text.strip(), reference=(booking.numbers[:1] or (None,))[0])


def short_message(booking: Booking, sampler: Sampler) -> Transaction:
    """A message of at most twelve characters, with the counterparty cut short."""
    del sampler
    text = _purpose(booking, "{}")[:12]
    return _transaction(booking, description=text, counterparty=booking.counterparty[:20])


OTHER_BANK_TEXTS: tuple[BankText, ...] = (
    french_transfer,
    french_transfer,
    nordic_giro,
    nordic_giro,
    iso_remittance,
    short_message,
)


def _purpose(booking: Booking, pattern: str) -> str:
    numbers = ", ".join(booking.numbers)
    words = [pattern.format(numbers)] if numbers else []
    return " ".join([*words, *filter(None, [booking.remark])])[: booking.limit].strip()


def _transaction(
    booking: Booking,
    *,
    description: str,
    reference: str | None = None,
    counterparty: str | None = None,
    iban: str | None = None,
) -> Transaction:
    return Transaction(
        date=booking.day,
        amount=booking.amount,
        currency=booking.currency,
        counterparty=(booking.counterparty if counterparty is None else counterparty) or None,
        iban=(booking.iban if iban is None else iban) or None,
        reference=reference,
        description=description or None,
    )
