"""What the operations page shows, and the keys that sign addresses of files."""

from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    # timings_s: of the completed attempt, step to seconds.
    op.execute("ALTER TABLE ingestion ADD COLUMN timings_s jsonb")
    op.execute(
        "CREATE INDEX ingestion_by_end ON ingestion (tenant_id, completed_at) WHERE completed_at IS NOT NULL"
    )
    op.execute(
        """
        -- secret: of HMAC-SHA256. retired_at: since then it signs no more, and only verifies.
        CREATE TABLE signing_key (
            id uuid PRIMARY KEY,
            secret bytea NOT NULL CHECK (length(secret) = 32),
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            retired_at timestamptz
        )
        """
    )
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON signing_key TO docmill_app")
