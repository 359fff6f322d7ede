"""The order in which ingestions were asked for: by a number, for clocks are put right."""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")

    op.execute("ALTER TABLE ingestion ADD COLUMN ordinal bigint")
    # Its owner sees the rows of all tenants for a moment.
    op.execute("ALTER TABLE ingestion NO FORCE ROW LEVEL SECURITY")
    op.execute(
        """
        UPDATE ingestion
           SET ordinal = ordered.ordinal
          FROM (SELECT id, row_number() OVER (ORDER BY created_at, id) AS ordinal FROM ingestion) AS ordered
         WHERE ordered.id = ingestion.id
        """
    )
    op.execute("ALTER TABLE ingestion FORCE ROW LEVEL SECURITY")
    op.execute(
        """
        ALTER TABLE ingestion
            ALTER COLUMN ordinal SET NOT NULL,
            ALTER COLUMN ordinal ADD GENERATED ALWAYS AS IDENTITY
        """
    )
    op.execute(
        """
        SELECT setval(pg_get_serial_sequence('ingestion', 'ordinal'), count(*) + 1, false) FROM ingestion
        """
    )
    # Instead of the one by time, by which an older release still orders the few ingestions of a document.
    op.execute("CREATE INDEX ingestion_latest ON ingestion (document_id, ordinal DESC)")
    op.execute("DROP INDEX ingestion_newest")

    op.execute(
        """
        -- As before, but which ingestion is newer is told by its number.
        CREATE OR REPLACE FUNCTION result_to_document() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM FROM document WHERE id = NEW.document_id FOR NO KEY UPDATE;
            IF EXISTS (
                SELECT FROM ingestion newer
                 WHERE newer.document_id = NEW.document_id
                   AND newer.status = 'completed'
                   AND newer.ordinal > NEW.ordinal
            ) THEN
                RETURN NULL;
            END IF;
            IF NEW.status = 'completed' THEN
                UPDATE document
                   SET document_type = NEW.classification ->> 'document_type',
                       title = NEW.classification ->> 'title',
                       summary = NEW.classification ->> 'summary',
                       document_date = (NEW.classification ->> 'document_date')::date,
                       language = NEW.classification ->> 'language',
                       structured_data = with_reviews(NEW.structured_data, NEW.document_id),
                       verdict = NULL,
                       needs_human_review = NEW.valid_structured_data IS FALSE,
                       result_ingestion_id = NEW.id,
                       updated_at = clock_timestamp()
                 WHERE id = NEW.document_id;
            ELSE
                UPDATE document
                   SET needs_human_review = NEW.valid_structured_data IS NOT TRUE,
                       updated_at = clock_timestamp()
                 WHERE id = NEW.document_id;
            END IF;
            RETURN NULL;
        END
        $$
        """
    )

    op.execute(
        """
        -- As before, but the newest ingestion is that of the highest number.
        CREATE OR REPLACE VIEW document_state WITH (security_invoker) AS
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
                ORDER BY ingestion.ordinal DESC
                LIMIT 1
          ) latest ON true
        """
    )
