"""Messages by what they name: the sweeper asks whether there is one of an ingestion, a thousand at a time."""

from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("CREATE INDEX message_body ON message (body)")
