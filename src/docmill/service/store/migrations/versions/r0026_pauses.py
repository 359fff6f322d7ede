"""What workers wait for a person to mend, and an event for every tenant when that begins and ends."""

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")

    op.execute(
        """
        -- Of the installation and not of a tenant: messages of setup errors name no document.
        CREATE TABLE pause (
            worker_id text NOT NULL,
            part text NOT NULL,
            step text,
            code text NOT NULL,
            message text NOT NULL,
            since timestamptz NOT NULL DEFAULT clock_timestamp(),
            seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (worker_id, part)
        )
        """
    )
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON pause TO docmill_app")

    op.execute("ALTER TABLE event ALTER COLUMN document_id DROP NOT NULL")
    op.execute("ALTER TABLE event DROP CONSTRAINT event_kind_check")
    op.execute(
        """
        ALTER TABLE event ADD CONSTRAINT event_kind_check CHECK (
            kind IN ('created', 'queued', 'step', 'finished', 'failed', 'changed', 'deleted',
                     'paused', 'resumed')
            AND (document_id IS NULL) = (kind IN ('paused', 'resumed'))
        ) NOT VALID  -- what is there fulfils it
        """
    )

    op.execute("GRANT SELECT (id) ON tenant TO docmill_dispatch")
    op.execute("CREATE POLICY told_of_pauses ON tenant FOR SELECT TO docmill_dispatch USING (true)")
    op.execute("GRANT SELECT (worker_id, part) ON pause TO docmill_dispatch")
    op.execute("GRANT INSERT (tenant_id, kind) ON event TO docmill_dispatch")
    op.execute(
        """
        CREATE POLICY told_of_pauses ON event FOR INSERT TO docmill_dispatch
            WITH CHECK (kind IN ('paused', 'resumed'))
        """
    )
    op.execute(
        """
        -- Crosses tenants: each is told that something is paused, once for all workers, and nothing else.
        CREATE FUNCTION pause_event() RETURNS trigger LANGUAGE plpgsql
            SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
        BEGIN
            IF NOT EXISTS (
                SELECT FROM pause
                 WHERE part = coalesce(NEW.part, OLD.part)
                   AND worker_id <> coalesce(NEW.worker_id, OLD.worker_id)
            ) THEN
                INSERT INTO event (tenant_id, kind) SELECT id, TG_ARGV[0] FROM tenant;
            END IF;
            RETURN NULL;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER event_paused AFTER INSERT ON pause
            FOR EACH ROW EXECUTE FUNCTION pause_event('paused')
        """
    )
    op.execute(
        """
        CREATE TRIGGER event_resumed AFTER DELETE ON pause
            FOR EACH ROW EXECUTE FUNCTION pause_event('resumed')
        """
    )
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    op.execute("ALTER FUNCTION pause_event() OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    op.execute("REVOKE ALL ON FUNCTION pause_event() FROM PUBLIC")
    op.execute("RESET ROLE")
