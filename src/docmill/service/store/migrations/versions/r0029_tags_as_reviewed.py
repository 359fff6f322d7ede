"""The tags of a document as they follow from the values that people corrected."""

from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- tags: a list, in place of those of the result; null while nobody has reviewed a value.
        ALTER TABLE document ADD COLUMN tags jsonb
        """
    )
