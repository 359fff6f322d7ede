"""How long the messages of idle ingestions have been due, by which lost ones are told in SQS."""

from alembic import op

revision = "0087"
down_revision = "0086"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    op.execute("DROP FUNCTION idle_ingestions(interval, uuid, integer)")
    op.execute(
        """
        -- In progress and nobody has worked on it for `grace`. Sent again already, it waits as long again as
        -- it had waited until then: a queue that cannot say what it holds is not flooded.
        CREATE FUNCTION idle_ingestions(grace interval, after uuid, wanted integer)
            RETURNS TABLE (id uuid, tenant_id uuid, due_for_s double precision)
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                SELECT id, tenant_id,
                       extract(
                           epoch FROM now() - greatest(progress_at, lease_until, next_attempt_at, sent_at)
                       )
                  FROM public.ingestion
                 WHERE status = 'in-progress'
                   AND id > after
                   AND greatest(progress_at, lease_until, next_attempt_at, sent_at) <= now() - grace
                   AND (sent_at IS NULL OR sent_at + (sent_at - progress_at) <= now())
                   AND NOT EXISTS (SELECT FROM public.outbox WHERE body = ingestion.id::text)
                 ORDER BY id
                 LIMIT wanted
            $$
        """
    )
    op.execute("ALTER FUNCTION idle_ingestions(interval, uuid, integer) OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    op.execute("REVOKE ALL ON FUNCTION idle_ingestions(interval, uuid, integer) FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION idle_ingestions(interval, uuid, integer) TO docmill_app")
    op.execute("RESET ROLE")
