"""Answers to requests that name a key, so that a repeated request changes nothing more."""

from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- token: of the request that is being answered. request_hash to body: null until it is.
        CREATE TABLE idempotency_key (
            tenant_id uuid NOT NULL REFERENCES tenant,
            key text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
            token uuid NOT NULL,
            request_hash text,
            status integer,
            headers jsonb,
            body bytea,
            started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (tenant_id, key)
        )
        """
    )
    op.execute("CREATE INDEX idempotency_key_by_age ON idempotency_key (started_at)")
    op.execute("ALTER TABLE idempotency_key ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE idempotency_key FORCE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY of_tenant ON idempotency_key USING (tenant_id = (SELECT current_tenant()))")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency_key TO docmill_app")
    op.execute(
        """
        -- Crosses tenants, and tells nothing.
        CREATE FUNCTION forget_idempotency_keys() RETURNS void
            LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                DELETE FROM public.idempotency_key WHERE started_at < now() - interval '24 hours'
            $$
        """
    )
    op.execute("GRANT SELECT (started_at), DELETE ON idempotency_key TO docmill_dispatch")
    op.execute("CREATE POLICY dispatch ON idempotency_key TO docmill_dispatch USING (true)")
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    op.execute("ALTER FUNCTION forget_idempotency_keys() OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    op.execute("REVOKE ALL ON FUNCTION forget_idempotency_keys() FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION forget_idempotency_keys() TO docmill_app")
    op.execute("RESET ROLE")
