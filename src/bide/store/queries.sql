-- Every statement of the store. A block is a name, a line of prose, and the SQL; {columns} stands for the first one.

-- columns
-- What a job is read from, in the order that rows.py unpacks.
seq, created_at, id, name, owner, session, label, key, parent, fingerprint, pid, started_at, ended_at, spec, end, seen, output_dropped_at

-- insert_job
-- Record a job, unless its id belonged to one that was forgotten.
INSERT INTO jobs
    (id, name, kind, owner, session, label, key, parent, fingerprint, phase, reason, pid, created_at, started_at, ended_at, spec, end, seen, bytes, output_dropped_at, keep)
SELECT :id, :name, :kind, :owner, :session, :label, :key, :parent, :fingerprint,
    :phase, :reason, :pid, :created_at, :started_at, :ended_at, :spec, :end, :seen, :bytes, :output_dropped_at, :keep
WHERE NOT EXISTS (SELECT 1 FROM forgotten WHERE id = :id)

-- add_job
-- Record a job found on disk, unless its id is known; a key or an active name that another job holds is left out. Its place in the order is the next, or where its creation puts it (`place`, room for a thousand a millisecond).
INSERT INTO jobs
    (seq, id, name, kind, owner, session, label, key, parent, fingerprint, phase, reason, pid, created_at, started_at, ended_at, spec, end, seen, bytes, output_dropped_at, keep)
SELECT (SELECT coalesce(max(seq) + 1, :place) FROM jobs WHERE seq >= :place AND seq < :place + 1000), :id,
    CASE WHEN :phase = 'ended' OR NOT EXISTS (
        SELECT 1 FROM jobs WHERE name = :name AND owner = :owner AND phase <> 'ended'
    ) THEN :name END,
    :kind, :owner, :session, :label,
    CASE WHEN NOT EXISTS (SELECT 1 FROM jobs WHERE owner = :owner AND key = :key) THEN :key END,
    :parent, :fingerprint, :phase, :reason, :pid, :created_at, :started_at, :ended_at, :spec, :end, :seen, :bytes, :output_dropped_at, :keep
WHERE NOT EXISTS (SELECT 1 FROM forgotten WHERE id = :id)
ON CONFLICT (id) DO NOTHING

-- start_job
-- Move a job from queued to running.
UPDATE jobs SET phase = 'running', started_at = :started_at, pid = :pid
WHERE id = :id AND phase = 'queued'

-- end_job
-- Move a job from queued or running to ended; what is known of its start is kept where the end does not say.
UPDATE jobs SET phase = 'ended', reason = :reason, ended_at = :ended_at, end = :end, seen = :seen, bytes = :bytes,
    started_at = coalesce(:started_at, started_at), pid = coalesce(:pid, pid)
WHERE id = :id AND phase IN ('queued', 'running')

-- bury_jobs
-- Leave tombstones for ended jobs.
INSERT INTO forgotten (id, name, owner, at, why)
SELECT id, name, owner, :at, :why FROM jobs WHERE id IN (SELECT value FROM json_each(:ids)) AND phase = 'ended'

-- delete_jobs
-- Remove the rows of ended jobs.
DELETE FROM jobs WHERE id IN (SELECT value FROM json_each(:ids)) AND phase = 'ended'

-- forget_events
-- Record that ended jobs are being forgotten.
INSERT INTO events (at, job, what, detail)
SELECT :at, id, 'forgotten', :why FROM jobs WHERE id IN (SELECT value FROM json_each(:ids)) AND phase = 'ended'

-- drop_outputs
-- Say that the outputs of ended jobs are gone.
UPDATE jobs SET bytes = 0, output_dropped_at = coalesce(output_dropped_at, :at)
WHERE id IN (SELECT value FROM json_each(:ids)) AND phase = 'ended'

-- mark_seen
-- Say that somebody was told of the ends of these jobs.
UPDATE jobs SET seen = 1 WHERE id IN (SELECT value FROM json_each(:ids)) AND phase = 'ended' AND seen = 0

-- generation
-- How many commits there were.
SELECT seq FROM sqlite_sequence WHERE name = 'generation'

-- raise_generation
-- Say which commit this is.
UPDATE sqlite_sequence SET seq = :seq WHERE name = :name

-- first_generation
-- The same, in a new database.
INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :seq)

-- insert_event
-- Record a move.
INSERT INTO events (at, job, what, detail) VALUES (:at, :job, :what, :detail)

-- get_job
-- The job with this id.
SELECT {columns} FROM jobs WHERE id = :id

-- keyed_job
-- The job that an owner asked for with this key.
SELECT {columns} FROM jobs WHERE owner = :owner AND key = :key

