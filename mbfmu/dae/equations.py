"""The equations of a mechanism's bodies as a Dae, in any coordinates.

Constraints, potentials and loads are derived from expressions of frames by automatic differentiation; the inertia of
the bodies comes from the module of the coordinates, `absolute` or `joint`.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import casadi as ca

from mbfmu.dae.assembly import assembly, holonomic_rows, parameters
from mbfmu.dae.bodies import Bodies
from mbfmu.dae.calculated import calculated
from mbfmu.dae.dae import Dae, Pressing, Sampling
from mbfmu.dae.events.contacts import switches_of
from mbfmu.dae.inertia import InertialTerms
from mbfmu.dae.loads import loads
from mbfmu.dae.merged import Later, merged
from mbfmu.dae.naming import with_names
from mbfmu.dae.network import Connected, Source
from mbfmu.dae.outputs import Outputs, outputs
from mbfmu.dae.reactions import multipliers
from mbfmu.dae.roles import roles
from mbfmu.dae.signals import Signal
from mbfmu.dae.skeleton import skeleton
from mbfmu.errors import ModelError
from mbfmu.model.flexible import ElasticJoint
from mbfmu.model.frame import SX
from mbfmu.model.joints import Joint
from mbfmu.model.mechanism import resolve
from mbfmu.model.parts import MovingPart


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
    Phi, constraint_names = holonomic_rows(bodies)
    velocity_rows = ca.vertcat(ca.SX(0, 1), *(item.velocity for item in bodies.equations.values()))

    load = found.applied - ca.gradient(found.potential, q)
    falling = cache(lambda: ca.gradient(weight, q))
    V = weight + found.potential
    Phi_q, Phiddot = ca.jacobian(Phi, q), bodies.dot(bodies.dot(Phi))
    G = ca.jacobian(velocity_rows, v)
    g = ca.substitute(velocity_rows, v, ca.SX.zeros(v.shape[0], 1))
    force = ca.SX.sym("force", q.numel())

    shown = outputs(bodies, inertial.T, V, Phi, velocity_rows, found, inertial.transmitted)
    network = bodies.network.connected(found.signals, found.u, _sources(shown), found.rates)
    held = [found.signals[number].name for number in found.sampled]
    _refuse_motions(bodies, network.signals, found.signals)
    u, z = network.u, ca.vertcat(ca.SX(0, 1), *bodies.network.z.values())
    switches = switches_of(bodies, network.signals, u, shown, bodies.mechanism.names)
    late = dict(switches.names) if switches else {}
    bound = [entry for entry in bodies.mechanism.entries.values() if not entry.free]
    bound_values = ca.vertcat(ca.SX(0, 1), *(resolve(bodies.mechanism, entry, bodies.symbols) for entry in bound))

    def function(name: str, arguments: list[SX], result: SX) -> Any:
        whole = network.insert(result)
        return merged(name, arguments, [ca.densify(whole) if whole.is_column() else whole])

    def later(name: str, arguments: list[SX], result: Callable[[], SX]) -> Any:
        return Later(lambda: function(name, arguments, result()))

    shaping = ca.densify(ca.vertcat(Phi, velocity_rows, *_places(bodies), network.timing))
    dae = Dae(
        name=bodies.mechanism.name,
        description=bodies.mechanism.description,
        coordinates=bodies.coordinates.names,
        inputs=network.signals,
        parameters=parameters(bodies.entries, p, shaping),
        bound=calculated(bound, ca.vertsplit(bound_values), bodies.entries),
        outputs=(*shown.signals, *(signal for signal, _ in network.shown)),
        states=network.states,
        m=Phi.numel(),
        k=velocity_rows.numel(),
        inertia=lambda: function("M", [q, p], inertial.M()),
        mass_solve=later("mass_solve", [q, p, force], lambda: inertial.solve(force)),
        force=later("force", [q, v, z, u, p, t], lambda: load - inertial.bias),
        flow=function("flow", [q, v, z, u, p, t], network.flow),
        free_acceleration=function("free_acceleration", [q, v, z, u, p, t], inertial.free(load)),
        Phi=function("Phi", [q, p, t], Phi),
        Phi_q=function("Phi_q", [q, p, t], Phi_q),
        Phi_t=function("Phi_t", [q, p, t], ca.jacobian(Phi, t)),
        gamma=function("gamma", [q, v, p, t], -Phiddot),
        G=function("G", [q, p, t], G),
        g=function("g", [q, p, t], g),
        gamma_G=function("gamma_G", [q, v, p, t], -bodies.dot(velocity_rows)),
        momentum=later("momentum", [q, v, p], inertial.momentum),
        momentum_rate=later("momentum_rate", [q, v, z, u, p, t], lambda: inertial.T_q() + load - falling()),
        impulse_rate=later("impulse_rate", [q, v, z, u, p, t], lambda: inertial.regular_T_q() + load - falling()),
        kinetic=later("kinetic", [q, v, p], lambda: inertial.T),
        potential=function("potential", [q, p, t], V),
        angles=function("angles", [q, p, t], shown.angles),
        output=ca.Function(  # equal operations are merged where it is written, with those of the accelerations
            "output",
            [q, v, z, shown.turned, shown.a, shown.lambda_, u, p, t],
            [ca.densify(network.insert(ca.vertcat(shown.y, *(value for _, value in network.shown))))],
        ),
        bound_values=function("bound_values", [p], bound_values),
        n_angles=shown.angles.numel(),
        assembly=assembly(bodies, Phi, constraint_names),
        skeleton=skeleton(bodies),
        sampled=tuple(number for number, item in enumerate(network.signals) if item.name in held),
        formulas=tuple(item.name for item in network.signals if item.name in bodies.formulas and item.type == "Real"),
        power=later("power", [q, v, z, u, p, t], lambda: ca.dot(found.applied, v) + ca.jacobian(V, t)),
        resisting=found.resisting or bool(ca.depends_on(network.insert(found.u), ca.vertcat(q, v))),
        switches=switches,
        pressing=_pressing(bodies, shown, network.signals, u, function),
        ends=tuple(f"'{path}' {joint.ends}" for path, joint in bodies.mechanism.of(Joint).items() if joint.ends),
        flexible=tuple(_shapes(bodies)),
        roles=roles(bodies),
        impulses=lambda: function("impulse", [q, v, p], inertial.impulse()),
        **network_parts(network, q, v, z, p, t),
    )
    return with_names(
        dae, {name: full for name, full in bodies.mechanism.names.items() if name not in late}, network.driven
    )


def _pressing(
    bodies: Bodies, shown: Outputs, inputs: tuple[Signal, ...], u: SX, function: Callable[..., Any]
) -> Pressing | None:
    """Return the forces of joints that depend on the multipliers of their rows.

    Args:
        bodies: coordinates and frames of the mechanism.
        shown: the outputs, with the symbols of the multipliers.
        inputs: all inputs.
        u: their symbols.
        function: function (name, arguments, result) -> a Function.
    """
    place = {signal.name: number for number, signal in enumerate(inputs)}
    numbers: list[int] = []
    laws: list[SX] = []
    m = shown.lambda_.numel() - sum(item.velocity.numel() for item in bodies.equations.values())
    for path, own, own_G in multipliers(bodies, shown.lambda_, m):
        joint: Joint = bodies.mechanism.components[path]  # type: ignore[assignment]
        names = [item.name for item in joint.inputs(bodies.planar) if item.internal]
        if not names:
            continue
        if path in bodies.coordinates.carried:
            raise ModelError(
                f"{type(joint).__name__} '{path}' carries coordinates, so that it has no multipliers for `pressed`: "
                "leave out its `pose`"
            )
        ends = bodies.equations[path].a, bodies.equations[path].b
        values = ca.vertcat(joint.pressed(bodies.values[path], *ends, ca.vertcat(own, own_G)))
        if values.numel() != len(names):
            raise ModelError(
                f"{type(joint).__name__} '{path}' has {len(names)} internal input(s) and `pressed` returns "
                f"{values.numel()} value(s): return one for each, in their order"
            )
        numbers += [place[f"{path}.{name}"] for name in names]
        laws.append(values)
    if not numbers:
        return None
    z = ca.vertcat(ca.SX(0, 1), *bodies.network.z.values())
    arguments = [bodies.q, bodies.v, z, u, bodies.p, bodies.t, shown.lambda_]
    return Pressing(tuple(numbers), function("pressing", arguments, ca.vertcat(*laws)))


def network_parts(network: Connected, q: SX, v: SX, z: SX, p: SX, t: SX) -> dict[str, Any]:
    """Return the fields of a Dae that say how first-order states begin, and what sampled blocks remember."""
    parts: dict[str, Any] = {}
    if any(value is not None for value in network.first):
        own = [ca.SX.sym(item.name) for item in network.states if item.start is not None]
        given = iter(own)
        first = ca.vertcat(*(next(given) if value is None else value for value in network.first))
        s = ca.vertcat(ca.SX(0, 1), *own)
        parts["first_states"] = ca.Function("first_states", [q, v, s, p, t], [ca.densify(first)])
    if network.clocks:
        parts["sampling"] = Sampling(
            memory=network.memory,
            clocks=network.clocks,
            timing=ca.Function("timing", [p], [network.timing]),
            first=ca.Function("first", [p], [ca.densify(network.remembered)]),
            update=merged("update", [q, v, z, network.u, p, t, network.due], [ca.densify(network.updated)]),
        )
    return parts


def _sources(shown: Outputs) -> dict[str, Source]:
    """Return the mechanism's signals for wires: outputs that are known before accelerations and multipliers are."""
    late, turned = (
        ca.which_depends(ca.densify(shown.y), given, 1, True) if given.numel() else [False] * shown.y.numel()
        for given in (ca.vertcat(shown.a, shown.lambda_), shown.turned)
    )
    found = {}
    for signal, value, is_late, is_turned in zip(shown.signals, shown.y.elements(), late, turned, strict=True):
        lacking = ""
        if is_late:
            lacking = "it depends on accelerations or constraint forces; take a coordinate, a rate or a measured motion"
        elif is_turned:
            lacking = (
                "in these coordinates the angle is known only up to full turns; use joint coordinates "
                "(--coordinates joint)"
            )
        found[signal.name] = Source(signal.unit, value, lacking, signal.type)
    return found


