"""Dead letters that their owner sees, the outbox, and what the sweeper needs to find what was lost."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")

    op.execute(
        """
        -- body: the ingestion's id, as in its message. A letter lives as long as its ingestion is failed and
        -- the newest of its document; an ingestion has one at most.
        CREATE TABLE dead_letter (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenant,
            queue text NOT NULL DEFAULT 'ingestion',
            body uuid NOT NULL UNIQUE REFERENCES ingestion ON DELETE CASCADE,
            error_code text NOT NULL,
            error_message text NOT NULL,
            step text,
            attempts integer NOT NULL,
            receive_count integer NOT NULL DEFAULT 0,
            died_at timestamptz NOT NULL DEFAULT clock_timestamp()
        )
        """
    )
    op.execute("CREATE INDEX dead_letter_of_tenant ON dead_letter (tenant_id, id DESC)")

    # Its owner sees the rows of all tenants for a moment.
    op.execute("ALTER TABLE ingestion NO FORCE ROW LEVEL SECURITY")
    op.execute(
        """
        -- The letters of before held a message each; what they say stands on the ingestion.
        INSERT INTO dead_letter
            (id, tenant_id, body, error_code, error_message, step, attempts, receive_count, died_at)
        SELECT DISTINCT ON (ingestion.id)
               dead_message.id, ingestion.tenant_id, ingestion.id, coalesce(ingestion.error_code, 'internal'),
               coalesce(ingestion.error_message, ''), ingestion.failed_step, ingestion.attempt_count,
               dead_message.receive_count, dead_message.died_at
          FROM dead_message
          JOIN ingestion ON ingestion.id::text = dead_message.body
         WHERE ingestion.status = 'failed'
           AND NOT EXISTS (
               SELECT FROM ingestion newer
                WHERE newer.document_id = ingestion.document_id
                  AND (newer.created_at, newer.id) > (ingestion.created_at, ingestion.id)
           )
         ORDER BY ingestion.id, dead_message.died_at DESC
        """
    )
    op.execute(
        """
        DELETE FROM dead_message
         USING ingestion
         WHERE ingestion.id::text = dead_message.body AND ingestion.status <> 'in-progress'
        """
    )
    op.execute("ALTER TABLE ingestion FORCE ROW LEVEL SECURITY")

    op.execute("ALTER TABLE dead_letter ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE dead_letter FORCE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY of_tenant ON dead_letter USING (tenant_id = (SELECT current_tenant()))")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON dead_letter TO docmill_app")

    op.execute(
        """
        -- Messages for a queue that cannot take part in a transaction. They have no tenant: a message tells
        -- nothing but an id. Rows are few and short-lived: vacuum often.
        CREATE TABLE outbox (
            id uuid PRIMARY KEY,
            queue text NOT NULL,
            body text NOT NULL,
            due_at timestamptz NOT NULL
        ) WITH (
            autovacuum_vacuum_scale_factor = 0.01,
            autovacuum_vacuum_threshold = 500,
            autovacuum_vacuum_cost_delay = 0
        )
        """
    )
    op.execute("CREATE INDEX outbox_due ON outbox (queue, due_at)")
    op.execute("CREATE INDEX outbox_body ON outbox (body)")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON outbox TO docmill_app")

    op.execute(
        """
        -- pipeline_fingerprint: of the pipeline that completed it. sent_at: when the sweeper sent it again.
        ALTER TABLE ingestion ADD COLUMN pipeline_fingerprint text, ADD COLUMN sent_at timestamptz
        """
    )
    # On the id and nothing that changes, so that progress and heartbeats need not touch it.
    op.execute("CREATE INDEX ingestion_in_progress ON ingestion (id) WHERE status = 'in-progress'")

    op.execute(
        """
        -- What is to be done now and then by whoever comes first.
        CREATE TABLE chore (
            name text PRIMARY KEY,
            due_at timestamptz NOT NULL
        )
        """
    )
    op.execute("GRANT SELECT, INSERT, UPDATE ON chore TO docmill_app")

    op.execute("GRANT DELETE ON event TO docmill_app")

    # What crosses tenants, and tells ids and tenants only.
    op.execute(
        """
        -- In progress and nobody has worked on it for `grace`. Sent again already, it waits as long again as
        -- it had waited until then: a queue that cannot say what it holds is not flooded.
        CREATE FUNCTION idle_ingestions(grace interval, after uuid, wanted integer)
            RETURNS TABLE (id uuid, tenant_id uuid)
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                SELECT id, tenant_id
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
    op.execute(
        """
        CREATE FUNCTION ingestions_held_by(worker text) RETURNS TABLE (id uuid, tenant_id uuid)
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                SELECT id, tenant_id
                  FROM public.ingestion
                 WHERE status = 'in-progress' AND lease_until IS NOT NULL AND worker_id = worker
            $$
        """
    )
    op.execute(
        """
        -- Of the oldest `wanted` events only: ids grow with time, so that the primary key finds them.
        CREATE FUNCTION tenants_with_events_before(moment timestamptz, wanted integer)
            RETURNS TABLE (tenant_id uuid)
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                SELECT DISTINCT tenant_id
                  FROM (SELECT tenant_id, at FROM public.event ORDER BY id LIMIT wanted) AS oldest
                 WHERE at < moment
            $$
        """
    )
    op.execute(
        """
        GRANT SELECT (status, progress_at, lease_until, next_attempt_at, sent_at, worker_id)
           ON ingestion TO docmill_dispatch
        """
    )
    op.execute("GRANT SELECT (body) ON outbox TO docmill_dispatch")
    op.execute("GRANT SELECT (id, tenant_id, at) ON event TO docmill_dispatch")
    op.execute("CREATE POLICY dispatch ON event FOR SELECT TO docmill_dispatch USING (true)")

    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    op.execute("ALTER FUNCTION idle_ingestions(interval, uuid, integer) OWNER TO docmill_dispatch")
    op.execute("ALTER FUNCTION ingestions_held_by(text) OWNER TO docmill_dispatch")
    op.execute("ALTER FUNCTION tenants_with_events_before(timestamptz, integer) OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    op.execute(
        """
        REVOKE ALL ON FUNCTION idle_ingestions(interval, uuid, integer), ingestions_held_by(text),
            tenants_with_events_before(timestamptz, integer) FROM PUBLIC
        """
    )
    op.execute(
        """
        GRANT EXECUTE ON FUNCTION idle_ingestions(interval, uuid, integer), ingestions_held_by(text),
            tenants_with_events_before(timestamptz, integer) TO docmill_app
        """
    )
    op.execute("RESET ROLE")
