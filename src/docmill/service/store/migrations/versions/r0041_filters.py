"""Filters and sorting of documents: counterparty and amount as columns, and saved views."""

from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    _create_facts()
    _create_found_ids()
    op.execute("ALTER TABLE document NO FORCE ROW LEVEL SECURITY")
    op.execute(
        """
        UPDATE document
           SET counterparty = document_counterparty(structured_data, document_type),
               counterparty_key = folded_name(document_counterparty(structured_data, document_type)),
               amount_hundredths = document_amount(structured_data, document_type),
               words = words || tenant_word(tenant_id)::tsvector
        """
    )
    op.execute("ALTER TABLE document FORCE ROW LEVEL SECURITY")
    _create_indexes()
    _create_saved_views()


def _create_facts() -> None:
    op.execute(
        """
        -- counterparty_key: small letters without accents, empty for none. amount_hundredths: an integer,
        -- because row-level security lets an index be used for comparisons of those.
        ALTER TABLE document
            ADD COLUMN counterparty text,
            ADD COLUMN counterparty_key text COLLATE "C" NOT NULL DEFAULT '',
            ADD COLUMN amount_hundredths bigint
        """
    )
    op.execute(
        """
        CREATE FUNCTION folded_name(name text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
            SELECT coalesce(left(btrim(folded_words(name)), 200), '')
        $$
        """
    )
    op.execute(
        """
        -- The party that a document of the type is filed under, as its definition has it.
        CREATE FUNCTION document_counterparty(data jsonb, type text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
            SELECT coalesce(
                nullif(btrim(data #>> CASE type WHEN 'contract' THEN ARRAY['first_party', 'name']
                                                WHEN 'letter' THEN ARRAY['sender', 'name']
                                                WHEN 'payslip' THEN ARRAY['employer', 'name']
                                                WHEN 'purchase_order' THEN ARRAY['buyer', 'name']
                                                ELSE ARRAY['seller', 'name'] END), ''),
                nullif(btrim(data #>> '{seller,name}'), ''))
        $$
        """
    )
    op.execute(
        r"""
        -- The amount that a document is shown with, in hundredths; as money() in web/view/cards.py.
        CREATE FUNCTION document_amount(data jsonb, type text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
            SELECT round((data ->> name)::numeric * 100)::bigint
              FROM unnest(
                   CASE WHEN type IN ('invoice', 'credit_note', 'receipt') THEN ARRAY['gross_total']
                        WHEN data ->> 'tax_total' IS NULL
                        THEN ARRAY['gross_total', 'amount_due', 'closing_balance', 'net_pay', 'net_total']
                        ELSE ARRAY['gross_total', 'amount_due', 'closing_balance', 'net_pay'] END
                   ) WITH ORDINALITY AS names (name, number)
             WHERE data ->> name ~ '^-?[0-9]{1,15}(\.[0-9]{1,20})?$'
             ORDER BY number
             LIMIT 1
        $$
        """
    )
    op.execute(
        """
        CREATE FUNCTION keep_document_facts() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            NEW.counterparty := document_counterparty(NEW.structured_data, NEW.document_type);
            NEW.counterparty_key := folded_name(NEW.counterparty);
            NEW.amount_hundredths := document_amount(NEW.structured_data, NEW.document_type);
            RETURN NEW;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER facts_of_document BEFORE INSERT OR UPDATE OF document_type, structured_data ON document
            FOR EACH ROW EXECUTE FUNCTION keep_document_facts()
        """
    )


def _create_found_ids() -> None:
    op.execute(
        """
        -- The tenant as a word: the index finds the documents of one tenant, however many others have.
        CREATE FUNCTION tenant_word(tenant uuid) RETURNS text LANGUAGE sql IMMUTABLE AS $$
            SELECT quote_literal('tenant:' || replace(tenant::text, '-', ''))
        $$
        """
    )
    op.execute(
        """
        CREATE OR REPLACE FUNCTION keep_document_words() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            NEW.words := document_words(
                NEW.title, NEW.file_name, NULL, NEW.document_date, NEW.structured_data, NEW.text,
                NEW.language) || tag_words(NEW.id) || tenant_word(NEW.tenant_id)::tsvector;
            RETURN NEW;
        END
        $$
        """
    )
    op.execute("SET LOCAL ROLE docmill_dispatch")
    op.execute("DROP FUNCTION found_documents(tsquery)")
    op.execute("RESET ROLE")
    op.execute(
        """
        -- Under row-level security the index on words is not used: `@@` is not leakproof. The function looks
        -- for the tenant of the session alone.
        CREATE FUNCTION found_ids(wanted tsquery) RETURNS SETOF uuid
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                SELECT id
                  FROM public.document
                 WHERE words @@ (wanted && public.tenant_word(public.current_tenant())::tsquery)
                   AND tenant_id = public.current_tenant()
            $$
        """
    )
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    op.execute("ALTER FUNCTION found_ids(tsquery) OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    op.execute("REVOKE ALL ON FUNCTION found_ids(tsquery) FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION found_ids(tsquery) TO docmill_app")
    op.execute("RESET ROLE")


def _create_indexes() -> None:
    for statement in (
        # One for each order of the list; documents without the value come last.
        "CREATE INDEX document_newest ON document (tenant_id, id)",
        "CREATE INDEX document_by_date ON document (tenant_id, coalesce(document_date, '-infinity'), id)",
        """
        CREATE INDEX document_by_amount
            ON document (tenant_id, coalesce(amount_hundredths, -9223372036854775807), id)
        """,
        """
        CREATE INDEX document_by_counterparty
            ON document (tenant_id, (counterparty_key = ''), counterparty_key, id DESC)
        """,
        "CREATE INDEX document_by_type ON document (tenant_id, document_type, id)",
        # One for each state that few documents are in.
        "CREATE INDEX document_to_review ON document (tenant_id, id) WHERE needs_human_review",
        "CREATE INDEX document_untitled ON document (tenant_id, id) WHERE title IS NULL",
        "CREATE INDEX ingestion_failed ON ingestion (tenant_id, document_id) WHERE status = 'failed'",
        """
        CREATE INDEX ingestion_not_read ON ingestion (tenant_id, document_id)
         WHERE status = 'completed' AND error_message IS NOT NULL
        """,
    ):
        op.execute(statement)


def _create_saved_views() -> None:
    op.execute(
        """
        -- query: filters and order as in the address of the page. user_id: of its owner.
        CREATE TABLE saved_view (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenant,
            user_id uuid NOT NULL REFERENCES users,
            name text NOT NULL CHECK (length(name) BETWEEN 1 AND 80),
            query text NOT NULL CHECK (length(query) <= 4000),
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            UNIQUE (tenant_id, user_id, name)
        )
        """
    )
    op.execute("ALTER TABLE saved_view ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE saved_view FORCE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY of_tenant ON saved_view USING (tenant_id = (SELECT current_tenant()))")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON saved_view TO docmill_app")
