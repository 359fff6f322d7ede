"""What connects records to regions whose links are decided together: likely pairs, and those of sums."""

from alembic import op

revision = "0071"
down_revision = "0070"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- is_likely: by its own evidence. wholes: those of its two records whose amounts it may help to
        -- explain by a sum; explained: those of them whose amounts it does explain. What was stored before is
        -- matched anew, since its version is an earlier one.
        ALTER TABLE match_edge
            ADD COLUMN is_likely boolean NOT NULL DEFAULT true,
            ADD COLUMN wholes text[] NOT NULL DEFAULT '{}',
            ADD COLUMN explained text[] NOT NULL DEFAULT '{}',
            ADD COLUMN connects boolean NOT NULL GENERATED ALWAYS AS (is_likely OR explained <> '{}') STORED
        """
    )
    op.execute("CREATE INDEX match_edge_connects_first ON match_edge (tenant_id, first_id) WHERE connects")
    op.execute("CREATE INDEX match_edge_connects_second ON match_edge (tenant_id, second_id) WHERE connects")