-- printed_job
-- The newest job of an owner with this fingerprint that ended with success, not before a time.
SELECT {columns} FROM jobs INDEXED BY jobs_fingerprint
WHERE fingerprint = :fingerprint AND owner = :owner AND reason = 'exited' AND ended_at >= :since
    AND json_extract(end, '$.exit_code') = 0
ORDER BY seq DESC LIMIT 1

-- list_groups
-- What was set for groups while a runtime ran.
SELECT name, limited, most, paused FROM groups WHERE name >= ''

-- set_group
-- Set a group's limit and whether it is paused.
INSERT INTO groups (name, limited, most, paused) VALUES (:name, :limited, :most, :paused)
ON CONFLICT (name) DO UPDATE SET limited = excluded.limited, most = excluded.most, paused = excluded.paused

-- list_jobs
-- A page of jobs, newest first; pages.py says which index it walks and which conditions hold.
SELECT {columns} FROM jobs {index} WHERE {conditions} ORDER BY {order} LIMIT :limit

-- active_jobs
-- What is queued or running, in the order of acceptance.
SELECT {columns} FROM jobs INDEXED BY jobs_phase WHERE phase IN ('queued', 'running') AND phase <> 'ended' ORDER BY seq

-- owes_answers
-- Whether a request to an LLM has no answer on record.
SELECT EXISTS (SELECT 1 FROM llm_requests WHERE status = 'started')

-- ended_services
-- For each service, by owner and name, the newest job, if it is over.
SELECT {columns} FROM jobs INDEXED BY jobs_kind WHERE kind = 'service' AND kind <> 'shell' AND phase = 'ended' AND seq IN (
    SELECT max(seq) FROM jobs INDEXED BY jobs_kind WHERE kind = 'service' AND kind <> 'shell' GROUP BY owner, name
) ORDER BY seq

-- count_active
-- How many jobs are queued and running.
SELECT phase, count(*) FROM jobs INDEXED BY jobs_phase WHERE phase IN ('queued', 'running') AND phase <> 'ended' GROUP BY phase

-- session
-- A session, open or ended.
SELECT id, owner, created_at, last_active_at, seq, ended_at, why FROM sessions WHERE id = :id

-- open_sessions
-- Every session that has not ended.
SELECT id, owner, created_at, last_active_at, seq, ended_at, why FROM sessions INDEXED BY sessions_open WHERE ended_at IS NULL

-- put_session
-- Record a session; of one that had this id before, only its numbers stay.
INSERT INTO sessions (id, owner, created_at, last_active_at, seq, ended_at, why)
VALUES (:id, :owner, :created_at, :last_active_at, :seq, :ended_at, :why)
ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, created_at = excluded.created_at,
    last_active_at = excluded.last_active_at, seq = max(seq, excluded.seq), ended_at = excluded.ended_at, why = excluded.why

-- end_session
-- A session is over.
UPDATE sessions SET ended_at = :ended_at, why = :why, seq = max(seq, :seq) WHERE id = :id AND ended_at IS NULL

-- move_session
-- A job was started in a session.
UPDATE sessions SET seq = max(seq, :number), last_active_at = max(last_active_at, :created_at) WHERE id = :session

-- session_job_ids
-- Ids of jobs, and of forgotten ones, between two texts.
SELECT id FROM jobs WHERE id > :low AND id < :high UNION ALL SELECT id FROM forgotten WHERE id > :low AND id < :high

-- session_last_job
-- When the newest job of a session was created.
SELECT max(created_at) FROM jobs INDEXED BY jobs_session WHERE session = :session

-- session_job_of_pid
-- The newest job of a session that had this pid.
SELECT {columns} FROM jobs INDEXED BY jobs_session WHERE session = :session AND pid = :pid ORDER BY seq DESC LIMIT 1

-- session_ended
-- What the ended jobs of a session hold, oldest first, some at a time.
SELECT seq, id, ended_at,
    json_extract(end, '$.output.out.size') - json_extract(end, '$.output.out.head')
    + json_extract(end, '$.output.err.size') - json_extract(end, '$.output.err.head')
    + length(CAST(json_extract(spec, '$.command') AS BLOB))
FROM jobs INDEXED BY jobs_session
WHERE session = :session AND phase = 'ended' AND seq > :after ORDER BY seq LIMIT :limit

-- newest_id
-- The greatest id of a job outside sessions, whose ids are `job-…`.
SELECT max(id) FROM (
    SELECT max(id) AS id FROM jobs WHERE id < 'job-' UNION ALL SELECT max(id) FROM jobs WHERE id >= 'job.'
)

-- job_id
-- The id, if there is such a job.
SELECT id FROM jobs WHERE id = :id

-- id_known
-- Whether this id belongs to a job, or belonged to one that was forgotten.
SELECT 1 FROM jobs WHERE id = :id UNION ALL SELECT 1 FROM forgotten WHERE id = :id

