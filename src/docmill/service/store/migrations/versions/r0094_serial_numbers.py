"""Archive serial numbers: of the label as read, and of the document, which no other of the tenant has."""

from alembic import op

revision = "0094"
down_revision = "0093"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("ALTER TABLE ingestion ADD COLUMN archive_serial_number bigint")
    op.execute("ALTER TABLE document ADD COLUMN archive_serial_number bigint")
    # Also those in the bin count: whoever is restored has the number that is on its paper.
    op.execute(
        """
        CREATE UNIQUE INDEX document_by_serial_number ON document (tenant_id, archive_serial_number)
         WHERE archive_serial_number IS NOT NULL
        """
    )
    op.execute(
        """
        -- No text has this word, so that it can be taken away again.
        CREATE FUNCTION serial_number_words(number bigint) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$
            SELECT CASE WHEN number IS NULL THEN ''::tsvector
                        ELSE (quote_literal('asn:' || number) || '\\:1A')::tsvector END
        $$
        """
    )
    op.execute(
        """
        CREATE OR REPLACE FUNCTION keep_document_words() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            NEW.words := document_words(
                NEW.title, NEW.file_name, NULL, NEW.document_date, NEW.structured_data, NEW.text,
                NEW.language) || tag_words(NEW.id) || arrival_words(NEW.id)
                || serial_number_words(NEW.archive_serial_number) || tenant_word(NEW.tenant_id)::tsvector;
            RETURN NEW;
        END
        $$
        """
    )
    op.execute(
        """
        -- Changes one word, so that no text is read again.
        CREATE FUNCTION keep_serial_number_words() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            NEW.words := coalesce(ts_delete(NEW.words, 'asn:' || OLD.archive_serial_number), NEW.words)
                || serial_number_words(NEW.archive_serial_number);
            RETURN NEW;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER words_of_serial_number BEFORE UPDATE OF archive_serial_number ON document
            FOR EACH ROW EXECUTE FUNCTION keep_serial_number_words()
        """
    )
    op.execute(
        """
        CREATE TRIGGER event_serial_number AFTER UPDATE OF archive_serial_number ON document
            FOR EACH ROW
            WHEN (pg_trigger_depth() = 0
                  AND OLD.archive_serial_number IS DISTINCT FROM NEW.archive_serial_number)
            EXECUTE FUNCTION document_event('changed')
        """
    )
