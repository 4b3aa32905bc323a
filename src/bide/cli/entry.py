"""What the command `bide` runs first: until the command line is there, Ctrl-C ends it without a word."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal  # the other makes enumerations first, for a millisecond

_LISTENS = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if _LISTENS:  # else whoever started us has it ignored
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> int:
    """Run the command line; the answer is the exit status."""
    from bide.cli.main import main as run  # noqa: PLC0415 - loading it is what takes the time

    if _LISTENS:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run()
