"""Live page: a page that computes the motion itself, with the kernel of the FMU inside as a WebAssembly module."""

import base64
import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import resources
from typing import Any

from mbfmu.base.result import Result, matching, selection
from mbfmu.base.units import Display, shown_unit
from mbfmu.errors import UsageError
from mbfmu.fmu.interface import INPUT, PARAMETER, SETTING, TIME, Interface, Variable, interface
from mbfmu.fmu.native.build import toolchains
from mbfmu.fmu.native.shell import shell_libraries
from mbfmu.model import Model
from mbfmu.prepared.prepare import Prepared, prepare_run
from mbfmu.prepared.settings import InputValue, RunSettings
from mbfmu.run.inputs import Constant, InputFormula, courses
from mbfmu.run.simulate import simulate
from mbfmu.show.viewer.looks import Look
from mbfmu.show.viewer.motion import ShownMotion, motion_of_model
from mbfmu.show.viewer.page import Page, embedded, label_of, packed, packed_skin, scene_of, thinned, usual, written
from mbfmu.show.viewer.posed import PICTURE, fitted_skins, monomials, posed
from mbfmu.show.viewer.pulls import pulls_of, stiffness_of
from mbfmu.stepper import named

PLATFORM = "wasm32"
INTERVAL = 0.01
"""Default time between the points that a live page computes, s, if the stepper's steps are not longer."""
POSES = 17
"""Number of pictures of the run in advance, by which the page knows how far the mechanism moves."""
NUMBERS, ROWS = 8_000_000, 60_000
"""Largest number of values that a page keeps of its run, and of the points in time for which it keeps them."""
POLICY = " 'wasm-unsafe-eval' blob:; worker-src blob:"
"""Further permissions of the content policy of a live page: for its own module, and for its own worker."""


def live_page(
    model: Model, stop: float, run: RunSettings, title: str, *, display: Display, looks: tuple[Look, ...] = (),
    up: str | None = None, show: tuple[str, ...] = (), tell: Callable[[float], None] = lambda _: None,
) -> Page:  # fmt: skip
    """Return a page that computes the motion of a model.

    Args:
        model: the model, with its values.
        stop: end of a run in advance, s, by which the picture is laid out.
        run: settings of the run; the output interval is the time between the points that the page computes.
        title: title above the page.
        display: units that the page shows, by the SI units in whose place they stand.
        looks: solids fixed to the bodies.
        up: axis of the world that points upwards; None: against gravity.
        show: names of the curves, or patterns, that are shown at first; empty: a selection.
        tell: called with the fraction done.

    Raises:
        StepError, StartError: the run in advance fails.
        UsageError: an input is no number or expression.
        FmuError: there is no compiler for WebAssembly, or it fails.
    """
    toolchains(PLATFORM)  # an error before the work begins
    inputs = _inputs(run.inputs)
    prepared = posed(prepare_run(model, run), named(run.stepper, run.options)[1])
    table = interface(prepared)
    result, motion = _advance_run(prepared, model, stop, run, looks, up, tell)
    module = shell_libraries(prepared, "live", table, (PLATFORM,), lambda _: None)[PLATFORM].content
    names = [item.name for item in table.variables]
    shown = matching(show, names) if show else _usual(table, result)
    scene = _scene(motion, names) if motion else NOTHING
    worker = (resources.files("mbfmu.show.viewer") / "worker.js").read_text(encoding="utf-8")
    pulls = {"pulls": list(pulls_of(model, names)), "stiffness": stiffness_of(table)}
    content = embedded({**live_content(table, prepared, module, run, inputs, shown, display), **pulls})
    elements = (
        f'<script type="application/json" id="live">{content}</script>\n'
        f'<script type="text/plain" id="worker">{worker}</script>\n'
    )
    return Page(written(title, "", scene, "live.js", elements, POLICY), stop, live=True)


NOTHING: dict[str, Any] = {
    "dim": 2, "size": 1.0, "up": [0.0, 1.0, 0.0], "times": base64.b64encode(bytes(8)).decode(), "poses": "",
    **{name: [] for name in ("bodies", "solids", "struts", "meshes", "skins", "tips", "columns")}, "deformation": 1.0,
}  # fmt: skip
"""The scene of a model without bodies."""


