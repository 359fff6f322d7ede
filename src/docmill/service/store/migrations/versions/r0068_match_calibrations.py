"""The score that a link had when a person decided about it, and corrections of scores fitted to decisions."""

from alembic import op

revision = "0068"
down_revision = "0067"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- raw_score: without the correction of the tenant, which `score` has.
        ALTER TABLE match_edge ADD COLUMN raw_score double precision
        """
    )
    op.execute(
        """
        -- score_when_decided: the raw score of the link when this was first decided; null if it was none.
        ALTER TABLE match_decision ADD COLUMN score_when_decided double precision
        """
    )
    op.execute(
        """
        CREATE FUNCTION keep_decided_score() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            NEW.score_when_decided := (
                SELECT coalesce(raw_score, match_edge.score)
                  FROM match_edge
                 WHERE match_edge.tenant_id = NEW.tenant_id AND match_edge.first_id = NEW.first_id
                   AND match_edge.second_id = NEW.second_id AND match_edge.relation = NEW.relation
            );
            RETURN NEW;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER keep_decided_score BEFORE INSERT ON match_decision
            FOR EACH ROW EXECUTE FUNCTION keep_decided_score()
        """
    )
    op.execute(
        """
        -- What was tried with the decisions of a tenant, and came of it; rows are only added. The correction
        -- in use is that of the newest row that is not `rejected`, if that is `promoted`.
        CREATE TABLE match_calibration (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenant,
            version integer NOT NULL,
            outcome text NOT NULL CHECK (outcome IN ('promoted', 'rejected', 'withdrawn', 'reset')),
            confirmed integer NOT NULL,
            declined integer NOT NULL,
            shipped_loss double precision,
            corrected_loss double precision,
            slope double precision,
            intercept double precision,
            may_raise boolean NOT NULL DEFAULT false,
            may_lower boolean NOT NULL DEFAULT false,
            made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            UNIQUE (tenant_id, version)
        )
        """
    )
    op.execute("ALTER TABLE match_calibration ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE match_calibration FORCE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY of_tenant ON match_calibration USING (tenant_id = (SELECT current_tenant()))")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON match_calibration TO docmill_app")
