-- Requests to LLM command lines: what each was, what it used and how it ended. No prompt and no answer: those are the job's.

CREATE TABLE llm_requests (
    seq            INTEGER PRIMARY KEY AUTOINCREMENT,
    correlation_id TEXT NOT NULL,
    job            TEXT NOT NULL,
    cli            TEXT NOT NULL,
    owner          TEXT NOT NULL,
    joined         INTEGER NOT NULL CHECK (joined IN (0, 1)),
    model          TEXT,
    conversation   TEXT,
    prefix_hash    TEXT NOT NULL,
    prefix_tokens  INTEGER NOT NULL,
    cache_blocks   INTEGER NOT NULL,
    asked_at       INTEGER NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('started', 'completed', 'failed', 'canceled', 'orphaned')),
    ended_at       INTEGER,
    exit_code      INTEGER,
    fault          TEXT NOT NULL DEFAULT '',
    input_tokens   INTEGER NOT NULL DEFAULT 0,
    output_tokens  INTEGER NOT NULL DEFAULT 0,
    cache_read     INTEGER NOT NULL DEFAULT 0,
    cache_write    INTEGER NOT NULL DEFAULT 0,
    cost_usd       REAL,
    turns          INTEGER,
    CHECK ((status = 'started') = (ended_at IS NULL))
) STRICT;

CREATE INDEX llm_requests_correlation ON llm_requests (owner, correlation_id);
CREATE INDEX llm_requests_job ON llm_requests (job);
CREATE INDEX llm_requests_conversation ON llm_requests (conversation) WHERE conversation IS NOT NULL;
CREATE INDEX llm_requests_prefix ON llm_requests (prefix_hash);
CREATE INDEX llm_requests_asked_at ON llm_requests (asked_at);
CREATE INDEX llm_requests_started ON llm_requests (status) WHERE status = 'started';

-- Conversations that CLIs can go on with, as far as their answers have named them.
CREATE TABLE conversations (
    id           TEXT NOT NULL,
    cli          TEXT NOT NULL,
    owner        TEXT NOT NULL,
    title        TEXT NOT NULL DEFAULT '',
    cwd          TEXT NOT NULL DEFAULT '',
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    active       INTEGER NOT NULL DEFAULT 0 CHECK (active IN (0, 1)),
    PRIMARY KEY (owner, id)
) STRICT;

CREATE UNIQUE INDEX conversations_active ON conversations (owner, cli) WHERE active = 1;
