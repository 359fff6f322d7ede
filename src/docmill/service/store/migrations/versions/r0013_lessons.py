"""What each document that people reviewed teaches: made from it by a worker, and anew when it changes."""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- number: grows whenever a lesson is written. reviewed: the newest review that it heeds. made_by: of
        -- what makes lessons. content: null where nothing can be learned from the document.
        CREATE TABLE lesson (
            document_id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenant,
            number bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
            schema_name text NOT NULL,
            ingestion_id uuid NOT NULL,
            reviewed bigint NOT NULL,
            made_by text NOT NULL,
            content jsonb,
            FOREIGN KEY (tenant_id, document_id) REFERENCES document (tenant_id, id) ON DELETE CASCADE
        )
        """
    )
    op.execute("CREATE INDEX lesson_of_schema ON lesson (tenant_id, schema_name, number DESC)")
    op.execute("ALTER TABLE lesson ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE lesson FORCE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY of_tenant ON lesson USING (tenant_id = (SELECT current_tenant()))")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON lesson TO docmill_app")
