"""A document shows what rules found while it waits for a model."""

from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- Values of an ingestion that is not over are shown as a result is, with what people said of the
        -- document, until an ingestion that has read it completes.
        CREATE FUNCTION provisional_to_document() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            is_reviewed boolean := EXISTS (
                SELECT FROM current_review WHERE document_id = NEW.document_id
            );
        BEGIN
            UPDATE document
               SET structured_data = with_reviews(NEW.structured_data, NEW.document_id),
                   document_date = coalesce(
                       CASE WHEN is_reviewed THEN reviewed_date(NEW.document_id) END, document_date
                   ),
                   verdict = NULL,
                   needs_human_review = needs_human_review OR is_reviewed,
                   review_due = is_reviewed,
                   result_ingestion_id = NEW.id,
                   updated_at = clock_timestamp()
             WHERE id = NEW.document_id
               AND NOT EXISTS (
                   SELECT FROM ingestion done
                    WHERE done.document_id = NEW.document_id
                      AND done.status = 'completed'
                      AND done.transcription_file_path IS NOT NULL
               );
            RETURN NULL;
        END
        $$
        """
    )
    op.execute(
        """
        -- Named to fire after the copy of the classification, whose date is the machine's.
        CREATE TRIGGER provisional_to_document AFTER UPDATE OF structured_data ON ingestion
            FOR EACH ROW WHEN (NEW.status = 'in-progress' AND NEW.structured_data IS NOT NULL)
            EXECUTE FUNCTION provisional_to_document()
        """
    )
