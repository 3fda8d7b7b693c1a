"""Equations without coordinates: z' = flow(z, u, p, t), y = shown(z, u, p, t)."""

from typing import Any

import casadi as ca
from casadi import SX, Function

from mbfmu.dae.dae import Dae
from mbfmu.dae.parts.start import Start
from mbfmu.dae.parts.writer import Writer


def without_motion(
    z: SX, u: SX, p: SX, t: SX, flow: SX, shown: SX, first_states: Function | None = None, **fields: Any
) -> Dae:
    """Return a Dae with n = m = k = 0.

    Args:
        z: SX symbols of the first-order states, shape (n_z,).
        u: SX symbols of the inputs, shape (n_u,).
        p: SX symbols of the parameters, shape (n_p,).
        t: SX symbol of the time, s.
        flow: SX, shape (n_z,), the rates of z.
        shown: SX, shape (n_y,), the outputs.
        first_states: see `Start`.
        fields: the other fields of a `Dae`: names, signals, states and what is not empty.
    """
    none, square = ca.SX(0, 1), ca.SX(0, 0)
    write = Writer(none, none, z, u, p, t, ca.densify)
    return Dae(
        coordinates=(),
        equations=write.equations(
            none,
            M=lambda: square,
            mass_solve=none,
            free_acceleration=none,
            force=none,
            flow=flow,
            momentum=none,
            momentum_rate=none,
            impulse_rate=none,
        ),
        constraints=write.constraints(none, square, none, none, square, none, none),
        energies=write.energies(ca.SX(0), ca.SX(0), None),
        start=_start(write, first_states),
        output=write.function("output", [none, none, z, none, none, none, u, p, t], shown),
        angles=write.function("angles", write.pose, none),
        **fields,
    )


def _start(write: Writer, first_states: Function | None) -> Start:
    """Return the start of equations without coordinates, which asks for nothing."""
    none, p, t = write.q, write.p, write.t

    def function(name: str, before: int) -> Function:
        return write.function(name, [*[none] * before, p, t], none)

    return Start(
        starts=(),
        closing=function("closing", 1),
        positions=function("positions", 2),
        rates=function("rates", 3),
        sizes=function("sizes", 1),
        leanings=function("leanings", 2),
        guess=function("guess", 1),
        mass_metric=False,
        counted=function("counted", 2),
        position_names=(),
        rate_names=(),
        loops=(),
        constraint_names=(),
        norms=0,
        exact=True,
        first_states=first_states,
    )
