"""Networks and browsers in which people have signed in before."""

from alembic import op

revision = "0088"
down_revision = "0087"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- origin: SHA-256 of a network, or of the secret of a browser; the table names neither.
        CREATE TABLE familiar_origin (
            user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            origin bytea NOT NULL CHECK (octet_length(origin) = 32),
            seen_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (user_id, origin)
        )
        """
    )
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON familiar_origin TO docmill_accounts")
