"""Which documents hold which: a mail its attachments, an archive its files, a scan its sections."""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- One content can be a part of many documents, and twice of one. root_ingestion_id: of the upload
        -- with which it all came; it is no foreign key, since links stay when ingestions go.
        CREATE TABLE part (
            tenant_id uuid NOT NULL REFERENCES tenant,
            parent_id uuid NOT NULL,
            position integer NOT NULL CHECK (position > 0),
            child_id uuid,
            kind text NOT NULL CHECK (kind IN ('attachment', 'member', 'section')),
            name text NOT NULL,
            first_page integer,
            last_page integer,
            problem text,
            root_ingestion_id uuid NOT NULL,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (parent_id, position),
            CHECK (num_nonnulls(child_id, problem) = 1),
            FOREIGN KEY (tenant_id, parent_id) REFERENCES document (tenant_id, id) ON DELETE CASCADE,
            FOREIGN KEY (tenant_id, child_id) REFERENCES document (tenant_id, id) ON DELETE CASCADE
        )
        """
    )
    op.execute("CREATE INDEX part_of_child ON part (child_id) WHERE child_id IS NOT NULL")
    op.execute("CREATE INDEX part_of_root ON part (root_ingestion_id)")
    op.execute("ALTER TABLE part ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE part FORCE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY of_tenant ON part USING (tenant_id = (SELECT current_tenant()))")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON part TO docmill_app")
