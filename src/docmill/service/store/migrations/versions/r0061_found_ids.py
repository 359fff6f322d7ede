"""Search and filters that use their indexes: under row-level security, what could tell a value does not."""

from alembic import op

revision = "0061"
down_revision = "0060"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    _create_role()
    _create_found_ids()
    _create_indexes()


def _create_role() -> None:
    op.execute(
        """
        -- docmill_search: the owner of found_ids alone. It sees the words of all tenants' documents, those in
        -- the bin, too: any condition of a policy would keep the index on words from being used.
        DO $$
        BEGIN
            BEGIN
                CREATE ROLE docmill_search NOLOGIN NOSUPERUSER NOBYPASSRLS;
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL;
            END;
            BEGIN
                EXECUTE format('GRANT docmill_search TO %I', current_user);
            EXCEPTION WHEN insufficient_privilege THEN
                NULL;  -- an administrator made it, and granted it
            END;
            GRANT USAGE ON SCHEMA public TO docmill_search;
        END
        $$
        """
    )
    op.execute("GRANT SELECT (id, tenant_id, words) ON document TO docmill_search")
    op.execute("CREATE POLICY search ON document FOR SELECT TO docmill_search USING (true)")


def _create_found_ids() -> None:
    op.execute("SET LOCAL ROLE docmill_dispatch")
    op.execute("DROP FUNCTION found_ids(tsquery)")
    op.execute("RESET ROLE")
    op.execute(
        """
        -- Ids of the session's tenant, also of documents in the bin, which the caller's policy leaves out.
        -- most: of any order; null for all. EXECUTE plans for the words at hand. The tenant is compared so
        -- that no index on it is read, too: its word is in the index on words.
        CREATE FUNCTION found_ids(wanted tsquery, most integer) RETURNS SETOF uuid
            LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
        DECLARE
            tenant uuid := public.current_tenant();
        BEGIN
            RETURN QUERY EXECUTE
                'SELECT id FROM public.document'
                ' WHERE words @@ $1 AND tenant_id IS NOT DISTINCT FROM $2 LIMIT $3'
                USING wanted && public.tenant_word(tenant)::tsquery, tenant, most;
        END
        $$
        """
    )
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_search")
    op.execute("ALTER FUNCTION found_ids(tsquery, integer) OWNER TO docmill_search")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_search")
    op.execute("SET LOCAL ROLE docmill_search")
    op.execute("REVOKE ALL ON FUNCTION found_ids(tsquery, integer) FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION found_ids(tsquery, integer) TO docmill_app")
    op.execute("RESET ROLE")


def _create_indexes() -> None:
    # With what the policy asks for, so that documents are counted without being read.
    op.execute("DROP INDEX document_newest")
    op.execute("CREATE INDEX document_newest ON document (tenant_id, id) INCLUDE (deleted_at)")
    op.execute("CREATE INDEX document_rejected ON document (id) WHERE rejection IS NOT NULL")
    # As before, but with CASE, which conditions may have under row-level security; `coalesce` they may not.
    op.execute("DROP INDEX document_by_date, document_by_amount")
    op.execute(
        """
        CREATE INDEX document_by_date
            ON document (tenant_id, (CASE WHEN document_date IS NULL THEN '-infinity' ELSE document_date END),
                         id)
        """
    )
    op.execute(
        """
        CREATE INDEX document_by_amount
            ON document (tenant_id, (CASE WHEN amount_hundredths IS NULL THEN -9223372036854775807
                                          ELSE amount_hundredths END), id)
        """
    )
