"""Equations without coordinates: z' = flow(z, u, p, t), y = shown(z, u, p, t)."""

from typing import Any

import casadi as ca

from mbfmu.dae.dae import SX, Assembly, Dae
from mbfmu.dae.merged import merged


def without_motion(z: SX, u: SX, p: SX, t: SX, flow: SX, shown: SX, **fields: Any) -> Dae:
    """Return a Dae with n = m = k = 0.

    Args:
        z: SX symbols of the first-order states, shape (n_z,).
        u: SX symbols of the inputs, shape (n_u,).
        p: SX symbols of the parameters, shape (n_p,).
        t: SX symbol of the time, s.
        flow: SX, shape (n_z,), the rates of z.
        shown: SX, shape (n_y,), the outputs.
        fields: the other fields of a `Dae`: names, signals, states and what is not empty.
    """
    none = ca.SX(0, 1)
    whole, moving, constraint = [none, none, z, u, p, t], [none, none, p, t], [none, p, t]

    def function(name: str, arguments: list[SX], result: SX) -> Any:
        return merged(name, arguments, [ca.densify(result)])

    return Dae(
        coordinates=(),
        m=0,
        k=0,
        inertia=lambda: function("M", [none, p], ca.SX(0, 0)),
        mass_solve=function("mass_solve", [none, p, none], none),
        free_acceleration=function("free_acceleration", whole, none),
        force=function("force", whole, none),
        flow=function("flow", whole, flow),
        Phi=function("Phi", constraint, none),
        Phi_q=function("Phi_q", constraint, ca.SX(0, 0)),
        Phi_t=function("Phi_t", constraint, none),
        gamma=function("gamma", moving, none),
        G=function("G", constraint, ca.SX(0, 0)),
        g=function("g", constraint, none),
        gamma_G=function("gamma_G", moving, none),
        momentum=function("momentum", [none, none, p], none),
        momentum_rate=function("momentum_rate", whole, none),
        impulse_rate=function("impulse_rate", whole, none),
        kinetic=function("kinetic", [none, none, p], ca.SX(0)),
        potential=function("potential", constraint, ca.SX(0)),
        angles=function("angles", constraint, none),
        output=function("output", [none, none, z, none, none, none, u, p, t], shown),
        n_angles=0,
        assembly=Assembly(
            starts=(),
            closing=function("closing", constraint, none),
            positions=function("positions", [none, none, p, t], none),
            rates=function("rates", [none, none, none, p, t], none),
            sizes=function("sizes", constraint, none),
            leanings=function("leanings", [none, none, p, t], none),
            guess=function("guess", constraint, none),
            mass_metric=False,
            counted=function("counted", [none, none, p, t], none),
            position_names=(),
            rate_names=(),
            loops=(),
            constraint_names=(),
            norms=0,
            exact=True,
        ),
        **fields,
    )
