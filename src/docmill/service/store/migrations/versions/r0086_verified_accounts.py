"""Accounts whose address is proven, and invitations whose link proves it."""

from alembic import op

revision = "0086"
down_revision = "0085"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- verified_at: since when it is proven that the e-mail address is the person's; null before. Without
        -- that the account is given nothing by its address.
        ALTER TABLE users ADD COLUMN verified_at timestamptz
        """
    )
    op.execute(
        """
        -- is_mailed: only a mail to its address has the link, so that whoever opens it reads that mailbox.
        ALTER TABLE one_time_links
            ADD COLUMN is_mailed boolean NOT NULL DEFAULT false,
            ADD CHECK (NOT is_mailed OR email IS NOT NULL)
        """
    )
