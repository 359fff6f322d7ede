"""Sources, from which documents arrive by themselves, and what has arrived from them."""

from alembic import op

revision = "0074"
down_revision = "0073"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    _create_sources()
    _create_arrivals()
    _create_claims()
    # Not checked for old rows, none of which has a source: that would read the whole table.
    op.execute(
        """
        ALTER TABLE ingestion
            ADD FOREIGN KEY (tenant_id, doc_source_id) REFERENCES doc_source (tenant_id, id) NOT VALID
        """
    )


def _create_sources() -> None:
    op.execute(
        """
        -- secrets: encrypted, see SecretBox. version: of settings and secrets; who works with another one
        -- begins again. position: how far a source has been read, in the form of its kind.
        -- removed_at: its ingestions and arrivals stay.
        CREATE TABLE doc_source (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenant,
            kind text NOT NULL,
            name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
            settings jsonb NOT NULL,
            secrets bytea,
            version integer NOT NULL DEFAULT 1,
            state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused')),
            position jsonb,
            worker_id text,
            lease_until timestamptz,
            next_attempt_at timestamptz,
            failures integer NOT NULL DEFAULT 0,
            last_success_at timestamptz,
            last_error_at timestamptz,
            last_error_code text,
            last_error_message text,
            arrivals bigint NOT NULL DEFAULT 0,
            refusals bigint NOT NULL DEFAULT 0,
            created_by uuid NOT NULL REFERENCES users,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            removed_at timestamptz,
            UNIQUE (tenant_id, id)
        )
        """
    )
    op.execute(
        "CREATE UNIQUE INDEX doc_source_name ON doc_source (tenant_id, lower(name)) WHERE removed_at IS NULL"
    )
    _guard("doc_source")


def _create_arrivals() -> None:
    op.execute(
        """
        -- item: what the source calls it; each is taken once. document_id: null for what was refused, with
        -- the error, and for a document that is gone: its item does not come again.
        CREATE TABLE arrival (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL,
            doc_source_id uuid NOT NULL,
            item text NOT NULL,
            document_id uuid,
            metadata jsonb NOT NULL,
            error_code text,
            error_message text,
            arrived_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            UNIQUE (doc_source_id, item),
            FOREIGN KEY (tenant_id, doc_source_id) REFERENCES doc_source (tenant_id, id),
            FOREIGN KEY (tenant_id, document_id) REFERENCES document (tenant_id, id)
                ON DELETE SET NULL (document_id)
        )
        """
    )
    op.execute("CREATE INDEX arrival_of_document ON arrival (document_id)")
    op.execute("CREATE INDEX arrival_newest ON arrival (doc_source_id, arrived_at DESC)")
    _guard("arrival")


def _guard(table: str) -> None:
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY of_tenant ON {table} USING (tenant_id = (SELECT current_tenant()))")
    op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO docmill_app")


def _create_claims() -> None:
    op.execute(
        """
        -- A worker asks across tenants, and is told ids and tenants only.
        CREATE FUNCTION claim_source(kinds text[], worker text, lease interval)
            RETURNS TABLE (id uuid, tenant_id uuid)
            LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                UPDATE public.doc_source
                   SET worker_id = worker, lease_until = clock_timestamp() + lease
                 WHERE doc_source.id = (
                       SELECT due.id
                         FROM public.doc_source due
                        WHERE due.state = 'active'
                          AND due.removed_at IS NULL
                          AND due.kind = ANY(kinds)
                          AND (due.lease_until IS NULL OR due.lease_until <= clock_timestamp())
                          AND (due.next_attempt_at IS NULL OR due.next_attempt_at <= clock_timestamp())
                        ORDER BY due.lease_until NULLS FIRST, due.id
                        LIMIT 1
                          FOR UPDATE SKIP LOCKED
                   )
                RETURNING doc_source.id, doc_source.tenant_id
            $$
        """
    )
    op.execute(
        """
        -- The sources that a worker still has, of those that it watches, with what it should know of them.
        CREATE FUNCTION watched_sources(worker text, watched uuid[])
            RETURNS TABLE (id uuid, version integer)
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                SELECT id, version
                  FROM public.doc_source
                 WHERE id = ANY(watched) AND worker_id = worker AND state = 'active' AND removed_at IS NULL
            $$
        """
    )
    op.execute(
        """
        CREATE FUNCTION hold_sources(worker text, watched uuid[], lease interval) RETURNS void
            LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                UPDATE public.doc_source
                   SET lease_until = clock_timestamp() + lease
                 WHERE id = ANY(watched) AND worker_id = worker
            $$
        """
    )
    op.execute(
        """
        -- For those who come from outside with the id of a source, and say no tenant.
        CREATE FUNCTION tenant_of_source(source uuid) RETURNS uuid
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$ SELECT tenant_id FROM public.doc_source WHERE id = source AND removed_at IS NULL $$
        """
    )
    op.execute("GRANT SELECT, UPDATE (worker_id, lease_until) ON doc_source TO docmill_dispatch")
    op.execute("CREATE POLICY dispatch ON doc_source TO docmill_dispatch USING (true)")
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    functions = (
        "claim_source(text[], text, interval)",
        "watched_sources(text, uuid[])",
        "hold_sources(text, uuid[], interval)",
        "tenant_of_source(uuid)",
    )
    for function in functions:
        op.execute(f"ALTER FUNCTION {function} OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    for function in functions:
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO docmill_app")
    op.execute("RESET ROLE")
