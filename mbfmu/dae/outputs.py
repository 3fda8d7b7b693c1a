"""Outputs: the quantities of the motion that a user sees, and the monitors of energy, momentum and constraints."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.dae.bodies import Bodies, labels
from mbfmu.dae.flexible import angular_momentum
from mbfmu.dae.loads import Loads, ends_of, values_of
from mbfmu.dae.reactions import cut_wrenches, force_work, multipliers, outer_wrenches, wrench
from mbfmu.dae.signals import Signal
from mbfmu.model.component import Component
from mbfmu.model.couplings import AxisConstraint
from mbfmu.model.flexible import FlexibleBody
from mbfmu.model.forces import AxesForce, AxisForce, Force
from mbfmu.model.frame import SX, Frame, Pose, expression
from mbfmu.model.joints import Joint
from mbfmu.model.mechanism import joints_of
from mbfmu.model.parts import BodyShape, MovingPart, World
from mbfmu.model.relative import moment_of
from mbfmu.model.sensors import CutForce, Measured, Sensor


@dataclass(frozen=True)
class Outputs:
    """The outputs with the symbols they are written in.

    Args:
        signals: names, units, descriptions.
        y: SX, shape (n_y,).
        a: SX symbols, shape (n,), accelerations.
        lambda_: SX symbols, shape (m + k,), multipliers.
        turned: SX symbols of the angles counted over full turns.
        angles: SX, the same angles as the coordinates give them.
    """

    signals: tuple[Signal, ...]
    y: SX
    a: SX
    lambda_: SX
    turned: SX
    angles: SX


Transmitted = Callable[[SX, Sequence[tuple[int, SX, SX, SX]]], Mapping[str, tuple[SX, SX]]]
"""Function (a, outer wrenches) -> for each joint that carries coordinates, force and torque on the far body at its
frame."""


def outputs(
    bodies: Bodies, T: SX, V: SX, Phi: SX, velocity_rows: SX, acting: Loads, transmitted: Transmitted | None
) -> Outputs:
    """Return the outputs of a mechanism.

    Args:
        bodies: coordinates and frames of the mechanism.
        T: kinetic energy.
        V: potential energy.
        Phi: holonomic residual.
        velocity_rows: nonholonomic residual.
        acting: the loads.
        transmitted: what the joints of the tree transmit; None in absolute coordinates.
    """
    a = ca.SX.sym("a", bodies.q.shape[0])
    lambda_ = ca.SX.sym("lambda_", Phi.numel() + velocity_rows.numel())
    table = _Table()
    angles = _joint_outputs(bodies, table)
    couplings = _coupling_efforts(bodies, table, lambda_, a)
    for path, J in bodies.rotors.items():  # what a rotor takes does not reach the joint
        couplings[path][0] -= J * bodies.ddot(bodies.axes[path].rates[0], a)
    _reaction_outputs(bodies, table, a, lambda_, Phi.numel(), acting, couplings, transmitted)
    for path, own_Phi, own_G in multipliers(bodies, lambda_, Phi.numel()):
        joint: Joint = bodies.mechanism.components[path]  # type: ignore[assignment]
        ends = bodies.equations[path].a, bodies.equations[path].b
        for shown in joint.signals(bodies.values[path], *ends, ca.vertcat(own_Phi, own_G)):
            table.add(f"{path}.{shown.name}", shown.unit, shown.description, shown.value, "output")
    _body_outputs(bodies, table)
    for path, sensor in bodies.mechanism.of(Sensor).items():
        frames = (bodies.frame_of(f"{path}.{frame}") for frame in sensor.frames)
        for item in sensor.signals(bodies.values[path], *frames):
            name = f"{path}.{item.name}"
            table.add(name, item.unit, item.description, item.value, "output")
            if item.derivative:
                label, unit, text = item.derivative
                table.derive(f"{path}.{label}", unit, text, item.value, "output", name)
    _force_outputs(bodies, table, acting, a)
    _monitors(bodies, table, T, V, Phi, velocity_rows)
    table.differentiate(lambda rates: bodies.ddot(rates, a))
    empty = ca.SX(0, 1)
    return Outputs(
        signals=tuple(table.signals),
        y=ca.vertcat(*table.values),
        a=a,
        lambda_=lambda_,
        turned=ca.vertcat(empty, *(symbol for symbol, _ in angles)),
        angles=ca.vertcat(empty, *(value for _, value in angles)),
    )


def _joint_outputs(bodies: Bodies, table: "_Table") -> list[tuple[SX, SX]]:
    angles: list[tuple[SX, SX]] = []
    for path, item in bodies.axes.items():
        for motion, rate in zip(item.motion, item.rates, strict=True):
            shown = motion.value
            if motion.wraps:
                shown = ca.SX.sym(f"{path}.{motion.position}")
                angles.append((shown, motion.value))
            position, speed = f"{path}.{motion.position}", f"{path}.{motion.rate}"
            derived = position if motion.rate_value is None else None
            table.add(position, motion.unit, _described(bodies, path, motion.position), shown, "output")
            table.add(speed, motion.rate_unit, _described(bodies, path, motion.rate), rate, "output", derived)
            table.derive(
                f"{path}.{motion.acceleration}",
                motion.acceleration_unit,
                f"derivative of {speed}",
                rate,
                "output",
                speed,
            )
    return angles


def _coupling_efforts(bodies: Bodies, table: "_Table", lambda_: SX, a: SX) -> dict[str, list[SX]]:
    """Add each coupling's effort on its first axis as an output; return the couplings' efforts on all joint axes."""
    total = {path: [ca.SX(expression(rate).numel(), 1) for rate in item.rates] for path, item in bodies.axes.items()}
    row = sum(item.Phi.numel() for item in bodies.equations.values())
    for path, coupling in bodies.mechanism.of(AxisConstraint).items():
        joints = joints_of(path, coupling)
        s = ca.SX.sym("s", len(joints))
        residual = ca.vertcat(coupling.position(bodies.values[path], *ca.vertsplit(s)))
        slope = ca.jtimes(residual, s, -lambda_[row : row + residual.numel()], True)
        row += residual.numel()
        efforts = ca.substitute(slope, s, ca.vertcat(*(bodies.axes[joint].motion[0].value for joint in joints)))
        for index, joint in enumerate(joints):
            total[joint][0] += efforts[index]
        first = bodies.axes[joints[0]].motion[0]
        text, effort = f"{first.effort_kind} of the coupling on {joints[0]}.{first.position}", efforts[0]
        for lent in coupling.inertias(bodies.values[path])[:1]:
            effort -= lent * bodies.ddot(bodies.axes[joints[0]].rates[0], a)
        table.add(f"{path}.{first.effort}", first.effort_unit, text, effort, "output", reaction_of=path)
    return total


def _described(bodies: Bodies, path: str, label: str) -> str:
    component = bodies.mechanism.components[path]
    return next((declared.description for declared, name, _ in component.declared() if name == label), "")


def _reaction_outputs(
    bodies: Bodies,
    table: "_Table",
    a: SX,
    lambda_: SX,
    m: int,
    acting: Loads,
    couplings: dict[str, list[SX]],
    transmitted: Transmitted | None,
) -> None:
    """Add the cut force and torque at frame_b, which the body there exerts on the joint, resolved in frame_b."""
    works = cut_wrenches(bodies, lambda_, m, acting, couplings)
    tensions = {path: acting.efforts[path][0] + couplings[path][0] for path in bodies.ropes}
    across = transmitted(a, outer_wrenches(bodies, works, tensions)) if transmitted else {}
    sensors = [(joints_of(path, item)[0], path) for path, item in bodies.mechanism.of(CutForce).items()]
    for path, item in bodies.equations.items():
        if path in across:
            force, torque = across[path]
        else:
            force_0, torque_0 = wrench(works[path], item.a, item.b, 1)
            force = -item.b.R.T @ force_0
            torque = -torque_0 if bodies.planar else -item.b.R.T @ torque_0
        for label, unit, cut in (("f", "N", force), ("t", "N.m", torque)):
            text = f"cut {'force' if label == 'f' else 'torque'} on the joint at frame_b, resolved in frame_b"
            table.add(f"{path}.frame_b.{label}", unit, text, cut, reaction_of=path)
            text = text.replace("resolved in frame_b", "resolved in the world frame")
            for sensor in (sensor for joint, sensor in sensors if joint == path):
                turned = cut if bodies.planar and label == "t" else item.b.R @ cut
                table.add(f"{sensor}.{label}", unit, text, turned, "output", reaction_of=path)


def _body_outputs(bodies: Bodies, table: "_Table") -> None:
    for index, group in enumerate(bodies.groups):
        for path in group.parts:
            part = bodies.mechanism.components[path]
            every = bodies.mechanism.weightless and not isinstance(part, World)
            if not (every or isinstance(part, MovingPart)):
                continue
            frame = bodies.frame_at(index, f"{path}.frame_a")
            where = "of frame_a, resolved in the world frame"
            table.add(f"{path}.r_0", "m", f"position {where}", frame.r_0)
            table.add(f"{path}.v_0", "m/s", f"velocity {where}", frame.v_0, derivative_of=f"{path}.r_0")
            table.derive(f"{path}.a_0", "m/s2", f"acceleration {where}", frame.v_0, "local", f"{path}.v_0")
            if bodies.planar:
                table.add(f"{path}.phi", "rad", "angle of frame_a seen from the world", frame.phi)
                table.add(
                    f"{path}.w",
                    "rad/s",
                    "angular velocity about z",
                    frame.w_0,
                    derivative_of=f"{path}.phi",
                )
            else:
                table.add(f"{path}.Q", "1", "quaternion of frame_a seen from the world", frame.Q)
                text = "angular velocity, resolved in frame_a"
                table.add(f"{path}.w_a", "rad/s", text, frame.R.T @ frame.w_0)
            if isinstance(part, FlexibleBody):
                _shape_outputs(bodies, table, path, part)
            if every or isinstance(part, BodyShape | FlexibleBody):
                for label in part.frames[1:]:
                    end = bodies.frame_at(index, f"{path}.{label}")
                    text = f"position of {label}, resolved in the world frame"
                    table.add(f"{path}.{label}.r_0", "m", text, end.r_0)
                    if every:
                        text, rate = text.replace("position", "velocity"), f"{path}.{label}.v_0"
                        table.add(rate, "m/s", text, end.v_0, derivative_of=f"{path}.{label}.r_0")
                        text = text.replace("velocity", "acceleration")
                        table.derive(f"{path}.{label}.a_0", "m/s2", text, end.v_0, "local", rate)


def _shape_outputs(bodies: Bodies, table: "_Table", path: str, part: FlexibleBody) -> None:
    shape = bodies.shapes[path]
    for name, eta in zip(shape.names, shape.eta.elements(), strict=True):
        table.add(name, "m", "shape coordinate", eta, "output")
    rates = [f"{path}.eta_t[{index}]" for index in range(1, len(shape.names) + 1)]
    for rate_name, name, rate in zip(rates, shape.names, shape.rate.elements(), strict=True):
        table.add(rate_name, "m/s", "rate of the shape coordinate", rate, "output", name)
    for index, (rate_name, rate) in enumerate(zip(rates, shape.rate.elements(), strict=True), 1):
        text = "acceleration of the shape coordinate"
        table.derive(f"{path}.eta_tt[{index}]", "m/s2", text, rate, "output", rate_name)
    for item in part.signals(bodies.values[path]):
        table.add(f"{path}.{item.name}", item.unit, item.description, item.value, "output")


def _force_outputs(bodies: Bodies, table: "_Table", acting: Loads, a: SX) -> None:
    """Add what each force exerts, and the power that it puts into the mechanism beside that of its potential."""
    known: dict[Hashable, tuple[set[str], bool]] = {}  # what forces that are alike exert, and whether they work
    for path, component in bodies.mechanism.components.items():
        taken, p = _taken(component, bodies.planar), bodies.values[path]
        if isinstance(component, AxisForce):
            joint = joints_of(path, component)[0]
            axis = bodies.axes[joint].motion[0]
            if axis.effort not in taken:
                text, exerted, inertia = (
                    f"{axis.effort_kind} on {joint}.{axis.position}",
                    acting.exerted[path],
                    component.inertia(p),
                )
                if inertia.nnz():  # of a rotor
                    exerted -= inertia * bodies.ddot(bodies.axes[joint].rates[0], a)
                table.add(f"{path}.{axis.effort}", axis.effort_unit, text, exerted, "output")
            works = not component.effort(p, ca.SX.sym("s"), ca.SX.sym("v")).is_zero()
        elif isinstance(component, AxesForce):
            table.add(f"{path}.f", "1", "force along the combination of axes", acting.exerted[path], "output")
            works = not component.effort(p, ca.SX.sym("s"), ca.SX.sym("v")).is_zero()
        elif isinstance(component, Force):
            p = values_of(bodies, path, component)
            thrice = p is not bodies.values[path]  # a third frame decides too
            kind = path if thrice else bodies.likeness(path, component)
            if kind not in known:
                anywhere = _anywhere(bodies, component)
                shown = (item for item in _exerted(component, p, *anywhere) if not expression(item.value).is_zero())
                works = any(not expression(effort).is_zero() for _, effort in component.efforts(p, *anywhere))
                known[kind] = {item.name for item in shown}, works
            some, works = known[kind]
            for item in _exerted(component, p, *ends_of(bodies, path, component)):
                if item.name in some - taken:
                    table.add(f"{path}.{item.name}", item.unit, item.description, item.value, "output")
        else:
            continue
        if works and "power" not in taken:
            table.add(f"{path}.power", "W", "power put into the mechanism", acting.power[path])


def _exerted(force: Force, p: Any, a: Frame, b: Frame) -> tuple[Measured, ...]:
    """Return what a force shows of the force and the torque that it puts on frame_b."""
    return force.signals(p, a, b, *wrench(force_work(force, p, a, b), a, b, 1))


def _anywhere(bodies: Bodies, force: Force) -> tuple[Frame, Frame]:
    """Return frames of symbols: what is zero between them is zero in all coordinates, and in every mechanism."""
    dim, turn, w = (2, 1, 1) if bodies.planar else (3, 4, 3)
    a, b = (
        Frame(Pose(ca.SX.sym("r", dim), ca.SX.sym("turn", turn)), ca.SX.sym("v", dim), ca.SX.sym("w", w))
        for _ in range(2)
    )
    return (a if "frame_a" in force.frames else bodies.still[0]), b


def _taken(component: Component, planar: bool) -> set[str]:
    """Return the names of a component's quantities and inputs, which no output may have."""
    return {label for _, label, _ in component.declared()} | {item.name for item in component.inputs(planar)}


