-- The statements of a rebuild, which read whole tables. The form is that of queries.sql.

-- columns
-- None is shared.
-

-- unsaid_moves
-- Record the newest move of each job that no event tells of, unless it is older than all events.
INSERT INTO events (at, job, what, detail)
SELECT coalesce(ended_at, started_at, created_at), id, phase, coalesce(reason, CAST(pid AS TEXT), '') FROM jobs
WHERE NOT EXISTS (SELECT 1 FROM events WHERE job = jobs.id AND what = jobs.phase)
    AND coalesce(ended_at, started_at, created_at) >= coalesce((SELECT min(at) FROM events), 0)
ORDER BY seq

-- event_numbers
-- The number of the newest event there was.
SELECT seq FROM sqlite_sequence WHERE name = 'events'

-- drop_event_numbers
-- Forget it.
DELETE FROM sqlite_sequence WHERE name = 'events'

-- set_event_numbers
-- Give the next event a number above this one.
INSERT INTO sqlite_sequence (name, seq) VALUES ('events', :seq)

-- mark_salvaged
-- Say of one job that somebody was told of its end.
UPDATE jobs SET seen = 1 WHERE id = :id AND phase = 'ended'
