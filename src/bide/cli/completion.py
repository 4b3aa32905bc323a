"""Print a script that completes bide's commands, options and jobs in your shell."""

from bide.cli.terminal import print_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from bide.cli.parser import Parser
    from bide.client.blocking import Link

_BASH = r"""# bide completion for bash; put this in ~/.bashrc:  eval "$(bide completion bash)"
_bide() {
    local IFS=$'\n'
    COMPREPLY=($(compgen -W "$(bide __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "${COMP_WORDS[COMP_CWORD]}"))
    if [ ${#COMPREPLY[@]} -eq 0 ]; then
        compopt -o default 2>/dev/null
    fi
}
complete -F _bide bide
"""

_ZSH = r"""#compdef bide
# bide completion for zsh; put this in ~/.zshrc, after compinit:  eval "$(bide completion zsh)"
_bide() {
    local -a found
    found=("${(@f)$(bide __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${found[*]}" ]]; then
        compadd -a found
    else
        _files
    fi
}
compdef _bide bide
"""

_FISH = r"""# bide completion for fish; put this in ~/.config/fish/config.fish:  bide completion fish | source
function __bide_complete
    set -l words (commandline -opc) (commandline -ct)
    bide __complete -- $words[2..-1] 2>/dev/null
end
complete -c bide -a '(__bide_complete)'
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def configure(parser: "Parser") -> None:
    """The options of `bide completion`."""
    parser.add_argument("shell", choices=tuple(SCRIPTS), help="which shell")
    parser.examples('eval "$(bide completion bash)"', "bide completion fish | source")


def execute(args: "Namespace", link: "Link") -> int:  # noqa: ARG001 - every command is given a link
    """Print it."""
    script = SCRIPTS[args.shell]
    if args.json:
        print_json({"shell": args.shell, "script": script})
    else:
        print(script, end="")
    return 0
