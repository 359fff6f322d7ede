"""Where the readable copy of a document lies whose original is protected by a password."""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    # The password itself is kept nowhere.
    op.execute("ALTER TABLE document ADD COLUMN readable_file_path text")
