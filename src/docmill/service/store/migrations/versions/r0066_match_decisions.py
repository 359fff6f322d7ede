"""Decisions about matches can be undone, are told to open pages, and matches are listed by their scores."""

from alembic import op

revision = "0066"
down_revision = "0065"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- The decisions that this one replaced, the newest last, each with decision, decided_by and
        -- decided_at.
        ALTER TABLE match_decision ADD COLUMN earlier jsonb NOT NULL DEFAULT '[]'
        """
    )
    op.execute("CREATE INDEX match_edge_by_score ON match_edge (tenant_id, state, score DESC, id DESC)")
    op.execute(
        """
        -- Both documents are shown otherwise.
        CREATE FUNCTION match_decision_event() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO event (tenant_id, document_id, kind)
            SELECT DISTINCT coalesce(NEW.tenant_id, OLD.tenant_id), id, 'changed'
              FROM unnest(ARRAY[coalesce(NEW.first_document_id, OLD.first_document_id),
                                coalesce(NEW.second_document_id, OLD.second_document_id)]) AS id;
            RETURN NULL;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER event_match_decision AFTER INSERT OR UPDATE OR DELETE ON match_decision
            FOR EACH ROW EXECUTE FUNCTION match_decision_event()
        """
    )
    op.execute(
        """
        -- Each document of a cluster is shown otherwise when the cluster changes.
        CREATE TRIGGER event_cluster AFTER UPDATE OF cluster_id ON document
            FOR EACH ROW WHEN (OLD.cluster_id IS DISTINCT FROM NEW.cluster_id)
            EXECUTE FUNCTION document_event('changed')
        """
    )
