"""Values that are not believed enough to be data, for a person to accept."""

from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("ALTER TABLE ingestion ADD COLUMN suggestions jsonb")
