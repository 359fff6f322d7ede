"""The means of payment by the codes of UNTDID 4461, which the field `payment.method` holds, in words."""

PATH = "payment.method"

PAYMENT_METHODS: dict[str, str] = {
    "10": "Cash",
    "20": "Cheque",
    "30": "Bank transfer",
    "31": "Debit transfer",
    "42": "To a bank account",
    "48": "Bank card",
    "49": "Direct debit",
    "54": "Credit card",
    "55": "Debit card",
    "57": "Standing agreement",
    "58": "SEPA transfer",
    "59": "SEPA direct debit",
    "68": "Online payment service",
    "97": "Clearing between partners",
}
"""The codes that documents often have."""
