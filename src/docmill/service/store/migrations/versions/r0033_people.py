"""People: users, their roles in tenants, sessions, API keys, one-time links and the audit log."""

from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    _create_role()
    _create_people()
    _create_access()
    _create_audit_log()
    _create_references()


def _create_role() -> None:
    op.execute(
        """
        -- docmill_accounts: what a transaction acts as that signs people in or changes accounts. docmill_app
        -- sees neither hashes of passwords nor sessions, whatever a query asks for.
        DO $$
        BEGIN
            BEGIN
                CREATE ROLE docmill_accounts NOLOGIN NOSUPERUSER NOBYPASSRLS;
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL;
            END;
            BEGIN
                EXECUTE format('GRANT docmill_accounts TO %I', current_user);
            EXCEPTION WHEN insufficient_privilege THEN
                NULL;  -- an administrator made it, and granted it
            END;
            GRANT USAGE ON SCHEMA public TO docmill_accounts;
        END
        $$
        """
    )
    op.execute("GRANT SELECT, INSERT ON tenant TO docmill_accounts")
    op.execute("GRANT UPDATE (name) ON tenant TO docmill_accounts")
    op.execute("CREATE POLICY accounts ON tenant TO docmill_accounts USING (true)")


def _create_people() -> None:
    op.execute(
        """
        -- email: null for the user of programs on this machine. password_hash: null while none was chosen.
        CREATE TABLE users (
            id uuid PRIMARY KEY,
            email text UNIQUE CHECK (email = lower(email) AND length(email) <= 254),
            name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
            password_hash text,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp()
        )
        """
    )
    op.execute(
        """
        INSERT INTO users (id, name)
        VALUES ('00000000-0000-7000-8000-000000000002', 'This machine')
        """
    )
    op.execute(
        """
        -- ended_at: of a person who was removed; their name stays beside what they did.
        CREATE TABLE memberships (
            tenant_id uuid NOT NULL REFERENCES tenant,
            user_id uuid NOT NULL REFERENCES users,
            role text NOT NULL CHECK (role IN ('owner', 'reviewer', 'viewer')),
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            ended_at timestamptz,
            PRIMARY KEY (tenant_id, user_id)
        )
        """
    )
    op.execute("CREATE INDEX memberships_of_user ON memberships (user_id)")
    op.execute("ALTER TABLE memberships ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE memberships FORCE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY of_tenant ON memberships USING (tenant_id = (SELECT current_tenant()))")
    op.execute("CREATE POLICY accounts ON memberships FOR SELECT TO docmill_accounts USING (true)")
    op.execute("GRANT SELECT ON memberships TO docmill_app")
    op.execute("GRANT SELECT, INSERT, UPDATE ON memberships TO docmill_accounts")

    op.execute("ALTER TABLE users ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE users FORCE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY accounts ON users TO docmill_accounts USING (true)")
    op.execute(
        """
        CREATE POLICY of_tenant ON users FOR SELECT TO docmill_app
            USING (
                id = '00000000-0000-7000-8000-000000000002'
                OR EXISTS (
                    SELECT FROM memberships
                     WHERE memberships.user_id = users.id
                       AND memberships.tenant_id = (SELECT current_tenant())
                )
            )
        """
    )
    op.execute("GRANT SELECT (id, email, name) ON users TO docmill_app")
    op.execute("GRANT SELECT, INSERT, UPDATE ON users TO docmill_accounts")


