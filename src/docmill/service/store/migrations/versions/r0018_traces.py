"""Where the trace of an ingestion goes on from (W3C Trace Context): its message carries the id alone."""

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("ALTER TABLE ingestion ADD COLUMN traceparent text")
