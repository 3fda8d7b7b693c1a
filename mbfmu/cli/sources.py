"""Files of commands: the model with its values, and those to write, which are tried before work begins."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mbfmu.cli.choices import (
    Coordinates,
    Display,
    Free,
    Hold,
    Model,
    ModelOrFmu,
    Show,
    Start,
    Unknown,
    Values,
    begun,
    held,
    names,
    numbers,
    present,
)
from mbfmu.cli.expansion import OptionGroup
from mbfmu.cli.robot import ROBOT
from mbfmu.errors import UsageError
from mbfmu.prepared.settings import RunSettings

if TYPE_CHECKING:
    from mbfmu.model import Model as AnyModel

Writing = tuple[Path, Callable[[Path], object]]
"""A file to write, and the function that does so."""


@dataclass(frozen=True, kw_only=True)
class Source(OptionGroup):
    """A model or an FMU as a command names it, with the values that it is to have."""

    model: Model
    values: Values = None
    robot: Annotated[Any, ROBOT] = None

    @property
    def name(self) -> str:
        """Name of the file, without its ending."""
        return Path(self.model).stem

    @property
    def packed(self) -> bool:
        """Whether it is an FMU."""
        from mbfmu.model.library import is_fmu  # not before it is needed

        return is_fmu(self.model)

    @property
    def start_file(self) -> Path | None:
        """Equilibrium in which it starts."""
        return None

    @property
    def guessed(self) -> Sequence[str]:
        """Names of start values that are only where the search begins."""
        return ()

    @property
    def fixed(self) -> dict[str, Any]:
        """Values by name, those of the file of a start too."""
        return begun(self.start_file, self.values)

    def load(self) -> "AnyModel":
        """Return the model; errors as for `mbfmu.load`."""
        from mbfmu.model.library import load  # not before it is needed

        return load(self.model, self.fixed, self.guessed, self.robot)

    def refuse_model_options(self) -> None:
        """Raise an error if an FMU is given what goes with a model.

        Raises:
            UsageError: it is.
        """
        if self.robot:
            raise UsageError(f"'{self.model}' has its robot inside: options of a robot go with export")
        refuse_free(self.model, self.guessed)
        refuse_start(self.model, self.start_file)

    def opened(self) -> "tuple[AnyModel | str, dict[str, float] | None]":
        """Return the model, or the path of an FMU with the values that it gets.

        Raises:
            UsageError: an option does not go with an FMU.
        """
        if not self.packed:
            return self.load(), None
        self.refuse_model_options()
        return self.model, numbers(self.values)


@dataclass(frozen=True, kw_only=True)
class StartedSource(Source):
    """A model that may start in an equilibrium."""

    start: Start = None

    @property
    def start_file(self) -> Path | None:
        return self.start


@dataclass(frozen=True, kw_only=True)
class PlacedSource(StartedSource):
    """A model in coordinates that may be chosen."""

    coordinates: Coordinates = None


@dataclass(frozen=True, kw_only=True)
class HeldSource(StartedSource):
    """A model with values that are held, and others that are unknown too."""

    hold: Hold = None
    free: Unknown = None
    coordinates: Coordinates = None

    @property
    def conditions(self) -> dict[str, Any]:
        """Values that are held, names that are free, and the coordinates, as keywords."""
        return {"hold": held(self.hold), "free": names(self.free), "coordinates": self.coordinates}


@dataclass(frozen=True, kw_only=True)
class GuessedSource(Source):
    """A model with start values that are only where the search begins."""

    free: Free = None

    @property
    def guessed(self) -> Sequence[str]:
        return self.free or ()


@dataclass(frozen=True, kw_only=True)
class DerivedSource(GuessedSource):
    """A model whose equations are derived, in coordinates that may be chosen."""

    coordinates: Coordinates = None


@dataclass(frozen=True, kw_only=True)
class FreeSource(GuessedSource, StartedSource):
    """A model that may start in an equilibrium, with start values that are only where the search begins."""


@dataclass(frozen=True, kw_only=True)
class ModelOrFmuSource(FreeSource):
    """A model or an FMU."""

    model: ModelOrFmu


def refuse_start(fmu: str, start: Path | None) -> None:
    """Raise an error if an FMU is to begin with a start file.

    Raises:
        UsageError: it is.
    """
    if start:
        raise UsageError(f"'{fmu}' has its start values inside: --start {start} goes with export")


def refuse_free(fmu: str, free: Sequence[str] | None) -> None:
    """Raise an error if start values of an FMU are to be free.

    Raises:
        UsageError: they are.
    """
    if free:
        raise UsageError(
            f"'{fmu}' has its equations inside: --free goes with export; if it was exported with --choose {free[0]}, "
            f"give --set start.fixed.{free[0]}=0"
        )


def check_files(
    source: Source,
    run: RunSettings | None = None,
    *,
    table: Path | None = None,
    start: Path | None = None,
    picture: Path | None = None,
    other: Path | None = None,
    read: Iterable[Any] = (),
) -> None:
    """Raise an error before work begins if a file cannot be written as it is named.

    Args:
        source: the model.
        run: settings with inputs, which may be tables.
        table: table to write.
        start: start file to write.
        picture: picture to write.
        other: file to write whose ending another function looks at.
        read: further files that are read.

    Raises:
        UsageError: an ending is wrong, or the file is one that is read.
        MbfmuError: it cannot be written.
    """
    from mbfmu.base.files import check_outputs, ending_of
    from mbfmu.base.formats import format_of

    if table:
        format_of(table)
    if start:
        from mbfmu.analysis.equilibria import ENDINGS

        ending_of(start, ENDINGS)
    if picture:
        from mbfmu.show.plot import picture_format

        picture_format(picture)
    tables = [str(item) for item in (run.inputs or {}).values()] if run else []
    check_outputs((table, start, picture, other), (source.model, *tables, *present(source.start_file), *read))


def shown_names(show: str | None) -> list[str]:
    """Return the names in a text with commas between them, such as those of the variables of table and picture."""
    return [name.strip() for name in show.split(",")] if show else []


@dataclass(frozen=True, kw_only=True)
class ShownOptions(OptionGroup):
    """The variables that table and pictures show, and their units."""

    show: Show = None
    display: Display = None

    def named(self) -> dict[str, Any]:
        """Return what is chosen, by the names of arguments."""
        return {"show": shown_names(self.show), "display": shown_names(self.display)}


def start_writes(source: Source, path: Path | None, values: Mapping[str, float]) -> tuple[Writing, ...]:
    """Return the file to write that starts a model with values that were found, beside those it had, if one is named.

    Args:
        source: the model.
        path: path of the file.
        values: those found, by name.
    """
    from mbfmu.analysis.equilibria import write_start  # not before it is needed

    return tuple((each, lambda where: write_start(where, {**source.fixed, **values})) for each in present(path))
