-- Who is to be told what: one row for each notice and consumer, kept until its job is forgotten, so that none is made twice.

CREATE TABLE outbox (
    job        TEXT NOT NULL,
    consumer   TEXT NOT NULL,
    id         TEXT NOT NULL,
    what       TEXT NOT NULL,
    level      INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    detail     TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('due', 'carried', 'done', 'dropped')),
    tries      INTEGER NOT NULL DEFAULT 0 CHECK (tries >= 0),
    next_at    INTEGER,
    carrier    TEXT NOT NULL DEFAULT '',
    carried_at INTEGER,
    PRIMARY KEY (job, consumer, id),
    CHECK ((state = 'carried') = (carried_at IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX outbox_open ON outbox (consumer, level DESC, at) WHERE state IN ('due', 'carried');
CREATE INDEX outbox_carrier ON outbox (carrier) WHERE state = 'carried';

-- Who asked to be told of other jobs than its own, or of all (no owner).
CREATE TABLE consumers (
    name       TEXT PRIMARY KEY NOT NULL,
    owner      TEXT,
    created_at INTEGER NOT NULL
) STRICT;
