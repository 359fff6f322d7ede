"""A document shows what it was classified as before its ingestion ends."""

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- Until an ingestion that has read the document completes: then that one's result counts, as a whole.
        -- A trigger, so that this is told as the step that it is and not as a person's change.
        CREATE FUNCTION classification_to_document() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE document
               SET document_type = coalesce(NEW.classification ->> 'document_type', document_type),
                   title = coalesce(NEW.classification ->> 'title', title),
                   summary = coalesce(NEW.classification ->> 'summary', summary),
                   document_date = coalesce((NEW.classification ->> 'document_date')::date, document_date),
                   language = coalesce(NEW.classification ->> 'language', language),
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
        CREATE TRIGGER classification_to_document AFTER UPDATE OF classification ON ingestion
            FOR EACH ROW WHEN (NEW.status = 'in-progress' AND NEW.classification IS NOT NULL)
            EXECUTE FUNCTION classification_to_document()
        """
    )
