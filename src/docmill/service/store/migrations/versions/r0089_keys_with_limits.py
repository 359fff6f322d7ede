"""What a key makes ends with it; who answers for keys, webhooks and sources; keys of devices."""

from alembic import op

revision = "0089"
down_revision = "0088"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- responsible_id: the person whose role limits the key; who made it, until an owner takes it over.
        -- parent_id: the key that made it, and with which it ends. kind: app, of a device that signed in with
        -- the person's password and ends with that.
        ALTER TABLE api_keys
            ADD COLUMN responsible_id uuid REFERENCES users,
            ADD COLUMN parent_id uuid REFERENCES api_keys,
            ADD COLUMN kind text NOT NULL DEFAULT 'program' CHECK (kind IN ('program', 'app'))
        """
    )
    op.execute("UPDATE api_keys SET responsible_id = created_by")
    op.execute("ALTER TABLE api_keys ALTER COLUMN responsible_id SET NOT NULL")
    op.execute("CREATE INDEX api_keys_of_person ON api_keys (responsible_id) WHERE revoked_at IS NULL")
    op.execute(
        "GRANT SELECT (responsible_id, parent_id, kind), UPDATE (responsible_id) ON api_keys TO docmill_app"
    )
    op.execute(
        """
        -- api_key_id: the key that made it, and with which it ends; null for a person or a command.
        ALTER TABLE one_time_links ADD COLUMN api_key_id uuid REFERENCES api_keys
        """
    )
    op.execute("GRANT SELECT (api_key_id) ON one_time_links TO docmill_app")
    for table in ("webhook", "doc_source"):
        op.execute(
            f"""
            ALTER TABLE {table}
                ADD COLUMN responsible_id uuid REFERENCES users,
                ADD COLUMN api_key_id uuid REFERENCES api_keys
            """
        )
    op.execute("UPDATE webhook SET responsible_id = created_by")
    op.execute("UPDATE doc_source SET responsible_id = created_by")
    for table in ("webhook", "doc_source"):
        op.execute(f"ALTER TABLE {table} ALTER COLUMN responsible_id SET NOT NULL")
    op.execute(
        """
        -- A person's webhooks stop when they lose the role that may have some.
        GRANT SELECT (id, tenant_id, responsible_id, state), UPDATE (state, reason)
           ON webhook TO docmill_accounts
        """
    )
    op.execute(
        """
        -- api_key_id: the key that began it and alone goes on with it; null for the person themselves.
        ALTER TABLE partial_upload ADD COLUMN api_key_id uuid REFERENCES api_keys
        """
    )
