"""Sources that have an address of their own, to which mail is sent."""

from alembic import op

revision = "0076"
down_revision = "0075"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        CREATE UNIQUE INDEX doc_source_address_token ON doc_source ((settings->>'address_token'))
         WHERE settings->>'address_token' IS NOT NULL AND removed_at IS NULL
        """
    )
    op.execute("GRANT SELECT (name) ON tenant TO docmill_dispatch")
    op.execute(
        """
        -- For a mail, which names a token and no tenant.
        CREATE FUNCTION source_of_token(kinds text[], token text) RETURNS TABLE (id uuid, tenant_id uuid)
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                SELECT id, tenant_id
                  FROM public.doc_source
                 WHERE settings->>'address_token' = token
                   AND removed_at IS NULL
                   AND kind = ANY(kinds)
            $$
        """
    )
    op.execute(
        """
        -- For a mail to an address of names, which are easily guessed: only sources that have a list of
        -- senders are found.
        CREATE FUNCTION sources_of_names(kinds text[], source_word text, tenant_word text)
            RETURNS TABLE (id uuid, tenant_id uuid)
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                SELECT doc_source.id, doc_source.tenant_id
                  FROM public.doc_source
                  JOIN public.tenant ON tenant.id = doc_source.tenant_id
                 WHERE removed_at IS NULL
                   AND kind = ANY(kinds)
                   AND jsonb_array_length(settings->'senders') > 0
                   AND trim(BOTH '-' FROM regexp_replace(lower(doc_source.name), '[^a-z0-9]+', '-', 'g'))
                       = source_word
                   AND trim(BOTH '-' FROM regexp_replace(lower(tenant.name), '[^a-z0-9]+', '-', 'g'))
                       = tenant_word
                 LIMIT 2
            $$
        """
    )
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    functions = ("source_of_token(text[], text)", "sources_of_names(text[], text, text)")
    for function in functions:
        op.execute(f"ALTER FUNCTION {function} OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    for function in functions:
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO docmill_app")
    op.execute("RESET ROLE")
