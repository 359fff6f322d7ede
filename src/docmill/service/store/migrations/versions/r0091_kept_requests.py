"""Requests of embeddings are kept until they are done; a failed attempt leaves a request to look in place."""

from alembic import op

revision = "0091"
down_revision = "0090"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- Written and read by nothing: matching keeps its own records.
        ALTER TABLE document
            DROP COLUMN searchable_text,
            DROP COLUMN normalized_counterparty,
            DROP COLUMN normalized_references
        """
    )
    # taken_at: when a worker began it last. It is taken again where that did not end it.
    op.execute("ALTER TABLE embedding_job ADD COLUMN taken_at timestamptz")
    op.execute(
        """
        CREATE OR REPLACE FUNCTION embed_document() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO embedding_job (key, tenant_id, document_id)
                VALUES ('embed-tags_' || NEW.tenant_id || '_' || NEW.id, NEW.tenant_id, NEW.id)
                ON CONFLICT (key) DO UPDATE SET requested_at = clock_timestamp(), taken_at = NULL;
            RETURN NULL;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE OR REPLACE FUNCTION embed_tag() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO embedding_job (key, tenant_id, tag_id)
                VALUES ('embed-tag_' || NEW.tenant_id || '_' || NEW.id, NEW.tenant_id, NEW.id)
                ON CONFLICT (key) DO UPDATE SET requested_at = clock_timestamp(), taken_at = NULL;
            RETURN NULL;
        END
        $$
        """
    )
    op.execute(
        """
        -- As before, but a failure does not take back that an earlier result needs a person.
        CREATE OR REPLACE FUNCTION result_to_document() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            is_reviewed boolean;
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
                is_reviewed := NEW.structured_data IS NOT NULL
                    AND EXISTS (SELECT FROM review WHERE document_id = NEW.document_id)
                    AND EXISTS (SELECT FROM current_review WHERE document_id = NEW.document_id);
                UPDATE document
                   SET document_type = NEW.classification ->> 'document_type',
                       title = NEW.classification ->> 'title',
                       summary = NEW.classification ->> 'summary',
                       document_date = coalesce(
                           CASE WHEN is_reviewed THEN reviewed_date(NEW.document_id) END,
                           (NEW.classification ->> 'document_date')::date
                       ),
                       language = NEW.classification ->> 'language',
                       structured_data = CASE
                           WHEN is_reviewed THEN with_reviews(NEW.structured_data, NEW.document_id)
                           ELSE NEW.structured_data
                       END,
                       verdict = NULL,
                       needs_human_review = is_reviewed OR NEW.valid_structured_data IS FALSE,
                       review_due = is_reviewed,
                       result_ingestion_id = NEW.id,
                       updated_at = clock_timestamp()
                 WHERE id = NEW.document_id;
            ELSE
                UPDATE document
                   SET needs_human_review = needs_human_review OR NEW.valid_structured_data IS NOT TRUE,
                       updated_at = clock_timestamp()
                 WHERE id = NEW.document_id;
            END IF;
            RETURN NULL;
        END
        $$
        """
    )
