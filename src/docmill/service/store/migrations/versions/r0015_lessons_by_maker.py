"""Lessons by who makes them: while a release is rolled out, old and new workers make their own."""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("ALTER TABLE lesson ADD COLUMN made_at timestamptz NOT NULL DEFAULT clock_timestamp()")
    op.execute("ALTER TABLE lesson DROP CONSTRAINT lesson_pkey, ADD PRIMARY KEY (document_id, made_by)")
    op.execute("DROP INDEX lesson_of_schema")
    op.execute("CREATE INDEX lesson_of_schema ON lesson (tenant_id, schema_name, made_by, number DESC)")
