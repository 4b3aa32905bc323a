-- Every statement on requests to LLM command lines. A block is a name, a line of prose, and the SQL.

-- columns
-- What a request is read from, in the order that llm.py unpacks.
seq, correlation_id, job, cli, owner, joined, model, conversation, prefix_hash, prefix_tokens, cache_blocks, asked_at, status, attempts

-- put_request
-- Record a request that is being answered.
INSERT INTO llm_requests
    (correlation_id, job, cli, owner, joined, model, conversation, prefix_hash, prefix_tokens, cache_blocks, asked_at, status, attempts)
VALUES (:correlation_id, :job, :cli, :owner, :joined, :model, :conversation, :prefix_hash, :prefix_tokens, :cache_blocks,
    :asked_at, 'started', :attempts)

-- move_requests
-- The requests that a job was to answer are answered by another, which is the next attempt.
UPDATE llm_requests SET job = :to, attempts = :attempts WHERE job = :from AND status = 'started'

-- finish_requests
-- Say how a job answered, to every request for it that does not know yet; what was used is that of the one that began it.
UPDATE llm_requests SET status = :status, ended_at = :ended_at, exit_code = :exit_code, fault = :fault,
    conversation = coalesce(:conversation, conversation), model = coalesce(:model, model),
    input_tokens = CASE joined WHEN 1 THEN 0 ELSE :input_tokens END,
    output_tokens = CASE joined WHEN 1 THEN 0 ELSE :output_tokens END,
    cache_read = CASE joined WHEN 1 THEN 0 ELSE :cache_read END,
    cache_write = CASE joined WHEN 1 THEN 0 ELSE :cache_write END,
    cost_usd = CASE joined WHEN 1 THEN NULL ELSE :cost_usd END,
    turns = CASE joined WHEN 1 THEN NULL ELSE :turns END
WHERE job = :job AND status = 'started'

-- newest_request
-- The newest request of this correlation id, of an owner or of all.
SELECT {columns} FROM llm_requests
WHERE correlation_id = :correlation_id AND (:owner IS NULL OR owner = :owner) ORDER BY seq DESC LIMIT 1

-- outcomes
-- How the latest requests to a CLI ended; those that joined another are none of their own.
SELECT ended_at, status, fault, exit_code, attempts FROM llm_requests
WHERE asked_at >= :since AND cli = :cli AND joined = 0 AND status <> 'started' ORDER BY ended_at DESC, seq DESC LIMIT 100

-- unfinished_requests
-- The jobs of requests that no answer is on record for.
SELECT DISTINCT job FROM llm_requests WHERE status = 'started'

-- unrecorded_jobs
-- Jobs of these kinds that no request is on record for, although it is to be.
SELECT id FROM jobs WHERE kind IN (SELECT value FROM json_each(:kinds))
    AND NOT EXISTS (SELECT 1 FROM llm_requests WHERE llm_requests.job = jobs.id)
    AND coalesce(json_extract(spec, '$.ask.recorded'), 1)

-- prune_requests
-- Forget the oldest requests, but for those whose job is still there.
DELETE FROM llm_requests WHERE asked_at < :before AND status <> 'started'
    AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = llm_requests.job)

-- drop_oldest_conversations
-- Forget the conversations that only the oldest requests named.
DELETE FROM conversations
WHERE (owner, id) IN (
        SELECT owner, conversation FROM llm_requests WHERE seq <= (SELECT max(seq) FROM llm_requests) - :most)
    AND NOT EXISTS (
        SELECT 1 FROM llm_requests AS later
        WHERE later.conversation = conversations.id AND later.owner = conversations.owner
            AND later.seq > (SELECT max(seq) FROM llm_requests) - :most)

-- drop_oldest_requests
-- Forget all requests but the newest.
DELETE FROM llm_requests WHERE seq <= (SELECT max(seq) FROM llm_requests) - :most

-- used
-- What requests used, by CLI and model: since a time, of one conversation, of one prefix.
SELECT cli, coalesce(model, ''), count(*), sum(cache_read > 0), sum(cache_read), sum(cache_write), sum(input_tokens),
    sum(output_tokens), sum(cache_blocks > 0), sum(cache_blocks > 0 AND cache_read > 0), min(asked_at), max(asked_at)
FROM llm_requests
WHERE joined = 0 AND status <> 'started' AND asked_at >= :since
    AND (:conversation IS NULL OR conversation = :conversation)
    AND (:prefix_hash IS NULL OR prefix_hash = :prefix_hash)
GROUP BY cli, coalesce(model, '') ORDER BY cli, coalesce(model, '')

-- did
-- How requests ended, by CLI; canceled ones and those that joined another are not counted.
SELECT cli, count(*), sum(status = 'completed'), sum(max(coalesce(ended_at, asked_at) - asked_at, 0)) FROM llm_requests
WHERE joined = 0 AND status NOT IN ('started', 'canceled') GROUP BY cli ORDER BY cli

-- prefixes
-- Which prefixes there were, and how often each.
SELECT prefix_hash, count(*) FROM llm_requests
WHERE joined = 0 AND prefix_tokens > 0 AND asked_at >= :since AND (:conversation IS NULL OR conversation = :conversation)
GROUP BY prefix_hash

-- put_conversation
-- Record that a conversation was used; the newest of a CLI stays as active as it was.
INSERT INTO conversations (id, cli, owner, title, cwd, thread, created_at, last_used_at, active)
VALUES (:id, :cli, :owner, :title, :cwd, :thread, :at, :at,
    :may_lead AND NOT EXISTS (SELECT 1 FROM conversations WHERE owner = :owner AND cli = :cli AND active = 1))
ON CONFLICT (owner, id) DO UPDATE SET last_used_at = excluded.last_used_at,
    cwd = CASE excluded.cwd WHEN '' THEN conversations.cwd ELSE excluded.cwd END,
    thread = CASE excluded.thread WHEN '' THEN conversations.thread ELSE excluded.thread END

-- conversations
-- Conversations of an owner, of one CLI or of all, the most recently used first.
SELECT id, cli, owner, title, cwd, created_at, last_used_at, active, thread FROM conversations
WHERE owner = :owner AND (:cli IS NULL OR cli = :cli) AND (:id IS NULL OR id = :id) AND last_used_at >= :since
ORDER BY last_used_at DESC, id

-- active_conversation
-- The active one of a CLI.
SELECT id FROM conversations WHERE owner = :owner AND cli = :cli AND active = 1

-- deactivate
-- No conversation of this CLI is the active one.
UPDATE conversations SET active = 0 WHERE owner = :owner AND cli = :cli AND active = 1

-- activate
-- This conversation is the active one of its CLI.
UPDATE conversations SET active = 1 WHERE owner = :owner AND cli = :cli AND id = :id

-- drop_conversations
-- Forget one conversation of an owner, or those of a CLI, or all.
DELETE FROM conversations WHERE owner = :owner AND (:cli IS NULL OR cli = :cli) AND (:id IS NULL OR id = :id)
