"""Tags as rows: named and coloured by people, assigned by the classification and by people."""

from alembic import op

revision = "0040"
down_revision = "0034"
branch_labels = None
depends_on = None

_TABLES = ("tag", "tag_spelling", "tag_assignment")


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    _create_tables()
    _create_machine_assignment()
    _fill()
    _create_search()
    _create_events()
    for table in _TABLES:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY of_tenant ON {table} USING (tenant_id = (SELECT current_tenant()))")
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO docmill_app")


def _create_tables() -> None:
    op.execute(
        """
        -- color: of a palette, whose shades the pages choose. removed_at: nobody is shown it any more; its
        -- assignments stay, so that it can be restored.
        CREATE TABLE tag (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenant,
            name text NOT NULL CHECK (length(name) BETWEEN 1 AND 40),
            color text CHECK (color IN ('blue', 'green', 'amber', 'red', 'purple', 'teal', 'pink', 'grey')),
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            removed_at timestamptz,
            UNIQUE (tenant_id, id)
        )
        """
    )
    op.execute(
        """
        -- The keys of all names by which a tag is meant: its own, and those of tags that were renamed or
        -- merged into it, which the classification goes on using. Deferred: who writes the spelling makes the
        -- new tag.
        CREATE TABLE tag_spelling (
            tenant_id uuid NOT NULL REFERENCES tenant,
            key text NOT NULL,
            tag_id uuid NOT NULL,
            PRIMARY KEY (tenant_id, key),
            FOREIGN KEY (tenant_id, tag_id) REFERENCES tag (tenant_id, id) ON DELETE CASCADE
                DEFERRABLE INITIALLY DEFERRED
        )
        """
    )
    op.execute("CREATE INDEX tag_spelling_of_tag ON tag_spelling (tag_id)")
    op.execute(
        """
        -- is_removed: a person took the tag off, so no machine assigns it again. position: among the tags of
        -- the machine; null for those of people.
        CREATE TABLE tag_assignment (
            document_id uuid NOT NULL,
            tag_id uuid NOT NULL,
            tenant_id uuid NOT NULL REFERENCES tenant,
            origin text NOT NULL CHECK (origin IN ('machine', 'person')),
            is_removed boolean NOT NULL DEFAULT false,
            position integer,
            assigned_by uuid REFERENCES users,
            assigned_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (document_id, tag_id),
            CHECK (origin = 'person' OR NOT is_removed),
            FOREIGN KEY (tenant_id, document_id) REFERENCES document (tenant_id, id) ON DELETE CASCADE,
            FOREIGN KEY (tenant_id, tag_id) REFERENCES tag (tenant_id, id) ON DELETE CASCADE
        )
        """
    )
    op.execute(
        "CREATE INDEX tag_assignment_of_tag ON tag_assignment (tag_id, document_id DESC) WHERE NOT is_removed"
    )
    op.execute(
        """
        -- Ids grow with time; PostgreSQL has no function for them before version 18.
        CREATE FUNCTION new_uuid7() RETURNS uuid LANGUAGE sql VOLATILE AS $$
            SELECT (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0')
                    || '7' || substr(random, 14, 3) || '8' || substr(random, 18, 15))::uuid
              FROM (SELECT replace(gen_random_uuid()::text, '-', '') AS random) AS drawn
        $$
        """
    )
    op.execute(
        r"""
        -- Equal for names of one tag: the same but for case, accents, signs between words and the plural; as
        -- is_same_tag() in understanding/types/tags.py.
        CREATE FUNCTION tag_key(name text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
            SELECT coalesce(
                nullif(string_agg(
                    CASE WHEN length(word) < 4 OR right(word, 1) <> 's' OR right(word, 2) = 'ss' THEN word
                         WHEN right(word, 3) = 'ies' THEN left(word, -3) || 'y'
                         ELSE left(word, -1) END,
                    ' ' ORDER BY number), ''),
                lower(btrim(name)))
              FROM regexp_split_to_table(btrim(folded_words(name)), '\s+') WITH ORDINALITY
                   AS words (word, number)
             WHERE word <> ''
        $$
        """
    )


