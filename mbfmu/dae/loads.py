"""Loads: the inputs, the potential energy of springs, and the generalised force of inputs and dampers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import casadi as ca

from mbfmu.dae.bodies import Bodies, JointEquations, labels
from mbfmu.dae.signals import Signal
from mbfmu.dae.turns import within_half_a_turn
from mbfmu.errors import ModelError
from mbfmu.model.component import Component
from mbfmu.model.contacts import AxesContact, AxisContact
from mbfmu.model.flexible import FlexibleBody
from mbfmu.model.forces import AxesForce, AxisForce, Force
from mbfmu.model.frame import SX, Frame, expression
from mbfmu.model.joints import Joint
from mbfmu.model.joints.joint import JointCoordinate
from mbfmu.model.mechanism import joints_of
from mbfmu.model.parts import Part


@dataclass(frozen=True)
class Loads:
    """The forces on a mechanism besides inertia, weight and constraints.

    Args:
        signals: the inputs.
        u: their symbols, SX, shape (n_u,).
        potential: energy of springs, SX scalar, J.
        applied: generalised force of inputs and dampers, SX, shape (n,).
        efforts: for each joint and rope, the effort on each of its motions: of its drive, and of the springs and
            dampers on its axis.
        exerted: effort of each spring, damper or other force on the axis of a joint, by its full name.
        power: power that each force puts into the mechanism, beside that of its potential, W, by its full name.
        sampled: numbers of the sampled inputs.
        resisting: whether forces depend on the motion: springs, dampers, friction, stops and the like.
        rates: rate of each first-order state of a component, SX scalar, by its full name.
    """

    signals: tuple[Signal, ...]
    u: SX
    potential: SX
    applied: SX
    efforts: dict[str, tuple[SX, ...]]
    exerted: dict[str, SX]
    power: dict[str, SX]
    sampled: tuple[int, ...]
    resisting: bool
    rates: dict[str, SX]


def loads(bodies: Bodies) -> Loads:
    """Return the loads of a mechanism."""
    mechanism, all_of = bodies.mechanism, _Collection(bodies)
    for path, joint in mechanism.of(Joint).items():
        all_of.add_joint(path, joint)
    for path, component in mechanism.components.items():
        all_of.add_inputs(path, component)
    for path, force in mechanism.of(Force).items():
        all_of.add_force(path, force)
    for path, force in mechanism.of(AxisForce).items():
        axis = axis_of(bodies, path, force)
        all_of.add_on_axes(path, force, axis.motion[0].value, axis.rates[0], (1,))
    for path, force in mechanism.of(AxesForce).items():
        all_of.add_on_axes(path, force, *combination_of(bodies, path, force), bodies.values[path].ratios)
    for path, contact in mechanism.of(AxesContact).items():
        all_of.add_contact(path, contact)
    for path, part in mechanism.of(FlexibleBody).items():
        all_of.potential += part.strain_energy(bodies.values[path])
        rate = bodies.shapes[path].rate
        all_of.power.append((rate, part.damping(bodies.values[path], rate)))
    return all_of.loads()


class _Collection:
    """Loads while they are collected.

    Args:
        bodies: the bodies.

    Attributes:
        power: pairs of a rate and the effort along it.
        potential: energy of springs, SX scalar, J.
    """

    def __init__(self, bodies: Bodies) -> None:
        self.bodies = bodies
        self.power: list[tuple[SX, SX]] = []
        self.potential = ca.SX(0)
        self._signals: list[Signal] = []
        self._symbols: list[SX] = []
        self._sampled: list[int] = []
        self._exerted: dict[str, SX] = {}
        self._put_in: dict[str, SX] = {}
        self._efforts = {
            path: [ca.SX(expression(rate).numel(), 1) for rate in item.rates] for path, item in bodies.axes.items()
        }

    def add_joint(self, path: str, joint: Joint) -> None:
        """Add the efforts of a joint, its potential and its drive."""
        p, equations = self.bodies.values[path], self.bodies.equations[path]
        if type(joint).effort is not Joint.effort:
            rate = equations.rates[0]
            effort = joint.effort(p, equations.motion[0].value, rate)
            self.power.append((rate, effort))
            self._efforts[path][0] += effort
        if type(joint).potential is not Joint.potential:
            self.potential += joint.potential(p, *(item.value for item in equations.motion))
            for index, (elastic, damping) in enumerate(_inner_efforts(self.bodies, path, joint)):
                self.power.append((equations.rates[index], damping))
                self._efforts[path][index] += elastic + damping
        self.power += [(expression(rate), expression(e)) for rate, e in joint.efforts(p, equations.a, equations.b)]
        if joint.actuated:
            self._add_drive(path, equations)

    def _add_drive(self, path: str, equations: JointEquations) -> None:
        for index, (motion, rate) in enumerate(zip(equations.motion, equations.rates, strict=True)):
            names = labels(f"{path}.{motion.effort}", rate)
            effort = ca.vertcat(*(ca.SX.sym(name) for name in names))
            text = f"{motion.effort_kind} of the drive on {path}.{motion.position}"
            self._signals += [Signal(name, motion.effort_unit, text, "input") for name in names]
            self._symbols.append(effort)
            acting = self.bodies.acting(f"{path}.{motion.effort}", effort)
            self.power.append((rate, acting))
            self._efforts[path][index] += acting

    def add_inputs(self, path: str, component: Component) -> None:
        """Add the inputs of a component."""
        for item in component.inputs(self.bodies.planar):
            symbol = self.bodies.inputs[path][item.name]
            names = labels(f"{path}.{item.name}", symbol)
            if item.sampled and names[0] not in self.bodies.formulas:
                self._sampled += range(len(self._signals), len(self._signals) + len(names))
                symbol = ca.SX.sym("unsampled", len(names))
            kind = "internal" if item.internal else "input"
            self._signals += [Signal(name, item.unit, item.description, kind) for name in names]
            self._symbols.append(symbol)

    def add_force(self, path: str, force: Force) -> None:
        """Add a force between frames."""
        p, (a, b) = values_of(self.bodies, path, force), ends_of(self.bodies, path, force)
        self.potential += force.potential(p, a, b)
        pairs = [(expression(rate), expression(effort)) for rate, effort in force.efforts(p, a, b)]
        self._put_in[path] = sum((ca.dot(rate, effort) for rate, effort in pairs), ca.SX(0))
        self.power += pairs

    def add_on_axes(self, path: str, force: AxisForce | AxesForce, s: SX, rate: SX, ratios: Sequence[Any]) -> None:
        """Add a force along the motion s of axes, SX scalar, of which each takes its ratio of it."""
        p = self.bodies.values[path]
        effort = force.effort(p, s, rate)
        self.power.append((rate, effort))
        self._put_in[path] = rate * effort
        self.potential += force.potential(p, s)
        at = ca.SX.sym("s")
        slope = ca.substitute(ca.gradient(force.potential(p, at), at), at, s)
        self._exerted[path] = effort - slope
        for joint, ratio in zip(joints_of(path, force), ratios, strict=True):
            self._efforts[joint][0] += ratio * self._exerted[path]

    def add_contact(self, path: str, contact: AxesContact) -> None:
        """Add a contact between axes."""
        joints, equations = joints_of(path, contact), self.bodies.axes
        positions = (equations[joint].motion[0].value for joint in joints)
        for joint, effort in zip(joints, contact.efforts(self.bodies.values[path], *positions), strict=True):
            self.power.append((equations[joint].rates[0], effort))
            self._efforts[joint][0] += effort

    def loads(self) -> Loads:
        """Return the loads."""
        bodies = self.bodies
        applied = ca.SX(bodies.q.shape[0], 1)
        for rate, effort in self.power:
            applied += ca.jtimes(expression(rate), bodies.v, expression(effort), True)
        begun, u = bodies.mechanism.input_starts, ca.vertcat(ca.SX(0, 1), *self._symbols)
        return Loads(
            signals=tuple(replace(item, start=float(begun.get(item.name, 0.0))) for item in self._signals),
            u=u,
            potential=self.potential,
            applied=applied,
            efforts={path: tuple(items) for path, items in self._efforts.items()},
            exerted=self._exerted,
            power=self._put_in,
            sampled=tuple(self._sampled),
            resisting=not self.potential.is_zero()
            or any(_resists(bodies, expression(effort), u) for _, effort in self.power),
            rates=_rates(bodies),
        )


def _inner_efforts(bodies: Bodies, path: str, joint: Joint) -> Iterator[tuple[SX, SX]]:
    """Yield the efforts of a joint's own potential and of its own dissipation on each of its motions."""
    item, p = bodies.equations[path], bodies.values[path]
    slopes = (
        _slopes(lambda *values: joint.potential(p, *values), tuple(motion.value for motion in item.motion)),
        _slopes(lambda *values: joint.dissipation(p, *values), item.rates),
    )
    yield from ((-elastic, -damping) for elastic, damping in zip(*slopes, strict=True))


