"""The tenants of messages that wait to be sent to SQS, by which they take turns there."""

from alembic import op

revision = "0084"
down_revision = "0083"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    # First the column and then its default, which old rows must not get: their tenants are not known.
    op.execute("ALTER TABLE outbox ADD COLUMN tenant_id uuid")
    # By a default, a process that still runs the former release notes the tenant, too.
    op.execute("ALTER TABLE outbox ALTER COLUMN tenant_id SET DEFAULT current_tenant()")
