"""The language in which a person reads the pages."""

from alembic import op

revision = "0060"
down_revision = "0050"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    # language: null while the person reads the pages in that of the browser.
    op.execute("ALTER TABLE users ADD COLUMN language text CHECK (language ~ '^[a-z]{2,3}(_[A-Z]{2})?$')")
