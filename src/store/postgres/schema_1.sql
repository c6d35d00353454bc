CREATE TABLE @schema (version bigint NOT NULL);

CREATE SEQUENCE @sequence AS bigint MAXVALUE 1099511627775;

CREATE TABLE @names (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    UNIQUE (kind, name)
);

CREATE TABLE @slots (
    name bigint NOT NULL,
    part bigint NOT NULL,
    used bigint NOT NULL,
    PRIMARY KEY (name, part)
) WITH (fillfactor = 50);

CREATE TABLE @tasks (
    sequence bigint PRIMARY KEY,
    name bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    row_version bigint NOT NULL DEFAULT 1,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    ttl_ms bigint NOT NULL,
    expires_at bigint NOT NULL,
    poll_interval_ms bigint NOT NULL,
    cancelation_requested boolean NOT NULL,
    endpoint text COLLATE "C" NOT NULL,
    authorization_partition text COLLATE "C",
    status_message text COLLATE "C",
    origin text COLLATE "C" NOT NULL,
    metadata text COLLATE "C",
    declared_input_requests text COLLATE "C",
    input_requests text COLLATE "C",
    input_responses text COLLATE "C",
    used_input_keys text COLLATE "C",
    outcome text COLLATE "C",
    work text COLLATE "C",
    UNIQUE (name, id)
) WITH (fillfactor = 80);

CREATE INDEX taskhold_tasks_expiry ON @tasks (name, expires_at);

CREATE TABLE @work (
    task bigint PRIMARY KEY,
    name bigint NOT NULL,
    row_version bigint NOT NULL DEFAULT 1,
    queue text COLLATE "C",
    is_fenced boolean NOT NULL,
    operation_id text COLLATE "C",
    operation_key bytea,
    maximum_attempts bigint NOT NULL,
    backoff_ms bigint NOT NULL,
    maximum_backoff_ms bigint NOT NULL,
    attempt bigint NOT NULL,
    continues_attempt boolean NOT NULL,
    token bigint NOT NULL,
    worker text COLLATE "C",
    lease_ends_at bigint,
    available_at bigint,
    due_at bigint,
    ends_at bigint
) WITH (fillfactor = 80);

CREATE INDEX taskhold_work_due ON @work (name, queue, due_at, task) WHERE due_at IS NOT NULL;

CREATE INDEX taskhold_work_ends ON @work (name, ends_at) WHERE ends_at IS NOT NULL;

CREATE UNIQUE INDEX taskhold_work_operation ON @work (name, operation_key) WHERE operation_key IS NOT NULL;

CREATE TABLE @work_texts (
    task bigint PRIMARY KEY,
    checkpoint text COLLATE "C",
    last_failure text COLLATE "C"
);

CREATE TABLE @sessions (
    sequence bigint PRIMARY KEY,
    name bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    row_version bigint NOT NULL DEFAULT 1,
    initialized boolean NOT NULL,
    terminated boolean NOT NULL,
    created_at bigint NOT NULL,
    last_activity_at bigint NOT NULL,
    active_at bigint NOT NULL,
    unpinned_at bigint,
    expires_at bigint,
    idle_timeout_ms bigint NOT NULL,
    initialization_timeout_ms bigint NOT NULL,
    pins bigint NOT NULL,
    instance bigint NOT NULL,
    endpoint text COLLATE "C" NOT NULL,
    authorization_partition text COLLATE "C",
    snapshot text COLLATE "C" NOT NULL,
    UNIQUE (name, id)
) WITH (fillfactor = 80);

