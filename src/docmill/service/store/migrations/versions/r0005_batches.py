"""The queue's own dead messages by that name, and the owners of many ingestions in one question."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("ALTER TABLE dead_letter RENAME TO dead_message")
    op.execute("ALTER TABLE dead_message DROP COLUMN reason")
    op.execute("ALTER INDEX dead_letter_newest RENAME TO dead_message_newest")
    op.execute(
        """
        CREATE FUNCTION tenants_of_ingestions(wanted uuid[]) RETURNS TABLE (id uuid, tenant_id uuid)
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS 'SELECT id, tenant_id FROM public.ingestion WHERE id = ANY(wanted)'
        """
    )
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    op.execute("ALTER FUNCTION tenants_of_ingestions(uuid[]) OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    op.execute("REVOKE ALL ON FUNCTION tenants_of_ingestions(uuid[]) FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION tenants_of_ingestions(uuid[]) TO docmill_app")
    op.execute("RESET ROLE")
