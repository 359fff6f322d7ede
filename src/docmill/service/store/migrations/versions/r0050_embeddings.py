"""Vectors of documents and tags, by which they are found by meaning, and the jobs that make them."""

from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None

_TABLES = ("document_embedding", "tag_embedding")


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    for of in ("document", "tag"):
        op.execute(
            f"""
            -- vector: 256 numbers of two bytes, little-endian, as a unit vector. model: what made it; vectors
            -- of different models are not compared.
            CREATE TABLE {of}_embedding (
                {of}_id uuid PRIMARY KEY,
                tenant_id uuid NOT NULL REFERENCES tenant,
                model text NOT NULL,
                vector bytea NOT NULL CHECK (length(vector) = 512),
                made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
                FOREIGN KEY (tenant_id, {of}_id) REFERENCES {of} (tenant_id, id) ON DELETE CASCADE
            )
            """
        )
    op.execute("CREATE INDEX document_embedding_newest ON document_embedding (tenant_id, document_id DESC)")
    op.execute("CREATE INDEX tag_embedding_of_tenant ON tag_embedding (tenant_id)")
    for table in _TABLES:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY of_tenant ON {table} USING (tenant_id = (SELECT current_tenant()))")
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO docmill_app")
    _create_jobs()
    _create_index()


def _create_jobs() -> None:
    op.execute(
        """
        -- Embeddings to be made, like messages of a queue: ids alone, of all tenants. key: of what is to be
        -- done, so that it is done once however often it is asked for.
        CREATE TABLE embedding_job (
            key text PRIMARY KEY,
            tenant_id uuid NOT NULL,
            document_id uuid,
            tag_id uuid,
            requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            CHECK (num_nonnulls(document_id, tag_id) = 1)
        )
        """
    )
    op.execute("CREATE INDEX embedding_job_oldest ON embedding_job (requested_at)")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON embedding_job TO docmill_app")
    op.execute(
        """
        CREATE FUNCTION embed_document() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO embedding_job (key, tenant_id, document_id)
                VALUES ('embed-tags_' || NEW.tenant_id || '_' || NEW.id, NEW.tenant_id, NEW.id)
                ON CONFLICT (key) DO NOTHING;
            RETURN NULL;
        END
        $$
        """
    )
    # What is embedded: see documents_to_embed() in store/embeddings.py.
    op.execute(
        """
        CREATE TRIGGER embed_document AFTER UPDATE ON document FOR EACH ROW
            WHEN (NEW.title IS DISTINCT FROM OLD.title
                  OR NEW.text IS DISTINCT FROM OLD.text
                  OR NEW.summary IS DISTINCT FROM OLD.summary
                  OR NEW.document_type IS DISTINCT FROM OLD.document_type)
            EXECUTE FUNCTION embed_document()
        """
    )
    op.execute(
        """
        CREATE FUNCTION embed_tag() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO embedding_job (key, tenant_id, tag_id)
                VALUES ('embed-tag_' || NEW.tenant_id || '_' || NEW.id, NEW.tenant_id, NEW.id)
                ON CONFLICT (key) DO NOTHING;
            RETURN NULL;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER embed_tag AFTER INSERT OR UPDATE OF name ON tag FOR EACH ROW
            EXECUTE FUNCTION embed_tag()
        """
    )
    op.execute(
        """
        -- Ask for the embeddings that are missing or were made by another model, at most `wanted` of each.
        CREATE FUNCTION ask_for_embeddings(wanted_model text, wanted integer) RETURNS bigint LANGUAGE sql
            SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
            WITH missing AS (
                (SELECT 'embed-tags_' || document.tenant_id || '_' || document.id AS key, document.tenant_id,
                        document.id AS document_id, NULL::uuid AS tag_id
                   FROM public.document
                  WHERE title IS NOT NULL
                    AND NOT EXISTS (SELECT FROM public.document_embedding made
                                     WHERE made.document_id = document.id AND made.model = wanted_model)
                  LIMIT wanted)
                UNION ALL
                (SELECT 'embed-tag_' || tag.tenant_id || '_' || tag.id, tag.tenant_id, NULL, tag.id
                   FROM public.tag
                  WHERE NOT EXISTS (SELECT FROM public.tag_embedding made
                                     WHERE made.tag_id = tag.id AND made.model = wanted_model)
                  LIMIT wanted)
            ),
            asked AS (
                INSERT INTO public.embedding_job (key, tenant_id, document_id, tag_id)
                SELECT key, tenant_id, document_id, tag_id FROM missing
                    ON CONFLICT (key) DO NOTHING
                 RETURNING 1
            )
            SELECT count(*) FROM asked
        $$
        """
    )
    op.execute("GRANT SELECT, INSERT ON embedding_job TO docmill_dispatch")
    op.execute("GRANT SELECT (id, tenant_id, title) ON document TO docmill_dispatch")
    op.execute("GRANT SELECT (id, tenant_id) ON tag TO docmill_dispatch")
    op.execute("CREATE POLICY dispatch ON tag FOR SELECT TO docmill_dispatch USING (true)")
    for of in ("document", "tag"):
        op.execute(f"GRANT SELECT ({of}_id, model) ON {of}_embedding TO docmill_dispatch")
        op.execute(f"CREATE POLICY dispatch ON {of}_embedding FOR SELECT TO docmill_dispatch USING (true)")
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    op.execute("ALTER FUNCTION ask_for_embeddings(text, integer) OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    op.execute("REVOKE ALL ON FUNCTION ask_for_embeddings(text, integer) FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION ask_for_embeddings(text, integer) TO docmill_app")
    op.execute("RESET ROLE")


def _create_index() -> None:
    """The index of nearest vectors, where the server has pgvector and lets us create it.

    Elsewhere an administrator creates the extension and calls the function.
    """
    op.execute(
        """
        -- Add the column and the index that pgvector has, once the extension is there; whether they are. What
        -- is embedded already is embedded anew.
        CREATE FUNCTION prepare_vectors() RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN
            IF NOT EXISTS (SELECT FROM pg_type WHERE typname = 'halfvec') THEN
                RETURN false;
            END IF;
            IF NOT EXISTS (SELECT FROM pg_attribute
                            WHERE attrelid = 'document_embedding'::regclass AND attname = 'embedding') THEN
                DELETE FROM document_embedding;
                ALTER TABLE document_embedding ADD COLUMN embedding halfvec(256) NOT NULL;
                CREATE INDEX document_embedding_nearest ON document_embedding
                    USING hnsw (embedding halfvec_cosine_ops);
            END IF;
            RETURN true;
        END
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION prepare_vectors() FROM PUBLIC")
    op.execute(
        """
        DO $$
        BEGIN
            CREATE EXTENSION IF NOT EXISTS vector;
        EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported THEN
            RAISE NOTICE 'without pgvector: search by meaning looks at the newest documents alone';
        END
        $$
        """
    )
    op.execute("SELECT prepare_vectors()")
