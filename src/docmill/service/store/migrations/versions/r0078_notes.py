"""Notes on documents: written by people, or brought along from another program."""

from alembic import op

revision = "0078"
down_revision = "0077"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- author: the name as it was then, also of somebody who has no account here. source_key: of a note
        -- that an importer brought. Deleted, it loses its text and stays, so that no later import brings it
        -- back.
        CREATE TABLE document_note (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenant,
            document_id uuid NOT NULL,
            text text NOT NULL,
            author text NOT NULL,
            author_id uuid REFERENCES users,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            source_key text,
            deleted_at timestamptz,
            UNIQUE (document_id, source_key),
            FOREIGN KEY (tenant_id, document_id) REFERENCES document (tenant_id, id) ON DELETE CASCADE
        )
        """
    )
    op.execute("ALTER TABLE document_note ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE document_note FORCE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY of_tenant ON document_note USING (tenant_id = (SELECT current_tenant()))")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON document_note TO docmill_app")
    for event, rows in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD")):
        # The function of tags tells of the changed rows' documents. Depth 0: not when a document goes.
        op.execute(
            f"""
            CREATE TRIGGER event_{event.lower()} AFTER {event} ON document_note
                REFERENCING {rows} TABLE AS changed
                FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION tag_event()
            """
        )
