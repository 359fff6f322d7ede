"""Webhooks send only while their person is an owner, whatever happened while they were made."""

from alembic import op

revision = "0093"
down_revision = "0092"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- The user of this machine is a member nowhere, and answers for what was made without accounts.
        CREATE FUNCTION answers_for_webhooks(tenant uuid, person uuid) RETURNS boolean
            LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp
            AS $$
                SELECT person = '00000000-0000-7000-8000-000000000002'
                    OR EXISTS (SELECT FROM public.memberships
                                WHERE memberships.tenant_id = tenant
                                  AND user_id = person
                                  AND role = 'owner'
                                  AND ended_at IS NULL)
            $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION answers_for_webhooks(uuid, uuid) FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION answers_for_webhooks(uuid, uuid) TO docmill_app, docmill_dispatch")
    op.execute("GRANT SELECT (tenant_id, user_id, role, ended_at) ON memberships TO docmill_dispatch")
    op.execute("CREATE POLICY dispatch ON memberships FOR SELECT TO docmill_dispatch USING (true)")
    op.execute("GRANT SELECT (responsible_id) ON webhook TO docmill_dispatch")
    op.execute(
        """
        -- As before, but for those whose person is no owner any more.
        CREATE OR REPLACE FUNCTION due_webhooks(busy uuid[], most integer)
            RETURNS TABLE (tenant_id uuid, id uuid)
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                SELECT webhook.tenant_id, webhook.id
                  FROM public.webhook
                 WHERE state = 'active'
                   AND coalesce(not_before <= clock_timestamp(), true)
                   AND webhook.id <> ALL (busy)
                   AND EXISTS (SELECT FROM public.webhook_delivery delivery
                                WHERE delivery.webhook_id = webhook.id
                                  AND delivery.state = 'pending'
                                  AND delivery.next_attempt_at <= clock_timestamp()
                                  AND coalesce(delivery.lease_until <= clock_timestamp(), true))
                   AND public.answers_for_webhooks(webhook.tenant_id, responsible_id)
                 ORDER BY random()
                 LIMIT most
            $$
        """
    )
