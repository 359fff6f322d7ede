"""Sources: their pace, how long they fail, the words of what arrived, and turns of tenants in queues."""

from alembic import op

revision = "0082"
down_revision = "0078"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    _add_failures()
    _create_pace()
    _add_words()
    _add_turns()


def _add_failures() -> None:
    op.execute(
        """
        -- failing_since: since when nothing worked; reported_at: when people were told of that. waits_until:
        -- for its limits.
        ALTER TABLE doc_source
            ADD COLUMN failing_since timestamptz,
            ADD COLUMN reported_at timestamptz,
            ADD COLUMN waits_until timestamptz
        """
    )
    op.execute("ALTER TABLE notification DROP CONSTRAINT notification_kind_check")
    op.execute(
        """
        -- Not checked for old rows, which fulfilled the stricter condition.
        ALTER TABLE notification ADD CONSTRAINT notification_kind_check
            CHECK (kind IN ('matching_failed', 'setup_error', 'pause', 'webhook_disabled', 'source_failed'))
            NOT VALID
        """
    )
    op.execute(
        """
        -- Numbers of all tenants' sources for the metrics. Items count for sources that were removed, too.
        CREATE FUNCTION sources_by_kind()
            RETURNS TABLE (kind text, active bigint, failing bigint, taken bigint, refused bigint)
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                SELECT kind,
                       count(*) FILTER (WHERE state = 'active' AND removed_at IS NULL),
                       count(*) FILTER (WHERE state = 'active' AND removed_at IS NULL AND failures > 0),
                       sum(arrivals)::bigint,
                       sum(refusals)::bigint
                  FROM public.doc_source
                 GROUP BY kind
            $$
        """
    )
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    op.execute("ALTER FUNCTION sources_by_kind() OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    op.execute("REVOKE ALL ON FUNCTION sources_by_kind() FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION sources_by_kind() TO docmill_app")
    op.execute("RESET ROLE")


def _create_pace() -> None:
    op.execute(
        """
        -- When the next item may be taken: of a source, or of all sources of a tenant (then its id).
        CREATE TABLE source_pace (
            tenant_id uuid NOT NULL REFERENCES tenant,
            limited_id uuid NOT NULL,
            next_at timestamptz NOT NULL,
            PRIMARY KEY (tenant_id, limited_id)
        ) WITH (fillfactor = 50)
        """
    )
    op.execute("ALTER TABLE source_pace ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE source_pace FORCE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY of_tenant ON source_pace USING (tenant_id = (SELECT current_tenant()))")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON source_pace TO docmill_app")
    op.execute(
        """
        CREATE INDEX arrival_refused ON arrival (doc_source_id, arrived_at DESC) WHERE error_code IS NOT NULL
        """
    )
    op.execute(
        """
        CREATE INDEX ingestion_of_source ON ingestion (doc_source_id, document_id)
         WHERE doc_source_id IS NOT NULL
        """
    )
    op.execute("CREATE INDEX arrival_of_tenant ON arrival (tenant_id, arrived_at DESC)")


def _add_words() -> None:
    op.execute(
        """
        -- What a source says about an item, such as sender, subject and path, as words of its document.
        CREATE FUNCTION words_of_arrival(metadata jsonb) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$
            SELECT setweight(
                       to_tsvector('simple', concat_ws(' ', folded_words(said), exact_terms(said))), 'B')
              FROM (SELECT left(coalesce(string_agg(value #>> '{}', ' '), ''), 5000) AS said
                      FROM jsonb_each(metadata)
                     WHERE jsonb_typeof(value) = 'string' AND key NOT IN ('part_of', 'root_ingestion_id')
                   ) AS texts
        $$
        """
    )
    op.execute(
        """
        -- Of the newest arrivals of a document, and of its newest processings as an item or a part of one.
        CREATE FUNCTION arrival_words(wanted uuid) RETURNS tsvector LANGUAGE plpgsql STABLE AS $$
        DECLARE
            words tsvector := '';
            said jsonb;
        BEGIN
            FOR said IN
                (SELECT metadata FROM arrival WHERE document_id = wanted ORDER BY arrived_at DESC LIMIT 20)
                UNION
                (SELECT source_metadata FROM ingestion
                  WHERE document_id = wanted AND doc_source_id IS NOT NULL AND source_metadata IS NOT NULL
                  ORDER BY ordinal DESC LIMIT 5)
            LOOP
                words := words || words_of_arrival(said);
            END LOOP;
            RETURN words;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE OR REPLACE FUNCTION keep_document_words() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            NEW.words := document_words(
                NEW.title, NEW.file_name, NULL, NEW.document_date, NEW.structured_data, NEW.text,
                NEW.language) || tag_words(NEW.id) || arrival_words(NEW.id)
                || tenant_word(NEW.tenant_id)::tsvector;
            RETURN NEW;
        END
        $$
        """
    )
    op.execute(
        """
        -- Adds words, so that no text is read again. metadata: the column of it.
        CREATE FUNCTION add_arrival_words() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE document
               SET words = words || words_of_arrival(to_jsonb(NEW) -> TG_ARGV[0])
             WHERE id = NEW.document_id;
            RETURN NULL;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER words_of_arrival AFTER INSERT ON arrival FOR EACH ROW
            WHEN (NEW.document_id IS NOT NULL) EXECUTE FUNCTION add_arrival_words('metadata')
        """
    )
    op.execute(
        """
        CREATE TRIGGER words_of_source AFTER INSERT ON ingestion FOR EACH ROW
            WHEN (NEW.doc_source_id IS NOT NULL AND NEW.source_metadata ? 'part_of')
            EXECUTE FUNCTION add_arrival_words('source_metadata')
        """
    )


def _add_turns() -> None:
    op.execute(
        """
        -- turn: what is due is received in this order. The messages of a tenant stand one after the other,
        -- those of several beside each other. now() is the same for all old rows: the table is not rewritten.
        ALTER TABLE message
            ADD COLUMN tenant_id uuid,
            ADD COLUMN turn timestamptz NOT NULL DEFAULT now()
        """
    )
    op.execute("CREATE INDEX message_turn ON message (queue, turn)")
    # With it, the statistics of a queue that was just filled have all that is due read and sorted.
    op.execute("DROP INDEX message_due")
    op.execute("CREATE INDEX message_unreceived ON message (queue, turn) WHERE receive_count = 0")
    op.execute("CREATE INDEX message_of_tenant ON message (queue, tenant_id, turn) WHERE receive_count = 0")