def _create_machine_assignment() -> None:
    op.execute(
        """
        -- The tag of a name, made if there is none. Of two that make it at once, the later one waits.
        CREATE FUNCTION tag_named(tenant uuid, wanted text) RETURNS uuid LANGUAGE plpgsql AS $$
        DECLARE
            found uuid;
        BEGIN
            SELECT tag_id INTO found FROM tag_spelling WHERE tenant_id = tenant AND key = tag_key(wanted);
            IF found IS NOT NULL THEN
                RETURN found;
            END IF;
            INSERT INTO tag_spelling (tenant_id, key, tag_id)
                VALUES (tenant, tag_key(wanted), new_uuid7())
                ON CONFLICT (tenant_id, key) DO NOTHING
                RETURNING tag_id INTO found;
            IF found IS NULL THEN
                SELECT tag_id INTO found FROM tag_spelling WHERE tenant_id = tenant AND key = tag_key(wanted);
            ELSE
                INSERT INTO tag (id, tenant_id, name) VALUES (found, tenant, wanted);
            END IF;
            RETURN found;
        END
        $$
        """
    )
    op.execute(
        r"""
        -- Make `names` the tags that the machine assigned; those of people, added or removed, stay.
        CREATE FUNCTION assign_machine_tags(tenant uuid, document uuid, names jsonb) RETURNS void
            LANGUAGE plpgsql AS $$
        DECLARE
            listed text[] := ARRAY(
                SELECT rtrim(left(btrim(regexp_replace(item #>> '{}', '\s+', ' ', 'g')), 40))
                  FROM jsonb_array_elements(
                       CASE WHEN jsonb_typeof(names) = 'array' THEN names ELSE '[]' END
                       ) WITH ORDINALITY AS items (item, number)
                 WHERE jsonb_typeof(item) = 'string' AND item #>> '{}' ~ '\S'
                 ORDER BY number
            );
            ids jsonb := '{}';
            name text;
        BEGIN
            -- In the order of their keys, so that of two transactions neither waits for the other.
            FOR name IN SELECT item FROM unnest(listed) AS item ORDER BY tag_key(item) LOOP
                ids := ids || jsonb_build_object(name, tag_named(tenant, name));
            END LOOP;
            DELETE FROM tag_assignment
             WHERE document_id = document AND origin = 'machine'
               AND tag_id NOT IN (SELECT value::uuid FROM jsonb_each_text(ids));
            INSERT INTO tag_assignment (document_id, tag_id, tenant_id, origin, position)
            SELECT document, (ids ->> item)::uuid, tenant, 'machine', min(number)
              FROM unnest(listed) WITH ORDINALITY AS items (item, number)
             GROUP BY (ids ->> item)::uuid
                ON CONFLICT (document_id, tag_id) DO UPDATE SET position = excluded.position
             WHERE tag_assignment.origin = 'machine'
               AND tag_assignment.position IS DISTINCT FROM excluded.position;
        END
        $$
        """
    )
    op.execute(
        """
        -- The tags as they follow from reviewed values, else those of the ingestion that counts.
        CREATE FUNCTION tags_of_result() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            names jsonb := coalesce(NEW.tags, (SELECT classification -> 'tags' FROM ingestion
                                                WHERE ingestion.id = NEW.result_ingestion_id));
        BEGIN
            IF coalesce(names, '[]') <> '[]'
               OR EXISTS (SELECT FROM tag_assignment WHERE document_id = NEW.id) THEN
                PERFORM assign_machine_tags(NEW.tenant_id, NEW.id, names);
            END IF;
            RETURN NULL;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER tags_of_result AFTER UPDATE OF tags, result_ingestion_id ON document
            FOR EACH ROW EXECUTE FUNCTION tags_of_result()
        """
    )


