"""What a person can see change, and the state of a document."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")

    op.execute(
        """
        -- transaction_id: ids are taken before they are committed, so a reader who has seen an id may have
        -- missed a smaller one. Readers stop before the oldest transaction still running. Rows are written by
        -- triggers only, after a row's change has given the transaction its id, so that an event's id is
        -- always taken later than its transaction's.
        CREATE TABLE event (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenant,
            document_id uuid NOT NULL,
            kind text NOT NULL
                CHECK (kind IN ('created', 'queued', 'step', 'finished', 'failed', 'changed', 'deleted')),
            at timestamptz NOT NULL DEFAULT clock_timestamp(),
            transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id()
        )
        """
    )
    op.execute("CREATE INDEX event_of_tenant ON event (tenant_id, id)")
    op.execute("CREATE INDEX event_of_document ON event (document_id, id DESC)")
    op.execute("ALTER TABLE event ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE event FORCE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY of_tenant ON event USING (tenant_id = (SELECT current_tenant()))")
    op.execute("GRANT SELECT, INSERT ON event TO docmill_app")

    op.execute(
        """
        CREATE FUNCTION document_event() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO event (tenant_id, document_id, kind)
                VALUES (coalesce(NEW.tenant_id, OLD.tenant_id), coalesce(NEW.id, OLD.id), TG_ARGV[0]);
            RETURN NULL;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER event_created AFTER INSERT ON document
            FOR EACH ROW EXECUTE FUNCTION document_event('created')
        """
    )
    op.execute(
        """
        -- Depth 0: a person's change. The copy of a result comes from a trigger and has its own event.
        CREATE TRIGGER event_changed AFTER UPDATE OF
                document_type, title, summary, document_date, structured_data, needs_human_review ON document
            FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION document_event('changed')
        """
    )
    op.execute(
        """
        CREATE TRIGGER event_deleted AFTER DELETE ON document
            FOR EACH ROW EXECUTE FUNCTION document_event('deleted')
        """
    )
    op.execute(
        """
        CREATE FUNCTION ingestion_event() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO event (tenant_id, document_id, kind)
                VALUES (NEW.tenant_id, NEW.document_id,
                        CASE WHEN NEW.status = 'completed' THEN 'finished'
                             WHEN NEW.status = 'failed' THEN 'failed'
                             WHEN TG_OP = 'INSERT' OR OLD.status <> NEW.status THEN 'queued'
                             ELSE 'step' END);
            RETURN NULL;
        END
        $$
        """
    )
    op.execute(
        """
        -- Named to fire after the copy of the result: triggers of one kind fire by name.
        CREATE TRIGGER zz_event_queued AFTER INSERT ON ingestion
            FOR EACH ROW EXECUTE FUNCTION ingestion_event()
        """
    )
    op.execute(
        """
        CREATE TRIGGER zz_event_progress AFTER UPDATE OF status, step, error_code ON ingestion
            FOR EACH ROW WHEN ((OLD.status, OLD.step, OLD.error_code)
                               IS DISTINCT FROM (NEW.status, NEW.step, NEW.error_code))
            EXECUTE FUNCTION ingestion_event()
        """
    )

    op.execute(
        """
        -- security_invoker: the reader's tenant binds, not the view's owner.
        CREATE VIEW document_state WITH (security_invoker) AS
        SELECT document.id,
               document.tenant_id,
               CASE
                   WHEN latest.status = 'in-progress'
                        AND latest.progress_at < now() - interval '10 minutes' THEN 'stale'
                   WHEN latest.status = 'in-progress' THEN 'processing'
                   WHEN latest.status = 'failed' THEN 'failed'
                   WHEN document.title IS NULL THEN 'needs_classification'
                   WHEN document.needs_human_review THEN 'needs_review'
                   ELSE 'ready'
               END AS state,
               latest.id AS ingestion_id,
               latest.step,
               latest.error_code,
               latest.error_message,
               latest.progress_at,
               coalesce((SELECT max(event.id) FROM event WHERE event.document_id = document.id), 0) AS version
          FROM document
          LEFT JOIN LATERAL (
               SELECT ingestion.id, ingestion.status, ingestion.step, ingestion.error_code,
                      ingestion.error_message, ingestion.progress_at
                 FROM ingestion
                WHERE ingestion.document_id = document.id
                ORDER BY ingestion.created_at DESC, ingestion.id DESC
                LIMIT 1
          ) latest ON true
        """
    )
    op.execute("GRANT SELECT ON document_state TO docmill_app")
