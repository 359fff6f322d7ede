"""Open pages are told of links that the matcher finds, suggests or gives up."""

from alembic import op

revision = "0072"
down_revision = "0071"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- Once for each document of a statement, since a bank statement has hundreds of payments.
        CREATE FUNCTION match_edge_events() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO event (tenant_id, document_id, kind)
            SELECT DISTINCT fresh.tenant_id, match_record.document_id, 'changed'
              FROM fresh
              JOIN former USING (tenant_id, id)
             CROSS JOIN LATERAL (VALUES (fresh.first_id), (fresh.second_id)) AS linked (record_id)
              JOIN match_record ON match_record.id = record_id AND match_record.tenant_id = fresh.tenant_id
             WHERE coalesce(former.state, 'outranked') <> coalesce(fresh.state, 'outranked');
            RETURN NULL;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER event_match_edge AFTER UPDATE ON match_edge
            REFERENCING OLD TABLE AS former NEW TABLE AS fresh
            FOR EACH STATEMENT EXECUTE FUNCTION match_edge_events()
        """
    )
