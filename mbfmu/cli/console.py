"""Output of commands: results on stdout, as text or as JSON; progress, notices and errors on stderr."""

import functools
import inspect
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from typer.core import TyperCommand, TyperGroup

from mbfmu.base.files import is_standard_output
from mbfmu.cli.expansion import expanded
from mbfmu.errors import MbfmuError

PAGE = 150
"""Number of columns of a table that is written to a file or to another program."""

_AT_TERMINAL = sys.stdout is not None and sys.stdout.isatty()  # None: the process has no standard output
out = Console(width=None if _AT_TERMINAL else PAGE, emoji=False)  # 0.1:100:400 is a range
err = Console(stderr=True, emoji=False)

Tell = Callable[[str, float], None]
"""Function that reports progress: the current task, and the fraction of it that is done (0: unknown)."""


@dataclass(frozen=True)
class Report:
    """The result of a command.

    Args:
        data: result for ``--json``: plain data, dataclasses and arrays; to a dictionary, the files are added as
            ``wrote``.
        shown: result for people: lines and tables.
        wrote: files that were written.
        notices: facts that deserve attention.
        failed: whether the exit status is 1.
        writes: files to write, with the functions that do so: the result is shown even if one cannot be written.
    """

    data: Any
    shown: tuple[RenderableType, ...] = ()
    wrote: tuple[Path, ...] = ()
    notices: tuple[str, ...] = ()
    failed: bool = False
    writes: tuple[tuple[Path, Callable[[Path], object]], ...] = ()


INTERRUPTED = 130
"""Exit status of a command that Ctrl-C ends."""
AsJson = Annotated[bool, typer.Option("--json", help="print the result as one JSON document")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="neither progress nor notices: only results and errors")]


def command(function: Callable[..., Report]) -> Callable[..., None]:
    """Return a command for Typer that prints a function's report, with --json, --quiet and a progress bar.

    Args:
        function: its first argument is a `Tell`, the others are the user's, or made of several of these (`expanded`).
    """
    whole = expanded(function)

    @functools.wraps(function)
    def run(*, as_json: bool, quiet: bool, **arguments_supplied: Any) -> None:
        with (
            _progress(function.__name__.strip("_"), quiet) as tell,
            warnings.catch_warnings(),
            redirect_stdout(sys.stderr if as_json else sys.stdout),  # a model file may print
        ):
            warnings.showwarning = _warn
            if quiet:
                warnings.simplefilter("ignore")
            try:
                report, fault = _written(whole(tell, **arguments_supplied))
            except MbfmuError as error:
                if as_json:
                    print_failure(error)
                raise
        for text in () if quiet else report.notices:
            notice(text)
        with printing():
            if as_json:
                data = report.data
                if isinstance(data, dict):
                    data = {**data, "wrote": report.wrote, **(failure(fault) if fault else {})}
                print(json.dumps(plain(data), indent=2, allow_nan=False))
            else:
                _show(report)
        if fault:
            raise fault
        if report.failed:
            raise typer.Exit(1)

    signature = inspect.signature(whole)
    _, *arguments = signature.parameters.values()
    common = (
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for name, annotation in (("as_json", AsJson), ("quiet", Quiet))
    )
    shown = signature.replace(parameters=[*arguments, *common], return_annotation=None)
    run.__dict__["__signature__"] = shown
    run.__annotations__ = {name: item.annotation for name, item in shown.parameters.items()}
    return run


@contextmanager
def printing() -> Iterator[None]:
    """Raise an error if what is printed meanwhile cannot be written; end if nothing reads it any more.

    Raises:
        MbfmuError: the standard output is on a full disk, or cannot be written otherwise.
    """
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # where what is left goes when the process ends
        if isinstance(error, BrokenPipeError):
            raise SystemExit(1) from None
        raise MbfmuError(f"cannot write the standard output: {error.strerror or error}") from None


@contextmanager
def interruptible() -> Iterator[None]:
    """End where Ctrl-C interrupts, with one line: what the command says on that."""
    try:
        yield
    except KeyboardInterrupt as stop:
        complain(": ".join(["interrupted", *map(str, stop.args)]))
        raise typer.Exit(INTERRUPTED) from None


