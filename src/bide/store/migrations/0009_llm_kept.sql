-- Answers of LLMs are kept for a time of their own: NULL as all jobs are, 0 as answers are, else the request's own, in milliseconds.

ALTER TABLE jobs ADD COLUMN keep INTEGER CHECK (keep >= 0);

UPDATE jobs SET keep = 0 WHERE kind <> 'shell' AND json_extract(spec, '$.ask') IS NOT NULL;

-- Those that go by the same rule stand together, so that none is read before its time.
DROP INDEX jobs_past;
CREATE INDEX jobs_past ON jobs (keep, seen, ended_at, bytes) WHERE ended_at IS NOT NULL;
