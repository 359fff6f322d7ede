"""Search: values of fields are indexed without the names of the fields, which every document has."""

from alembic import op

revision = "0031"
down_revision = "0030"
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
        -- The values of all fields, parted by the ends of lines, which no amount spans.
        CREATE FUNCTION searched_values(data jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
            SELECT coalesce(string_agg(value #>> '{}', E'\n'), '')
              FROM jsonb_path_query(data, 'strict $.**') AS value
             WHERE jsonb_typeof(value) IN ('string', 'number')
        $$
        """
    )
    op.execute(
        f"""
        -- The name counts most, then the values, then the text. More than so much text fills no index.
        CREATE OR REPLACE FUNCTION document_words(
            title text, file_name text, tags jsonb, day date, data jsonb, content text, language text
        ) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, public, pg_temp AS $$
        DECLARE
            name text := concat_ws(' ', title, file_name, tags #>> '{{}}', day::text);
            fields text := searched_values(data);
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
    op.execute("ALTER TABLE document NO FORCE ROW LEVEL SECURITY")
    op.execute(
        """
        UPDATE document
           SET words = document_words(title, file_name, tags, document_date, structured_data, text, language)
        """
    )
    op.execute("ALTER TABLE document FORCE ROW LEVEL SECURITY")