def _refuse_motions(bodies: Bodies, left: tuple[Signal, ...], inputs: tuple[Signal, ...]) -> None:
    """Raise an error if a wire goes to an input that enters the equations of positions.

    Raises:
        ModelError: see above.
    """
    free = {item.name for item in left}
    for path, component in bodies.mechanism.components.items():
        for item in component.inputs(bodies.planar):
            for signal in inputs:
                own = signal.name.partition("[")[0] == f"{path}.{item.name}"
                if item.sampled and own and signal.name not in free:
                    raise ModelError(
                        f"a wire goes to '{signal.name}', which prescribes a motion: positions cannot follow a "
                        "signal that depends on them; drive the joint by an effort"
                    )


def _places(bodies: Bodies) -> Iterator[SX]:
    """Yield the position and the orientation of every frame of the moving bodies."""
    for number, group in enumerate(bodies.groups[1:], 1):
        for path in group.parts:
            component = bodies.mechanism.components[path]
            for frame in component.frames if isinstance(component, MovingPart) else ():
                placed = bodies.frame_at(number, f"{path}.{frame}").pose
                yield from (placed.r, placed.angle)


def _shapes(bodies: Bodies) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the name of each flexible body and line, and the numbers in q of the coordinates of its shape."""
    names = bodies.coordinates.names
    for shape in bodies.shapes.values():
        first = names.index(shape.names[0])
        yield shape.path, tuple(range(first, first + len(shape.names)))
    lines: dict[str, set[str]] = {}
    for path in bodies.mechanism.of(ElasticJoint):
        group, _ = bodies.anchors[f"{path}.frame_b"]
        if path in bodies.coordinates.carried:
            lines.setdefault(path.rpartition(".")[0], set()).add(path)
        elif group:
            lines.setdefault(path.rpartition(".")[0], set()).add(bodies.owner(group))
    for line, owners in lines.items():
        yield line, tuple(number for number, name in enumerate(names) if name.rpartition(".")[0] in owners)
