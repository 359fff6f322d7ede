"""Files that other programs have asked to be fetched."""

from alembic import op

revision = "0083"
down_revision = "0082"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- url: encrypted, since it may hold a secret. The row goes when the file was taken or refused.
        CREATE TABLE fetch_request (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL,
            doc_source_id uuid NOT NULL,
            item text NOT NULL,
            url bytea NOT NULL,
            file_name text NOT NULL,
            metadata jsonb NOT NULL,
            failures integer NOT NULL DEFAULT 0,
            next_attempt_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            UNIQUE (doc_source_id, item),
            FOREIGN KEY (tenant_id, doc_source_id) REFERENCES doc_source (tenant_id, id)
        )
        """
    )
    op.execute("CREATE INDEX fetch_request_due ON fetch_request (doc_source_id, next_attempt_at)")
    op.execute("ALTER TABLE fetch_request ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE fetch_request FORCE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY of_tenant ON fetch_request USING (tenant_id = (SELECT current_tenant()))")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON fetch_request TO docmill_app")
