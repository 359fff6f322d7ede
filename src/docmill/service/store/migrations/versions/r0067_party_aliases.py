"""Aliases of parties that a tenant has learned from confirmed links, and jobs to learn from decisions."""

from alembic import op

revision = "0067"
down_revision = "0066"
branch_labels = None
depends_on = None

_TABLES = ("party_alias", "party_alias_key")


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- Two identities of one party, learned from a decision about two records. It counts as long as that
        -- decision is `confirmed`; the row outlives it until the documents of its parties are matched again.
        CREATE TABLE party_alias (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenant,
            first_id text NOT NULL,
            second_id text NOT NULL,
            relation text NOT NULL,
            first_party jsonb NOT NULL,
            second_party jsonb NOT NULL,
            learned_at timestamptz NOT NULL DEFAULT clock_timestamp()
        )
        """
    )
    op.execute(
        "CREATE INDEX party_alias_of_decision ON party_alias (tenant_id, first_id, second_id, relation)"
    )
    op.execute(
        """
        -- The identifiers and beginnings of words under which an alias is found.
        CREATE TABLE party_alias_key (
            tenant_id uuid NOT NULL,
            key text NOT NULL,
            alias_id uuid NOT NULL REFERENCES party_alias ON DELETE CASCADE,
            PRIMARY KEY (tenant_id, key, alias_id)
        )
        """
    )
    op.execute("CREATE INDEX party_alias_key_of_alias ON party_alias_key (alias_id)")
    for side in ("seller", "buyer"):
        op.execute(
            f"CREATE INDEX match_record_of_{side} ON match_record (tenant_id, (content #>> '{{{side},key}}'))"
        )
    for table in _TABLES:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY of_tenant ON {table} USING (tenant_id = (SELECT current_tenant()))")
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO docmill_app")
    _create_jobs()


def _create_jobs() -> None:
    op.execute(
        """
        -- Decisions to learn from, like messages of a queue: ids alone, of all tenants. Also of decisions
        -- that are gone: what was learned from them is to be forgotten.
        CREATE TABLE match_learning_job (
            tenant_id uuid NOT NULL,
            first_id text NOT NULL,
            second_id text NOT NULL,
            relation text NOT NULL,
            PRIMARY KEY (tenant_id, first_id, second_id, relation)
        )
        """
    )
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON match_learning_job TO docmill_app")
    op.execute(
        """
        CREATE FUNCTION learn_from_match_decision() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            decided match_decision := coalesce(NEW, OLD);
        BEGIN
            INSERT INTO match_learning_job (tenant_id, first_id, second_id, relation)
                VALUES (decided.tenant_id, decided.first_id, decided.second_id, decided.relation)
                ON CONFLICT DO NOTHING;
            RETURN NULL;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER learn_from_match_decision AFTER INSERT OR UPDATE OR DELETE ON match_decision
            FOR EACH ROW EXECUTE FUNCTION learn_from_match_decision()
        """
    )