class Command(TyperCommand):
    """A command whose help is an output like any other."""

    def get_params(self, *arguments: Any) -> list[Any]:
        """Return the parameters; flags take no value, and show none."""
        return _plain_flags(super().get_params(*arguments))

    def format_help(self, *arguments: Any) -> None:
        """Print the help, or raise an error if it cannot be written."""
        with printing():
            super().format_help(*arguments)


class CommandGroup(TyperGroup):
    """The commands, with a help that is an output like any other, and one line where they are interrupted."""

    def make_context(self, *arguments: Any, **more: Any) -> Any:
        """Return what the arguments say."""
        with interruptible():
            return super().make_context(*arguments, **more)

    def invoke(self, *arguments: Any) -> Any:
        """Run a command."""
        with interruptible():
            return super().invoke(*arguments)

    def get_params(self, *arguments: Any) -> list[Any]:
        """Return the parameters; flags take no value, and show none."""
        return _plain_flags(super().get_params(*arguments))

    def format_help(self, *arguments: Any) -> None:
        """Print the help, or raise an error if it cannot be written."""
        with printing():
            super().format_help(*arguments)


def _plain_flags(parameters: list[Any]) -> list[Any]:
    for item in parameters:
        if getattr(item, "is_flag", False):
            item.metavar = ""
    return parameters


def _written(report: Report) -> tuple[Report, MbfmuError | None]:
    """Return a report whose files are written until one fails, and the error of this one."""
    for path, write in report.writes:
        try:
            write(path)
        except MbfmuError as error:
            return report, error
        report = replace(report, wrote=(*report.wrote, path))
    return report, None


def plain(value: Any) -> Any:
    """Return a value as JSON data: numbers that are not finite become null, complex ones [real, imaginary]."""
    match value:
        case float():
            return float(value) if math.isfinite(value) else None
        case complex():
            return [plain(value.real), plain(value.imag)]
        case Path():
            return str(value)
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
    if is_dataclass(value):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    return plain(value.tolist()) if hasattr(value, "tolist") else value  # an array, without importing NumPy for it


def failure(error: Exception | str) -> dict[str, str]:
    """Return the entries of a JSON document that say that a command failed."""
    return {
        "error": " ".join(str(error).split()),
        "kind": "UsageError" if isinstance(error, str) else type(error).__name__,
    }


def print_failure(error: Exception | str) -> None:
    """Print the JSON document of a command that failed."""
    with printing():
        print(json.dumps(failure(error), indent=2), file=sys.__stdout__)


def notice(text: object) -> None:
    """Print a notice on stderr."""
    err.print(f"mbfmu: notice: {text}", markup=False, soft_wrap=True, highlight=False)


def complain(text: str) -> None:
    """Print an error on stderr, in one line."""
    line = " ".join(text.split())
    err.print(f"mbfmu: {line}", style="red", markup=False, soft_wrap=True, highlight=False)


def _show(report: Report) -> None:
    """Print what people read, on stderr if a file went to stdout."""
    to = err if any(map(is_standard_output, report.wrote)) else out
    for item in report.shown:
        if isinstance(item, str):
            to.print(item, markup=False, soft_wrap=True, highlight=False)
        else:
            to.print(item)
    if report.wrote:
        sizes = ", ".join(f"{path} ({path.stat().st_size / 1e3:.0f} kB)" for path in report.wrote)
        to.print(f"wrote {sizes}", markup=False, soft_wrap=True, highlight=False)


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    """Show a warning as a notice."""
    notice(message)


@contextmanager
def _progress(phase: str, quiet: bool) -> Iterator[Tell]:
    """Show a progress bar on a terminal, and nothing elsewhere."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=quiet or not err.is_terminal) as bar:
        task = bar.add_task(phase, total=None)

        def tell(phase: str, fraction: float) -> None:
            bar.update(task, description=phase, total=1.0 if fraction else None, completed=fraction)

        yield tell
