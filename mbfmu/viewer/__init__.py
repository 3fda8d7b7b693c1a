"""Viewer: one HTML page that shows a mechanism moving, with its plots; it opens anywhere, without a network."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mbfmu.errors import UsageError
from mbfmu.model import Model
from mbfmu.model.library import load
from mbfmu.result import Result
from mbfmu.simulation import InputFunction, Progress, simulate
from mbfmu.viewer.looks import Look, looks_of
from mbfmu.viewer.modes import motion_of_mode
from mbfmu.viewer.motion import Trajectory, is_table, motion_of_model, motion_of_result, read_result, together
from mbfmu.viewer.page import Page, page_of, refuse_page

__all__ = [
    "Look",
    "Page",
    "Trajectory",
    "is_table",
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


def view(
    source: Model | Result | str | os.PathLike[str],
    stop: float | None = None,
    *,
    model: Model | str | os.PathLike[str] | Mapping[str, Model | str | os.PathLike[str]] | None = None,
    mode: int | None = None,
    at: float | None = None,
    up: str | None = None,
    title: str | None = None,
    stepper: str | None = None,
    options: Mapping[str, Any] | None = None,
    step: float | None = None,
    tolerance: float | None = None,
    output_interval: float | None = None,
    values: Mapping[str, float] | None = None,
    inputs: Mapping[str, str | InputFunction] | None = None,
    coordinates: str | None = None,
    progress: Progress | None = None,
) -> Page:
    """Return a page that shows a mechanism moving; a notebook shows it inline, `Page.write` makes a file of it.

    Args:
        source: a model, its name or its path, which is run; an .fmu file, which is run; or a recorded run: a `Result`
            of `simulate` or `couple`, or a .csv or .parquet file.
        stop: end of the run, s (default: 10); not for a recorded run.
        model: the mechanism whose geometry a recorded run or an FMU moves; for a run of several FMUs a mapping, the
            mechanism of each by the name of the FMU; None: bodies are lines.
        mode: number of a mode, from 1 on as `linearize` numbers them, to show in place of a run; for a model.
        at: time, s, of the state about which the mode is; None: the start.
        up: axis of the world that points upwards; None: against gravity, else y in the plane and z in space.
        title: title above the page; None: the name of the source.
        stepper: see `simulate`; this and the following are not for a recorded run.
        options: see `simulate`.
        step: see `simulate`, s.
        tolerance: see `simulate`.
        output_interval: time between two pictures, s.
        values: parameters and start values by name; with a recorded run, those of `model`.
        inputs: see `simulate`.
        coordinates: see `simulate`.
        progress: called with the fraction done.

    Raises:
        ModelError, StartError: the model is invalid, or has no bodies to show.
        StepError, FmuError: the run failed.
        UsageError: an argument is invalid, or the extra ``view`` is not installed.
    """
    refuse_page()
    how: dict[str, Any] = {
        "stepper": stepper, "options": options, "step": step, "tolerance": tolerance,
        "output_interval": output_interval, "inputs": inputs, "coordinates": coordinates,
    }  # fmt: skip
    name = title or _name(source)
    label = name if isinstance(source, Model | Result) else os.fspath(source)
    end = STOP if stop is None else stop
    if mode is not None:
        return _page_of_mode(
            source, label, name, mode, {"stop": stop, "model": model}, values, {**how, "at": at, "up": up}
        )
    if at is not None:
        raise UsageError("`at` is the time of a mode: name the mode too")
    if isinstance(source, Result) or is_table(label):
        used = {"stop": stop, "values": None if model else values, **how}
        if wrong := [option for option, value in used.items() if value]:
            raise UsageError(f"'{label}' is a run already: leave {', '.join(wrong)} out")
        run = source if isinstance(source, Result) else read_result(label)
        motion = _motion_of_run(run, label, up, model, values)
    elif not isinstance(source, Model) and label.endswith(".fmu"):
        run = simulate(source, end, values=values, progress=progress, **how)
        shape = None if model is None or isinstance(model, Mapping) else _model(model, None)[0].values()
        known = {name: value for name, value in (values or {}).items() if shape and name in shape}
        motion = _motion_of_run(run, label, up, model, known)
    elif model is not None:
        raise UsageError(f"'{label}' is a model itself: `model` goes with a recorded run or an FMU")
    else:
        mechanism, looks = _model(source, values)
        motion = motion_of_model(mechanism, end, up=up, looks=looks, progress=progress, **how)
    return page_of(motion, name, f"{motion.result.time[-1]:g} s")


def _page_of_mode(
    source: Model | Result | str | os.PathLike[str], label: str, name: str, number: int, alien: Mapping[str, Any],
    values: Mapping[str, float] | None, how: dict[str, Any],
) -> Page:  # fmt: skip
    if isinstance(source, Result) or is_table(label) or label.endswith(".fmu"):
        raise UsageError(f"'{label}' is no model: modes are those of a model")
    alien = {**alien, **{option: how.pop(option) for option in ("options", "tolerance", "output_interval")}}
    if wrong := [option for option, value in alien.items() if value]:
        raise UsageError(f"a mode is no run: leave {', '.join(wrong)} out")
    mechanism, looks = _model(source, values)
    motion, mode = motion_of_mode(mechanism, number, looks=looks, **how)
    value = mode.eigenvalue
    text = f"{mode.frequency:.4g} Hz, damping ratio {mode.damping:.3g}" if value.imag else f"{value.real:.4g} 1/s"
    return page_of(motion, f"{name}: mode {number}", text)


def _motion_of_run(
    run: Result,
    label: str,
    up: str | None,
    model: Model | str | os.PathLike[str] | Mapping[str, Model | str | os.PathLike[str]] | None,
    values: Mapping[str, float] | None,
) -> Trajectory:
    if model is None:
        return motion_of_result(run, label, up)
    if not isinstance(model, Mapping):
        return motion_of_result(run, label, up, *_model(model, values))
    if values or not model:
        raise UsageError("with a mapping of models, give each model its own values: mbfmu.load(NAME, values)")
    return together(
        {name: motion_of_result(run, label, up, *_model(item, None), component=name) for name, item in model.items()}
    )


def _model(
    source: Model | str | os.PathLike[str], values: Mapping[str, float] | None
) -> tuple[Model, tuple[Look, ...]]:
    if isinstance(source, Model):
        return source.with_values(values or {}), ()
    return load(os.fspath(source), dict(values or {})), looks_of(os.fspath(source))


def _name(source: Model | Result | str | os.PathLike[str]) -> str:
    if isinstance(source, Model):
        return source.name
    return "run" if isinstance(source, Result) else Path(source).stem