def _slopes(function: Callable[..., SX], at: Sequence[SX]) -> list[SX]:
    """Return the gradient of a function by each of its arguments."""
    symbols = [ca.SX.sym("x", expression(item).numel()) for item in at]
    value = ca.SX(function(*symbols))
    return [ca.substitute(ca.gradient(value, x), ca.vertcat(*symbols), ca.vertcat(*at)) for x in symbols]


def _rates(bodies: Bodies) -> dict[str, SX]:
    """Return the rate of each first-order state of a component, by its full name.

    Raises:
        ModelError: a component gives another number of rates than it has states, a potential depends on a state, or a
            component that is no part, joint or force has states.
    """
    result: dict[str, SX] = {}
    for path, component in bodies.mechanism.components.items():
        names = component.states()
        if not names:
            continue
        moving = _moving(bodies, path, component)
        p = values_of(bodies, path, component) if isinstance(component, Force) else bodies.values[path]
        values = component.rates(p, *moving)  # type: ignore[attr-defined]
        if len(values) != len(names):
            raise ModelError(
                f"{type(component).__name__} '{path}' has the states {', '.join(names)} and returns {len(values)} "
                "rate(s): return one for each, in the order of the fields"
            )
        if ca.depends_on(_stored(component, p, moving), ca.vertcat(*(getattr(p, name) for name in names))):
            raise ModelError(
                f"{type(component).__name__} '{path}': its potential depends on a state; state the force in "
                "`effort` or `efforts` instead, as energy can leave through the state"
            )
        result.update({f"{path}.{name}": ca.SX(rate) for name, rate in zip(names, values, strict=True)})
    return result