def _monitors(bodies: Bodies, table: "_Table", T: SX, V: SX, Phi: SX, velocity_rows: SX) -> None:
    linear, angular = ca.SX(bodies.dim, 1), ca.SX(1 if bodies.planar else 3, 1)
    for group, inertia in bodies.moving():
        center, w = bodies.center(group), bodies.coordinates.rates[group][1]
        shape = bodies.shape_of(group)
        if shape is not None:
            momentum = angular_momentum(bodies, group, shape)
        else:
            spin = inertia.I_CM * w if bodies.planar else center.R @ (inertia.I_CM @ w)
            momentum = inertia.m * moment_of(center.r_0, center.v_0) + spin
        linear += inertia.m * center.v_0
        angular += momentum
    table.add("energy.total", "J", "kinetic and potential energy", T + V, "output")
    table.add("energy.kinetic", "J", "kinetic energy", T)
    table.add("energy.potential", "J", "potential energy", V)
    rates = ca.vertcat(bodies.dot(Phi), velocity_rows)
    residual = "maximum constraint residual of the"
    table.add("constraint.position", "1", f"{residual} coordinates", _largest(Phi), "output")
    table.add("constraint.velocity", "1", f"{residual} velocities", _largest(rates), "output")
    table.add("momentum.linear", "N.s", "linear momentum, resolved in the world frame", linear)
    table.add("momentum.angular", "N.m.s", "angular momentum about the world's origin", angular)


