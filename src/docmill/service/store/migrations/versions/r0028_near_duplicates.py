"""Near duplicates: what documents are compared by, and the pairs that were found."""

from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")

    op.execute(
        """
        -- facts: identifying values, normalised. words: MinHash, 32-bit integers. numbers: hashes, likewise.
        CREATE TABLE document_signature (
            document_id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenant,
            document_type text NOT NULL,
            facts jsonb NOT NULL,
            words bytea NOT NULL,
            numbers bytea NOT NULL,
            FOREIGN KEY (tenant_id, document_id) REFERENCES document (tenant_id, id) ON DELETE CASCADE
        )
        """
    )
    op.execute(
        """
        -- A row for each key, and no array of them: under row-level security, an index on arrays is not used.
        CREATE TABLE signature_key (
            tenant_id uuid NOT NULL REFERENCES tenant,
            key bigint NOT NULL,
            document_id uuid NOT NULL REFERENCES document_signature ON DELETE CASCADE,
            PRIMARY KEY (tenant_id, key, document_id)
        )
        """
    )
    op.execute("CREATE INDEX signature_key_of_document ON signature_key (document_id)")
    op.execute(
        """
        -- document_id: of the two, the one whose result came later. why: in words. is_duplicate: as a person
        -- decided; null before.
        CREATE TABLE near_duplicate (
            document_id uuid NOT NULL,
            other_id uuid NOT NULL,
            tenant_id uuid NOT NULL REFERENCES tenant,
            why text NOT NULL,
            found_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            is_duplicate boolean,
            decided_by uuid,
            decided_at timestamptz,
            PRIMARY KEY (document_id, other_id),
            CHECK (document_id <> other_id),
            CHECK ((is_duplicate IS NULL) = (decided_at IS NULL)),
            FOREIGN KEY (tenant_id, document_id) REFERENCES document (tenant_id, id) ON DELETE CASCADE,
            FOREIGN KEY (tenant_id, other_id) REFERENCES document (tenant_id, id) ON DELETE CASCADE
        )
        """
    )
    op.execute("CREATE INDEX near_duplicate_of_other ON near_duplicate (other_id)")
    for table in ("document_signature", "signature_key", "near_duplicate"):
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY of_tenant ON {table} USING (tenant_id = (SELECT current_tenant()))")
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO docmill_app")

    op.execute(
        """
        -- Both documents are shown otherwise.
        CREATE FUNCTION near_duplicate_event() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO event (tenant_id, document_id, kind)
            SELECT coalesce(NEW.tenant_id, OLD.tenant_id), id, 'changed'
              FROM unnest(ARRAY[coalesce(NEW.document_id, OLD.document_id),
                                coalesce(NEW.other_id, OLD.other_id)]) AS id;
            RETURN NULL;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER event_near_duplicate AFTER INSERT OR UPDATE OF is_duplicate OR DELETE ON near_duplicate
            FOR EACH ROW EXECUTE FUNCTION near_duplicate_event()
        """
    )

    op.execute(
        """
        -- As before, but a document that seems to be here already needs a person's decision.
        CREATE OR REPLACE VIEW document_state WITH (security_invoker) AS
        SELECT document.id,
               document.tenant_id,
               CASE
                   -- Without a lease it waits: in the queue, for its next attempt, or while a step is paused.
                   WHEN latest.status = 'in-progress'
                        AND latest.lease_until IS NOT NULL
                        AND latest.progress_at < now() - interval '10 minutes' THEN 'stale'
                   WHEN latest.status = 'in-progress' THEN 'processing'
                   WHEN latest.status = 'failed' THEN 'failed'
                   WHEN document.title IS NULL THEN 'needs_classification'
                   WHEN document.needs_human_review OR EXISTS (
                        SELECT FROM near_duplicate
                         WHERE near_duplicate.document_id = document.id AND is_duplicate IS NULL
                   ) THEN 'needs_review'
                   ELSE 'ready'
               END AS state,
               latest.id AS ingestion_id,
               latest.step,
               latest.error_code,
               latest.error_message,
               latest.progress_at,
               coalesce(
                   (SELECT max(event.id) FROM event WHERE event.document_id = document.id), 0
               ) AS version,
               coalesce(latest.status = 'in-progress' AND latest.lease_until IS NULL, false) AS is_waiting,
               latest.next_attempt_at
          FROM document
          LEFT JOIN LATERAL (
               SELECT ingestion.id, ingestion.status, ingestion.step, ingestion.error_code,
                      ingestion.error_message, ingestion.progress_at, ingestion.lease_until,
                      ingestion.next_attempt_at
                 FROM ingestion
                WHERE ingestion.document_id = document.id
                ORDER BY ingestion.ordinal DESC
                LIMIT 1
          ) latest ON true
        """
    )
