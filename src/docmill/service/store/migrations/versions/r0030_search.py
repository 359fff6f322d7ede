"""Search: the words, amounts, dates and codes by which a document is found."""

from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

_DICTIONARIES = """
    CASE language WHEN 'da' THEN 'danish' WHEN 'de' THEN 'german' WHEN 'en' THEN 'english'
                  WHEN 'es' THEN 'spanish' WHEN 'fr' THEN 'french' WHEN 'it' THEN 'italian'
                  WHEN 'nl' THEN 'dutch' WHEN 'no' THEN 'norwegian' WHEN 'pt' THEN 'portuguese'
                  WHEN 'sv' THEN 'swedish' ELSE 'simple' END
"""


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")

    op.execute(
        r"""
        -- Words in small letters without accents, parted by spaces; as fold() in service/search/terms.py.
        CREATE FUNCTION folded_words(content text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
            SELECT regexp_replace(
                translate(
                    replace(replace(replace(
                        regexp_replace(lower(normalize(content, NFKD)), '[\u0300-\u036f]', '', 'g'),
                        'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'),
                    'łøđðı', 'loddi'),
                '[\x01-\x2f\x3a-\x60\x7b-\x7f\u00ab\u00bb\u201c-\u201e\u2018-\u201a\u2013\u2014'
                '\u2026\u2022\u00b7\u00bf\u00a1\u00a7\u00b0]+', ' ', 'g')
        $$
        """
    )
    op.execute(
        r"""
        -- What no dictionary knows: amounts as n119900, days as d20260503, codes without their marks.
        CREATE FUNCTION exact_terms(content text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
            SELECT coalesce(string_agg(DISTINCT term, ' '), '')
              FROM (
                SELECT 'n' || regexp_replace(found[1], '[^0-9]', '', 'g') AS term
                  FROM regexp_matches(content,
                       '(?<![0-9.,])((?:[0-9]{1,3}(?:[.,''\u2019\u00a0\u202f ][0-9]{3})+|[0-9]+)'
                       '[.,][0-9]{2})(?![0-9])', 'g') found
                UNION ALL
                SELECT 'n' || regexp_replace(found[1], '[^0-9]', '', 'g') || '00'
                  FROM regexp_matches(content,
                       '(?<![0-9.,])([0-9]{1,3}(?:[.,''\u2019\u00a0\u202f ][0-9]{3})+)(?![0-9.,])', 'g') found
                UNION ALL
                SELECT 'd' || replace(found[1], '-', '')
                  FROM regexp_matches(content,
                       '(?<![0-9])([12][0-9]{3}-[01][0-9]-[0-3][0-9])(?![0-9])', 'g') found
                UNION ALL
                SELECT 'd' || found[3] || lpad(month, 2, '0') || lpad(day, 2, '0')
                  FROM regexp_matches(content,
                       '(?<![0-9])([0-3]?[0-9])[./-]([0-3]?[0-9])[./-]([12][0-9]{3})(?![0-9])', 'g') found,
                       LATERAL (VALUES (found[1], found[2]), (found[2], found[1])) AS written (day, month)
                 WHERE month::integer BETWEEN 1 AND 12
                UNION ALL
                SELECT lower(replace(found[1], ' ', ''))
                  FROM regexp_matches(content,
                       '(?<![A-Za-z0-9])([A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?)'
                       '(?![A-Za-z0-9])', 'g') found
                UNION ALL
                SELECT lower(regexp_replace(found[1], '[^A-Za-z0-9]', '', 'g'))
                  FROM regexp_matches(content,
                       '(?<![A-Za-z0-9])((?=[A-Za-z/.-]*[0-9])[A-Za-z0-9]+(?:[-/.][A-Za-z0-9]+)+)', 'g') found
              ) terms
             WHERE length(term) BETWEEN 2 AND 64
        $$
        """
    )
    op.execute(
        f"""
        -- The name counts most, then the values, then the text. More than so much text fills no index.
        CREATE FUNCTION document_words(
            title text, file_name text, tags jsonb, day date, data jsonb, content text, language text
        ) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, public, pg_temp AS $$
        DECLARE
            name text := concat_ws(' ', title, file_name, tags #>> '{{}}', day::text);
            fields text := coalesce(data::text, '');
            longest integer := 400000;
            body text;
        BEGIN
            LOOP
                body := left(coalesce(content, ''), longest);
                BEGIN
                    RETURN setweight(
                            to_tsvector('simple', concat_ws(' ', folded_words(name), exact_terms(name))), 'A')
                        || setweight(
                            to_tsvector('simple', concat_ws(' ', folded_words(fields), exact_terms(fields))),
                            'B')
                        || setweight(
                            to_tsvector('simple', concat_ws(' ', folded_words(body), exact_terms(body))), 'D')
                        || setweight(to_tsvector(({_DICTIONARIES})::regconfig, folded_words(body)), 'D');
                EXCEPTION WHEN program_limit_exceeded THEN
                    longest := longest / 4;
                    IF longest < 1000 THEN
                        RETURN to_tsvector('simple', folded_words(left(name, 2000)));
                    END IF;
                    fields := left(fields, longest);
                END;
            END LOOP;
        END
        $$
        """
    )
    op.execute("ALTER TABLE document ADD COLUMN words tsvector")
    op.execute(
        """
        CREATE FUNCTION keep_document_words() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            NEW.words := document_words(
                NEW.title, NEW.file_name, NEW.tags, NEW.document_date, NEW.structured_data, NEW.text,
                NEW.language);
            RETURN NEW;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER words_of_document
            BEFORE INSERT OR UPDATE OF title, file_name, tags, document_date, structured_data, text, language
            ON document FOR EACH ROW EXECUTE FUNCTION keep_document_words()
        """
    )
    op.execute("ALTER TABLE document NO FORCE ROW LEVEL SECURITY")
    op.execute(
        """
        UPDATE document
           SET words = document_words(title, file_name, tags, document_date, structured_data, text, language)
        """
    )
    op.execute("ALTER TABLE document FORCE ROW LEVEL SECURITY")
    op.execute("CREATE INDEX document_by_words ON document USING gin (words)")

    op.execute(
        """
        -- Under row-level security the index on words is not used: `@@` is not leakproof. The function looks
        -- for the tenant of the session alone.
        CREATE FUNCTION found_documents(wanted tsquery) RETURNS TABLE (id uuid, rank real)
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                SELECT id, ts_rank(words, wanted)
                  FROM public.document
                 WHERE words @@ wanted AND tenant_id = public.current_tenant()
            $$
        """
    )
    op.execute("GRANT SELECT (id, tenant_id, words) ON document TO docmill_dispatch")
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    op.execute("ALTER FUNCTION found_documents(tsquery) OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    op.execute("REVOKE ALL ON FUNCTION found_documents(tsquery) FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION found_documents(tsquery) TO docmill_app")
    op.execute("RESET ROLE")
