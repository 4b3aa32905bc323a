-- Jobs that were started from another job, requests that equal another one, and sessions.

ALTER TABLE jobs ADD COLUMN parent TEXT;
ALTER TABLE jobs ADD COLUMN fingerprint TEXT;

CREATE INDEX jobs_parent ON jobs (parent) WHERE parent IS NOT NULL;
CREATE INDEX jobs_fingerprint ON jobs (fingerprint) WHERE fingerprint IS NOT NULL;

-- What a session holds (folder, environment, variables) is in its file; here is what lists and orders them.
CREATE TABLE sessions (
    id             TEXT PRIMARY KEY NOT NULL,
    owner          TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    last_active_at INTEGER NOT NULL,
    seq            INTEGER NOT NULL CHECK (seq >= 0),
    ended_at       INTEGER,
    why            TEXT NOT NULL DEFAULT ''
) STRICT;

-- A session that ended keeps its row: its numbers are not given again, and whoever asks is told when it ended.
CREATE INDEX sessions_open ON sessions (ended_at);
