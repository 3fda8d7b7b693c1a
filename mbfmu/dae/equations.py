"""The equations of a mechanism's bodies as a Dae, in any coordinates.

Constraints, potentials and loads are derived from expressions of frames by automatic differentiation; the inertia of
the bodies comes from the module of the coordinates, `absolute` or `joint`.
"""

from collections.abc import Iterator
from typing import Any

import casadi as ca

from mbfmu.dae.assembly import assembly, parameter
from mbfmu.dae.bodies import Bodies
from mbfmu.dae.dae import Dae, Signal
from mbfmu.dae.inertia import InertialTerms
from mbfmu.dae.loads import loads
from mbfmu.dae.outputs import outputs
from mbfmu.dae.skeleton import skeleton
from mbfmu.errors import ModelError
from mbfmu.model.frame import SX
from mbfmu.model.mechanism import FIXED, resolve
from mbfmu.model.parts import Body


def equations(bodies: Bodies, inertial: InertialTerms) -> Dae:
    """Derive the equations of a mechanism.

    Raises:
        ModelError: nothing can move.
    """
    q, v, p, t = bodies.q, bodies.v, bodies.p, bodies.t
    if not q.numel():
        raise ModelError(f"system '{bodies.mechanism.name}' has no body that can move: add one")
    gravity = bodies.gravity()
    weight = ca.SX(0)
    for number, inertia in bodies.moving():
        weight -= inertia.m * ca.dot(gravity, bodies.center(number).r_0)
    found = loads(bodies)
    Phi, constraint_names = _rows(bodies)
    velocity_rows = ca.vertcat(ca.SX(0, 1), *(item.velocity for item in bodies.equations.values()))

    load = found.applied - ca.gradient(found.potential, q)
    V = weight + found.potential
    Phidot = bodies.dot(Phi)
    G = ca.jacobian(velocity_rows, v)
    g = ca.substitute(velocity_rows, v, ca.SX.zeros(v.shape[0], 1))
    u, z = found.u, ca.SX(0, 1)
    force = ca.SX.sym("force", q.numel())

    shown = outputs(bodies, inertial.T, V, Phi, velocity_rows, found, inertial.transmitted)
    bound = [entry for entry in bodies.mechanism.entries.values() if not entry.free]
    bound_values = ca.vertcat(ca.SX(0, 1), *(resolve(bodies.mechanism, entry, bodies.symbols) for entry in bound))
    falling = ca.gradient(weight, q)

    def function(name: str, arguments: list[SX], result: SX) -> Any:
        return ca.Function(name, arguments, [ca.cse(ca.densify(result) if result.is_column() else result)])

    shape = ca.densify(ca.vertcat(Phi, velocity_rows, *_places(bodies)))
    shaping = ca.which_depends(shape, p, 1, False) if p.numel() else []
    return Dae(
        name=bodies.mechanism.name,
        description=bodies.mechanism.description,
        coordinates=bodies.coordinates.names,
        inputs=found.signals,
        parameters=tuple(
            parameter(entry, tunable=not fixed and not entry.name.startswith(FIXED))
            for entry, fixed in zip(bodies.entries, shaping, strict=False)
        ),
        bound=tuple(Signal(e.name, e.quantity.unit, e.quantity.description, "parameter") for e in bound),
        outputs=shown.signals,
        states=(),
        m=Phi.numel(),
        k=velocity_rows.numel(),
        M=function("M", [q, p], inertial.M),
        mass_solve=function("mass_solve", [q, p, force], inertial.solve(force)),
        force=function("force", [q, v, z, u, p, t], load - inertial.bias),
        flow=function("flow", [q, v, z, u, p, t], z),
        free_acceleration=function("free_acceleration", [q, v, z, u, p, t], inertial.free(load)),
        Phi=function("Phi", [q, p, t], Phi),
        Phi_q=function("Phi_q", [q, p, t], ca.jacobian(Phi, q)),
        Phi_t=function("Phi_t", [q, p, t], ca.jacobian(Phi, t)),
        gamma=function("gamma", [q, v, p, t], -bodies.dot(Phidot)),
        G=function("G", [q, p, t], G),
        g=function("g", [q, p, t], g),
        gamma_G=function("gamma_G", [q, v, p, t], -bodies.dot(velocity_rows)),
        momentum=function("momentum", [q, v, p], inertial.momentum),
        momentum_rate=function("momentum_rate", [q, v, z, u, p, t], inertial.T_q + load - falling),
        impulse_rate=function("impulse_rate", [q, v, z, u, p, t], inertial.regular_T_q + load - falling),
        kinetic=function("kinetic", [q, v, p], inertial.T),
        potential=function("potential", [q, p, t], V),
        angles=function("angles", [q, p, t], shown.angles),
        output=function("output", [q, v, z, shown.turned, shown.a, shown.lambda_, u, p, t], shown.y),
        bound_values=function("bound_values", [p], bound_values),
        n_angles=shown.angles.numel(),
        assembly=assembly(bodies, Phi, constraint_names),
        skeleton=skeleton(bodies),
        sampled=found.sampled,
        formulas=tuple(item.name for item in found.signals if item.name in bodies.formulas),
        power=function("power", [q, v, z, u, p, t], ca.dot(found.applied, v) + ca.jacobian(V, t)),
        constant_mass=not ca.depends_on(inertial.M, q),
        resisting=found.resisting,
    )


def _places(bodies: Bodies) -> Iterator[SX]:
    """Yield the position and the orientation of every frame of the moving bodies."""
    for origin, group in zip(bodies.coordinates.poses[1:], bodies.groups[1:], strict=True):
        for path in group.parts:
            component = bodies.mechanism.components[path]
            for frame in component.frames if isinstance(component, Body) else ():
                placed = origin @ group.poses[f"{path}.{frame}"]
                yield from (placed.r, placed.angle)


def _rows(bodies: Bodies) -> tuple[SX, tuple[str, ...]]:
    """Return all holonomic equations, and the joint, coupling or body that each row belongs to."""
    rows = [(path, item.Phi) for path, item in bodies.equations.items()]
    rows += [(path, Phi) for path, Phi in bodies.couplings.items()]
    rows += bodies.coordinates.intrinsic
    names = tuple(path for path, Phi in rows for _ in range(Phi.numel()))
    return ca.vertcat(ca.SX(0, 1), *(Phi for _, Phi in rows)), names
