"""A bin: deleted documents are hidden from everything, and kept for a while."""

from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- deleted_with: the document with which it went to the bin, mostly itself. is_part: it came as a part
        -- of others only, and goes with them.
        ALTER TABLE document
            ADD COLUMN deleted_at timestamptz,
            ADD COLUMN deleted_by uuid REFERENCES users,
            ADD COLUMN deleted_with uuid,
            ADD COLUMN is_part boolean NOT NULL DEFAULT false,
            ADD CHECK ((deleted_at IS NULL) = (deleted_with IS NULL))
        """
    )
    op.execute("CREATE INDEX document_in_bin ON document (deleted_with, id) WHERE deleted_at IS NOT NULL")

    # Their owner sees the rows of all tenants for a moment.
    op.execute("ALTER TABLE document NO FORCE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE ingestion NO FORCE ROW LEVEL SECURITY")
    op.execute(
        """
        UPDATE document
           SET is_part = true
         WHERE id IN (SELECT child_id FROM part)
           AND (SELECT source_metadata ->> 'part_of' FROM ingestion
                 WHERE document_id = document.id ORDER BY ordinal LIMIT 1) IS NOT NULL
        """
    )
    op.execute("ALTER TABLE ingestion FORCE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE document FORCE ROW LEVEL SECURITY")

    op.execute(
        """
        -- True in a transaction that works on the bin.
        CREATE FUNCTION shows_bin() RETURNS boolean
            LANGUAGE sql STABLE PARALLEL SAFE
            RETURN coalesce(current_setting('docmill.bin', true), '') = 'on'
        """
    )
    # By the policy, and not by each query: no list, search or count can forget it.
    op.execute("DROP POLICY of_tenant ON document")
    op.execute(
        """
        CREATE POLICY of_tenant ON document
            USING (tenant_id = (SELECT current_tenant())
                   AND (deleted_at IS NULL OR (SELECT shows_bin())))
            WITH CHECK (tenant_id = (SELECT current_tenant()))
        """
    )
    op.execute("GRANT SELECT (deleted_at) ON document TO docmill_dispatch")
    op.execute("ALTER POLICY dispatch ON document USING (deleted_at IS NULL OR (SELECT shows_bin()))")

    op.execute(
        """
        CREATE FUNCTION bin_event() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO event (tenant_id, document_id, kind)
                VALUES (NEW.tenant_id, NEW.id,
                        CASE WHEN NEW.deleted_at IS NULL THEN 'created' ELSE 'deleted' END);
            RETURN NULL;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER event_bin AFTER UPDATE OF deleted_at ON document
            FOR EACH ROW WHEN (OLD.deleted_at IS DISTINCT FROM NEW.deleted_at) EXECUTE FUNCTION bin_event()
        """
    )

    op.execute(
        """
        -- The sweeper asks across tenants, and is told tenants only. No clause of the function sets it: only
        -- a superuser may name a setting of ours there.
        CREATE FUNCTION tenants_with_bin_before(moment timestamptz) RETURNS TABLE (tenant_id uuid)
            LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
        DECLARE
            before text := current_setting('docmill.bin', true);
        BEGIN
            PERFORM set_config('docmill.bin', 'on', true);
            RETURN QUERY SELECT DISTINCT document.tenant_id FROM public.document WHERE deleted_at < moment;
            PERFORM set_config('docmill.bin', coalesce(before, ''), true);
        END
        $$
        """
    )
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    op.execute("ALTER FUNCTION tenants_with_bin_before(timestamptz) OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    op.execute("REVOKE ALL ON FUNCTION tenants_with_bin_before(timestamptz) FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION tenants_with_bin_before(timestamptz) TO docmill_app")
    op.execute("RESET ROLE")
