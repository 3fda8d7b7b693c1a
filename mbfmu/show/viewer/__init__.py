"""Viewer: one HTML page that shows a mechanism moving, with its plots; it opens anywhere, without a network."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from mbfmu.base.described import Described, takes
from mbfmu.base.formats import is_table
from mbfmu.base.result import Result
from mbfmu.base.units import display_of
from mbfmu.errors import UsageError
from mbfmu.model import Model
from mbfmu.model.library import is_fmu, load
from mbfmu.model.robot_options import RobotOptions
from mbfmu.prepared import settings
from mbfmu.prepared.settings import RunSettings
from mbfmu.run.model import Progress
from mbfmu.run.simulate import simulate
from mbfmu.show.viewer.live import live_page
from mbfmu.show.viewer.looks import Look, looks_of
from mbfmu.show.viewer.modes import motion_of_mode
from mbfmu.show.viewer.motion import ShownMotion, motion_of_model, motion_of_result, read_result, together
from mbfmu.show.viewer.page import Page, page_of, refuse_deformation, refuse_page
from mbfmu.show.viewer.pulls import with_pulls

__all__ = [
    "Look",
    "Page",
    "ShownMotion",
    "looks_of",
    "motion_of_mode",
    "motion_of_model",
    "motion_of_result",
    "page_of",
    "read_result",
    "refuse_page",
    "together",
    "view",
]

STOP = 10.0
"""Default stop time, s."""
RUN = ("stepper", "options", "step", "tolerance", "output_interval", "inputs", "input_hold", "coordinates")
"""Names of the settings of a run that have no meaning where a recorded run is shown."""
Mechanism: TypeAlias = Model | str | os.PathLike[str]
"""A model, a name in models/, or the path of a model file."""


@dataclass(frozen=True)
class PageArguments(RunSettings):
    """The arguments of a page on a run."""

    source: Annotated[
        Model | Result | str | os.PathLike[str],
        Described(
            "a model, its name or its path, which is run; an .fmu file, which is run; or a recorded run: a "
            "`Result` of `simulate` or `couple`, or a .csv, .parquet, .mat or .npz file"
        ),
    ]
    stop: Annotated[float | None, Described("end of the run, s (default: 10); not for a recorded run")] = None
    _: KW_ONLY
    model: Annotated[
        Mechanism | Mapping[str, Mechanism] | None,
        Described(
            "the mechanism whose geometry a recorded run or an FMU moves; for a run of several FMUs a mapping, "
            "the mechanism of each by the name of the FMU; None: bodies are lines"
        ),
    ] = None
    up: Annotated[
        str | None,
        Described("axis of the world that points upwards; None: against gravity, else y in the plane and z in space"),
    ] = None
    title: Annotated[str, Described("title above the page; empty: the name of the source")] = ""
    free: Annotated[
        Iterable[str],
        Described(
            "names of start values that are only where the search begins, see `load`; with a recorded run or an "
            "FMU, those of `model`"
        ),
    ] = ()
    robot: Annotated[
        RobotOptions | None,
        Described(
            "how the description of a robot is to be read, see `load`; with a recorded run or an FMU, that of `model`"
        ),
    ] = None
    deformation: Annotated[
        float,
        Described(
            "factor of the displacements of flexible bodies, which the page can change; their frames, and what is "
            "attached to them, stay where they are"
        ),
    ] = 1.0
    show: Annotated[Iterable[str], settings.SHOW] = ()
    display: Annotated[Iterable[str], settings.DISPLAY] = ()
    progress: Annotated[Progress | None, settings.PROGRESS] = None


@dataclass(frozen=True, kw_only=True)
class ViewArguments(PageArguments):
    """The arguments of `view`."""

    mode: Annotated[
        int | None,
        Described("number of a mode, from 1 on as `linearize` numbers them, to show in place of a run; for a model"),
    ] = None
    at: Annotated[float | None, Described("time, s, of the state about which the mode is; None: the start")] = None
    live: Annotated[
        bool,
        Described(
            "whether the page computes the motion itself, and lets inputs and parameters be changed; for a model, of "
            "which `stop` is then only how far a run in advance goes that lays out the picture"
        ),
    ] = False
    pull: Annotated[
        Iterable[str],
        Described(
            "bodies, or frames such as ``link2.frame_b``, that the pointer pulls in a live page: each gets a force "
            "from outside"
        ),
    ] = ()


@takes(ViewArguments)
def view(request: ViewArguments) -> Page:
    """Return a page that shows a mechanism moving; a notebook shows it inline, `Page.write` makes a file of it.

    Raises:
        ModelError, StartError: the model is invalid, or has no bodies to show.
        StepError, FmuError: the run failed.
        UsageError: an argument is invalid, or the extra ``view`` is not installed.
    """
    refuse_page()
    refuse_deformation(request.deformation)
    source, model, stop = request.source, request.model, request.stop
    how: dict[str, Any] = {name: getattr(request, name) for name in RUN}
    reading: dict[str, Any] = {"values": request.values, "free": tuple(request.free), "robot": request.robot}
    name = request.title or name_of(source)
    label = name if isinstance(source, Model | Result) else os.fspath(source)
    kind = kind_of(source)
    recorded, packed = kind == "run", kind == "fmu"
    if request.live:
        return _live(request, name, label, recorded or packed, reading)
    if tuple(request.pull):
        raise UsageError("`pull` is for a page that computes: live=True, or --live")
    if request.mode is not None:
        if recorded or packed:
            raise UsageError(f"'{label}' is not a model: modes are those of a model")
        how = {**how, "at": request.at, "up": request.up}
        alien = {"stop": stop, "model": model}
        return _page_of_mode(request, name, alien, reading, how)
    if request.at is not None:
        raise UsageError("`at` is the time of a mode: name the mode too")
    if recorded:
        wrong = [option for option, value in {"stop": stop, **how, **({} if model else reading)}.items() if value]
        if wrong:
            raise UsageError(f"'{label}' is a run already: leave {', '.join(wrong)} out")
        run = source if isinstance(source, Result) else read_result(label)
        motion = _motion_of_run(run, label, request.up, model, reading)
    elif packed:
        if model is None and (wrong := [option for option in ("free", "robot") if reading[option]]):
            raise UsageError(f"'{label}' has its equations inside: leave {', '.join(wrong)} out")
        end = STOP if stop is None else stop
        run = simulate(label, end, values=request.values, progress=request.progress, **how)
        reading["values"] = values_of_both(model, reading)
        motion = _motion_of_run(run, label, request.up, model, reading)
    elif model is not None:
        raise UsageError(f"'{label}' is a model itself: `model` goes with a recorded run or an FMU")
    else:
        assert not isinstance(source, Result)
        mechanism, looks = model_and_looks(source, reading)
        end = STOP if stop is None else stop
        motion = motion_of_model(mechanism, end, up=request.up, looks=looks, progress=request.progress, **how)
    return _played(request, motion, name, f"{motion.result.time[-1]:g} s")


def _played(request: ViewArguments, motion: ShownMotion, title: str, subtitle: str) -> Page:
    """Return the page of a motion, with the curves and units that are requested."""
    display = display_of(request.display) or motion.result.display
    motion = replace(motion, result=replace(motion.result, display=display))
    return page_of(motion, title, subtitle, request.deformation, tuple(request.show))


def _live(request: ViewArguments, name: str, label: str, finished: bool, reading: Mapping[str, Any]) -> Page:
    """Return a live page; `finished`: whether the source has no equations to compute with."""
    if finished:
        raise UsageError(f"'{label}' is not a model: a live page is made of one")
    alien = {name: getattr(request, name) for name in ("model", "mode", "at", "input_hold")}
    alien["deformation"] = request.deformation != 1
    if wrong := [option for option, value in alien.items() if value not in (None, False)]:
        raise UsageError(f"a live page goes without {', '.join(wrong)}")
    assert not isinstance(request.source, Result)
    model, looks = model_and_looks(request.source, reading)
    model = with_pulls(model, tuple(request.pull))
    end, tell = STOP if request.stop is None else request.stop, request.progress or (lambda _: None)
    show, display = tuple(request.show), display_of(request.display)
    return live_page(model, end, request, name, display=display, looks=looks, up=request.up, show=show, tell=tell)


def _page_of_mode(
    request: ViewArguments, name: str, alien: Mapping[str, Any], reading: Mapping[str, Any], how: dict[str, Any]
) -> Page:
    assert request.mode is not None
    assert not isinstance(request.source, Result)
    alien = {**alien, **{option: how.pop(option) for option in ("options", "tolerance", "output_interval")}}
    if wrong := [option for option, value in alien.items() if value]:
        raise UsageError(f"a mode is not a run: leave {', '.join(wrong)} out")
    mechanism, looks = model_and_looks(request.source, reading)
    motion, mode = motion_of_mode(mechanism, request.mode, looks=looks, **how)
    value = mode.eigenvalue
    text = f"{mode.frequency:.4g} Hz, damping ratio {mode.damping:.3g}" if value.imag else f"{value.real:.4g} 1/s"
    return _played(request, motion, f"{name}: mode {request.mode}", text)


def _motion_of_run(
    run: Result,
    label: str,
    up: str | None,
    model: Mechanism | Mapping[str, Mechanism] | None,
    reading: Mapping[str, Any],
) -> ShownMotion:
    if model is None:
        return motion_of_result(run, label, up)
    if not isinstance(model, Mapping):
        return motion_of_result(run, label, up, *model_and_looks(model, reading))
    if not model or any(reading.values()):
        raise UsageError("with a mapping of models, give each model its own values: mbfmu.load(NAME, values)")
    return together(
        {
            name: motion_of_result(run, label, up, *model_and_looks(item, reading), component=name)
            for name, item in model.items()
        }
    )


def model_and_looks(source: Mechanism, reading: Mapping[str, Any]) -> tuple[Model, tuple[Look, ...]]:
    """Return a model, read with values, free start values and options of a robot, and its looks."""
    if isinstance(source, Model):
        if reading["robot"]:
            raise UsageError(f"'{source.name}' is read already: options of robots go with their descriptions")
        return source.with_values(reading["values"] or {}, reading["free"]), ()
    return load(source, **reading), looks_of(os.fspath(source), reading["robot"])


def values_of_both(
    model: Mechanism | Mapping[str, Mechanism] | None, reading: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """Return the values of an FMU that the model has too whose geometry it moves; None without one model."""
    if model is None or isinstance(model, Mapping):
        return None
    known = (model if isinstance(model, Model) else load(model, **{**reading, "values": None})).values()
    return {name: value for name, value in (reading["values"] or {}).items() if name in known}


def kind_of(source: Model | Result | str | os.PathLike[str]) -> str:
    """Return what a page shows: ``model``, ``fmu``, or ``run`` for a recorded one."""
    if isinstance(source, Model):
        return "model"
    if isinstance(source, Result) or is_table(os.fspath(source)):
        return "run"
    return "fmu" if is_fmu(source) else "model"


def name_of(source: Model | Result | str | os.PathLike[str]) -> str:
    """Return the name of what a page shows."""
    if isinstance(source, Model):
        return source.name
    return "run" if isinstance(source, Result) else Path(source).stem
