"""Documents that are to be matched, and dead letters of other queues than that of ingestions."""

from alembic import op

revision = "0062"
down_revision = "0061"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    _create_jobs()
    _widen_dead_letters()


def _create_jobs() -> None:
    # Of all jobs together: a job may end and begin anew while a worker still holds a former claim.
    op.execute("CREATE SEQUENCE matching_fence")
    op.execute("GRANT USAGE ON SEQUENCE matching_fence TO docmill_app")
    op.execute(
        """
        -- One row for each document that is to be matched or is being matched, like a message of a queue: ids
        -- alone, of all tenants. What became of it stands in document.matching_status. Not in document: a
        -- claim and its heartbeats would have to write that wide row, with all its indexes. Rows are
        -- short-lived: vacuum often.
        -- requests: how often it was asked for; claims compare it, so that none is lost. attempts: since the
        -- newest request. sent_at: when the sweeper sent its message again.
        CREATE TABLE matching_job (
            document_id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL,
            requests bigint NOT NULL DEFAULT 1,
            attempts integer NOT NULL DEFAULT 0,
            fence bigint NOT NULL DEFAULT 0,
            worker_id text,
            claim_token uuid,
            started_at timestamptz,
            lease_until timestamptz,
            next_attempt_at timestamptz,
            progress_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            sent_at timestamptz,
            requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            FOREIGN KEY (tenant_id, document_id) REFERENCES document (tenant_id, id) ON DELETE CASCADE
        ) WITH (
            autovacuum_vacuum_scale_factor = 0.01,
            autovacuum_vacuum_threshold = 500,
            autovacuum_vacuum_cost_delay = 0
        )
        """
    )
    # The sweeper goes by the primary key.
    op.execute("CREATE INDEX matching_job_of_tenant ON matching_job (tenant_id, document_id)")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON matching_job TO docmill_app")
    op.execute("CREATE INDEX document_of_cluster ON document (cluster_id) WHERE cluster_id IS NOT NULL")


def _widen_dead_letters() -> None:
    op.execute(
        """
        -- body: of the message, which is the id of an ingestion or, in the queue of matching, of a document.
        ALTER TABLE dead_letter
            ADD COLUMN document_id uuid,
            DROP CONSTRAINT dead_letter_body_fkey,
            ADD FOREIGN KEY (tenant_id, document_id) REFERENCES document (tenant_id, id) ON DELETE CASCADE
        """
    )
    # Their owner sees the rows of all tenants for a moment.
    op.execute("ALTER TABLE dead_letter NO FORCE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE ingestion NO FORCE ROW LEVEL SECURITY")
    op.execute(
        """
        UPDATE dead_letter SET document_id = ingestion.document_id
          FROM ingestion
         WHERE ingestion.id = body
        """
    )
    op.execute("ALTER TABLE ingestion FORCE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE dead_letter FORCE ROW LEVEL SECURITY")
    op.execute("CREATE INDEX dead_letter_of_document ON dead_letter (document_id)")
    op.execute(
        """
        -- An earlier release, which may still run beside this one, does not name the document.
        CREATE FUNCTION name_document_of_letter() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            SELECT document_id INTO NEW.document_id FROM ingestion WHERE id = NEW.body;
            RETURN NEW;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER document_of_letter BEFORE INSERT ON dead_letter
            FOR EACH ROW WHEN (NEW.document_id IS NULL) EXECUTE FUNCTION name_document_of_letter()
        """
    )
