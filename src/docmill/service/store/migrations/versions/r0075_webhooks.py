"""Webhooks of tenants: what happened to documents, written with it, for programs that are told."""

from alembic import op

revision = "0075"
down_revision = "0074"
branch_labels = None
depends_on = None

_TABLES = ("webhook", "webhook_event", "webhook_delivery", "webhook_attempt", "webhook_change")


def upgrade() -> None:
    """Apply."""
    op.execute("SET LOCAL lock_timeout = '5s'")
    _create_tables()
    _create_judgement()
    _create_triggers()
    _create_match_triggers()
    _create_functions_across_tenants()
    op.execute(
        """
        ALTER TABLE notification
            DROP CONSTRAINT notification_kind_check,
            ADD CONSTRAINT notification_kind_check
                CHECK (kind IN ('matching_failed', 'setup_error', 'pause', 'webhook_disabled'))
        """
    )


def _create_tables() -> None:
    op.execute(
        """
        -- secret, previous_secret: encrypted. previous_until: until when messages are signed by both.
        -- failing_since: the first failure since the last success. not_before: the receiver asked to wait.
        -- reason: why it was disabled, as a sentence.
        CREATE TABLE webhook (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenant,
            url text NOT NULL,
            events text[] NOT NULL CHECK (cardinality(events) > 0),
            with_data boolean NOT NULL DEFAULT false,
            secret bytea NOT NULL,
            previous_secret bytea,
            previous_until timestamptz,
            state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'disabled')),
            reason text,
            failing_since timestamptz,
            not_before timestamptz,
            created_by uuid NOT NULL,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp()
        )
        """
    )
    op.execute("CREATE INDEX webhook_of_tenant ON webhook (tenant_id, id)")
    op.execute(
        """
        -- document_id: null for a test; no foreign key, since what happened stays true when the document is
        -- deleted. content: the member `data` of the message, without text of the document.
        CREATE TABLE webhook_event (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenant,
            document_id uuid,
            type text NOT NULL,
            content jsonb NOT NULL,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp()
        )
        """
    )
    op.execute("CREATE INDEX webhook_event_of_document ON webhook_event (document_id, created_at DESC)")
    op.execute("CREATE INDEX webhook_event_by_age ON webhook_event (created_at)")
    op.execute("CREATE INDEX webhook_event_of_tenant ON webhook_event (tenant_id)")
    op.execute(
        """
        -- claim_token: of the process that is sending it, until lease_until.
        CREATE TABLE webhook_delivery (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenant,
            webhook_id uuid NOT NULL REFERENCES webhook ON DELETE CASCADE,
            event_id uuid NOT NULL REFERENCES webhook_event ON DELETE CASCADE,
            state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'succeeded', 'failed')),
            attempts integer NOT NULL DEFAULT 0,
            next_attempt_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            lease_until timestamptz,
            claim_token uuid,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            ended_at timestamptz,
            UNIQUE (event_id, webhook_id)
        )
        """
    )
    op.execute(
        """
        CREATE INDEX webhook_delivery_due ON webhook_delivery (webhook_id, next_attempt_at)
         WHERE state = 'pending'
        """
    )
    op.execute(
        "CREATE INDEX webhook_delivery_newest ON webhook_delivery (webhook_id, created_at DESC, id DESC)"
    )
    op.execute("CREATE INDEX webhook_delivery_of_tenant ON webhook_delivery (tenant_id)")
    op.execute(
        """
        -- status: of the answer, null without one. error: null for a success.
        CREATE TABLE webhook_attempt (
            id uuid PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenant,
            delivery_id uuid NOT NULL REFERENCES webhook_delivery ON DELETE CASCADE,
            at timestamptz NOT NULL,
            duration_ms integer NOT NULL,
            status integer,
            error text
        )
        """
    )
    op.execute("CREATE INDEX webhook_attempt_of_delivery ON webhook_attempt (delivery_id, id)")
    op.execute("CREATE INDEX webhook_attempt_of_tenant ON webhook_attempt (tenant_id)")
    op.execute(
        """
        -- Documents that a transaction under way has changed: each row goes before its commit, when the
        -- document is judged as the transaction leaves it. was: its state before, null if earlier reviews had
        -- still to be applied, 'as it is' if only its links changed. is_processed: an ingestion has ended.
        -- has_new_data: its values are others. has_new_match: something was linked to it.
        CREATE TABLE webhook_change (
            document_id uuid NOT NULL,
            transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
            tenant_id uuid NOT NULL,
            was text,
            is_processed boolean NOT NULL,
            has_new_data boolean NOT NULL,
            has_new_match boolean NOT NULL,
            PRIMARY KEY (document_id, transaction_id)
        )
        """
    )
    op.execute("CREATE INDEX webhook_change_of_tenant ON webhook_change (tenant_id)")
    for table in _TABLES:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY of_tenant ON {table} USING (tenant_id = (SELECT current_tenant()))")
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO docmill_app")