def _stored(component: Component, p: Any, moving: tuple[Any, ...]) -> SX:
    """Return the potential energy of a component that has one."""
    if isinstance(component, AxisForce | AxesForce):
        return ca.SX(component.potential(p, moving[0]))
    return ca.SX(component.potential(p, *moving)) if isinstance(component, Force) else ca.SX(0)


def _moving(bodies: Bodies, path: str, component: Component) -> tuple[Any, ...]:
    """Return what the rates of a component's states may depend on: its axis and the rate of that, or its frames."""
    if isinstance(component, AxisForce | Joint):
        equations = axis_of(bodies, path, component) if isinstance(component, AxisForce) else bodies.equations[path]
        return equations.motion[0].value, equations.rates[0]
    if isinstance(component, AxesForce):
        return combination_of(bodies, path, component)
    if isinstance(component, Force):
        return ends_of(bodies, path, component)
    if isinstance(component, Part):
        anchor = f"{path}.{component.frames[0]}"
        index = next(index for index, group in enumerate(bodies.groups) if anchor in group.poses)
        return (bodies.frame_at(index, anchor),)
    raise ModelError(
        f"{type(component).__name__} '{path}' has the states {', '.join(component.states())}: only parts, joints and "
        "forces can have states, so derive it from one of these"
    )


def _resists(bodies: Bodies, effort: SX, u: SX) -> bool:
    """Return whether an effort depends on the motion, other than in the direction of an input."""
    return bool(ca.depends_on(ca.substitute(effort, u, ca.SX.zeros(*u.shape)), ca.vertcat(bodies.q, bodies.v)))