def _fill() -> None:
    """Assign the tags of all documents; their owner sees all tenants' for a moment."""
    for table in ("document", "ingestion"):
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
    op.execute(
        """
        SELECT assign_machine_tags(
                   document.tenant_id, document.id, coalesce(document.tags, classification -> 'tags'))
          FROM document LEFT JOIN ingestion ON ingestion.id = result_ingestion_id
         WHERE coalesce(document.tags, classification -> 'tags') IS NOT NULL
         ORDER BY document.id
        """
    )
    # The keys of new tags are checked here: a table with checks that wait cannot be altered.
    op.execute("SET CONSTRAINTS ALL IMMEDIATE")
    for table in ("document", "ingestion"):
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")


def _create_search() -> None:
    op.execute(
        """
        -- The id of a tag as a word: a tag that is renamed changes no index. Letters of the weight of names.
        CREATE FUNCTION tag_word(tag_id uuid) RETURNS text LANGUAGE sql IMMUTABLE AS $$
            SELECT 'tag:' || replace(tag_id::text, '-', '')
        $$
        """
    )
    op.execute(
        """
        CREATE FUNCTION tag_words(wanted uuid) RETURNS tsvector LANGUAGE sql STABLE AS $$
            SELECT coalesce(string_agg(quote_literal(tag_word(tag_id)) || '\\:1A', ' '), '')::tsvector
              FROM tag_assignment
             WHERE document_id = wanted AND NOT is_removed
        $$
        """
    )
    op.execute(
        """
        CREATE OR REPLACE FUNCTION keep_document_words() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            NEW.words := document_words(
                NEW.title, NEW.file_name, NULL, NEW.document_date, NEW.structured_data, NEW.text,
                NEW.language) || tag_words(NEW.id);
            RETURN NEW;
        END
        $$
        """
    )
    op.execute("DROP TRIGGER words_of_document ON document")
    op.execute(
        """
        CREATE TRIGGER words_of_document
            BEFORE INSERT OR UPDATE OF title, file_name, document_date, structured_data, text, language
            ON document FOR EACH ROW EXECUTE FUNCTION keep_document_words()
        """
    )
    op.execute("ALTER TABLE document NO FORCE ROW LEVEL SECURITY")
    op.execute(
        """
        UPDATE document
           SET words = document_words(title, file_name, NULL, document_date, structured_data, text, language)
         WHERE tags IS NOT NULL
        """
    )
    op.execute(
        """
        UPDATE document SET words = words || tag_words(id)
         WHERE id IN (SELECT document_id FROM tag_assignment)
        """
    )
    op.execute("ALTER TABLE document FORCE ROW LEVEL SECURITY")
    op.execute(
        """
        -- Adds and removes words, so that no text is read again.
        CREATE FUNCTION keep_tag_words() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE document
               SET words = ts_delete(words, change.gone) || change.added::tsvector
              FROM (SELECT document_id,
                           array_agg(tag_word(tag_id)) AS gone,
                           coalesce(string_agg(quote_literal(tag_word(tag_id)) || '\\:1A', ' ')
                                        FILTER (WHERE TG_OP <> 'DELETE' AND NOT is_removed), '') AS added
                      FROM changed
                     GROUP BY document_id) AS change
             WHERE document.id = change.document_id;
            RETURN NULL;
        END
        $$
        """
    )
    for event, rows in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD")):
        op.execute(
            f"""
            CREATE TRIGGER words_{event.lower()} AFTER {event} ON tag_assignment
                REFERENCING {rows} TABLE AS changed
                FOR EACH STATEMENT EXECUTE FUNCTION keep_tag_words()
            """
        )


def _create_events() -> None:
    op.execute(
        """
        CREATE FUNCTION tag_event() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO event (tenant_id, document_id, kind)
            SELECT DISTINCT tenant_id, document_id, 'changed' FROM changed;
            RETURN NULL;
        END
        $$
        """
    )
    for event, rows in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD")):
        # Depth 0: a person's change. What follows a result has the result's own event.
        op.execute(
            f"""
            CREATE TRIGGER event_{event.lower()} AFTER {event} ON tag_assignment
                REFERENCING {rows} TABLE AS changed
                FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION tag_event()
            """
        )
