"""Uploads that arrive in pieces and may be resumed."""

from alembic import op

revision = "0077"
down_revision = "0076"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- metadata: as the client gave it, to be given back. document_id, outcome: null until it is complete.
        CREATE TABLE partial_upload (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenant,
            user_id uuid NOT NULL,
            byte_length bigint NOT NULL CHECK (byte_length > 0),
            byte_offset bigint NOT NULL DEFAULT 0 CHECK (byte_offset BETWEEN 0 AND byte_length),
            file_name text NOT NULL,
            metadata text NOT NULL,
            document_id uuid,
            outcome text,
            expires_at timestamptz NOT NULL,
            CHECK ((document_id IS NOT NULL) = (byte_offset = byte_length)),
            CHECK ((document_id IS NULL) = (outcome IS NULL))
        )
        """
    )
    op.execute("CREATE INDEX partial_upload_by_expiry ON partial_upload (expires_at)")
    op.execute("CREATE INDEX partial_upload_open ON partial_upload (user_id) WHERE document_id IS NULL")
    op.execute(
        """
        -- key: of the stored file that has the bytes from start on.
        CREATE TABLE partial_upload_piece (
            upload_id uuid NOT NULL REFERENCES partial_upload ON DELETE CASCADE,
            tenant_id uuid NOT NULL REFERENCES tenant,
            start bigint NOT NULL,
            key text NOT NULL,
            PRIMARY KEY (upload_id, start)
        )
        """
    )
    for table in ("partial_upload", "partial_upload_piece"):
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY of_tenant ON {table} USING (tenant_id = (SELECT current_tenant()))")
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO docmill_app")
    op.execute(
        """
        -- The sweeper asks across tenants, and is told tenants only.
        CREATE FUNCTION tenants_with_expired_uploads() RETURNS TABLE (tenant_id uuid)
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                SELECT DISTINCT tenant_id FROM public.partial_upload WHERE expires_at < now()
            $$
        """
    )
    op.execute("GRANT SELECT (tenant_id, expires_at) ON partial_upload TO docmill_dispatch")
    op.execute("CREATE POLICY dispatch ON partial_upload FOR SELECT TO docmill_dispatch USING (true)")
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    op.execute("ALTER FUNCTION tenants_with_expired_uploads() OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    op.execute("REVOKE ALL ON FUNCTION tenants_with_expired_uploads() FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION tenants_with_expired_uploads() TO docmill_app")
    op.execute("RESET ROLE")
