"""A kernel that runs at once: compiled by tcc, it continues with an optimised library as soon as that is there."""

import warnings
from collections.abc import Callable
from contextlib import ExitStack
from threading import Thread

from mbfmu.errors import MbfmuError
from mbfmu.kernel.build.toolchain import (
    SLOWER,
    BuildError,
    InterruptedBuildError,
    Library,
    ahead,
    built,
    cached,
    local,
    tcc,
)
from mbfmu.kernel.bundle import Bundle
from mbfmu.kernel.codegen import c_sources
from mbfmu.kernel.runtime import Compiled


class Early:
    """A kernel, and the making of a library that it continues with: one of the same bits that is several times as fast.

    The library is made in a thread, for whose end Python waits before it ends.

    Args:
        kernel: the kernel.
        better: makes the library, and hands it on; None: the kernel is that already.

    Attributes:
        kernel: the kernel.
    """

    def __init__(self, kernel: Compiled, better: Callable[[], Library] | None = None) -> None:
        self.kernel = kernel
        self._thread = better and Thread(
            target=self._improve, args=(better,), name="mbfmu compiles an optimised kernel"
        )
        if self._thread:
            self._thread.start()

    def finish(self) -> None:
        """Wait until the kernel is the optimised one, or cannot become it, which a warning tells."""
        if self._thread:
            self._thread.join()

    def _improve(self, better: Callable[[], Library]) -> None:
        try:
            self.kernel.take(str(better().path))
        except InterruptedBuildError:
            return
        except (BuildError, MbfmuError, OSError) as error:
            warnings.warn(f"the C compiler failed: {error}: {SLOWER}", RuntimeWarning, stacklevel=2)


def early(bundle: Bundle, done: Callable[[Library], None]) -> Early | None:
    """Return a kernel that tcc compiles now, and that becomes an optimised one for this machine.

    It is that from the start if the user's cache has its library. None where there is no gain: without tcc or another
    compiler, where the environment asks for a level of optimisation, and where tcc fails.

    Args:
        bundle: the functions.
        done: is called with the optimised library, perhaps in another thread.

    Raises:
        MbfmuError: there is no room for a library.
    """
    first, second = tcc(), local()
    if first is None or second is None or second.optimisation:
        return None
    with ExitStack() as stack:
        begun, soon = stack.enter_context(ahead(second)), stack.enter_context(ahead(first))

        def take(file: str, text: str) -> None:
            soon.take(file, text)
            begun.take(file, text)

        sources = c_sources(bundle, written=take)
        try:
            if library := cached(sources, second, "kernel"):
                kernel = Compiled(str(library.path))
                done(library)
                return Early(kernel)
            kernel = Compiled(str(built(sources, first, "kernel", soon).path))
        except (BuildError, OSError):
            return None
        held = stack.pop_all()

    def better() -> Library:
        with held:
            library = built(sources, second, "kernel", begun)
            done(library)
            return library

    return Early(kernel, better)
