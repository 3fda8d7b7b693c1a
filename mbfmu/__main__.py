"""The command line, as `mbfmu` and as `python -m mbfmu`, and what signals do to it."""

import os
import signal
import sys


class Terminated(BaseException):
    """The request to end this process, after what it has begun is cleaned up."""


def main() -> None:
    """Run the command line; Ctrl-C ends in one line while its modules load, too, and SIGTERM leaves nothing behind."""
    heard: list[int] = []

    def interrupt(number: int, _: object) -> None:
        """Raise what ends the command; what is being loaded may make another error of it."""
        heard.append(number)
        raise KeyboardInterrupt

    listens = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # it is ignored in the background
    if listens:
        signal.signal(signal.SIGINT, _leave)
    from mbfmu import cli

    if listens:
        signal.signal(signal.SIGINT, interrupt)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)
    try:
        cli.main()
    except Terminated:
        sys.exit(128 + signal.SIGTERM)
    except Exception:
        if not heard:
            raise
        _leave()


def _leave(*_: object) -> None:
    """End this process at once: nothing is to be cleaned up yet, and modules may swallow an exception."""
    os.write(2, b"mbfmu: interrupted\n")
    os._exit(128 + signal.SIGINT)


def _terminate(*_: object) -> None:
    """Stop compilers, which threads may wait for, and raise what ends the command."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if toolchain := sys.modules.get("mbfmu.kernel.build.toolchain"):
        toolchain.stop_compilers()
    raise Terminated


if __name__ == "__main__":
    main()
