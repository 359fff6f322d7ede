"""The embedded queue. Messages and dead letters have no tenant: a message tells nothing but an id."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- Rows are rewritten on every delivery and deleted soon: room for updates in place, frequent vacuum.
        CREATE TABLE message (
            id uuid PRIMARY KEY,
            queue text NOT NULL,
            body text NOT NULL,
            visible_at timestamptz NOT NULL,
            receive_count integer NOT NULL DEFAULT 0,
            receipt uuid,
            sent_at timestamptz NOT NULL DEFAULT clock_timestamp()
        ) WITH (
            fillfactor = 70,
            autovacuum_vacuum_scale_factor = 0.01,
            autovacuum_vacuum_threshold = 500,
            autovacuum_vacuum_cost_delay = 0,
            autovacuum_analyze_scale_factor = 0.05
        )
        """
    )
    op.execute("CREATE INDEX message_due ON message (queue, visible_at)")
    op.execute(
        """
        CREATE TABLE dead_letter (
            id uuid PRIMARY KEY,
            queue text NOT NULL,
            body text NOT NULL,
            reason text NOT NULL,
            receive_count integer NOT NULL,
            sent_at timestamptz NOT NULL,
            died_at timestamptz NOT NULL DEFAULT clock_timestamp()
        )
        """
    )
    op.execute("CREATE INDEX dead_letter_newest ON dead_letter (queue, died_at DESC, id DESC)")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON message, dead_letter TO docmill_app")
