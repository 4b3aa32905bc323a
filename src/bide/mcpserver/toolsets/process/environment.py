"""Variables that no call can set, since they change who runs, which program runs, or what it runs before its own code.

A command can still set any of them for itself (`env NAME=value command`): there it is in the command, where a reader sees it.
Search paths for a program's own libraries (PYTHONPATH, NODE_PATH, CLASSPATH, PERL5LIB, RUBYLIB) are not protected: tests
and builds need them, and they start nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

_PROTECTED = frozenset(
    (
        # Who runs, and which program a name means.
        *("HOME", "USER", "LOGNAME", "SHELL", "PATH"),
        # What a shell reads before the command, and how it reads it.
        *("BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "IFS", "PS4", "PROMPT_COMMAND", "CDPATH", "GLOBIGNORE"),
        # What the C library loads into every program.
        *("GLIBC_TUNABLES", "GCONV_PATH", "LOCPATH", "NLSPATH", "GETCONF_DIR"),
        # Options and code that interpreters take in place of the command line.
        *("PYTHONSTARTUP", "PYTHONHOME", "PYTHONINSPECT", "PYTHONBREAKPOINT"),
        *("NODE_OPTIONS", "PERL5OPT", "PERL5DB", "RUBYOPT", "PHP_INI_SCAN_DIR"),
        *("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"),
    )
)
_PREFIXES = (
    "LD_",  # the loader's, and DYLD_ on a Mac
    "DYLD_",
    "BASH_FUNC_",  # a function that bash defines in place of a command
    "BIDE_",  # our own: which job, session and owner this is
)


def protected(names: Iterable[str]) -> list[str]:
    """Return those of the names that are protected, in order."""
    return sorted(name for name in names if name in _PROTECTED or name.startswith(_PREFIXES))
