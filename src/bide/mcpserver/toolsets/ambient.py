"""New lines of background jobs that are shown in passing: on the next answer, without waking anybody for them."""

from __future__ import annotations

from msgspec.structs import replace

from bide.mcpserver.tool import Answer, Call
from bide.mcpserver.toolsets.jobtext import fenced
from bide.model.errors import BideError
from bide.model.output import Stream
from bide.model.pacing import last_lines
from bide.model.phase import Ended
from bide.model.schema import Json

_READ = 64 * 1024


class Ambient:
    """The jobs whose progress is ambient, and how far each was shown. It lasts as long as the daemon."""

    def __init__(self) -> None:
        """No job has any."""
        self._shown: dict[str, dict[str, int]] = {}

    def begin(self, owner: str, job: str) -> None:
        """Show what this job writes from now on."""
        self._shown.setdefault(owner, {})[job] = 0

    async def beside(self, call: Call, answer: Answer) -> Answer:
        """Return the answer with the new lines of its caller's jobs."""
        shown = self._shown.get(call.caller.owner, {})
        rows = [row for job in list(shown) if (row := await self._row(call, shown, job))]
        if not rows:
            return answer
        parts = [answer.text]
        for row in rows:
            left = f" ({row['leftOut']} lines before are left out)" if row["leftOut"] else ""
            parts += [f"Progress of {row['id']}{left}:", *fenced(row["text"])]
        return replace(answer, text="\n".join(parts), data={**answer.data, "progress": rows})

    async def _row(self, call: Call, shown: dict[str, int], ref: str) -> Json | None:
        """Return the newest whole lines of a job that goes on; what an ended one wrote is told with its end."""
        try:
            job = await call.jobs.get(ref)
            found = await call.jobs.read(ref, stream=Stream.OUT, offset=shown[ref], limit=_READ)
        except BideError:
            shown.pop(ref, None)
            return None
        if isinstance(job.phase, Ended):
            shown.pop(ref, None)
            return None
        lines: list[tuple[int, int]] = []
        at = 0
        while (end := found.data.find(b"\n", at)) >= 0:
            lines.append((at, end + 1))
            at = end + 1
        if not lines:
            return None
        first, last, left_out = last_lines(lines)
        shown[ref] = found.offset + last
        text = found.data[first:last].decode("utf-8", "replace")
        return {"id": job.name or job.id, "text": text, "leftOut": left_out}
