-- What is over: who has seen it, what it still holds, and why it was forgotten.

ALTER TABLE jobs ADD COLUMN seen INTEGER NOT NULL DEFAULT 0 CHECK (seen IN (0, 1));
ALTER TABLE jobs ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0 CHECK (bytes >= 0);
ALTER TABLE jobs ADD COLUMN output_dropped_at INTEGER;

UPDATE jobs SET bytes = max(0,
    json_extract(end, '$.output.out.size') - json_extract(end, '$.output.out.head')
    + json_extract(end, '$.output.err.size') - json_extract(end, '$.output.err.head')
) WHERE phase = 'ended';

-- The order in which ended jobs go: those seen, then those unseen, the oldest of each first. It also has what a sum of
-- all outputs needs, so that none of their rows is read for it.
CREATE INDEX jobs_past ON jobs (seen, ended_at, bytes) WHERE ended_at IS NOT NULL;

ALTER TABLE forgotten ADD COLUMN why TEXT NOT NULL DEFAULT '';

CREATE INDEX forgotten_at ON forgotten (at);