def _create_judgement() -> None:
    op.execute(
        """
        -- The documents that are linked with a document by links that hold.
        CREATE FUNCTION linked_documents(wanted uuid) RETURNS SETOF uuid LANGUAGE sql STABLE AS $$
            WITH own AS (SELECT id FROM match_record WHERE document_id = wanted AND NOT is_gone)
            SELECT other.document_id
              FROM own
              JOIN match_edge edge ON edge.tenant_id = current_tenant()
                                  AND (edge.first_id = own.id OR edge.second_id = own.id)
              JOIN match_record other
                   ON other.id = CASE edge.first_id WHEN own.id THEN edge.second_id ELSE edge.first_id END
             WHERE edge.state = 'automatic'
               AND other.document_id <> wanted
               AND NOT EXISTS (
                   SELECT FROM match_decision
                    WHERE match_decision.tenant_id = edge.tenant_id
                      AND match_decision.first_id = edge.first_id
                      AND match_decision.second_id = edge.second_id
                      AND decision = 'declined'
               )
             UNION
            SELECT second_document_id FROM match_decision
             WHERE first_document_id = wanted AND second_document_id <> wanted AND decision = 'confirmed'
             UNION
            SELECT first_document_id FROM match_decision
             WHERE second_document_id = wanted AND first_document_id <> wanted AND decision = 'confirmed'
        $$
        """
    )
    op.execute(
        """
        -- Write an event, and a delivery to each webhook that wants it, paused ones too.
        CREATE FUNCTION write_webhook_event(tenant uuid, document uuid, kind text, content jsonb)
            RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            event_id uuid := gen_random_uuid();
        BEGIN
            IF NOT EXISTS (SELECT FROM webhook WHERE webhook.tenant_id = tenant AND kind = ANY(events)) THEN
                RETURN;
            END IF;
            INSERT INTO webhook_event (id, tenant_id, document_id, type, content)
                VALUES (event_id, tenant, document, kind, content);
            -- Locked, so that one that is removed at this moment is passed over: its foreign key would make
            -- the change of the document fail.
            INSERT INTO webhook_delivery (id, tenant_id, webhook_id, event_id)
            SELECT gen_random_uuid(), tenant, webhook.id, event_id
              FROM webhook
             WHERE webhook.tenant_id = tenant AND kind = ANY(events)
               FOR KEY SHARE;
        END
        $$
        """
    )
    op.execute(
        """
        -- At the end of a transaction: what it made of a document.
        CREATE FUNCTION judge_webhook_change() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            change webhook_change;
            present record;
            content jsonb;
            linked uuid[];
            told jsonb;
        BEGIN
            DELETE FROM webhook_change
             WHERE document_id = NEW.document_id AND transaction_id = NEW.transaction_id
            RETURNING * INTO change;
            SELECT document_state.state, document_state.error_code, document.document_type,
                   document.rejection, document.review_due, document.deleted_at,
                   coalesce(document.verdict, result.verdict) AS verdict
              INTO present
              FROM document
              JOIN document_state USING (id)
              LEFT JOIN ingestion result ON result.id = document.result_ingestion_id
             WHERE document.id = NEW.document_id;
            IF change IS NULL OR present IS NULL OR present.deleted_at IS NOT NULL THEN
                RETURN NULL;
            END IF;
            content := jsonb_build_object(
                'document_id', NEW.document_id,
                'document_type', present.document_type,
                'status', CASE present.state WHEN 'ready' THEN 'completed'
                                             WHEN 'failed' THEN 'failed'
                                             WHEN 'needs_review' THEN 'needs_review'
                                             WHEN 'needs_classification' THEN 'needs_review'
                                             ELSE 'processing' END,
                'state', CASE WHEN present.rejection IS NOT NULL AND present.state <> 'failed'
                              THEN 'rejected' ELSE present.state END,
                'verdict', jsonb_build_object(
                    'passed', present.state = 'ready',
                    'failures', coalesce((
                        SELECT jsonb_agg(jsonb_build_object(
                                   'check', failure -> 'check',
                                   'fields', coalesce(failure -> 'fields', '[]')))
                          FROM jsonb_array_elements(
                                   CASE jsonb_typeof(present.verdict -> 'failures')
                                   WHEN 'array' THEN present.verdict -> 'failures' ELSE '[]' END) AS failure
                    ), '[]')),
                'error', CASE WHEN present.error_code IS NOT NULL
                              THEN jsonb_build_object('code', present.error_code) END
            );
            IF present.state = 'failed' THEN
                IF change.is_processed THEN
                    PERFORM write_webhook_event(NEW.tenant_id, NEW.document_id, 'document.failed', content);
                END IF;
            ELSIF present.rejection IS NULL AND NOT present.review_due THEN
                IF present.state = 'ready' AND (change.is_processed OR change.has_new_data
                                                OR coalesce(change.was, '') NOT IN ('ready', 'as it is')) THEN
                    PERFORM write_webhook_event(
                        NEW.tenant_id, NEW.document_id, 'document.completed', content);
                ELSIF present.state IN ('needs_review', 'needs_classification')
                      AND (change.is_processed
                           OR coalesce(change.was, '') NOT IN ('needs_review', 'as it is')) THEN
                    PERFORM write_webhook_event(
                        NEW.tenant_id, NEW.document_id, 'document.needs_review', content);
                END IF;
            END IF;
            IF change.has_new_match THEN
                linked := ARRAY(SELECT DISTINCT id FROM linked_documents(NEW.document_id) AS id ORDER BY id);
                SELECT webhook_event.content -> 'matches' INTO told
                  FROM webhook_event
                 WHERE document_id = NEW.document_id AND type = 'document.matched'
                 ORDER BY created_at DESC
                 LIMIT 1;
                -- Records that are matched again give the same links anew.
                IF NOT coalesce(to_jsonb(linked) <@ coalesce(told, '[]'), true) THEN
                    PERFORM write_webhook_event(
                        NEW.tenant_id, NEW.document_id, 'document.matched',
                        content || jsonb_build_object('matches', to_jsonb(linked)));
                END IF;
            END IF;
            RETURN NULL;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE CONSTRAINT TRIGGER judge_webhook_change AFTER INSERT ON webhook_change
            DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION judge_webhook_change()
        """
    )
    op.execute(
        """
        CREATE FUNCTION note_webhook_change(
            tenant uuid, document uuid, before text, processed boolean, new_data boolean, new_match boolean
        ) RETURNS void LANGUAGE sql AS $$
            INSERT INTO webhook_change
                (document_id, tenant_id, was, is_processed, has_new_data, has_new_match)
            VALUES (document, tenant, before, processed, new_data, new_match)
                ON CONFLICT (document_id, transaction_id) DO UPDATE
               SET was = CASE webhook_change.was WHEN 'as it is' THEN excluded.was
                         ELSE webhook_change.was END,
                   is_processed = webhook_change.is_processed OR excluded.is_processed,
                   has_new_data = webhook_change.has_new_data OR excluded.has_new_data,
                   has_new_match = webhook_change.has_new_match OR excluded.has_new_match
        $$
        """
    )
    op.execute(
        """
        -- The state of a document that is processed, as it counts for events.
        CREATE FUNCTION webhook_state(subject document, is_open boolean) RETURNS text
            LANGUAGE sql STABLE AS $$
            SELECT CASE
                       WHEN subject.review_due THEN NULL
                       WHEN subject.rejection IS NOT NULL THEN 'rejected'
                       WHEN subject.title IS NULL OR subject.needs_human_review OR is_open THEN 'needs_review'
                       ELSE 'ready'
                   END
        $$
        """
    )


