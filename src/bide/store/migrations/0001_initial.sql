-- Times are milliseconds since 1970 in UTC. `seq` is the order of acceptance, which a step of the clock cannot change.

CREATE TABLE jobs (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    name       TEXT,
    kind       TEXT NOT NULL,
    owner      TEXT NOT NULL,
    session    TEXT,
    label      TEXT NOT NULL,
    key        TEXT,
    phase      TEXT NOT NULL CHECK (phase IN ('queued', 'running', 'ended')),
    reason     TEXT CHECK (
        reason IN ('exited', 'signaled', 'killed', 'timed_out', 'idle', 'overflow', 'oom', 'spawn_failed', 'lost')
    ),
    pid        INTEGER,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at   INTEGER,
    spec       TEXT NOT NULL,
    end        TEXT,
    CHECK (phase <> 'queued' OR (started_at IS NULL AND pid IS NULL)),
    CHECK (phase <> 'running' OR (started_at IS NOT NULL AND pid IS NOT NULL)),
    CHECK ((phase = 'ended') = (ended_at IS NOT NULL)),
    CHECK ((phase = 'ended') = (reason IS NOT NULL)),
    CHECK ((phase = 'ended') = (end IS NOT NULL))
) STRICT;

-- The name comes first, so that it is found with and without an owner.
CREATE UNIQUE INDEX jobs_active_name ON jobs (name, owner) WHERE phase <> 'ended' AND name IS NOT NULL;
CREATE UNIQUE INDEX jobs_key ON jobs (owner, key) WHERE key IS NOT NULL;

-- One index per filter of a list. Each ends in `seq`, as every index does, so a page is read in order from any of them.
-- What nearly every job has (ended, exited, no label) is not indexed: a walk from the newest finds it at once, and each
-- index less is a page less to write for every job.
CREATE INDEX jobs_phase ON jobs (phase) WHERE phase <> 'ended';
CREATE INDEX jobs_reason ON jobs (reason) WHERE reason <> 'exited';
CREATE INDEX jobs_session ON jobs (session) WHERE session IS NOT NULL;
CREATE INDEX jobs_owner ON jobs (owner);
CREATE INDEX jobs_label ON jobs (label) WHERE label <> '';
CREATE INDEX jobs_kind ON jobs (kind) WHERE kind <> 'shell';
CREATE INDEX jobs_name ON jobs (name) WHERE name IS NOT NULL;
CREATE INDEX jobs_created_at ON jobs (created_at);

CREATE TABLE events (
    seq    INTEGER PRIMARY KEY AUTOINCREMENT,
    at     INTEGER NOT NULL,
    job    TEXT NOT NULL,
    what   TEXT NOT NULL CHECK (what IN ('queued', 'running', 'ended', 'forgotten')),
    detail TEXT NOT NULL
) STRICT;

CREATE INDEX events_job ON events (job);

CREATE TABLE forgotten (
    id    TEXT PRIMARY KEY NOT NULL,
    name  TEXT,
    owner TEXT NOT NULL,
    at    INTEGER NOT NULL
) STRICT;

CREATE INDEX forgotten_name ON forgotten (name, at) WHERE name IS NOT NULL;
