"""A result under which people's reviews are not judged yet says so, until that is done."""

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- review_due: a result came after people had reviewed the document, and its values with theirs are to
        -- be judged; a person has to look until then.
        ALTER TABLE document ADD COLUMN review_due boolean NOT NULL DEFAULT false
        """
    )
    op.execute("CREATE INDEX document_review_due ON document (id) WHERE review_due")

    op.execute(
        """
        -- The date that a person gave the document; null if nobody did, or it is none.
        CREATE FUNCTION reviewed_date(wanted uuid) RETURNS date LANGUAGE plpgsql STABLE AS $$
        BEGIN
            RETURN (SELECT (value #>> '{}')::date FROM current_review
                     WHERE document_id = wanted AND path = 'issue_date'
                       AND value #>> '{}' ~ '^\\d{4}-\\d{2}-\\d{2}$');
        EXCEPTION WHEN data_exception THEN
            RETURN NULL;
        END
        $$
        """
    )

    op.execute(
        """
        -- As before, but under reviews the document's date is theirs and a person has to look until they are
        -- judged anew. Most documents have none and pay for one look into an index.
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
                   SET needs_human_review = NEW.valid_structured_data IS NOT TRUE,
                       updated_at = clock_timestamp()
                 WHERE id = NEW.document_id;
            END IF;
            RETURN NULL;
        END
        $$
        """
    )

    # Documents whose worker died between a result and the judgement of reviews under an earlier release.
    # Their owner sees all tenants' for a moment; the change of a document is an event.
    op.execute("ALTER TABLE document NO FORCE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE review NO FORCE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE event NO FORCE ROW LEVEL SECURITY")
    op.execute(
        """
        UPDATE document
           SET review_due = true, needs_human_review = true
         WHERE verdict IS NULL
           AND structured_data IS NOT NULL
           AND id IN (SELECT document_id FROM current_review)
        """
    )
    op.execute("ALTER TABLE event FORCE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE review FORCE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE document FORCE ROW LEVEL SECURITY")

    op.execute(
        """
        -- The sweeper asks across tenants, and is told ids and tenants only.
        CREATE FUNCTION documents_to_judge(after uuid, wanted integer) RETURNS TABLE (id uuid, tenant_id uuid)
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                SELECT id, tenant_id
                  FROM public.document
                 WHERE review_due AND id > after
                 ORDER BY id
                 LIMIT wanted
            $$
        """
    )
    op.execute("GRANT SELECT (id, tenant_id, review_due) ON document TO docmill_dispatch")
    op.execute("CREATE POLICY dispatch ON document FOR SELECT TO docmill_dispatch USING (true)")
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    op.execute("ALTER FUNCTION documents_to_judge(uuid, integer) OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    op.execute("REVOKE ALL ON FUNCTION documents_to_judge(uuid, integer) FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION documents_to_judge(uuid, integer) TO docmill_app")
    op.execute("RESET ROLE")
