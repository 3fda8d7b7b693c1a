"""The equations of a mechanism's bodies as a Dae, in any coordinates.

Constraints, potentials and loads are derived from expressions of frames by automatic differentiation; the inertia of
the bodies comes from the module of the coordinates, `absolute` or `joint`.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import casadi as ca
from casadi import Function

from mbfmu.dae.assembly import assembly, holonomic_rows, parameters
from mbfmu.dae.bodies import Bodies
from mbfmu.dae.calculated import calculated
from mbfmu.dae.dae import Dae
from mbfmu.dae.effort_limits import limited
from mbfmu.dae.events.contacts import switches_of
from mbfmu.dae.inertia import InertialTerms
from mbfmu.dae.linear_algebra.merged import merged
from mbfmu.dae.loads import Loads, half_turns, loads
from mbfmu.dae.naming import with_names
from mbfmu.dae.network import Connected, SignalSource
from mbfmu.dae.outputs import Outputs, outputs
from mbfmu.dae.parts.about import About
from mbfmu.dae.parts.constraints import Constraints
from mbfmu.dae.parts.equations import Equations
from mbfmu.dae.parts.pressing import Pressing
from mbfmu.dae.parts.sampling import Sampling
from mbfmu.dae.parts.writer import Writer, dense
from mbfmu.dae.reactions import multipliers
from mbfmu.dae.signals import Signal
from mbfmu.dae.skeleton import skeleton
from mbfmu.dae.tree.roles import roles
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

    # Potential V, forces of force elements, and constraints Phi(q, p, t) = 0 and G v + g = 0
    acting = limited(bodies, loads(bodies))
    weight = _weight(bodies)
    V = weight + acting.potential
    Phi, constraint_names = holonomic_rows(bodies)
    velocity_rows = ca.vertcat(ca.SX(0, 1), *(item.velocity for item in bodies.equations.values()))

    # Outputs y, and what wires and blocks make of them
    shown = outputs(bodies, inertial.T, V, Phi, velocity_rows, acting, inertial.transmitted)
    network = bodies.network.connected(acting.signals, acting.u, _sources(shown), acting.rates)
    _refuse_motions(bodies, network.signals, acting.signals)
    u, z = network.u, ca.vertcat(ca.SX(0, 1), *bodies.network.z.values())
    switches = switches_of(bodies, network.signals, u, shown, bodies.mechanism.names)

    # Functions of (q, v, z, u, p, t), after wires are inserted
    write = Writer(q, v, z, u, p, t, lambda result: dense(network.insert(result)))
    # Parameters: those calculated from others, and those that shape the constraints
    bound = [entry for entry in bodies.mechanism.entries.values() if not entry.free]
    bound_values = ca.vertcat(ca.SX(0, 1), *(resolve(bodies.mechanism, entry, bodies.symbols) for entry in bound))
    shaping = ca.densify(ca.vertcat(Phi, velocity_rows, *_places(bodies), network.timing))
    held = [acting.signals[index].name for index in acting.sampled]
    # Equations M vdot + C^T lambda = f with these constraints, and how they start
    dae = Dae(
        name=bodies.mechanism.name,
        description=bodies.mechanism.description,
        coordinates=bodies.coordinates.names,
        inputs=network.signals,
        parameters=parameters(bodies.entries, p, shaping),
        bound=calculated(bound, ca.vertsplit(bound_values), bodies.entries),
        outputs=(*shown.signals, *(signal for signal, _ in network.shown)),
        states=network.states,
        equations=_motion(bodies, inertial, acting, weight, network, write),
        constraints=_constraints(bodies, Phi, velocity_rows, write),
        energies=write.energies(
            kinetic=lambda: inertial.T,
            potential=V,
            power=lambda: ca.dot(acting.applied, v) + ca.jacobian(V, t),
        ),
        start=replace(assembly(bodies, Phi, constraint_names), first_states=first_states_of(network, q, v, p, t)),
        output=ca.Function(  # equal operations are merged where it is written, with those of the accelerations
            "output",
            [q, v, z, shown.turned, shown.a, shown.lambda_, u, p, t],
            [ca.densify(network.insert(ca.vertcat(shown.y, *(value for _, value in network.shown))))],
        ),
        angles=write.function("angles", write.pose, shown.angles),
        bound_values=write.function("bound_values", [p], bound_values),
        sampled=tuple(index for index, item in enumerate(network.signals) if item.name in held),
        formulas=tuple(item.name for item in network.signals if item.name in bodies.formulas and item.type == "Real"),
        sampling=sampling_of(network, q, v, z, p, t),
        switches=switches,
        pressing=_pressing(bodies, shown, network.signals, write),
        skeleton=skeleton(bodies),
        about=_about(bodies),
    )
    late = dict(switches.names) if switches else {}
    return with_names(
        dae, {name: full for name, full in bodies.mechanism.names.items() if name not in late}, network.driven
    )


def _about(bodies: Bodies) -> About:
    """Return what reports tell of the bodies and joints."""
    return About(
        flexible=tuple(_shapes(bodies)),
        ends=(
            *(f"'{path}' {joint.ends}" for path, joint in bodies.mechanism.of(Joint).items() if joint.ends),
            *(
                f"'{joint}' is half a turn away, up to which these coordinates know its angle for '{force}': use joint "
                "coordinates, in which it carries a coordinate (--coordinates joint)"
                for joint, force in half_turns(bodies).items()
            ),
        ),
        roles=roles(bodies),
    )


def _weight(bodies: Bodies) -> SX:
    """Return the potential energy of weight, J: -m g . r_C of all bodies."""
    gravity, weight = bodies.gravity(), ca.SX(0)
    for index, inertia in bodies.moving():
        weight -= inertia.m * ca.dot(gravity, bodies.center(index).r_0)
    return weight


def _motion(
    bodies: Bodies, inertial: InertialTerms, acting: Loads, weight: SX, network: Connected, write: Writer
) -> Equations:
    """Return M a = load - bias, with d/dt (M v) = T_q + load - weight_q; M and bias have the weight.

    Args:
        bodies: coordinates and frames of the mechanism.
        inertial: M and what belongs to it.
        acting: the force elements.
        weight: potential energy of weight, J.
        network: blocks and wires.
        write: makes the Functions.
    """
    q, p = bodies.q, bodies.p
    load = acting.applied - ca.gradient(acting.potential, q)
    falling = cache(lambda: ca.gradient(weight, q))
    f = ca.SX.sym("force", q.numel())
    result = write.equations(
        f,
        M=inertial.M,
        mass_solve=lambda: inertial.solve(f),
        free_acceleration=lambda: inertial.free(load),
        force=lambda: load - inertial.bias,
        flow=network.flow,
        momentum=inertial.momentum,
        momentum_rate=lambda: inertial.T_q() + load - falling(),
        impulse_rate=lambda: inertial.regular_T_q() + load - falling(),
    )
    return replace(
        result,
        impulses=lambda: write.function("impulse", [q, bodies.v, p], inertial.impulse()),
        resisting=acting.resisting or ca.depends_on(network.insert(acting.u), ca.vertcat(q, bodies.v)),
    )


def _constraints(bodies: Bodies, Phi: SX, velocity_rows: SX, write: Writer) -> Constraints:
    """Return the constraints of joints and couplings; gamma is -d2/dt2 Phi without accelerations.

    Args:
        bodies: coordinates and frames of the mechanism.
        Phi: the holonomic rows, shape (m,).
        velocity_rows: G v + g, shape (k,).
        write: makes the Functions.
    """
    q, v, t = bodies.q, bodies.v, bodies.t
    return write.constraints(
        Phi=Phi,
        Phi_q=ca.jacobian(Phi, q),
        Phi_t=ca.jacobian(Phi, t),
        gamma=-bodies.dot(bodies.dot(Phi)),
        G=ca.jacobian(velocity_rows, v),
        g=ca.substitute(velocity_rows, v, ca.SX.zeros(v.shape[0], 1)),
        gamma_G=-bodies.dot(velocity_rows),
    )


def _pressing(bodies: Bodies, shown: Outputs, inputs: tuple[Signal, ...], write: Writer) -> Pressing | None:
    """Return the forces of joints that depend on the multipliers of their rows.

    Args:
        bodies: coordinates and frames of the mechanism.
        shown: the outputs, with the symbols of the multipliers.
        inputs: all inputs.
        write: makes the Functions.
    """
    index_of = {signal.name: index for index, signal in enumerate(inputs)}
    numbers: list[int] = []
    laws: list[SX] = []
    m = shown.lambda_.numel() - sum(item.velocity.numel() for item in bodies.equations.values())
    for path, own_Phi, own_G in multipliers(bodies, shown.lambda_, m):
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
        values = ca.vertcat(joint.pressed(bodies.values[path], *ends, ca.vertcat(own_Phi, own_G)))
        if values.numel() != len(names):
            raise ModelError(
                f"{type(joint).__name__} '{path}' has {len(names)} internal input(s) and `pressed` returns "
                f"{values.numel()} value(s): return one for each, in their order"
            )
        numbers += [index_of[f"{path}.{name}"] for name in names]
        laws.append(values)
    if not numbers:
        return None
    return Pressing(tuple(numbers), write.function("pressing", [*write.state, shown.lambda_], ca.vertcat(*laws)))


def first_states_of(network: Connected, q: SX, v: SX, p: SX, t: SX) -> Function | None:
    """Return how first-order states begin, see `Start`; None: all have start values.

    Args:
        network: blocks and wires.
        q: symbols of the coordinates, SX.
        v: symbols of the rates, SX.
        p: symbols of the parameters, SX.
        t: symbol of the time, SX, s.
    """
    if all(value is None for value in network.first):
        return None
    symbols = [ca.SX.sym(item.name) for item in network.states if item.start is not None]
    remaining = iter(symbols)
    first = ca.vertcat(*(next(remaining) if value is None else value for value in network.first))
    s = ca.vertcat(ca.SX(0, 1), *symbols)
    return ca.Function("first_states", [q, v, s, p, t], [ca.densify(first)])


def sampling_of(network: Connected, q: SX, v: SX, z: SX, p: SX, t: SX) -> Sampling | None:
    """Return what sampled blocks remember; None: there are none.

    Args:
        network: blocks and wires.
        q: symbols of the coordinates, SX.
        v: symbols of the rates, SX.
        z: symbols of the first-order states, SX.
        p: symbols of the parameters, SX.
        t: symbol of the time, SX, s.
    """
    if not network.clocks:
        return None
    return Sampling(
        memory=network.memory,
        clocks=network.clocks,
        timing=ca.Function("timing", [p], [network.timing]),
        first=ca.Function("first", [p], [ca.densify(network.remembered)]),
        update=merged("update", [q, v, z, network.u, p, t, network.due], [ca.densify(network.updated)]),
    )


def _sources(shown: Outputs) -> dict[str, SignalSource]:
    """Return the mechanism's signals for wires: outputs that are known before accelerations and multipliers are."""
    late, turned = (
        ca.which_depends(ca.densify(shown.y), held, 1, True) if held.numel() else [False] * shown.y.numel()
        for held in (ca.vertcat(shown.a, shown.lambda_), shown.turned)
    )
    result = {}
    for signal, value, is_late, is_turned in zip(shown.signals, shown.y.elements(), late, turned, strict=True):
        lacking = ""
        if is_late:
            lacking = (
                "it depends on accelerations or constraint forces; take a coordinate, a velocity or a measured motion"
            )
        elif is_turned:
            lacking = (
                "in these coordinates the angle is known only up to full turns; use joint coordinates "
                "(--coordinates joint)"
            )
        result[signal.name] = SignalSource(signal.unit, value, lacking, signal.type)
    return result


def _refuse_motions(bodies: Bodies, left: tuple[Signal, ...], inputs: tuple[Signal, ...]) -> None:
    """Raise an error if a wire goes to an input that enters the equations of positions.

    Raises:
        ModelError: see above.
    """
    free = {item.name for item in left}
    motions = {
        f"{path}.{item.name}"
        for path, component in bodies.mechanism.components.items()
        for item in component.inputs(bodies.planar)
        if item.sampled
    }
    for signal in inputs:
        if signal.name.partition("[")[0] in motions and signal.name not in free:
            raise ModelError(
                f"a wire goes to '{signal.name}', which prescribes a motion: positions cannot follow a signal that "
                "depends on them; drive the joint by a force or torque"
            )


def _places(bodies: Bodies) -> Iterator[SX]:
    """Yield the position and the orientation of every frame of the moving bodies."""
    for index, group in enumerate(bodies.groups[1:], 1):
        for path in group.parts:
            component = bodies.mechanism.components[path]
            for frame in component.frames if isinstance(component, MovingPart) else ():
                placed = bodies.frame_at(index, f"{path}.{frame}").pose
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
        yield line, tuple(index for index, name in enumerate(names) if name.rpartition(".")[0] in owners)
