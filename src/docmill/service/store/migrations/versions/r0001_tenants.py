"""The roles that row-level security binds, and tenants."""

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- docmill_app: what every process of docmill acts as.
        -- docmill_dispatch: owns the one function that finds an ingestion's tenant.
        -- Roles belong to the server, not the database: another database may have made them.
        DO $$
        DECLARE
            wanted text;
        BEGIN
            FOREACH wanted IN ARRAY ARRAY['docmill_app', 'docmill_dispatch'] LOOP
                BEGIN
                    EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS', wanted);
                EXCEPTION WHEN duplicate_object OR unique_violation THEN
                    NULL;
                END;
                BEGIN
                    -- Who made a role may grant it, but from PostgreSQL 16 on may not yet act as it.
                    EXECUTE format('GRANT %I TO %I', wanted, current_user);
                EXCEPTION WHEN insufficient_privilege THEN
                    NULL;  -- an administrator made it, and granted it
                END;
                EXECUTE format('GRANT USAGE ON SCHEMA public TO %I', wanted);
            END LOOP;
        END
        $$
        """
    )
    op.execute(
        """
        -- The tenant of the transaction; null outside one, and null equals nothing.
        CREATE FUNCTION current_tenant() RETURNS uuid
            LANGUAGE sql STABLE PARALLEL SAFE
            RETURN nullif(current_setting('docmill.tenant_id', true), '')::uuid
        """
    )
    op.execute(
        """
        CREATE TABLE tenant (
            id uuid PRIMARY KEY,
            name text NOT NULL,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp()
        )
        """
    )
    op.execute(
        """
        INSERT INTO tenant (id, name) VALUES ('00000000-0000-7000-8000-000000000001', 'Default')
        """
    )
    op.execute("ALTER TABLE tenant ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE tenant FORCE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY of_tenant ON tenant USING (id = (SELECT current_tenant()))")
    op.execute("GRANT SELECT ON tenant TO docmill_app")
