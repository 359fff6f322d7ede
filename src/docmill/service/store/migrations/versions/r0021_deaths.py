"""Deaths of workers apart from attempts, the claim's token, and who received a message."""

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- deaths: claims that ended with their worker's death, or because their lease ran out. claim_token:
        -- of the newest claim, so that a worker that did not hear of it can ask again.
        ALTER TABLE ingestion
            ADD COLUMN deaths integer NOT NULL DEFAULT 0,
            ADD COLUMN claim_token uuid
        """
    )
    op.execute(
        """
        -- receiver: id of the worker that has the message, while it has it.
        ALTER TABLE message ADD COLUMN receiver text
        """
    )
