"""Indexes and room that keep the worker's statements cheap, with or without statistics."""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    # With the tenant in front, row-level security made it the way to find rows that are named by their ids.
    op.execute("DROP INDEX ingestion_live")
    op.execute("CREATE UNIQUE INDEX ingestion_live ON ingestion (document_id) WHERE status = 'in-progress'")
    # Room for updates in place: an ingestion is written at its claim and its end, its document at its end.
    op.execute("ALTER TABLE ingestion SET (fillfactor = 70)")
    op.execute("ALTER TABLE document SET (fillfactor = 70)")
