"""Documents that people corrected are judged anew: values that were computed from old ones follow now."""

from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")

    # Their owner sees all tenants' for a moment. The sweeper judges them.
    op.execute("ALTER TABLE document NO FORCE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE review NO FORCE ROW LEVEL SECURITY")
    op.execute(
        """
        UPDATE document
           SET review_due = true
         WHERE structured_data IS NOT NULL
           AND id IN (
               SELECT document_id FROM current_review
                WHERE action IN ('correct', 'clear') AND path NOT IN ('', '\\:document_type')
           )
        """
    )
    op.execute("ALTER TABLE review FORCE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE document FORCE ROW LEVEL SECURITY")
