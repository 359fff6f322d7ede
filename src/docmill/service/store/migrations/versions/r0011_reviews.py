"""What people said of the values: kept for ever, and stronger than what a machine reads."""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")

    op.execute(
        """
        -- number: the order in which they were made, under the lock of their document. path: as in evidence;
        -- empty for the document as a whole, whose value lists the checks that are let pass. before: the
        -- value that it replaced. machine: what the ingestion had read there. page, box: where the person
        -- pointed. evidence: where the value stands. undoes: the review that this one takes back. at: the
        -- same for all that was said at once.
        CREATE TABLE review (
            id uuid PRIMARY KEY,
            number bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
            tenant_id uuid NOT NULL REFERENCES tenant,
            document_id uuid NOT NULL,
            ingestion_id uuid NOT NULL,
            path text NOT NULL CHECK (length(path) <= 300),
            action text NOT NULL CHECK (action IN ('confirm', 'correct', 'clear', 'undo')),
            value jsonb NOT NULL,
            before jsonb NOT NULL,
            machine jsonb NOT NULL,
            page integer CHECK (page > 0),
            box double precision[] CHECK (cardinality(box) = 4),
            evidence jsonb,
            undoes uuid UNIQUE REFERENCES review ON DELETE CASCADE,
            reviewed_by uuid NOT NULL,
            at timestamptz NOT NULL DEFAULT now(),
            CHECK ((undoes IS NULL) = (action <> 'undo')),
            CHECK ((page IS NULL) = (box IS NULL)),
            FOREIGN KEY (tenant_id, document_id) REFERENCES document (tenant_id, id) ON DELETE CASCADE
        )
        """
    )
    op.execute("CREATE INDEX review_of_document ON review (document_id, path, number DESC)")
    op.execute("CREATE INDEX review_of_tenant ON review (tenant_id, number DESC)")
    op.execute("ALTER TABLE review ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE review FORCE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY of_tenant ON review USING (tenant_id = (SELECT current_tenant()))")
    op.execute("GRANT SELECT, INSERT ON review TO docmill_app")

    op.execute(
        """
        -- The rights forbid it already; this binds whoever owns the table too.
        CREATE FUNCTION keep_review() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP = 'DELETE' AND NOT EXISTS (SELECT FROM document WHERE id = OLD.document_id) THEN
                RETURN OLD;
            END IF;
            RAISE EXCEPTION 'a review is kept as it is, as long as its document'
                USING ERRCODE = 'insufficient_privilege';
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER keep_review BEFORE UPDATE OR DELETE ON review
            FOR EACH ROW EXECUTE FUNCTION keep_review()
        """
    )

    op.execute(
        """
        -- What holds now: of each path the newest that nobody has taken back.
        CREATE VIEW current_review WITH (security_invoker) AS
        SELECT DISTINCT ON (document_id, path) *
          FROM review
         WHERE action <> 'undo'
           AND NOT EXISTS (SELECT FROM review undo WHERE undo.undoes = review.id)
         ORDER BY document_id, path, number DESC
        """
    )
    op.execute("GRANT SELECT ON current_review TO docmill_app")

    op.execute(
        """
        -- 'lines[0].net_amount' as {lines,0,net_amount}
        CREATE FUNCTION path_steps(path text) RETURNS text[]
            LANGUAGE sql IMMUTABLE PARALLEL SAFE
            RETURN string_to_array(replace(replace(path, ']', ''), '[', '.'), '.')
        """
    )
    op.execute(
        """
        -- Rows that a list lacks are made; a value for what is neither list nor object is left out.
        CREATE FUNCTION with_value(data jsonb, steps text[], value jsonb) RETURNS jsonb
            LANGUAGE plpgsql IMMUTABLE AS $$
        DECLARE
            step text := steps[1];
            rest text[] := steps[2:];
            kind text := coalesce(jsonb_typeof(data), 'null');
        BEGIN
            IF step IS NULL THEN
                RETURN value;
            END IF;
            IF kind = 'null' AND value = 'null' THEN
                RETURN coalesce(data, 'null');
            END IF;
            IF kind IN ('array', 'null') AND step ~ '^[0-9]{1,4}$' THEN
                data := coalesce(nullif(data, 'null'), '[]');
                IF jsonb_array_length(data) <= step::integer AND value = 'null' THEN
                    RETURN data;
                END IF;
                WHILE jsonb_array_length(data) <= step::integer LOOP
                    data := data || CASE WHEN cardinality(rest) = 0 THEN '[null]'::jsonb ELSE '[{}]' END;
                END LOOP;
                RETURN jsonb_set(data, ARRAY[step], with_value(data -> step::integer, rest, value));
            END IF;
            IF kind NOT IN ('object', 'null') THEN
                RETURN data;
            END IF;
            RETURN coalesce(nullif(data, 'null'), '{}')
                || jsonb_build_object(step, with_value(data -> step, rest, value));
        END
        $$
        """
    )
    op.execute(
        """
        -- A review of something that this type of document has not is kept, and waits.
        CREATE FUNCTION with_reviews(data jsonb, wanted uuid) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
        DECLARE
            one record;
        BEGIN
            FOR one IN
                SELECT path, value FROM current_review
                 WHERE document_id = wanted AND path <> '' ORDER BY number
            LOOP
                IF data ? (path_steps(one.path))[1] THEN
                    data := with_value(data, path_steps(one.path), one.value);
                END IF;
            END LOOP;
            RETURN data;
        END
        $$
        """
    )

    op.execute(
        """
        -- verdict: of the values as reviewed, once they were judged anew; null while that of the ingestion
        -- counts. {"failures": what a person must still look at, "accepted": what a person has let pass}
        ALTER TABLE document ADD COLUMN verdict jsonb
        """
    )
    op.execute(
        """
        -- As before, but what people said stays.
        CREATE OR REPLACE FUNCTION result_to_document() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM FROM document WHERE id = NEW.document_id FOR NO KEY UPDATE;
            IF EXISTS (
                SELECT FROM ingestion newer
                 WHERE newer.document_id = NEW.document_id
                   AND newer.status = 'completed'
                   AND (newer.created_at, newer.id) > (NEW.created_at, NEW.id)
            ) THEN
                RETURN NULL;
            END IF;
            IF NEW.status = 'completed' THEN
                UPDATE document
                   SET document_type = NEW.classification ->> 'document_type',
                       title = NEW.classification ->> 'title',
                       summary = NEW.classification ->> 'summary',
                       document_date = (NEW.classification ->> 'document_date')::date,
                       language = NEW.classification ->> 'language',
                       structured_data = with_reviews(NEW.structured_data, NEW.document_id),
                       verdict = NULL,
                       needs_human_review = NEW.valid_structured_data IS FALSE,
                       result_ingestion_id = NEW.id,
                       updated_at = clock_timestamp()
                 WHERE id = NEW.document_id;
            ELSE
                UPDATE document
                   SET needs_human_review = NEW.valid_structured_data IS NOT TRUE,
                       updated_at = clock_timestamp()
                 WHERE id = NEW.document_id;
            END IF;
            RETURN NULL;
        END
        $$
        """
    )