def ends_of(bodies: Bodies, path: str, force: Force) -> tuple[Frame, Frame]:
    """Return frame_a and frame_b of a force; the world's frame replaces a frame that the force does not have."""
    world = f"{bodies.mechanism.world}.frame_b"
    a, b = (
        bodies.frame_of(f"{path}.{frame}") if frame in force.frames else bodies.frame_at(0, world)
        for frame in ("frame_a", "frame_b")
    )
    return a, b


def values_of(bodies: Bodies, path: str, force: Force) -> Any:
    """Return the quantities of a force, with its frames beside frame_a and frame_b by their names."""
    p = bodies.values[path]
    more = {name: bodies.frame_of(f"{path}.{name}") for name in force.frames if name not in {"frame_a", "frame_b"}}
    return SimpleNamespace(**vars(p), **more) if more else p


def axis_of(bodies: Bodies, path: str, force: AxisForce) -> JointEquations:
    """Return the equations of the joint on whose axis a force acts; an angle up to full turns as forces take it.

    Raises:
        ModelError: the joint has no such axis.
    """
    axis = _axis(bodies, path, force, joints_of(path, force)[0], force.axis_unit)
    return replace(axis, motion=(as_taken(axis.motion[0]), *axis.motion[1:]))


def as_taken(motion: JointCoordinate) -> JointCoordinate:
    """Return the motion of an axis as springs, stops and the like take it; others know an angle up to full turns."""
    return replace(motion, value=within_half_a_turn(motion.value)) if motion.wraps else motion


def half_turns(bodies: Bodies) -> dict[str, str]:
    """Return the joints whose angle is known only up to full turns, with a force or contact that takes it."""
    found: dict[str, str] = {}
    for path, component in bodies.mechanism.components.items():
        if not isinstance(component, AxisForce | AxisContact | AxesContact):
            continue
        joints, p = joints_of(path, component), bodies.values[path]
        s, v = ca.SX.sym("s", len(joints)), ca.SX.sym("v")
        if isinstance(component, AxisContact | AxesContact):
            taken = [gap.value for gap in component.gaps(p, *ca.vertsplit(s))]
        else:
            taken = [component.potential(p, s), component.effort(p, s, v), *component.rates(p, s, v)]
        used = ca.which_depends(ca.vertcat(ca.SX(0, 1), *taken), s, 1) if taken else ()
        for joint, takes in zip(joints, used, strict=False):
            motion = bodies.axes[joint].motion
            if takes and motion and motion[0].wraps:
                found[joint] = path
    return found


def combination_of(bodies: Bodies, path: str, force: AxesForce) -> tuple[SX, SX]:
    """Return the combination of axes along which a force acts, and its rate.

    Raises:
        ModelError: a joint has no such axis, or its angle is known only up to full turns.
    """
    axes = [_axis(bodies, path, force, joint, "") for joint in joints_of(path, force)]
    for joint, axis in zip(force.joints, axes, strict=True):
        if axis.motion[0].wraps:
            raise ModelError(
                f"{type(force).__name__} '{path}': in these coordinates the angle of '{joint}' is known only up to "
                "full turns; use joint coordinates (--coordinates joint), or put it on joints of the tree"
            )
    p = bodies.values[path]
    return (
        force.combined(p, [axis.motion[0].value for axis in axes]),
        force.combined(p, [axis.rates[0] for axis in axes]),
    )


def _axis(bodies: Bodies, path: str, force: AxisForce | AxesForce, joint: str, wanted: str) -> JointEquations:
    equations = bodies.axes[joint]
    motion = equations.motion[0] if equations.motion else None
    if motion is None or (wanted and motion.unit != wanted) or expression(motion.value).numel() != 1:
        raise ModelError(
            f"{type(force).__name__} '{path}' does not fit the joint '{joint.rpartition('.')[2]}': "
            f"it needs an axis measured in {wanted or 'any unit'}"
        )
    return equations
