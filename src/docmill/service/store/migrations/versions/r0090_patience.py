"""How long documents have waited for what is left alone since it fails, and since when it is."""

from alembic import op

revision = "0090"
down_revision = "0089"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    # waiting_since: the first time that it was not tried, since what it needs fails and is left alone.
    op.execute("ALTER TABLE ingestion ADD COLUMN waiting_since timestamptz")
    op.execute("ALTER TABLE matching_job ADD COLUMN waiting_since timestamptz")
    op.execute(
        """
        -- Parts of the installation that fail and are left alone by a worker. since: when that began.
        -- seen_at: when a worker last said so. told_at: when people were told.
        CREATE TABLE outage (
            part text PRIMARY KEY,
            code text NOT NULL,
            since timestamptz NOT NULL DEFAULT clock_timestamp(),
            seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            told_at timestamptz
        )
        """
    )
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON outage TO docmill_app")
    op.execute("ALTER TABLE notification DROP CONSTRAINT notification_kind_check")
    op.execute(
        """
        ALTER TABLE notification ADD CONSTRAINT notification_kind_check CHECK (
            kind IN ('matching_failed', 'setup_error', 'pause', 'outage', 'outage_over', 'webhook_disabled',
                     'source_failed')
        ) NOT VALID  -- what is there fulfils it
        """
    )
