"""How many dead letters there are of all tenants, for those who watch the service."""

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- Crosses tenants, and tells a number only.
        CREATE FUNCTION dead_letters_by_queue() RETURNS TABLE (queue text, letters bigint)
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS 'SELECT queue, count(*) FROM public.dead_letter GROUP BY queue'
        """
    )
    op.execute("GRANT SELECT (queue) ON dead_letter TO docmill_dispatch")
    op.execute("CREATE POLICY dispatch ON dead_letter FOR SELECT TO docmill_dispatch USING (true)")
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    op.execute("ALTER FUNCTION dead_letters_by_queue() OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    op.execute("REVOKE ALL ON FUNCTION dead_letters_by_queue() FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION dead_letters_by_queue() TO docmill_app")
    op.execute("RESET ROLE")
