"""VAT categories by the codes of UNTDID 5305, which the field `tax_category` holds, in words."""

PATH = "tax_category"

REVERSE_CHARGE, INTRA_COMMUNITY, EXPORT = "AE", "K", "G"
TAX_CATEGORIES: dict[str, str] = {
    "S": "Standard or reduced rate",
    REVERSE_CHARGE: "Reverse charge",
    INTRA_COMMUNITY: "Intra-Community supply",
    EXPORT: "Export outside the EU",
    "E": "Exempt from VAT",
    "Z": "Zero-rated",
    "O": "Not subject to VAT",
    "L": "Tax of the Canary Islands",
    "M": "Tax of Ceuta and Melilla",
}