class _Table:
    """The outputs in the order they are added, vectors as scalars ``name[1]`` and so on."""

    def __init__(self) -> None:
        self.signals: list[Signal] = []
        self.values: list[SX] = []
        self._rates: dict[int, SX] = {}

    def add(
        self,
        name: str,
        unit: str,
        text: str,
        value: SX,
        kind: str = "local",
        derivative_of: str | None = None,
        reaction_of: str | None = None,
    ) -> None:
        value = expression(value)
        parents = labels(derivative_of, value) if derivative_of else [None] * value.numel()
        for label, parent in zip(labels(name, value), parents, strict=True):
            self.signals.append(Signal(label, unit, text, kind, parent, reaction_of=reaction_of))
        self.values.append(value if value.is_dense() else ca.densify(value))

    def derive(self, name: str, unit: str, text: str, rate: SX, kind: str, derivative_of: str) -> None:
        """Add the time derivative of a rate, to be differentiated together with the others."""
        self._rates[len(self.values)] = ca.densify(expression(rate))
        self.add(name, unit, text, rate, kind, derivative_of)

    def differentiate(self, ddot: Callable[[SX], SX]) -> None:
        """Replace the rates by their derivatives."""
        column = ca.vertcat(ca.SX(0, 1), *self._rates.values())
        second, row = ddot(column), 0
        for index, rate in self._rates.items():
            self.values[index] = ca.densify(second[row : row + rate.numel()])
            row += rate.numel()


def _largest(rows: SX) -> SX:
    return ca.mmax(ca.fabs(ca.densify(rows))) if rows.numel() else ca.SX(0)
