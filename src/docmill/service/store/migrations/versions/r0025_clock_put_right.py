"""What the sweeper needs to find times that were written while the clock was ahead."""

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- progress_at is set to the time of the moment whenever one of the times that are waited for is set.
        -- So one in the future was written by a clock that has been put back since.
        CREATE FUNCTION ingestions_ahead(tolerance interval, wanted integer)
            RETURNS TABLE (id uuid, tenant_id uuid)
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                SELECT id, tenant_id
                  FROM public.ingestion
                 WHERE status = 'in-progress' AND progress_at > now() + tolerance
                 ORDER BY id
                 LIMIT wanted
            $$
        """
    )
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    op.execute("ALTER FUNCTION ingestions_ahead(interval, integer) OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    op.execute("REVOKE ALL ON FUNCTION ingestions_ahead(interval, integer) FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION ingestions_ahead(interval, integer) TO docmill_app")
    op.execute("RESET ROLE")
