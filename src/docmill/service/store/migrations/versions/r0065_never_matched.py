"""The documents that were read while nothing was matched, for the sweeper to ask for."""

from alembic import op

revision = "0065"
down_revision = "0064"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        CREATE INDEX document_never_matched ON document (document_type, id)
         WHERE matching_status IS NULL AND result_ingestion_id IS NOT NULL AND deleted_at IS NULL
        """
    )
    op.execute(
        """
        -- The sweeper asks across tenants, and is told ids and tenants only.
        CREATE FUNCTION documents_never_matched(types text[], wanted integer)
            RETURNS TABLE (id uuid, tenant_id uuid)
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                SELECT id, tenant_id
                  FROM public.document
                 WHERE document_type = ANY(types)
                   AND matching_status IS NULL
                   AND result_ingestion_id IS NOT NULL
                   AND deleted_at IS NULL
                 LIMIT wanted
            $$
        """
    )
    op.execute(
        "GRANT SELECT (document_type, matching_status, result_ingestion_id) ON document TO docmill_dispatch"
    )
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    op.execute("ALTER FUNCTION documents_never_matched(text[], integer) OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    op.execute("REVOKE ALL ON FUNCTION documents_never_matched(text[], integer) FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION documents_never_matched(text[], integer) TO docmill_app")
    op.execute("RESET ROLE")
