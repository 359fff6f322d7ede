"""Turns of sources where there are more than workers watch at once."""

from alembic import op

revision = "0085"
down_revision = "0084"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- claimed_at: when its last turn began; who has waited longest is next.
        ALTER TABLE doc_source ADD COLUMN claimed_at timestamptz
        """
    )
    op.execute("GRANT UPDATE (claimed_at) ON doc_source TO docmill_dispatch")
    op.execute(
        """
        CREATE OR REPLACE FUNCTION claim_source(kinds text[], worker text, lease interval)
            RETURNS TABLE (id uuid, tenant_id uuid)
            LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                UPDATE public.doc_source
                   SET worker_id = worker,
                       lease_until = clock_timestamp() + lease,
                       claimed_at = clock_timestamp()
                 WHERE doc_source.id = (
                       SELECT due.id
                         FROM public.doc_source due
                        WHERE due.state = 'active'
                          AND due.removed_at IS NULL
                          AND due.kind = ANY(kinds)
                          AND (due.lease_until IS NULL OR due.lease_until <= clock_timestamp())
                          AND (due.next_attempt_at IS NULL OR due.next_attempt_at <= clock_timestamp())
                        ORDER BY due.claimed_at NULLS FIRST, due.id
                        LIMIT 1
                          FOR UPDATE SKIP LOCKED
                   )
                RETURNING doc_source.id, doc_source.tenant_id
            $$
        """
    )
    op.execute("DROP FUNCTION sources_by_kind()")
    op.execute(
        """
        -- Numbers of all tenants' sources for the metrics. Items count for sources that were removed, too.
        -- waiting: for their turn, as more are to be watched than workers watch at once.
        CREATE FUNCTION sources_by_kind()
            RETURNS TABLE (
                kind text, active bigint, failing bigint, waiting bigint, taken bigint, refused bigint
            )
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                SELECT kind,
                       count(*) FILTER (WHERE is_active),
                       count(*) FILTER (WHERE is_active AND failures > 0),
                       count(*) FILTER (
                           WHERE is_active AND failures = 0 AND claimed_at IS NOT NULL
                             AND coalesce(lease_until <= clock_timestamp(), true)),
                       sum(arrivals)::bigint,
                       sum(refusals)::bigint
                  FROM (SELECT *, state = 'active' AND removed_at IS NULL AS is_active
                          FROM public.doc_source) AS source
                 GROUP BY kind
            $$
        """
    )
    op.execute(
        """
        -- How many sources of any tenant could be watched now and are not.
        CREATE FUNCTION unwatched_sources(kinds text[]) RETURNS bigint
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                SELECT count(*)
                  FROM public.doc_source
                 WHERE state = 'active'
                   AND removed_at IS NULL
                   AND kind = ANY(kinds)
                   AND coalesce(lease_until <= clock_timestamp(), true)
                   AND coalesce(next_attempt_at <= clock_timestamp(), true)
            $$
        """
    )
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    functions = ("sources_by_kind()", "unwatched_sources(text[])")
    for function in functions:
        op.execute(f"ALTER FUNCTION {function} OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    for function in functions:
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO docmill_app")
    op.execute("RESET ROLE")
