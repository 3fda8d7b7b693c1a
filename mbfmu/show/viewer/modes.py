"""Modes: the motion of a mechanism in one of the modes about a state."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import numpy as np

from mbfmu.analysis.linearization import Mode, linearize
from mbfmu.base.described import Described, part_of, takes
from mbfmu.base.result import Result
from mbfmu.errors import UsageError
from mbfmu.model import Model
from mbfmu.prepared.prepare import prepare
from mbfmu.prepared.settings import RunSettings, StateSettings
from mbfmu.show.viewer.geometry import geometry_of
from mbfmu.show.viewer.looks import Look
from mbfmu.show.viewer.motion import ShownMotion, motion_of_coordinates, unit_of

PERIODS, PICTURES = 3, 240
"""Number of periods that are shown, and of pictures."""
REACH = 0.08
"""Largest displacement of a point relative to the mechanism's size."""
TRIED = 1e-4
"""Largest change of a coordinate in the small motion by which the displacements of a mode are computed."""
MOVING = 1e-3
"""Least amplitude, relative to the largest, of coordinates that are plotted."""


@dataclass(frozen=True)
class ModeArguments(StateSettings):
    """The arguments of `motion_of_mode`."""

    model: Annotated[Model, Described("the mechanism")]
    number: Annotated[int, Described("number of the mode, from 1 on, in the order of `Linear.modes`")]
    _: KW_ONLY
    at: Annotated[float | None, Described("time of the state, see `linearize`", unit="s")] = None
    up: Annotated[
        str | None, Described("axis of the world that points upwards; None: the direction against gravity")
    ] = None
    looks: Annotated[tuple[Look, ...], Described("solids fixed to the bodies")] = ()


@takes(ModeArguments)
def motion_of_mode(shown: ModeArguments) -> tuple[ShownMotion, Mode]:
    """Return the motion of a mechanism in one of its modes, without its damping, and the mode.

    Three periods are shown; a mode that does not oscillate is shown as if it did, so that its shape is seen.

    Raises:
        ModelError, StartError, StepError: the model or its run is invalid, or there are no bodies to show.
        UsageError: there is no such mode, or it moves no body.
    """
    model, index = shown.model, shown.number
    linear = linearize(model, at=shown.at, **part_of(shown, RunSettings).named())
    modes = linear.modes
    if not 1 <= index <= len(modes):
        raise UsageError(f"'{model.name}' has the modes 1 to {len(modes)}, and no mode {index}")
    mode = modes[index - 1]
    prepared = prepare(model, None, None, 1e-3, 0.0, shown.coordinates)
    geometry, dae = geometry_of(prepared, shown.looks), prepared.mechanism
    rate = mode.eigenvalue.imag or abs(mode.eigenvalue.real) or math.tau
    time = np.linspace(0.0, PERIODS * math.tau / rate, PICTURES + 1)
    turn = np.exp(1j * rate * time)
    shape = linear.V @ mode.shape
    largest = float(np.abs(shape).max(initial=0.0))

    def moved(amplitude: float) -> ShownMotion:
        q = linear.q0 + amplitude * np.real(turn[:, None] * shape)
        some = np.flatnonzero(np.abs(shape) > MOVING * largest)
        names = tuple(linear.coordinates[k] for k in some)
        run = Result(time, names, q[:, some], {name: unit_of(name) for name in names})
        return motion_of_coordinates(dae, geometry, q, run, shown.up)

    if not largest:
        raise UsageError(f"mode {index} of '{model.name}' moves no body")
    tried = moved(TRIED / largest)
    points = [
        tried.track(body, point) for body, item in geometry.bodies.items() for point in (*item.anchors, item.center)
        if point is not None
    ]  # fmt: skip
    reach = max(float(np.linalg.norm(track - track.mean(axis=0), axis=1).max()) for track in points)
    turning = max(float(np.abs(tried.R - tried.R[:1]).max()) * tried.size / 4, reach)
    return moved(TRIED / largest * REACH * tried.size / turning), mode
