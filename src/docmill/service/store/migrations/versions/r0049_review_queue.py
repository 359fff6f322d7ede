"""The review queue: rejections, reasons, redone reviews, what people have typed, and who reviews what now."""

from alembic import op

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")

    op.execute(
        """
        -- reason: why a value was confirmed without a look at it. redoes: the undo that this one takes back.
        ALTER TABLE review
            ADD COLUMN reason text CHECK (length(reason) BETWEEN 1 AND 500),
            ADD COLUMN redoes uuid UNIQUE REFERENCES review ON DELETE CASCADE,
            ADD CHECK (redoes IS NULL OR action <> 'undo'),
            DROP CONSTRAINT review_action_check,
            ADD CONSTRAINT review_action_check
                CHECK (action IN ('confirm', 'correct', 'clear', 'remove', 'reject', 'undo'))
        """
    )
    op.execute(
        """
        CREATE OR REPLACE VIEW current_review WITH (security_invoker) AS
        SELECT DISTINCT ON (document_id, path) *
          FROM review
         WHERE action <> 'undo'
           AND NOT EXISTS (SELECT FROM review undo WHERE undo.undoes = review.id)
         ORDER BY document_id, path, number DESC
        """
    )
    # rejection: the reason for which a person rejected the document; null while nobody has.
    op.execute("ALTER TABLE document ADD COLUMN rejection text")
    op.execute(
        "CREATE INDEX near_duplicate_undecided ON near_duplicate (tenant_id, document_id)"
        " WHERE is_duplicate IS NULL"
    )

    op.execute(
        """
        -- Documents that wait for a person. due_date: null where it is no day.
        CREATE VIEW review_queue WITH (security_invoker) AS
        WITH waiting AS MATERIALIZED (
            SELECT id FROM document WHERE needs_human_review AND rejection IS NULL
             UNION
            SELECT document_id FROM near_duplicate JOIN document ON document.id = document_id
             WHERE is_duplicate IS NULL AND rejection IS NULL
        )
        SELECT document.id,
               CASE WHEN structured_data ->> 'due_date' ~ '^[0-9]{4}-' THEN structured_data ->> 'due_date' END
                   AS due_date
          FROM waiting
          JOIN document ON document.id = waiting.id
          JOIN document_state ON document_state.id = document.id
         WHERE document_state.state = 'needs_review'
        """
    )
    op.execute("GRANT SELECT ON review_queue TO docmill_app")

    op.execute(
        """
        -- Texts that a person has typed and not saved. seen: the value that the person saw meanwhile.
        CREATE TABLE review_draft (
            tenant_id uuid NOT NULL REFERENCES tenant,
            document_id uuid NOT NULL,
            user_id uuid NOT NULL REFERENCES users,
            path text NOT NULL CHECK (length(path) BETWEEN 1 AND 300),
            typed text NOT NULL CHECK (length(typed) <= 20000),
            seen text NOT NULL CHECK (length(seen) <= 20000),
            saved_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (document_id, user_id, path),
            FOREIGN KEY (tenant_id, document_id) REFERENCES document (tenant_id, id) ON DELETE CASCADE
        )
        """
    )
    op.execute(
        """
        -- The person who reviews a document now. seen_at: the last sign of life.
        CREATE TABLE review_lock (
            tenant_id uuid NOT NULL REFERENCES tenant,
            document_id uuid PRIMARY KEY,
            user_id uuid NOT NULL REFERENCES users,
            taken_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            FOREIGN KEY (tenant_id, document_id) REFERENCES document (tenant_id, id) ON DELETE CASCADE
        )
        """
    )
    for table in ("review_draft", "review_lock"):
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY of_tenant ON {table} USING (tenant_id = (SELECT current_tenant()))")
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO docmill_app")