def _create_access() -> None:
    op.execute(
        """
        -- token_hash: of the cookie. tenant_id: the one that the person works in; null without any.
        CREATE TABLE sessions (
            id uuid PRIMARY KEY,
            token_hash bytea NOT NULL UNIQUE,
            user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
            tenant_id uuid REFERENCES tenant,
            address text,
            user_agent text CHECK (length(user_agent) <= 300),
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            last_seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
        )
        """
    )
    op.execute("CREATE INDEX sessions_of_user ON sessions (user_id)")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON sessions TO docmill_accounts")

    op.execute(
        """
        -- subject: a hash of whom the attempts are counted for. since: the begin of the window.
        CREATE TABLE sign_in_attempts (
            subject bytea PRIMARY KEY,
            attempts integer NOT NULL,
            since timestamptz NOT NULL DEFAULT clock_timestamp()
        )
        """
    )
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON sign_in_attempts TO docmill_accounts")

    op.execute(
        """
        -- first: makes the first account. invitation: into a tenant, with a role. password: sets that of a
        -- user. Each works once.
        CREATE TABLE one_time_links (
            id uuid PRIMARY KEY,
            token_hash bytea NOT NULL UNIQUE,
            kind text NOT NULL CHECK (kind IN ('first', 'invitation', 'password')),
            tenant_id uuid REFERENCES tenant,
            role text CHECK (role IN ('owner', 'reviewer', 'viewer')),
            email text,
            user_id uuid REFERENCES users ON DELETE CASCADE,
            created_by uuid REFERENCES users,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            expires_at timestamptz NOT NULL,
            CHECK ((kind = 'invitation') = (tenant_id IS NOT NULL AND role IS NOT NULL)),
            CHECK ((kind = 'password') = (user_id IS NOT NULL))
        )
        """
    )
    op.execute("ALTER TABLE one_time_links ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE one_time_links FORCE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY of_tenant ON one_time_links USING (tenant_id = (SELECT current_tenant()))")
    op.execute("CREATE POLICY accounts ON one_time_links TO docmill_accounts USING (true)")
    op.execute(
        """
        GRANT SELECT (id, kind, tenant_id, role, email, created_by, created_at, expires_at), DELETE
           ON one_time_links TO docmill_app
        """
    )
    op.execute("GRANT SELECT, INSERT, DELETE ON one_time_links TO docmill_accounts")

    op.execute(
        """
        -- secret_hash: of the whole key. prefix: its first characters, by which people tell keys apart.
        CREATE TABLE api_keys (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenant,
            name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
            prefix text NOT NULL,
            secret_hash bytea NOT NULL UNIQUE,
            scopes text[] NOT NULL
                CHECK (cardinality(scopes) > 0 AND scopes <@ '{read,review,write,administer}'),
            created_by uuid NOT NULL REFERENCES users,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            expires_at timestamptz,
            last_used_at timestamptz,
            revoked_at timestamptz
        )
        """
    )
    op.execute("CREATE INDEX api_keys_of_tenant ON api_keys (tenant_id, id DESC)")
    op.execute("ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE api_keys FORCE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY of_tenant ON api_keys USING (tenant_id = (SELECT current_tenant()))")
    op.execute("CREATE POLICY accounts ON api_keys FOR SELECT TO docmill_accounts USING (true)")
    op.execute(
        """
        GRANT SELECT (id, tenant_id, name, prefix, scopes, created_by, created_at, expires_at, last_used_at,
                      revoked_at),
              INSERT, UPDATE (revoked_at)
           ON api_keys TO docmill_app
        """
    )
    op.execute("GRANT SELECT, UPDATE (last_used_at, revoked_at) ON api_keys TO docmill_accounts")


def _create_audit_log() -> None:
    op.execute(
        """
        -- Who did what, to what, from where. address: null for a command on the machine itself.
        CREATE TABLE audit_log (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenant,
            at timestamptz NOT NULL DEFAULT clock_timestamp(),
            user_id uuid NOT NULL REFERENCES users,
            api_key_id uuid REFERENCES api_keys,
            action text NOT NULL CHECK (length(action) <= 100),
            target text CHECK (length(target) <= 300),
            details jsonb NOT NULL DEFAULT '{}',
            address text CHECK (length(address) <= 100)
        )
        """
    )
    op.execute("CREATE INDEX audit_log_of_tenant ON audit_log (tenant_id, id DESC)")
    op.execute("ALTER TABLE audit_log ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE audit_log FORCE ROW LEVEL SECURITY")
    op.execute("CREATE POLICY of_tenant ON audit_log USING (tenant_id = (SELECT current_tenant()))")
    op.execute("GRANT SELECT, INSERT ON audit_log TO docmill_app")
    op.execute("GRANT INSERT ON audit_log TO docmill_accounts")
    op.execute(
        """
        -- The rights forbid it already; this binds whoever owns the table too.
        CREATE FUNCTION keep_audit_log() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION 'an entry of the audit log is kept as it is'
                USING ERRCODE = 'insufficient_privilege';
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER keep_audit_log BEFORE UPDATE OR DELETE ON audit_log
            FOR EACH ROW EXECUTE FUNCTION keep_audit_log()
        """
    )


def _create_references() -> None:
    # Not checked for old rows, which all name the user of this machine: that would read the whole tables.
    for table, column in (
        ("ingestion", "uploaded_by"),
        ("review", "reviewed_by"),
        ("near_duplicate", "decided_by"),
    ):
        op.execute(f"ALTER TABLE {table} ADD FOREIGN KEY ({column}) REFERENCES users NOT VALID")
