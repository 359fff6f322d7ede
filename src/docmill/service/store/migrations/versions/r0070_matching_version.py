"""The version of matching by which the records of a document were made, for the sweeper to ask again."""

from alembic import op

revision = "0070"
down_revision = "0069"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("ALTER TABLE match_record ADD COLUMN version integer NOT NULL DEFAULT 0")
    op.execute("CREATE INDEX match_record_by_version ON match_record (version, document_id)")
    op.execute(
        """
        -- The sweeper asks across tenants, and is told ids and tenants only. Not those that are asked for
        -- already, that cannot be matched, or that are in the bin.
        CREATE FUNCTION documents_matched_before(newest integer, wanted integer)
            RETURNS TABLE (id uuid, tenant_id uuid)
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                SELECT DISTINCT document.id, document.tenant_id
                  FROM public.match_record
                  JOIN public.document ON document.id = document_id
                 WHERE version < newest
                   AND matching_status = 'succeeded'
                   AND deleted_at IS NULL
                 LIMIT wanted
            $$
        """
    )
    op.execute("GRANT SELECT (tenant_id, document_id, version) ON match_record TO docmill_dispatch")
    op.execute("CREATE POLICY dispatch ON match_record FOR SELECT TO docmill_dispatch USING (true)")
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    op.execute("ALTER FUNCTION documents_matched_before(integer, integer) OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    op.execute("REVOKE ALL ON FUNCTION documents_matched_before(integer, integer) FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION documents_matched_before(integer, integer) TO docmill_app")
    op.execute("RESET ROLE")
