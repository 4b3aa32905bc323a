"""The page that `bide --help` shows."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_PAGE = """\
usage: bide [--home DIR] [--json] COMMAND [options]

What takes time runs as a job: it outlives your shell, this command and the daemon,
its output is kept, and its end is told truthfully.

commands:
{commands}

'bide COMMAND --help' has the options of a command and examples.
Wherever a job's id is taken, its name is taken as well.

options:
  --home DIR    bide's home; else $BIDE_HOME, else the XDG state folder
  --json        answer, and fail, in JSON
  --version     print the version

exit status: that of the job for 'run' and 'wait'; otherwise
  0   done                               97  no such job, or it was forgotten
  2   the command line is wrong          98  the job's state forbids it
  75  time is up, the job goes on        99  bide itself cannot work here
  130 interrupted, the job goes on

examples:
  bide run -- make test
  bide run --bg --name build -- make -j4
  bide wait build && bide logs build --tail 20
  bide ls"""


def overview(commands: "Mapping[str, str]") -> str:
    """The page, with these commands and their summaries."""
    lines = [f"  {name:<12}{summary}" for name, summary in commands.items()]
    return _PAGE.format(commands="\n".join(lines))
