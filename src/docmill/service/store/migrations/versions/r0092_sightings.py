"""Which workers leave alone what fails: an outage is over when none of them does."""

from alembic import op

revision = "0092"
down_revision = "0091"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        CREATE TABLE outage_sighting (
            part text REFERENCES outage ON DELETE CASCADE,
            worker_id text,
            seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (part, worker_id)
        )
        """
    )
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON outage_sighting TO docmill_app")
