"""What people said of a title, its values or the date holds against what a machine reads later."""

from alembic import op

revision = "0045"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- A trigger, so that it holds whoever writes the document, and at every moment.
        CREATE FUNCTION keep_edits() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            edit record;
        BEGIN
            -- A new result whose title may have values that a person corrected: until reviews are judged with
            -- it, the one of before is shown.
            IF NEW.review_due AND NEW.result_ingestion_id IS DISTINCT FROM OLD.result_ingestion_id THEN
                NEW.title := coalesce(OLD.title, NEW.title);
                NEW.summary := coalesce(OLD.summary, NEW.summary);
            END IF;
            FOR edit IN
                SELECT path, value #>> '{}' AS value FROM current_review
                 WHERE document_id = NEW.id AND path IN ('\\:title', '\\:document_date')
            LOOP
                IF edit.path = '\\:title' THEN
                    NEW.title := edit.value;
                ELSE
                    NEW.document_date := edit.value::date;
                END IF;
            END LOOP;
            RETURN NEW;
        END
        $$
        """
    )
    # Named to fire before the trigger that indexes the words.
    op.execute(
        """
        CREATE TRIGGER edits_of_document BEFORE UPDATE OF title, document_date ON document
            FOR EACH ROW EXECUTE FUNCTION keep_edits()
        """
    )
