"""Shell code in a session: it begins with what the shell had before, and leaves what it has at its end.

A helper file in the home is sourced before the code; nothing of it shows in the output or the exit code. It uses
builtins only, since the code may have broken PATH. What it leaves is described in model/state.py.
"""

from __future__ import annotations

import os

from msgspec import Struct

from bide.kinds import shell

BASH = r"""# Written by bide. $2 is the code, $3 what the shell had at the end of earlier runs, $4 where to leave what it has now.
shopt -s expand_aliases
__bide_fresh=$BASHOPTS __bide_state=$4 __bide_set= __bide_done=
if [[ -n $3 ]]; then . "$3"; fi 2>/dev/null
__bide_leave() {
    # Names go through a file: a subshell for each list would cost more than all the rest.
    local __bide_o __bide_n __bide_line __bide_names
    exec 1>|"$__bide_state" || return 0
    builtin printf 'cwd=%s\0' "$PWD"
    for __bide_o in allexport errexit errtrace functrace keyword monitor noclobber noglob nounset physical pipefail posix xtrace; do
        if [[ -o $__bide_o ]]; then builtin printf 'shell=set %s\n__bide_set+=" -o %s"\0' "$__bide_o" "$__bide_o"; fi
    done
    for __bide_o in braceexpand hashall interactive-comments; do
        if [[ ! -o $__bide_o ]]; then builtin printf 'shell=set %s\n__bide_set+=" +o %s"\0' "$__bide_o" "$__bide_o"; fi
    done
    set +aefuxvkTE +o posix
    trap - DEBUG ERR RETURN
    local IFS=:
    for __bide_o in $BASHOPTS; do
        if [[ :$__bide_fresh: != *:$__bide_o:* ]]; then builtin printf 'shell=option %s\nshopt -s %s\0' "$__bide_o" "$__bide_o"; fi
    done
    for __bide_o in $__bide_fresh; do
        if [[ :$BASHOPTS: != *:$__bide_o:* ]]; then builtin printf 'shell=option %s\nshopt -u %s\0' "$__bide_o" "$__bide_o"; fi
    done
    for __bide_n in "${!BASH_ALIASES[@]}"; do
        builtin printf 'shell=alias %s\n' "$__bide_n"
        builtin alias -- "$__bide_n"
        builtin printf '\0'
    done
    builtin declare -F >|"$__bide_state.tmp"
    mapfile -t __bide_names <"$__bide_state.tmp"
    for __bide_line in "${__bide_names[@]}"; do
        __bide_n=${__bide_line##* }
        if [[ $__bide_n == __bide_* ]]; then continue; fi
        builtin printf 'shell=function %s\n' "$__bide_n"
        builtin declare -f -- "$__bide_n"
        if [[ $__bide_line == 'declare -fx '* ]]; then builtin printf 'declare -fx %s\n' "$__bide_n"; fi
        builtin printf '\0'
    done
    builtin compgen -e >|"$__bide_state.tmp"
    mapfile -t __bide_names <"$__bide_state.tmp"
    # A set, since there may be thousands: a list would be read through for each of them.
    local -A __bide_exported=()
    for __bide_n in "${__bide_names[@]}"; do
        __bide_exported[$__bide_n]=1
        if [[ -v $__bide_n ]]; then builtin printf 'env=%s=%s\0' "$__bide_n" "${!__bide_n}"; fi
    done
    builtin compgen -v >|"$__bide_state.tmp"
    mapfile -t __bide_names <"$__bide_state.tmp"
    for __bide_n in "${__bide_names[@]}"; do
        if [[ $__bide_n == __bide_* || $__bide_n == BASH* || -n ${__bide_exported[$__bide_n]-} ]]; then continue; fi
        builtin printf 'shell=variable %s\n' "$__bide_n"
        builtin declare -p -- "$__bide_n"
        builtin printf '\0'
    done
    builtin printf 'end=1\0'
}
if [[ -n $__bide_state ]]; then
    trap '{ [[ -n ${__bide_done-} ]] || (__bide_leave) || :; } >/dev/null 2>&1' EXIT
else
    __bide_done=1
fi
__bide_run="unset -v __bide_run __bide_code __bide_set${__bide_set:+; set$__bide_set}; $2"
__bide_code=
if [[ $2 == *$'\n'* ]]; then __bide_code=$2; fi
set --
"""

SH = r"""# Written by bide, for a shell that is not bash: it keeps the folder and the exported variables.
__bide_state=$4
case $2 in *'
'*) "$0" -n -c "$2" || exit 2 ;; esac
__bide_leave() {
    {
        printf 'cwd=%s\0environ=\0' "$PWD"
        /bin/cat /proc/self/environ
        printf 'end=1\0'
    } >|"$__bide_state"
}
if [ -n "$__bide_state" ]; then trap '(__bide_leave) >/dev/null 2>&1 || :' EXIT; fi
__bide_run=$2
set --
"""

_RUN = '. "$1"; eval "$__bide_run"'
_CHECK = '(eval "set -n; $__bide_code")'
# One line, so that lines are counted as in the code. Code of several lines is read whole before any of it runs; it may
# turn extglob on before it uses it. Once the code has set an EXIT trap of its own, ours is gone: hence the last lines.
_RUN_BASH = (
    f'. "$1"; [[ -z $__bide_code ]] || {_CHECK} 2>/dev/null || (shopt -s extglob; {_CHECK}) || exit 2; eval "$__bide_run"\n'
    "{ __bide_rc=$?; [[ -n ${__bide_done-} ]] || (__bide_leave) || :; __bide_done=1; set +x; trap - DEBUG; } >/dev/null 2>&1\n"
    'exit "$__bide_rc"'
)


class Inside(Struct, frozen=True):
    """The files of one run in a session."""

    helper: str
    """The file that `helper_text` goes into."""
    begins: str = ""
    """What the shell had; empty for nothing."""
    leaves: str = ""
    """Where the run puts what it has at its end; empty if it is to leave nothing."""


def helper_text() -> str:
    """What the helper file says for the shell of this machine."""
    return BASH if is_bash(shell.path()) else SH


def is_bash(program: str) -> bool:
    """Whether this shell is bash."""
    return os.path.basename(program) == "bash"


def argv(code: str, inside: Inside, program: str | None = None) -> tuple[str, ...]:
    """What is executed to run shell code in a session."""
    program = program or shell.path()
    script = _RUN_BASH if is_bash(program) else _RUN
    return (program, "-c", script, program, inside.helper, code, inside.begins, inside.leaves)
