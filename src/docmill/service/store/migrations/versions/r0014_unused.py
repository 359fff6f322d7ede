"""A function that asked for one ingestion's tenant; since revision 0005 many are asked for at once."""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("DROP FUNCTION tenant_of_ingestion(uuid)")
