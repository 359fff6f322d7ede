"""A document that waits is not stale: `stale` is what somebody has claimed and nothing was heard of since."""

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute(
        """
        -- As in revision 0016, but for `stale` and the last two columns.
        CREATE OR REPLACE VIEW document_state WITH (security_invoker) AS
        SELECT document.id,
               document.tenant_id,
               CASE
                   -- Without a lease it waits: in the queue, for its next attempt, or while a step is paused.
                   WHEN latest.status = 'in-progress'
                        AND latest.lease_until IS NOT NULL
                        AND latest.progress_at < now() - interval '10 minutes' THEN 'stale'
                   WHEN latest.status = 'in-progress' THEN 'processing'
                   WHEN latest.status = 'failed' THEN 'failed'
                   WHEN document.title IS NULL THEN 'needs_classification'
                   WHEN document.needs_human_review THEN 'needs_review'
                   ELSE 'ready'
               END AS state,
               latest.id AS ingestion_id,
               latest.step,
               latest.error_code,
               latest.error_message,
               latest.progress_at,
               coalesce(
                   (SELECT max(event.id) FROM event WHERE event.document_id = document.id), 0
               ) AS version,
               coalesce(latest.status = 'in-progress' AND latest.lease_until IS NULL, false) AS is_waiting,
               latest.next_attempt_at
          FROM document
          LEFT JOIN LATERAL (
               SELECT ingestion.id, ingestion.status, ingestion.step, ingestion.error_code,
                      ingestion.error_message, ingestion.progress_at, ingestion.lease_until,
                      ingestion.next_attempt_at
                 FROM ingestion
                WHERE ingestion.document_id = document.id
                ORDER BY ingestion.ordinal DESC
                LIMIT 1
          ) latest ON true
        """
    )