def live_content(
    table: Interface,
    prepared: Prepared,
    module: bytes,
    run: RunSettings,
    inputs: Mapping[str, Any],
    shown: Any,
    display: Display,
) -> dict[str, Any]:
    """Return what the scripts of a live page read: the module, its variables in the units shown, and settings."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    interval = run.output_interval or max(INTERVAL, prepared.step)
    return {
        "module": base64.b64encode(deflate.compress(module) + deflate.flush()).decode("ascii"),
        "variables": [_row(item, display) for item in table.variables],
        "settings": [item.start or 0.0 for item in table.variables if item.kind == SETTING],
        "inputs": dict(inputs),
        "interval": interval,
        "rows": min(ROWS, NUMBERS // len(table.variables)),
        "shown": list(shown),
    }


def _inputs(given: Mapping[str, InputValue] | None) -> dict[str, float | str]:
    """Return the inputs as numbers or expressions by name.

    Raises:
        UsageError: one is a table or a function.
    """
    inputs: dict[str, float | str] = {}
    for name, item in courses(given).items():
        if not isinstance(item, Constant | InputFormula):
            raise UsageError(f"input {name}: a live page takes numbers and expressions of time, no tables or functions")
        inputs[name] = item.value if isinstance(item, Constant) else item.text
    return inputs


def _advance_run(
    prepared: Prepared, model: Model, stop: float, run: RunSettings, looks: tuple[Look, ...], up: str | None,
    tell: Callable[[float], None],
) -> tuple[Result, ShownMotion | None]:  # fmt: skip
    """Return a run in advance and, if the model has bodies, its motion."""
    names = ("stepper", "options", "step", "tolerance", "coordinates", "inputs")
    how: dict[str, Any] = {"progress": tell, **{name: getattr(run, name) for name in names}}
    if prepared.dae.skeleton is None:
        return simulate(model, stop, **how), None
    motion = motion_of_model(model, stop, up=up, looks=looks, **how)
    return motion.result, motion


def _scene(motion: ShownMotion, names: list[str]) -> dict[str, Any]:
    """Return what a live page draws: the value references of all poses, and surfaces by shape coordinates."""
    scene = scene_of(motion, POSES)
    some, fits = thinned(len(motion.result.time), POSES), fitted_skins(motion)
    largest = {motion.bodies[item["body"]]: item["largest"] for item in scene["skins"]}
    skins = []
    for body, fit in fits.items():
        powers = monomials(motion.eta[body][some])
        skin = replace(fit.skin, weights=powers @ fit.weights, loads=powers @ fit.loads, largest=largest[body])
        fitted: dict[str, Any] = {
            "fits": {"weights": packed(fit.weights, "<f8"), "loads": packed(fit.loads, "<f8")},
            "coordinates": [names.index(name) for name in fit.coordinates],
        }
        skins.append({**packed_skin(skin, motion.bodies.index(body)), **fitted})
    columns = [_columns(body, motion.dim, names) for body in motion.bodies]
    return {**scene, "skins": skins, "columns": columns, "deformation": 1.0}


def _columns(body: str, dim: int, names: list[str]) -> list[int]:
    """Return the value references of a pose: position with angle or quaternion, or with a rotation matrix."""
    parts = [f"{body}.r_0[{k}]" for k in range(1, dim + 1)]
    parts += [f"{body}.phi"] if dim == 2 else [f"{body}.Q[{k}]" for k in range(1, 5)]
    if parts[-1] not in names:
        parts = [f"{body}.{PICTURE}.r[{k}]" for k in range(1, dim + 1)]
        parts += [f"{body}.{PICTURE}.R[{k}]" for k in range(1, dim * dim + 1)]
    return [names.index(name) for name in parts]


def _usual(table: Interface, result: Result) -> list[str]:
    inputs = [item.name for item in table.variables if item.kind == INPUT]
    return list(dict.fromkeys([*inputs, *(usual(result) or selection(result))]))


def _row(item: Variable, display: Display) -> dict[str, Any]:
    """Return what a page needs to know about a variable; `when` says when a user may set it: at once, or at a start.

    The page shows it, and takes values of it, in its unit: `factor` times the value in the SI unit.
    """
    when = ""
    if item.kind in (INPUT, PARAMETER, SETTING):
        when = "start" if item.fixed else "now"
    elif item.start_offset is not None and item.initial == "exact":
        when = "start"
    kind = PICTURE if f".{PICTURE}." in item.name else item.kind
    unit, factor = shown_unit(item.unit, display)
    row = {"name": item.name, "type": item.type, "kind": kind, "label": label_of(item.unit, unit), "factor": factor}
    if item.kind == TIME or not when:
        return row
    bounds = {name: factor * value for name, value in (("min", item.min), ("max", item.max)) if math.isfinite(value)}
    start = item.start if item.start is None else factor * item.start
    more = {"unit": unit, "text": item.description, "start": start, "nominal": factor * item.nominal}
    return {**row, **bounds, **more, "when": when, "items": list(item.items)}
