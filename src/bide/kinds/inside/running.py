"""Runs the code as `python -c` would: the same modules, arguments, signals and exit codes; and top-level `await`."""

import os
import sys

from .aside import load
from .session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, TracebackType
    from typing import Any

_NAME = "<string>"
_ALLOW_AWAIT = 0x2000  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_AWAITS = 0x80  # inspect.CO_COROUTINE


def run() -> None:
    """Run what our arguments say, as the module `__main__`."""
    # As bytes, so that a coding line in it counts and no locale can change it.
    source = b"".join([os.fsencode(word) for word in sys.argv[1:]])
    sys.argv[:] = ["-c"]
    main = type(sys)("__main__")
    names = main.__dict__
    names["__builtins__"] = sys.modules["builtins"]
    names["__loader__"] = sys.modules["_frozen_importlib"].BuiltinImporter
    # Nothing that looks at the main module (pickle, multiprocessing, pdb) should find ours.
    sys.modules["__main__"] = main
    _show_lines(source)
    try:
        code = compile(source, _NAME, "exec", _ALLOW_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError):
        _hide_us(None)
        raise
    _execute(code, names)


def _execute(code: "CodeType", names: "dict[str, object]") -> None:
    session = Session()
    names["session"], names["cmd"] = session, _cmd
    try:
        if code.co_flags & _AWAITS:
            load("asyncio").run(eval(code, names))  # noqa: S307 - running code is what we are for
        else:
            exec(code, names)  # noqa: S102 - likewise
    except SystemExit as leave:
        session.failed = leave.code not in (None, 0)
        raise
    except BaseException:
        session.failed = True
        _hide_us(code)
        raise


def _cmd(name: object, *args: object) -> object:
    """An external command, as a job of its own: cmd('ls', '-la').exec(), or: for line in cmd('ls', ['-la'])."""
    return load(f"{__package__}.commands").Command.of(name, args)


_cmd.__name__ = _cmd.__qualname__ = "cmd"


def _show_lines(source: bytes) -> None:
    """Let tracebacks show lines of the code: whoever imports `linecache` finds them in it."""

    def fill(linecache: "Any") -> None:
        lines = source.decode("utf-8", "replace").splitlines(keepends=True)
        linecache.cache[_NAME] = len(source), None, lines, _NAME

    class Finder:
        def find_spec(self, name: str, path: object = None, target: object = None) -> object:  # noqa: ARG002 - as `import` calls it
            if name != "linecache":
                return None
            sys.meta_path[:] = [one for one in sys.meta_path if one is not finder]
            spec = sys.modules["_frozen_importlib"]._find_spec(name, path)  # noqa: SLF001 - as `import` does
            execute = spec.loader.exec_module

            def execute_and_fill(module: "Any") -> None:
                execute(module)
                fill(module)

            spec.loader.exec_module = execute_and_fill
            return spec

    finder: Any = Finder()
    if "linecache" in sys.modules:
        fill(sys.modules["linecache"])
    else:
        sys.meta_path.insert(0, finder)


def _hide_us(code: "CodeType | None") -> None:
    """Have the error that goes on from here shown as if the code had been run by Python itself, whoever shows it."""
    # Imported now: it evaluates text, and the interpreter would forget by that whether it was interrupted.
    traceback = load("traceback")
    show = sys.excepthook

    def shown(kind: "type[BaseException]", value: BaseException, trace: "TracebackType | None") -> None:
        theirs = _from_code(trace, code)
        value.__traceback__ = theirs
        if show is sys.__excepthook__ and code is not None and sys.version_info < (3, 13):
            # Before 3.13 the interpreter's own printing knows no lines but those of files.
            traceback.print_exception(kind, value, theirs)
        else:
            show(kind, value, theirs)

    sys.excepthook = shown


def _from_code(trace: "TracebackType | None", code: "CodeType | None") -> "TracebackType | None":
    """The part of a traceback that begins in the code; all of it but our own if none does."""
    here = __file__.rpartition("/")[0]
    rest = trace
    while rest is not None and rest.tb_frame.f_code is not code:
        rest = rest.tb_next
    if rest is None and code is not None:
        rest = trace
        while rest is not None and rest.tb_frame.f_code.co_filename.startswith(here):
            rest = rest.tb_next
    return rest