-- active_named
-- The newest active job with this name, of one owner or of any.
SELECT id FROM jobs INDEXED BY jobs_active_name
WHERE name = :name AND phase <> 'ended' AND (:owner IS NULL OR owner = :owner)
ORDER BY seq DESC LIMIT 1

-- newest_named
-- The newest job with this name, of one owner or of any.
SELECT id FROM jobs INDEXED BY jobs_name
WHERE name = :name AND (:owner IS NULL OR owner = :owner)
ORDER BY seq DESC LIMIT 1

-- tombstone
-- When and why the job with this id was forgotten, or else the last one with this name; of one owner or of any.
SELECT at, why FROM (
    SELECT 0 AS rank, at, why FROM forgotten WHERE id = :ref AND (:owner IS NULL OR owner = :owner)
    UNION ALL
    SELECT 1, max(at), why FROM forgotten WHERE name = :ref AND (:owner IS NULL OR owner = :owner)
) WHERE at IS NOT NULL ORDER BY rank LIMIT 1

-- list_events
-- What happened after an event, oldest first.
SELECT seq, at, job, what, detail FROM events WHERE seq > :after ORDER BY seq LIMIT :limit

-- list_job_events
-- What happened to one job after an event, oldest first.
SELECT seq, at, job, what, detail FROM events INDEXED BY events_job
WHERE job = :job AND seq > :after ORDER BY seq LIMIT :limit

-- last_event
-- The number of the newest event, 0 before the first.
SELECT coalesce(max(seq), 0) FROM events

-- past_sums
-- How many ended jobs there are, by how long they are kept, seen and unseen, and what their outputs hold.
SELECT keep, seen, count(*), coalesce(sum(bytes), 0) FROM jobs INDEXED BY jobs_past WHERE ended_at IS NOT NULL GROUP BY keep, seen

-- past_jobs
-- Ended jobs in the order in which they go, of those kept as long, seen or unseen, between two times and after a place.
SELECT ended_at, seq, id, name, bytes, json_extract(end, '$.survivors') FROM jobs INDEXED BY jobs_past
WHERE ended_at IS NOT NULL AND keep IS :keep AND seen = :seen AND ended_at >= :since AND ended_at <= :until AND bytes >= :least
    AND (ended_at, bytes, seq) > (:after_at, :after_bytes, :after_seq) AND (:owner IS NULL OR owner = :owner)
ORDER BY ended_at, bytes, seq LIMIT :limit

-- prune_tombstones
-- Forget that old jobs were forgotten.
DELETE FROM forgotten WHERE rowid IN (
    SELECT rowid FROM forgotten INDEXED BY forgotten_at WHERE at < :at ORDER BY at LIMIT :limit
)

-- tombstone_before
-- When the last tombstone that is one too many was made.
SELECT at FROM forgotten INDEXED BY forgotten_at ORDER BY at DESC LIMIT 1 OFFSET :most

-- prune_events
-- Forget the oldest events.
DELETE FROM events WHERE seq IN (
    SELECT seq FROM events WHERE seq <= (SELECT max(seq) FROM events) - :most ORDER BY seq LIMIT :limit
)

-- insert_delivery
-- Record a notice for a consumer; one that is known stays as it is.
INSERT OR IGNORE INTO outbox (job, consumer, id, what, level, at, detail, state)
VALUES (:job, :consumer, :id, :what, :level, :at, :detail, 'due')

-- due_deliveries
-- What may be handed to a consumer now, the most severe first.
SELECT job, consumer, id, what, level, at, detail, state, tries, next_at, carrier, carried_at
FROM outbox INDEXED BY outbox_open
WHERE consumer = :consumer AND state IN ('due', 'carried')
    AND ((state = 'due' AND (next_at IS NULL OR next_at <= :now)) OR (state = 'carried' AND carried_at <= :lapsed))
ORDER BY level DESC, at LIMIT :limit

-- next_retry
-- When something that a consumer did not accept is to be tried again.
SELECT min(next_at) FROM outbox INDEXED BY outbox_open
WHERE consumer = :consumer AND state IN ('due', 'carried') AND state = 'due'

-- settle_deliveries
-- Say what became of some deliveries to a consumer; what is settled stays so.
UPDATE outbox SET state = :state, carrier = '', carried_at = NULL
WHERE state IN ('due', 'carried') AND (job, consumer, id) IN (
    SELECT json_extract(value, '$[0]'), :consumer, json_extract(value, '$[1]') FROM json_each(:pairs)
)

-- carry_deliveries
-- Say who has some deliveries to a consumer in hand.
UPDATE outbox SET state = 'carried', carrier = :carrier, carried_at = :now
WHERE state IN ('due', 'carried') AND (job, consumer, id) IN (
    SELECT json_extract(value, '$[0]'), :consumer, json_extract(value, '$[1]') FROM json_each(:pairs)
)