def _create_triggers() -> None:
    op.execute(
        """
        CREATE FUNCTION webhook_of_ingestion() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF EXISTS (SELECT FROM webhook WHERE webhook.tenant_id = NEW.tenant_id) THEN
                PERFORM note_webhook_change(NEW.tenant_id, NEW.document_id, NULL, true, false, false);
            END IF;
            RETURN NULL;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER webhook_update AFTER UPDATE OF status ON ingestion
            FOR EACH ROW WHEN (OLD.status = 'in-progress' AND NEW.status <> 'in-progress')
            EXECUTE FUNCTION webhook_of_ingestion()
        """
    )
    op.execute(
        """
        CREATE TRIGGER webhook_insert AFTER INSERT ON ingestion
            FOR EACH ROW WHEN (NEW.status <> 'in-progress') EXECUTE FUNCTION webhook_of_ingestion()
        """
    )
    op.execute(
        """
        CREATE FUNCTION webhook_of_document() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF EXISTS (SELECT FROM webhook WHERE webhook.tenant_id = NEW.tenant_id) THEN
                PERFORM note_webhook_change(
                    NEW.tenant_id, NEW.id,
                    webhook_state(OLD, EXISTS (SELECT FROM near_duplicate
                                                WHERE document_id = NEW.id AND is_duplicate IS NULL)),
                    false,
                    (OLD.structured_data, OLD.document_type)
                        IS DISTINCT FROM (NEW.structured_data, NEW.document_type),
                    false);
            END IF;
            RETURN NULL;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER webhook_update AFTER UPDATE OF
                title, document_type, structured_data, needs_human_review, review_due, rejection ON document
            FOR EACH ROW WHEN (
                (OLD.title IS NULL, OLD.document_type, OLD.structured_data, OLD.needs_human_review,
                 OLD.review_due, OLD.rejection)
                IS DISTINCT FROM
                (NEW.title IS NULL, NEW.document_type, NEW.structured_data, NEW.needs_human_review,
                 NEW.review_due, NEW.rejection)
            )
            EXECUTE FUNCTION webhook_of_document()
        """
    )
    op.execute(
        """
        -- Before the change, its own pair was open or not, beside the others.
        CREATE FUNCTION webhook_of_near_duplicate() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            pair near_duplicate := coalesce(OLD, NEW);
            was_open boolean := TG_OP <> 'INSERT' AND OLD.is_duplicate IS NULL;
            subject document;
        BEGIN
            IF EXISTS (SELECT FROM webhook WHERE webhook.tenant_id = pair.tenant_id) THEN
                SELECT * INTO subject FROM document WHERE id = pair.document_id;
                IF FOUND THEN
                    PERFORM note_webhook_change(
                        pair.tenant_id, pair.document_id,
                        webhook_state(subject, was_open OR EXISTS (
                            SELECT FROM near_duplicate
                             WHERE document_id = pair.document_id AND other_id <> pair.other_id
                               AND is_duplicate IS NULL)),
                        false, false, false);
                END IF;
            END IF;
            RETURN NULL;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER webhook_change AFTER INSERT OR UPDATE OF is_duplicate OR DELETE ON near_duplicate
            FOR EACH ROW EXECUTE FUNCTION webhook_of_near_duplicate()
        """
    )


