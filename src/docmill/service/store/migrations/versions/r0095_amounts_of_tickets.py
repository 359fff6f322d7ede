"""Amounts of card slips and tickets: their total, as of receipts."""

from alembic import op

revision = "0095"
down_revision = "0094"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute(
        r"""
        -- The amount that a document is shown with, in hundredths; as money() in web/view/cards.py.
        CREATE OR REPLACE FUNCTION document_amount(data jsonb, type text) RETURNS bigint
        LANGUAGE sql IMMUTABLE AS $$
            SELECT round((data ->> name)::numeric * 100)::bigint
              FROM unnest(
                   CASE WHEN type IN ('invoice', 'credit_note', 'receipt', 'card_slip', 'ticket')
                        THEN ARRAY['gross_total']
                        WHEN data ->> 'tax_total' IS NULL
                        THEN ARRAY['gross_total', 'amount_due', 'closing_balance', 'net_pay', 'net_total']
                        ELSE ARRAY['gross_total', 'amount_due', 'closing_balance', 'net_pay'] END
                   ) WITH ORDINALITY AS names (name, number)
             WHERE data ->> name ~ '^-?[0-9]{1,15}(\.[0-9]{1,20})?$'
             ORDER BY number
             LIMIT 1
        $$
        """
    )
