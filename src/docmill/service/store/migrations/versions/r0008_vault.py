"""A name for this database, so that a store of files can say whose it is."""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    # One row for ever. A copy made by backup and restore keeps it, and with it the files.
    op.execute("CREATE TABLE vault (id uuid PRIMARY KEY)")
    op.execute("INSERT INTO vault (id) VALUES (gen_random_uuid())")
    op.execute("GRANT SELECT ON vault TO docmill_app")