def _create_match_triggers() -> None:
    op.execute(
        """
        -- Once for each document of a statement, since a bank statement has hundreds of payments.
        CREATE FUNCTION webhook_of_match_edges() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM note_webhook_change(linked.tenant_id, linked.document_id, 'as it is', false, false, true)
               FROM (SELECT DISTINCT fresh.tenant_id, match_record.document_id
                       FROM fresh
                       JOIN former USING (tenant_id, id)
                       JOIN match_record ON match_record.id IN (fresh.first_id, fresh.second_id)
                                        AND match_record.tenant_id = fresh.tenant_id
                      WHERE fresh.state = 'automatic'
                        AND former.state IS DISTINCT FROM 'automatic'
                        AND EXISTS (SELECT FROM webhook
                                     WHERE webhook.tenant_id = fresh.tenant_id
                                       AND 'document.matched' = ANY(events))) AS linked;
            RETURN NULL;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER webhook_match_edge AFTER UPDATE ON match_edge
            REFERENCING OLD TABLE AS former NEW TABLE AS fresh
            FOR EACH STATEMENT EXECUTE FUNCTION webhook_of_match_edges()
        """
    )
    op.execute(
        """
        CREATE FUNCTION webhook_of_match_decision() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            pair match_decision := coalesce(NEW, OLD);
        BEGIN
            PERFORM note_webhook_change(pair.tenant_id, id, 'as it is', false, false, true)
               FROM unnest(ARRAY[pair.first_document_id, pair.second_document_id]) AS id
              WHERE EXISTS (SELECT FROM webhook
                             WHERE webhook.tenant_id = pair.tenant_id AND 'document.matched' = ANY(events));
            RETURN NULL;
        END
        $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER webhook_match_decision AFTER INSERT OR UPDATE OR DELETE ON match_decision
            FOR EACH ROW EXECUTE FUNCTION webhook_of_match_decision()
        """
    )


