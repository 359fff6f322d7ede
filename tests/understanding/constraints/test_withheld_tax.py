from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from docmill.model.document import Document
from docmill.schemas.registry import REGISTRY
from docmill.understanding.receipts.extractor import extract_built_in

Typeset = Callable[..., Document]

ITALIAN = """
Studio Tecnico Muster S.r.l.
Via Garibaldi 22, 40124 Bologna

Fattura n. 14/2026 del 19/04/2026

                        Imponibile                  2.000,00
                        IVA 22%                       440,00
                        Totale fattura              2.440,00
                        Ritenuta d'acconto 20%       -400,00
                        Netto a pagare          EUR 2.040,00
"""
SPANISH = """
Muster Traducciones S.L.
C/ Mayor 18, 46001 Valencia

FACTURA 2026-021            Fecha: 17/05/2026

                        Base imponible              2.000,00
                        IVA 22%                       440,00
                        Retención IRPF 20%           -400,00
                        TOTAL A PAGAR           EUR 2.040,00
"""
PORTUGUESE = """
Muster Consultores, Lda.
Rua da Estação 40, 3750-301 Águeda

Fatura n.º 31               Data: 15/09/2026

                        Total líquido               2.000,00
                        IVA 22%                       440,00
                        Total com IVA               2.440,00
                        Retenção na fonte 20%         400,00
                        Total a pagar           EUR 2.040,00
"""


def totals(document: Document) -> tuple[Decimal | None, ...]:
    data: Any = extract_built_in(document, REGISTRY["invoice"]).data
    return (data.net_total, data.tax_total, data.gross_total, data.amount_due)


@pytest.mark.parametrize("page", [ITALIAN, SPANISH, PORTUGUESE])
def test_a_withheld_tax_lessens_what_is_due_and_no_total(typeset: Typeset, page: str) -> None:
    assert totals(typeset(page)) == (Decimal(2000), Decimal(440), Decimal(2440), Decimal(2040))


def test_a_withheld_tax_that_no_sum_proves_changes_nothing(typeset: Typeset) -> None:
    page = ITALIAN.replace("EUR 2.040,00", "EUR 2.240,00")

    assert totals(typeset(page)) != (Decimal(2000), Decimal(440), Decimal(2440), Decimal(2040))
    assert totals(typeset(page))[:3] == totals(typeset(page.replace("Ritenuta d'acconto 20%", " " * 22)))[:3]
