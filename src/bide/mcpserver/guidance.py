"""How to ask other LLMs well, as a page that an agent can read."""

GUIDE_URI = "skills://async-job-orchestration"

GUIDE = """# Asking other LLMs as jobs

**Before you ask**
- Leave `model` out: the CLI's own default is current, a name you remember may not be.
- For work that must not stop for questions, use `approvalStrategy: "mcp_managed"`. The gate looks at the request first; then Claude and
  Gemini act unattended. Codex also needs `fullAuto: true` to touch files.
- Give every request a `correlationId`: with it the answer is found again when everything else was lost.

**Waiting**
- A `*_request` that takes longer than 45 s answers `status: "deferred"` with a `jobId`. The job goes on.
- Fetch its answer with `llm_job_result` (`parsed.text`), or with `llm_request_result` by your `correlationId`.
- Several at once: start each with `*_request_async`, then look after them one by one.
- Wait with `llm_job_watch` (it blocks without polling; with `afterProgressSeq: 999999999999` until the end alone), or ask `llm_job_status` about once a minute between other work. Do not sleep in your shell for it.
- Good reviews take minutes. There is no time limit, and being slow is no reason to cancel: cancel only when told to, or when it failed.
- After a lost connection, send the same request again: it joins the job that runs, or the answer that came. `forceRefresh` is for inputs that changed.

**Reading**
- `completed` means exit 0. 124 timed out, 125 was silent for too long, 126 wrote too much, 127 is not installed; none of them gets better by trying again as it was.
- An empty answer (`empty_output`) is no agreement. Warnings say where the exit code and the result disagree.

**Reviews**
- End the prompt with: End with APPROVED or NOT APPROVED with findings.
- APPROVED with conditions is not approved. Fix what was found and ask again, at most three rounds; then ask your user.
- One reviewer that is missing or fails does not stop the others, and counts as no vote.

**Long prompts**
- Put what stays the same into `promptParts` (`system`, `tools`, `context`) and what changes into `task`: the first three are the same bytes for every CLI and every
  round, so providers find them in their caches. `cache_state://global` tells how well that works.
"""