def _create_functions_across_tenants() -> None:
    op.execute(
        """
        -- Crosses tenants: the webhooks that have something to send now, but for those that are busy.
        CREATE FUNCTION due_webhooks(busy uuid[], most integer) RETURNS TABLE (tenant_id uuid, id uuid)
            LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                SELECT webhook.tenant_id, webhook.id
                  FROM public.webhook
                 WHERE state = 'active'
                   AND coalesce(not_before <= clock_timestamp(), true)
                   AND webhook.id <> ALL (busy)
                   AND EXISTS (SELECT FROM public.webhook_delivery delivery
                                WHERE delivery.webhook_id = webhook.id
                                  AND delivery.state = 'pending'
                                  AND delivery.next_attempt_at <= clock_timestamp()
                                  AND coalesce(delivery.lease_until <= clock_timestamp(), true))
                 ORDER BY random()
                 LIMIT most
            $$
        """
    )
    op.execute(
        """
        -- Crosses tenants, and tells how many.
        CREATE FUNCTION forget_webhook_events(days integer, most integer) RETURNS bigint
            LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
            AS $$
                WITH old AS (
                    DELETE FROM public.webhook_event
                     WHERE id IN (SELECT id FROM public.webhook_event
                                   WHERE created_at < clock_timestamp() - make_interval(days => days)
                                   ORDER BY created_at LIMIT most)
                    RETURNING 1
                )
                SELECT count(*) FROM old
            $$
        """
    )
    op.execute("GRANT SELECT (id, tenant_id, state, not_before) ON webhook TO docmill_dispatch")
    op.execute(
        """
        GRANT SELECT (webhook_id, state, next_attempt_at, lease_until) ON webhook_delivery TO docmill_dispatch
        """
    )
    op.execute("GRANT SELECT (id, created_at), DELETE ON webhook_event TO docmill_dispatch")
    op.execute("CREATE POLICY dispatch ON webhook FOR SELECT TO docmill_dispatch USING (true)")
    op.execute("CREATE POLICY dispatch ON webhook_delivery FOR SELECT TO docmill_dispatch USING (true)")
    op.execute("CREATE POLICY dispatch ON webhook_event TO docmill_dispatch USING (true)")
    functions = ("due_webhooks(uuid[], integer)", "forget_webhook_events(integer, integer)")
    op.execute("GRANT CREATE ON SCHEMA public TO docmill_dispatch")
    for function in functions:
        op.execute(f"ALTER FUNCTION {function} OWNER TO docmill_dispatch")
    op.execute("REVOKE CREATE ON SCHEMA public FROM docmill_dispatch")
    op.execute("SET LOCAL ROLE docmill_dispatch")
    for function in functions:
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO docmill_app")
    op.execute("RESET ROLE")