-- fail_deliveries
-- Say that a consumer did not accept these, and when to try again.
UPDATE outbox SET tries = tries + 1, next_at = :next_at
WHERE state = 'due' AND (job, consumer, id) IN (
    SELECT json_extract(value, '$[0]'), :consumer, json_extract(value, '$[1]') FROM json_each(:pairs)
)

-- tell_ended
-- A consumer was told all of these jobs, which are over.
UPDATE outbox SET state = :state, carrier = :carrier, carried_at = :carried_at
WHERE state IN ('due', 'carried') AND consumer = :consumer AND job IN (SELECT value FROM json_each(:jobs))

-- tell_active
-- A consumer was told how these jobs are, which go on.
UPDATE outbox SET state = :state, carrier = :carrier, carried_at = :carried_at
WHERE state IN ('due', 'carried') AND consumer = :consumer AND job IN (SELECT value FROM json_each(:jobs))
    AND what IN ('waiting', 'ready', 'stalled')

-- settle_carrier
-- What somebody carried has arrived.
UPDATE outbox SET state = 'done', carrier = '', carried_at = NULL WHERE state = 'carried' AND carrier = :carrier

-- release_carrier
-- What somebody carried is due again.
UPDATE outbox SET state = 'due', carrier = '', carried_at = NULL WHERE state = 'carried' AND carrier = :carrier

-- delivery_state
-- Where one delivery is.
SELECT state FROM outbox WHERE job = :job AND consumer = :consumer AND id = :id

-- outbox_counts
-- What is open, by consumer.
SELECT consumer, state, count(*), min(next_at) FROM outbox INDEXED BY outbox_open
WHERE consumer > '' AND state IN ('due', 'carried') GROUP BY consumer, state

-- outbox_jobs
-- Whom what is open to a consumer is about.
SELECT DISTINCT job FROM outbox INDEXED BY outbox_open
WHERE consumer = :consumer AND state IN ('due', 'carried') LIMIT 100

-- forget_deliveries
-- Remove what there was to tell of ended jobs.
DELETE FROM outbox WHERE job IN (SELECT value FROM json_each(:ids))

-- list_consumers
-- Who asked to be told of others' jobs.
SELECT name, owner FROM consumers WHERE name > '' ORDER BY name

-- put_consumer
-- Keep who is to be told of whose jobs.
INSERT INTO consumers (name, owner, created_at) VALUES (:name, :owner, :at)
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner

-- drop_consumer
-- Tell somebody no more.
DELETE FROM consumers WHERE name = :name

-- drop_deliveries
-- Drop all that there is to tell somebody.
UPDATE outbox SET state = 'dropped', carrier = '', carried_at = NULL
WHERE consumer = :name AND state IN ('due', 'carried')

-- carried_deliveries
-- What was being handed to a consumer.
SELECT job, consumer, id, what, level, at, detail, state, tries, next_at, carrier, carried_at
FROM outbox INDEXED BY outbox_open
WHERE consumer = :consumer AND state IN ('due', 'carried') AND state = 'carried' ORDER BY level DESC, at

-- insert_question
-- Record what a job asks; nothing if it asked with the same key before.
INSERT INTO questions (id, job, key, question, policy, posed_at, until, asker, ticks, state)
VALUES (:id, :job, :key, :question, :policy, :posed_at, :until, :asker, :ticks, 'open')
ON CONFLICT (job, key) DO NOTHING

-- keyed_question
-- What a job asked with this key.
SELECT id, job, question, policy, posed_at, until, state, value, via, by, why, closed_at, asker, ticks, key, answer_key
FROM questions WHERE job = :job AND key = :key

-- get_question
-- One question.
SELECT id, job, question, policy, posed_at, until, state, value, via, by, why, closed_at, asker, ticks, key, answer_key
FROM questions WHERE id = :id

-- open_questions
-- Every question that waits for its answer, oldest first.
SELECT id, job, question, policy, posed_at, until, state, value, via, by, why, closed_at, asker, ticks, key, answer_key
FROM questions INDEXED BY questions_open WHERE state = 'open' AND posed_at >= 0 ORDER BY posed_at, id

-- close_question
-- Say what became of a question; what is closed stays so.
UPDATE questions
SET state = :state, value = :value, via = :via, by = :by, why = :why, answer_key = :answer_key, closed_at = :closed_at
WHERE id = :id AND state = 'open'

-- reopen_question
-- The answer to a secret was lost with the memory it was in.
UPDATE questions SET state = 'open', value = NULL, via = NULL, by = '', why = '', answer_key = NULL, closed_at = NULL
WHERE id = :id AND state = 'answered'

-- forget_questions
-- Remove what ended jobs asked.
DELETE FROM questions WHERE job IN (SELECT value FROM json_each(:ids))
