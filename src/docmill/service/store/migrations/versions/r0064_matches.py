"""Records that are matched, the keys under which they find each other, and the links between them."""

from alembic import op

revision = "0064"
down_revision = "0063"
branch_labels = None
depends_on = None

_TABLES = ("match_record", "match_key", "match_edge", "match_decision")


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- One row for each document that can be matched, and for each payment of a bank statement. id: of the
        -- document, with `#n` behind it for the n-th payment. content: what it is compared by.
        -- cluster_id: shared by all that confirmed and automatic links connect. is_gone: the document has no
        -- such record any more; it is removed with its links when the document is matched.
        CREATE TABLE match_record (
            id text PRIMARY KEY,
            tenant_id uuid NOT NULL,
            document_id uuid NOT NULL,
            content jsonb NOT NULL,
            is_gone boolean NOT NULL DEFAULT false,
            cluster_id uuid,
            FOREIGN KEY (tenant_id, document_id) REFERENCES document (tenant_id, id) ON DELETE CASCADE
        )
        """
    )
    op.execute("CREATE INDEX match_record_of_document ON match_record (tenant_id, document_id)")
    op.execute(
        "CREATE INDEX match_record_of_cluster ON match_record (cluster_id) WHERE cluster_id IS NOT NULL"
    )
    op.execute(
        """
        -- day: by which the nearest of many are found; that of an unknown one is 0001-01-01.
        CREATE TABLE match_key (
            tenant_id uuid NOT NULL,
            key bigint NOT NULL,
            kind text NOT NULL,
            day date NOT NULL,
            record_id text NOT NULL REFERENCES match_record ON DELETE CASCADE,
            PRIMARY KEY (tenant_id, key, kind, day, record_id)
        )
        """
    )
    op.execute("CREATE INDEX match_key_of_record ON match_key (record_id)")
    op.execute(
        """
        -- What the matcher found of two records. pair: its evidence and log-odds; the rest follows from all
        -- pairs around it. Written anew whenever one of its documents is matched.
        CREATE TABLE match_edge (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenant,
            first_id text NOT NULL REFERENCES match_record ON DELETE CASCADE,
            second_id text NOT NULL REFERENCES match_record ON DELETE CASCADE,
            relation text NOT NULL,
            pair jsonb NOT NULL,
            state text CHECK (state IN ('automatic', 'suggested', 'outranked')),
            score double precision,
            reasons jsonb NOT NULL DEFAULT '[]',
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            UNIQUE (tenant_id, first_id, second_id, relation)
        )
        """
    )
    op.execute("CREATE INDEX match_edge_of_second ON match_edge (tenant_id, second_id)")
    op.execute(
        """
        -- What people said of two records, whatever the matcher finds later. Not bound to match_record, whose
        -- rows are replaced.
        CREATE TABLE match_decision (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL,
            first_document_id uuid NOT NULL,
            second_document_id uuid NOT NULL,
            first_id text NOT NULL,
            second_id text NOT NULL,
            relation text NOT NULL,
            decision text NOT NULL CHECK (decision IN ('confirmed', 'declined')),
            decided_by uuid REFERENCES users,
            decided_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            UNIQUE (tenant_id, first_id, second_id, relation),
            FOREIGN KEY (tenant_id, first_document_id) REFERENCES document (tenant_id, id) ON DELETE CASCADE,
            FOREIGN KEY (tenant_id, second_document_id) REFERENCES document (tenant_id, id) ON DELETE CASCADE
        )
        """
    )
    op.execute("CREATE INDEX match_decision_of_second ON match_decision (tenant_id, second_id)")
    op.execute("CREATE INDEX match_decision_of_first_document ON match_decision (first_document_id)")
    op.execute("CREATE INDEX match_decision_of_second_document ON match_decision (second_document_id)")
    for table in _TABLES:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY of_tenant ON {table} USING (tenant_id = (SELECT current_tenant()))")
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO docmill_app")
