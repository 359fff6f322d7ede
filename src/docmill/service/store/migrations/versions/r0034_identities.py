"""Identities of users at OpenID providers."""

from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- subject: the provider's name for the person, which stays when the e-mail address changes.
        CREATE TABLE identities (
            issuer text NOT NULL,
            subject text NOT NULL CHECK (length(subject) <= 255),
            user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (issuer, subject)
        )
        """
    )
    op.execute("GRANT SELECT, INSERT ON identities TO docmill_accounts")
