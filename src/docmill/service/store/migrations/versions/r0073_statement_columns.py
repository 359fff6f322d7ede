"""What the columns of banks' tables mean, by their headings, for the next file of the same bank."""

from alembic import op

revision = "0073"
down_revision = "0072"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- digest: of delimiter and headings. columns: see StatementColumns. set_by: null as long as they are
        -- those that were found in a file.
        CREATE TABLE statement_columns (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenant,
            digest text NOT NULL,
            columns jsonb NOT NULL,
            set_by uuid,
            changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            UNIQUE (tenant_id, digest)
        )
        """
    )
    op.execute("ALTER TABLE statement_columns ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE statement_columns FORCE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY of_tenant ON statement_columns USING (tenant_id = (SELECT current_tenant()))")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON statement_columns TO docmill_app")
