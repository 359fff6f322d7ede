"""Documents, the ingestions that process them, and how a result reaches its document."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")

    op.execute(
        """
        CREATE TABLE document (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenant,
            content_hash text NOT NULL CHECK (content_hash ~ '^[0-9a-f]{64}$'),
            media_type text NOT NULL DEFAULT 'application/octet-stream',
            byte_size bigint NOT NULL CHECK (byte_size > 0),
            file_name text NOT NULL,
            file_path text NOT NULL,
            page_count integer,
            document_type text,
            title text,
            summary text,
            document_date date,
            language text,
            text text,
            structured_data jsonb,
            needs_human_review boolean NOT NULL DEFAULT false,
            result_ingestion_id uuid,
            matching_status text
                CHECK (matching_status IN ('pending', 'in-progress', 'succeeded', 'failed')),
            matching_error text,
            matching_attempts integer NOT NULL DEFAULT 0,
            matching_failed_at timestamptz,
            searchable_text text,
            normalized_counterparty text,
            normalized_references text[],
            cluster_id uuid,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            UNIQUE (tenant_id, content_hash),
            UNIQUE (tenant_id, id)
        )
        """
    )
    op.execute("ALTER TABLE document ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE document FORCE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY of_tenant ON document USING (tenant_id = (SELECT current_tenant()))")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON document TO docmill_app")

    op.execute(
        """
        CREATE TABLE ingestion (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL,
            document_id uuid NOT NULL,
            doc_source_id uuid,
            uploaded_by uuid,
            status text NOT NULL DEFAULT 'in-progress'
                CHECK (status IN ('in-progress', 'completed', 'failed')),
            step text,
            progress_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            attempt_count integer NOT NULL DEFAULT 0,
            started_at timestamptz,
            lease_until timestamptz,
            fence bigint NOT NULL DEFAULT 0,
            worker_id text,
            next_attempt_at timestamptz,
            source_metadata jsonb,
            transcription_file_path text,
            preprocessed_file_path text,
            transcription_quality_score double precision
                CHECK (transcription_quality_score BETWEEN 0 AND 1),
            classification jsonb,
            structured_data jsonb,
            evidence jsonb,
            verdict jsonb,
            valid_structured_data boolean,
            extraction_input_tokens bigint,
            extraction_output_tokens bigint,
            extraction_model text,
            cost numeric,
            error_code text,
            error_message text,
            failed_step text,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            completed_at timestamptz,
            CHECK (num_nonnulls(doc_source_id, uploaded_by) = 1),
            CHECK ((completed_at IS NULL) = (status = 'in-progress')),
            FOREIGN KEY (tenant_id, document_id) REFERENCES document (tenant_id, id) ON DELETE CASCADE
        )
        """
    )
    op.execute(
        """
        CREATE UNIQUE INDEX ingestion_live ON ingestion (tenant_id, document_id) WHERE status = 'in-progress'
        """
    )
    op.execute("CREATE INDEX ingestion_newest ON ingestion (document_id, created_at DESC, id DESC)")
    op.execute("ALTER TABLE ingestion ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE ingestion FORCE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY of_tenant ON ingestion USING (tenant_id = (SELECT current_tenant()))")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ingestion TO docmill_app")

    op.execute(
        """
        -- A message names an ingestion and nothing else; this alone crosses tenants, and tells no more.
        CREATE FUNCTION tenant_of_ingestion(wanted uuid) RETURNS uuid
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS 'SELECT tenant_id FROM public.ingestion WHERE id = wanted'
        """
    )
    op.execute("GRANT SELECT (id, tenant_id) ON ingestion TO docmill_dispatch")
    op.execute("CREATE POLICY dispatch ON ingestion FOR SELECT TO docmill_dispatch USING (true)")
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    op.execute("ALTER FUNCTION tenant_of_ingestion(uuid) OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    op.execute("REVOKE ALL ON FUNCTION tenant_of_ingestion(uuid) FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION tenant_of_ingestion(uuid) TO docmill_app")
    op.execute("RESET ROLE")

    op.execute(
        """
        -- A finished ingestion reaches its document unless a newer one has finished with a result.
        CREATE FUNCTION result_to_document() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM FROM document WHERE id = NEW.document_id FOR NO KEY UPDATE;
            IF EXISTS (
                SELECT FROM ingestion newer
                 WHERE newer.document_id = NEW.document_id
                   AND newer.status = 'completed'
                   AND (newer.created_at, newer.id) > (NEW.created_at, NEW.id)
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
                       structured_data = NEW.structured_data,
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
        CREATE TRIGGER result_to_document_update AFTER UPDATE OF status ON ingestion
            FOR EACH ROW WHEN (OLD.status = 'in-progress' AND NEW.status <> 'in-progress')
            EXECUTE FUNCTION result_to_document()
        """
    )
    op.execute(
        """
        CREATE TRIGGER result_to_document_insert AFTER INSERT ON ingestion
            FOR EACH ROW WHEN (NEW.status <> 'in-progress')
            EXECUTE FUNCTION result_to_document()
        """
    )
