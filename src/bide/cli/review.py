"""Have several LLMs review the same thing at once, and say what it comes to.

Each reviewer is a job, as with 'bide ask'. One that is missing does not stop the others;
one that says nothing has not agreed. With --fix, that LLM works on what was found, and
the reviewers look again, three rounds at most. Leaves with 0 only if all who could be
asked approve without conditions.
"""

import os

from bide.cli.ask import prompt_words
from bide.cli.exits import Usage
from bide.cli.run import here
from bide.cli.terminal import complain, print_json, to_the_end
from bide.cli.units import parse_whole
from bide.cli.wait import wait
from bide.client.http1 import quote
from bide.model.errors import BadRequest, BideError
from bide.model.llm import review
from bide.model.llm.review import Verdict, Vote
from bide.model.sanitize import one_line, safe_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link
    from bide.client.http1 import Json

NOT_APPROVED = 1


def configure(parser: "Parser") -> None:
    """The options of `bide review`."""
    parser.usage = "bide review [options] [--] PROMPT...\n       bide review [options] < FILE"
    parser.add_argument("prompt", nargs="*", metavar="PROMPT", help="what to review; read from stdin if there is none")
    parser.add_argument(
        "--with", dest="clis", metavar="CLI,...", default=",".join(review.REVIEWERS), help="who (default: %(default)s)"
    )
    parser.add_argument("--fix", metavar="CLI", help="let this one fix what was found, then review again")
    parser.add_argument(
        "--rounds", metavar="N", type=parse_whole, default=review.ROUNDS, help="at most so many, 1 to 3"
    )
    parser.add_argument("--managed", action="store_true", help="let them act without asking, if the gate agrees")
    parser.add_argument("--cwd", metavar="DIR", help="run there (default: here)")
    parser.examples(
        "bide review 'the change in HEAD: is it correct and tested?'",
        "git diff main | bide review --with claude,codex",
        "bide review --fix claude --managed 'src/auth: security'",
    )


@to_the_end
def execute(args: "Namespace", link: "Link") -> int:
    """Review, and fix, until all approve or nobody can help any more."""
    clis, wanted = [word for word in args.clis.split(",") if word], prompt_words(args.prompt)
    try:
        review.check(clis, args.rounds)
    except BadRequest as error:
        raise Usage(detail=str(error)) from error
    name = f"review-{os.urandom(4).hex()}"
    rounds: list[Json] = []
    verdict = Verdict.NONE
    for number in range(1, args.rounds + 1):
        votes = _round(args, link, clis, name, number, review.prompt_of(wanted, number))
        verdict = review.together(votes)
        rounds.append({"round": number, "verdict": str(verdict), "votes": [_json(one) for one in votes]})
        if not args.json:
            _show(number, votes, verdict)
        if args.fix is None or number == args.rounds or not (found := review.findings_of(votes)):
            break
        _fix(args, link, name, number, f"{wanted}\n\nReviewers found this; fix it:\n\n{found}")
    if args.json:
        print_json({"review": name, "verdict": str(verdict), "rounds": rounds})
    return 0 if verdict is Verdict.APPROVED else NOT_APPROVED


def _round(args: "Namespace", link: "Link", clis: list[str], name: str, number: int, prompt: str) -> list[Vote]:
    votes: dict[str, Vote] = {}
    asked: dict[str, str] = {}
    for cli in clis:
        try:
            asked[cli] = _ask(args, link, cli, prompt, review.correlation_of(name, number, cli))
        except BideError as error:
            votes[cli] = Vote(cli, Verdict.MISSING, error=str(error))
    for cli, correlation in asked.items():
        answer = _collected(link, correlation)
        votes[cli] = review.vote(
            cli,
            answer["job"]["id"],
            status=answer["status"],
            fault=answer["fault"],
            text=answer["reading"]["text"],
            error=answer["error"] or answer["reading"]["error"],
        )
    return [votes[cli] for cli in clis]


def _ask(args: "Namespace", link: "Link", cli: str, prompt: str, correlation: str, *, acts: bool = False) -> str:
    body: Json = {
        "cli": cli,
        # A word can be too long for a prompt where what is read from stdin is not.
        "parts": {"task": prompt},
        "strategy": "mcp_managed" if args.managed else "legacy",
        "options": {"agent": "plan"} if cli == "mistral" and not args.managed else {},
        "full_auto": acts and cli == "codex",
        "correlation_id": correlation,
        "key": os.urandom(16).hex(),
        "fresh": True,
        "background": True,
        "cwd": here(args.cwd),
        "base_env": dict(os.environ),
    }
    link.call("POST", "/v1/asks", body)
    return correlation


def _collected(link: "Link", correlation: str) -> "Json":
    """Its answer, when it is there, over as many attempts as it takes."""
    while True:
        answer = link.call("GET", f"/v1/asks/{quote(correlation)}")
        if answer["status"] != "running":
            return answer
        wait(link, {"jobs": [answer["job"]["id"]], "mode": "all", "until": {}}, None)


def _fix(args: "Namespace", link: "Link", name: str, number: int, prompt: str) -> None:
    answer = _collected(link, _ask(args, link, args.fix, prompt, f"{name}.f{number}.{args.fix}", acts=True))
    if answer["status"] != "completed":
        complain(one_line(f"{args.fix} could not fix it: {answer['error']}"))


def _show(number: int, votes: list[Vote], verdict: Verdict) -> None:
    for one in votes:
        print(f"--- round {number}, {one.cli}: {_words(one.verdict)}" + (f" (job {one.job})" if one.job else ""))
        said = one.text.strip() or one_line(one.error)
        print(safe_text(said) if os.isatty(1) else said)
    print(f"=== round {number}: {_words(verdict)}")


def _words(verdict: Verdict) -> str:
    return {Verdict.NONE: "no verdict"}.get(verdict, str(verdict).replace("_", " "))


def _json(one: Vote) -> "Json":
    return {"cli": one.cli, "verdict": str(one.verdict), "job": one.job, "text": one.text, "error": one.error}
