"""System -> Dae in absolute coordinates: (x, y, phi) or (r, Q) of every rigid body, multipliers for every joint.

Constraints, potentials and loads are derived from expressions of frames by automatic differentiation, the inertia of
the bodies is in closed form:

    T = sum m v.v/2 + w.J w/2,    w = 2 G(Q) Qdot,    M = T_vv,    force = T_q - (M v)_q v - V_q + Q_applied
"""

from typing import Any

import casadi as ca

from mbfmu.dae.assembly import assembly, parameter
from mbfmu.dae.bodies import Bodies
from mbfmu.dae.dae import Dae, Signal
from mbfmu.dae.inertia import inertial_terms
from mbfmu.dae.loads import applied_force, potential
from mbfmu.dae.outputs import outputs
from mbfmu.errors import ModelError
from mbfmu.model.frame import SX
from mbfmu.model.mechanism import flatten, resolve
from mbfmu.model.system import System


def absolute(system: System) -> Dae:
    """Derive the equations of a system in absolute coordinates.

    Raises:
        ModelError: the system is not a mechanism; the message says what to mend.
    """
    bodies = Bodies(flatten(system))
    q, v, p, t = bodies.q, bodies.v, bodies.p, bodies.t
    if not q.numel():
        raise ModelError(f"system '{bodies.mechanism.name}' has no body that can move: add one")
    terms = inertial_terms(bodies)
    intrinsic = [
        (bodies.owner(group), ca.sumsqr(bodies.coordinates.poses[group].angle) - 1)
        for group, _ in bodies.moving()
        if not bodies.planar
    ]
    V = potential(bodies)
    inputs, u, applied, efforts = applied_force(bodies)
    Phi, constraint_names = _rows(bodies, intrinsic)
    velocity_rows = ca.vertcat(ca.SX(0, 1), *(item.velocity for item in bodies.equations.values()))

    load = applied - ca.gradient(V, q)
    Phidot = bodies.dot(Phi)
    G = ca.jacobian(velocity_rows, v)
    g = ca.substitute(velocity_rows, v, ca.SX.zeros(v.shape[0], 1))

    shown = outputs(bodies, terms.T, V, Phi, velocity_rows, efforts)
    bound = [entry for entry in bodies.mechanism.entries.values() if not entry.free]
    bound_values = ca.vertcat(ca.SX(0, 1), *(resolve(bodies.mechanism, entry, bodies.symbols) for entry in bound))

    def function(name: str, arguments: list[SX], result: SX) -> Any:
        return ca.Function(name, arguments, [ca.cse(result)])

    Phi_q = ca.jacobian(Phi, q)
    shape = ca.vertcat(ca.vec(terms.M), Phi, velocity_rows)
    return Dae(
        name=bodies.mechanism.name,
        description=bodies.mechanism.description,
        coordinates=bodies.coordinates.names,
        inputs=inputs,
        parameters=tuple(
            parameter(entry, tunable=not ca.depends_on(shape, bodies.symbols[entry.name])) for entry in bodies.entries
        ),
        bound=tuple(Signal(e.name, e.quantity.unit, e.quantity.description, "parameter") for e in bound),
        outputs=shown.signals,
        aliases=shown.aliases,
        m=Phi.numel(),
        k=velocity_rows.numel(),
        M=function("M", [q, p], terms.M),
        force=function("force", [q, v, u, p, t], load - terms.gyroscopic),
        Phi=function("Phi", [q, p, t], Phi),
        Phi_q=function("Phi_q", [q, p, t], Phi_q),
        Phi_t=function("Phi_t", [q, p, t], ca.jacobian(Phi, t)),
        gamma=function("gamma", [q, v, p, t], -bodies.dot(Phidot)),
        G=function("G", [q, p, t], G),
        g=function("g", [q, p, t], g),
        gamma_G=function("gamma_G", [q, v, p, t], -bodies.dot(velocity_rows)),
        momentum=function("momentum", [q, v, p], terms.momentum),
        momentum_rate=function("momentum_rate", [q, v, u, p, t], terms.T_q + load),
        impulse_rate=function("impulse_rate", [q, v, u, p, t], terms.regular_T_q + load),
        kinetic=function("kinetic", [q, v, p], terms.T),
        potential=function("potential", [q, p, t], V),
        angles=function("angles", [q, p, t], shown.angles),
        output=function("output", [q, v, shown.turned, shown.a, shown.lambda_, u, p, t], shown.y),
        bound_values=function("bound_values", [p], bound_values),
        n_angles=shown.angles.numel(),
        assembly=assembly(bodies, constraint_names),
        constant_mass=not ca.depends_on(terms.M, q),
    )


def _rows(bodies: Bodies, intrinsic: list[tuple[str, SX]]) -> tuple[SX, tuple[str, ...]]:
    rows = [(path, item.Phi) for path, item in bodies.equations.items()] + intrinsic
    names = tuple(path for path, Phi in rows for _ in range(Phi.numel()))
    return ca.vertcat(ca.SX(0, 1), *(Phi for _, Phi in rows)), names
