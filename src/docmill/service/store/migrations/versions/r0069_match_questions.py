"""Questions to models about links, their answers, and what these say of each pair of records."""

from alembic import op

revision = "0069"
down_revision = "0068"
branch_labels = None
depends_on = None

_TABLES = ("match_question", "match_judgement")


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- Cache of answers by the digest of the question and of who was asked, with what they cost.
        -- answer: null as long as no valid one was given.
        CREATE TABLE match_question (
            tenant_id uuid NOT NULL,
            digest text NOT NULL,
            document_id uuid NOT NULL,
            model text NOT NULL,
            answer jsonb,
            input_tokens bigint NOT NULL DEFAULT 0,
            output_tokens bigint NOT NULL DEFAULT 0,
            cost numeric NOT NULL DEFAULT 0,
            asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (tenant_id, digest),
            FOREIGN KEY (tenant_id, document_id) REFERENCES document (tenant_id, id) ON DELETE CASCADE
        )
        """
    )
    op.execute("CREATE INDEX match_question_of_document ON match_question (tenant_id, document_id)")
    op.execute(
        """
        -- What was answered of two records when it was asked about a record of the document. digest: of the
        -- pair; it holds as long as that is the same.
        CREATE TABLE match_judgement (
            tenant_id uuid NOT NULL,
            document_id uuid NOT NULL,
            first_id text NOT NULL,
            second_id text NOT NULL,
            relation text NOT NULL,
            digest text NOT NULL,
            belongs boolean NOT NULL,
            reason text NOT NULL,
            model text NOT NULL,
            is_suspicious boolean NOT NULL,
            PRIMARY KEY (tenant_id, document_id, first_id, second_id, relation),
            FOREIGN KEY (tenant_id, document_id) REFERENCES document (tenant_id, id) ON DELETE CASCADE
        )
        """
    )
    op.execute("CREATE INDEX match_judgement_of_pair ON match_judgement (tenant_id, first_id, second_id)")
    for table in _TABLES:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY of_tenant ON {table} USING (tenant_id = (SELECT current_tenant()))")
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO docmill_app")
