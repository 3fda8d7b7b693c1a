"""Inverse dynamics: the efforts and reactions of a given motion.

The motion gives the coordinates, their rates and accelerations (see `given_motion`). The multipliers lambda and the
efforts u follow from

    M a + C^T lambda = force(q, v, z, 0, p, t) + force_u u,    C = [Phi_q; G].

With all coordinates of a tree given, this is the recursive Newton-Euler algorithm plus M a.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.analysis.equilibria.newton import RANK
from mbfmu.analysis.equilibria.problem import whole
from mbfmu.analysis.motion.given import (
    Kinematics,
    Motion,
    Rest,
    between,
    closed_pose,
    counted_on,
    first_pose,
    motion_of,
    moving_of,
    pose_of,
)
from mbfmu.base.arguments import checked
from mbfmu.base.result import Result, matching, roles
from mbfmu.dae import Dae, derive, refuse_switched
from mbfmu.dae.inverse import EFFORT_UNITS
from mbfmu.dae.start import column
from mbfmu.errors import MOST_SAID, UnknownNameError, UsageError, first_of, nearest
from mbfmu.model import Model
from mbfmu.model.library import model_of

Array = npt.NDArray[np.float64]
SX = ca.SX

BALANCED = 1e-6
"""Largest force that no drive and no constraint balances, relative to the largest force."""


@checked
def inverse(
    model: Model | str | os.PathLike[str],
    motion: Mapping[str, str | float] | str | os.PathLike[str],
    stop: float | None = None,
    *,
    output_interval: float | None = None,
    efforts: Sequence[str] = (),
    values: Mapping[str, Any] | None = None,
    coordinates: str | None = None,
    show: Sequence[str] = (),
) -> Result:
    """Return the efforts of the drives and all outputs, such as reactions, of a given motion.

    Args:
        model: the mechanism, a name in models/, or the path of a model file.
        motion: coordinates of joints as expressions of ``time`` by name, which are differentiated exactly; or the path
            of a table (.csv, .parquet, .mat, .npz) with a column ``time`` and columns of joints' coordinates, and of
            rates and accelerations if they are known. Those that are missing are derivatives of the interpolating
            spline of degree 5 through the points, which smooths nothing. Coordinates that are not given follow from
            the constraints.
        stop: end of a motion by expressions, s.
        output_interval: time between outputs of a motion by expressions, s. Default: about 500 points.
        efforts: names of the inputs that make the motion; () for all forces and torques. The others keep their start
            values.
        values: start values, inputs and parameters that differ from the model's, by name. Start values choose how
            loops close.
        coordinates: ``absolute``, ``joint``, or mixed as ``absolute:load``; None: joint coordinates if they are fewer.
        show: names that tables and pictures of the result show, or patterns such as ``boom.*``.

    Raises:
        ModelError: the model is invalid.
        UnknownNameError: there is no such coordinate, input, parameter or start value.
        UsageError: the motion contradicts the constraints, does not determine the coordinates, or cannot be made by
            these efforts, or does not determine them; or the model has no coordinates.
        MbfmuError: the table cannot be read.
    """
    system = model_of(model, values)
    dae = derive(system, coordinates)
    refuse_switched(dae, "inverse dynamics")
    requested = motion_of(dae, motion, stop, output_interval, "inverse dynamics")
    return efforts_of(dae, requested, tuple(efforts), tuple(show))


def efforts_of(dae: Dae, motion: Motion, efforts: tuple[str, ...] = (), show: tuple[str, ...] = ()) -> Result:
    """Return efforts and outputs of a motion; arguments and errors as for `inverse`."""
    drives = _Drives(dae, efforts)
    kinematics = Kinematics(dae, motion)
    rest = Rest(drives.z, drives.u, drives.p)
    wanted = np.column_stack([*motion.places.values()])
    pose, turned = first_pose(kinematics, rest, float(motion.times[0]), wanted[0])
    q, v = pose.q, np.zeros(dae.n)
    rows = []
    # from time to time along the motion, by small displacements so that the loops stay as they are
    for index, time in enumerate(motion.times.tolist()):
        for part in between(dae, motion, float(motion.times[index - 1]), time, v) if index else ():
            assert motion.course is not None
            pose = closed_pose(kinematics, q, rest, part, motion.course(np.array([part]))[0])
            if not pose.closed:  # a table's coordinates agree at its own times only
                break
            q = pose.q
            turned = counted_on(dae, rest, turned, q, part)
        # there q, v and a by the motion and the constraints; then efforts and reactions by the equations of motion
        q = pose_of(kinematics, q, rest, time, wanted[index])
        moving = moving_of(kinematics, motion, index, q, rest)
        v, a = moving.v, moving.a
        lambda_, u = drives.balanced(moving.C, q, v, a, time)
        turned = counted_on(dae, rest, turned, q, time)
        y = dae.output(q, v, drives.z, turned, a, lambda_, u, dae.followed(q, drives.p, time), time)
        rows.append([*u, *column(y)])
    signals = [*dae.inputs, *dae.outputs]
    names = tuple(item.name for item in signals)
    return Result(
        motion.times, names, np.array(rows), {item.name: item.unit for item in signals},
        roles=roles((item.name, item.kind, item.unit, item.derivative_of) for item in signals),
        chosen=matching(show, names), notices=motion.notices,
    )  # fmt: skip


class _Drives:
    """The inputs that make the motion, and the values of all else.

    Args:
        dae: the equations.
        efforts: names of the inputs; () for all forces and torques.

    Raises:
        UnknownNameError: there is no such input.
        UsageError: forces depend on first-order states, or on the multipliers of constraints.
    """

    def __init__(self, dae: Dae, efforts: tuple[str, ...]) -> None:
        if dae.about.pressed:
            raise UsageError(
                f"'{dae.name}' has forces that depend on those of constraints "
                f"({first_of(list(dae.about.pressed[:1]))} and others), such as creep "
                "forces of wheels: those of a given motion are not found; leave its track out"
            )
        self.dae = dae
        inputs = [item.name for item in dae.inputs]
        for name in efforts:
            if name not in inputs:
                raise UnknownNameError(f"'{dae.name}' has no input '{name}'; {nearest(name, inputs)}")
        self.driven = [
            k for k, item in enumerate(dae.inputs) if (item.name in efforts if efforts else item.unit in EFFORT_UNITS)
        ]
        self.u = dae.u_default()
        self.u[self.driven] = 0.0
        self.p = whole(dae, self.u, dae.p_default())
        self.z = np.array([item.start or 0.0 for item in dae.states])
        q, v, z, u, p, t = symbols = dae.symbols()
        force = dae.equations.force(q, v, z, u, p, t)
        B = ca.jacobian(force, u)[:, self.driven]
        if dae.n_z and ca.depends_on(force, z):
            states = first_of([item.name for item in dae.states])
            raise UsageError(
                f"'{dae.name}' has forces that depend on separate states ({states}), which no motion gives"
            )
        self.limited = ca.depends_on(B, u)
        """Whether inputs act linearly in a part of their range at most, as those with limits do."""
        self.slope = ca.Function("slope", list(symbols), [ca.densify(B)])

    def balanced(self, C: Array, q: Array, v: Array, a: Array, time: float) -> tuple[Array, Array]:
        """Return multipliers and inputs that balance the forces of a motion.

        Raises:
            UsageError: there are none, or the motion does not determine them.
        """
        dae, m = self.dae, len(C)
        # [C^T, -B] [lambda; u] = f - M a, by least squares with columns of length 1
        known = q, v, self.z, self.u, self.p, time
        B = np.array(self.slope(*known)).reshape(dae.n, -1)
        force, inertia = column(dae.equations.force(*known)), np.array(dae.equations.M(q, self.p)) @ a
        columns, right = np.hstack([C.T, -B]), force - inertia
        length = np.linalg.norm(columns, axis=0)
        length[length == 0] = 1.0
        columns = columns / length
        solution, _, rank, _ = np.linalg.lstsq(columns, right, rcond=RANK)
        # what is left over is balanced by no drive
        gap = np.abs(columns @ solution - right)
        size = max(1.0, *np.abs(force), *np.abs(inertia))
        if not np.max(gap, initial=0.0) <= BALANCED * size:
            worst = [dae.coordinates[k] for k in np.argsort(-gap)[:MOST_SAID] if gap[k] > BALANCED * size]
            raise UsageError(
                f"{dae.name}: nothing drives {', '.join(worst)} as the motion asks for at t = {time:g} s (by "
                f"{np.max(gap):.3g}): make the joint actuated, name the inputs that drive it as `efforts`, or "
                "leave its "
                "motion to the forces"
            )
        # a null space in u leaves efforts open
        if rank < columns.shape[1]:
            loose = np.max(np.abs(np.linalg.svd(columns)[2][rank:, m:]), axis=0)
            free = [dae.inputs[k].name for k, share in zip(self.driven, loose, strict=True) if share > RANK]
            if free:
                raise UsageError(
                    f"{dae.name}: the motion does not determine {first_of(free)} at t = {time:g} s: there are more "
                    "drives than degrees of freedom (name some as `efforts`), or in this position they do not "
                    "act on them"
                )
        # inputs with limits: the balance once more with the force at u itself
        solution, u = solution / length, self.u.copy()
        u[self.driven] = solution[m:]
        if self.limited:
            left = column(dae.equations.force(q, v, self.z, u, self.p, time)) - inertia - C.T @ solution[:m]
            if not np.max(np.abs(left), initial=0.0) <= BALANCED * size:
                efforts = first_of([f"{dae.inputs[k].name} = {u[k]:.6g}" for k in self.driven])
                raise UsageError(
                    f"{dae.name}: at t = {time:g} s the motion requires {efforts}, where these do not act as they do "
                    "at 0: they are beyond their limits, or do not act linearly"
                )
        return solution[:m], u
