"""Notifications about failures, until every channel has sent them, and the state of each channel."""

from alembic import op

revision = "0063"
down_revision = "0062"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- error: a sentence for a person, without text of the document. link: a path of the vault's pages.
        -- sent_to: the channels that have sent it, or given it up.
        CREATE TABLE notification (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenant,
            kind text NOT NULL CHECK (kind IN ('matching_failed', 'setup_error', 'pause')),
            document_id uuid,
            error text NOT NULL,
            attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
            link text,
            sent_to text[] NOT NULL DEFAULT '{}',
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            FOREIGN KEY (tenant_id, document_id) REFERENCES document (tenant_id, id) ON DELETE CASCADE
        )
        """
    )
    op.execute("CREATE INDEX notification_of_tenant ON notification (tenant_id, id)")
    op.execute("CREATE INDEX notification_of_document ON notification (document_id)")
    op.execute(
        """
        -- last_id: of the last notification in a message that is being sent, also when it is tried again.
        CREATE TABLE notification_delivery (
            tenant_id uuid NOT NULL REFERENCES tenant,
            channel text NOT NULL,
            last_id uuid,
            failures integer NOT NULL DEFAULT 0,
            next_attempt_at timestamptz,
            sent_at timestamptz,
            PRIMARY KEY (tenant_id, channel)
        )
        """
    )
    for table in ("notification", "notification_delivery"):
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY of_tenant ON {table} USING (tenant_id = (SELECT current_tenant()))")
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO docmill_app")
    _create_functions()


def _create_functions() -> None:
    op.execute(
        """
        -- Crosses tenants: the next message that is due, by tenant and channel. Of a quiet period, the first
        -- is due at once; what follows, when the first of it has waited for the window.
        CREATE FUNCTION due_notification(channels text[], waiting interval)
            RETURNS TABLE (tenant_id uuid, channel text, last_id uuid, failures integer)
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                SELECT unsent.tenant_id, unsent.channel, coalesce(delivery.last_id, unsent.newest),
                       coalesce(delivery.failures, 0)
                  FROM (SELECT notification.tenant_id, wanted.channel, min(created_at) AS oldest,
                               (array_agg(id ORDER BY id DESC))[1] AS newest
                          FROM public.notification, unnest(channels) AS wanted (channel)
                         WHERE wanted.channel <> ALL (sent_to)
                         GROUP BY notification.tenant_id, wanted.channel) AS unsent
                  LEFT JOIN public.notification_delivery delivery USING (tenant_id, channel)
                 WHERE CASE
                           WHEN delivery.last_id IS NOT NULL
                           THEN delivery.next_attempt_at <= clock_timestamp()
                           ELSE least(coalesce(delivery.sent_at, '-infinity'), oldest)
                                <= clock_timestamp() - waiting
                       END
                 ORDER BY oldest, channel
                 LIMIT 1
            $$
        """
    )
    op.execute(
        """
        -- Crosses tenants, and tells nothing.
        CREATE FUNCTION forget_notifications() RETURNS void
            LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                DELETE FROM public.notification WHERE created_at < clock_timestamp() - interval '2 days'
            $$
        """
    )
    op.execute("GRANT SELECT, DELETE ON notification TO docmill_dispatch")
    op.execute("GRANT SELECT ON notification_delivery TO docmill_dispatch")
    op.execute("CREATE POLICY dispatch ON notification TO docmill_dispatch USING (true)")
    op.execute("CREATE POLICY dispatch ON notification_delivery FOR SELECT TO docmill_dispatch USING (true)")
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    op.execute("ALTER FUNCTION due_notification(text[], interval) OWNER TO docmill_dispatch")
    op.execute("ALTER FUNCTION forget_notifications() OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    for function in ("due_notification(text[], interval)", "forget_notifications()"):
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO docmill_app")
    op.execute("RESET ROLE")