CREATE INDEX taskhold_sessions_expiry ON @sessions (name, expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE @session_pins (
    session bigint NOT NULL,
    holder bigint NOT NULL,
    pins bigint NOT NULL,
    lease_until bigint NOT NULL,
    PRIMARY KEY (session, holder)
);

CREATE INDEX taskhold_session_pins_holder ON @session_pins (holder);

CREATE INDEX taskhold_session_pins_lease ON @session_pins (lease_until);

CREATE TABLE @session_watchers (
    holder bigint PRIMARY KEY,
    store bigint NOT NULL,
    keep_expired bigint NOT NULL,
    last_number bigint NOT NULL DEFAULT 0,
    lease_until bigint NOT NULL
);

CREATE TABLE @session_watches (
    session bigint NOT NULL,
    holder bigint NOT NULL,
    PRIMARY KEY (session, holder)
);

CREATE INDEX taskhold_session_watches_holder ON @session_watches (holder);

CREATE TABLE @expired_sessions (
    holder bigint NOT NULL,
    number bigint NOT NULL,
    reason text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    endpoint text COLLATE "C" NOT NULL,
    PRIMARY KEY (holder, number)
);

CREATE TABLE @a2a_tasks (
    sequence bigint PRIMARY KEY,
    name bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    owner text COLLATE "C",
    context_id text COLLATE "C",
    state text COLLATE "C" NOT NULL,
    is_final boolean NOT NULL,
    revision bigint NOT NULL,
    row_version bigint NOT NULL DEFAULT 1,
    status_at bigint,
    status_order bigint NOT NULL,
    finalized_at bigint,
    saved_at bigint NOT NULL,
    retention_ms bigint NOT NULL,
    expires_at bigint,
    log_events bigint NOT NULL DEFAULT 0,
    log_bytes bigint NOT NULL DEFAULT 0,
    log_dropped_revision bigint NOT NULL DEFAULT 0,
    push_configs text COLLATE "C",
    history_spans bytea,
    artifacts_spans bytea,
    task text COLLATE "C" NOT NULL,
    UNIQUE (name, id)
) WITH (fillfactor = 80);

CREATE INDEX taskhold_a2a_tasks_expiry ON @a2a_tasks (name, expires_at) WHERE expires_at IS NOT NULL;

CREATE INDEX taskhold_a2a_tasks_owner ON @a2a_tasks (name, owner, status_order, id) INCLUDE (expires_at);

CREATE INDEX taskhold_a2a_tasks_context ON @a2a_tasks (name, hashtextextended(owner, 0), hashtextextended(context_id, 0), status_order, id);

CREATE INDEX taskhold_a2a_tasks_state ON @a2a_tasks (name, hashtextextended(owner, 0), hashtextextended(state, 0), status_order, id);

CREATE TABLE @a2a_events (
    task bigint NOT NULL,
    revision bigint NOT NULL,
    event text COLLATE "C" NOT NULL,
    PRIMARY KEY (task, revision)
);

CREATE TABLE @listeners (
    listener bigint PRIMARY KEY,
    kinds bigint NOT NULL,
    lease_until bigint NOT NULL
);

CREATE TABLE @changes (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    written_at bigint NOT NULL,
    writer bigint NOT NULL,
    name bigint NOT NULL,
    event text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL
);

CREATE FUNCTION @add_slots(of_name bigint, more bigint) RETURNS void LANGUAGE sql AS $$
    INSERT INTO @slots AS s (name, part, used) VALUES (of_name, pg_backend_pid() % 16, more)
    ON CONFLICT (name, part) DO UPDATE SET used = s.used + excluded.used
$$;

CREATE FUNCTION @count_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM @add_slots(NEW.name, 1);
    ELSE
        PERFORM @add_slots(OLD.name, -1);
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION @count_ended() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM @add_slots(NEW.name, CASE WHEN NEW.terminated THEN -1 ELSE 1 END);
    RETURN NULL;
END
$$;

CREATE TRIGGER taskhold_count_new AFTER INSERT ON @sessions FOR EACH ROW WHEN (NOT NEW.terminated) EXECUTE FUNCTION @count_row();

CREATE TRIGGER taskhold_count_gone AFTER DELETE ON @sessions FOR EACH ROW WHEN (NOT OLD.terminated) EXECUTE FUNCTION @count_row();

CREATE TRIGGER taskhold_count_ended AFTER UPDATE OF terminated ON @sessions FOR EACH ROW WHEN (NEW.terminated <> OLD.terminated) EXECUTE FUNCTION @count_ended();

CREATE FUNCTION @is_counted(of_table regclass) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = of_table AND tgname = 'taskhold_count_new')
$$;

CREATE FUNCTION @count_tasks() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    LOCK TABLE @tasks IN SHARE ROW EXCLUSIVE MODE;
    IF NOT @is_counted('@tasks') THEN
        INSERT INTO @slots (name, part, used) SELECT name, 0, count(*) FROM @tasks GROUP BY name;
        CREATE TRIGGER taskhold_count_new AFTER INSERT ON @tasks FOR EACH ROW EXECUTE FUNCTION @count_row();
        CREATE TRIGGER taskhold_count_gone AFTER DELETE ON @tasks FOR EACH ROW EXECUTE FUNCTION @count_row();
    END IF;
END
$$;

CREATE FUNCTION @count_a2a_tasks() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    LOCK TABLE @a2a_tasks IN SHARE ROW EXCLUSIVE MODE;
    IF NOT @is_counted('@a2a_tasks') THEN
        INSERT INTO @slots (name, part, used) SELECT name, 0, count(*) FROM @a2a_tasks GROUP BY name;
        CREATE TRIGGER taskhold_count_new AFTER INSERT ON @a2a_tasks FOR EACH ROW EXECUTE FUNCTION @count_row();
        CREATE TRIGGER taskhold_count_gone AFTER DELETE ON @a2a_tasks FOR EACH ROW EXECUTE FUNCTION @count_row();
    END IF;
END
$$;

CREATE FUNCTION @index_tasks() RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    CREATE INDEX IF NOT EXISTS taskhold_tasks_partition ON @tasks (name, authorization_partition)
$$;

CREATE FUNCTION @index_sessions() RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    CREATE INDEX IF NOT EXISTS taskhold_sessions_partition ON @sessions (name, authorization_partition)
$$;

DO $$
DECLARE
    payload record;
BEGIN
    FOR payload IN SELECT a.attrelid::regclass AS owner, a.attname AS member FROM pg_attribute a
        WHERE a.attrelid IN ('@tasks'::regclass, '@sessions'::regclass, '@a2a_tasks'::regclass, '@a2a_events'::regclass, '@work_texts'::regclass)
        AND a.attname IN ('origin', 'metadata', 'input_requests', 'input_responses', 'outcome', 'work', 'snapshot', 'task', 'event', 'checkpoint')
        AND a.atttypid = 'text'::regtype
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET COMPRESSION lz4', payload.owner, payload.member);
    END LOOP;
EXCEPTION WHEN OTHERS THEN
    -- A server without lz4 compresses in its own way.
    NULL;
END
$$;
