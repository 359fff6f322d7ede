"""Why an ingestion's values are those of who read them: who was asked for what, and what came of it."""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("ALTER TABLE ingestion ADD COLUMN extraction_reason text")
