-- What jobs ask, kept until their job is forgotten; a question leaves 'open' once. The answer to a secret is never here.

CREATE TABLE questions (
    id         TEXT PRIMARY KEY NOT NULL,
    job        TEXT NOT NULL,
    key        TEXT,
    question   TEXT NOT NULL,
    policy     TEXT NOT NULL,
    posed_at   INTEGER NOT NULL,
    until      INTEGER,
    asker      INTEGER,
    ticks      INTEGER,
    state      TEXT NOT NULL CHECK (state IN ('open', 'answered', 'denied', 'withdrawn')),
    value      TEXT,
    via        TEXT,
    by         TEXT NOT NULL DEFAULT '',
    why        TEXT NOT NULL DEFAULT '',
    answer_key TEXT,
    closed_at  INTEGER,
    CHECK ((state = 'open') = (closed_at IS NULL)),
    CHECK ((asker IS NULL) = (ticks IS NULL))
) STRICT;

CREATE UNIQUE INDEX questions_of ON questions (job, key);
CREATE INDEX questions_open ON questions (posed_at, id) WHERE state = 'open';
