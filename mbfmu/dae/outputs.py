"""Outputs: what a user sees of the motion, and the monitors of energy, momentum and constraints."""

from dataclasses import dataclass

import casadi as ca

from mbfmu.dae.bodies import Bodies, labels
from mbfmu.dae.dae import Signal
from mbfmu.model.frame import SX, Frame, Pose, quaternion_product
from mbfmu.model.joints import Joint
from mbfmu.model.parts import Body, BodyShape


@dataclass(frozen=True)
class Outputs:
    """The outputs with the symbols they are written in.

    Args:
        signals: names, units, descriptions.
        aliases: further names: (name, name of the output).
        y: SX, shape (n_y,).
        a: SX symbols, shape (n,), accelerations.
        lambda_: SX symbols, shape (m + k,), multipliers.
        turned: SX symbols of the angles counted over full turns.
        angles: SX, the same angles as the coordinates give them.
    """

    signals: tuple[Signal, ...]
    aliases: tuple[tuple[str, str], ...]
    y: SX
    a: SX
    lambda_: SX
    turned: SX
    angles: SX


def outputs(bodies: Bodies, T: SX, V: SX, Phi: SX, velocity_rows: SX, efforts: dict[str, tuple[SX, ...]]) -> Outputs:
    """Return the outputs of a mechanism.

    Args:
        bodies: where everything is.
        T: kinetic energy.
        V: potential energy.
        Phi: holonomic residual.
        velocity_rows: nonholonomic residual.
        efforts: inputs of each driven joint, one for each of its motions.
    """
    a = ca.SX.sym("a", bodies.q.shape[0])
    lambda_ = ca.SX.sym("lambda_", Phi.numel() + velocity_rows.numel())
    table = _Table()
    angles = _joint_outputs(bodies, table, a)
    _reaction_outputs(bodies, table, lambda_, Phi.numel(), efforts)
    aliases = _body_outputs(bodies, table, a)
    _monitors(bodies, table, T, V, Phi, velocity_rows)
    empty = ca.SX(0, 1)
    return Outputs(
        signals=tuple(table.signals),
        aliases=aliases,
        y=ca.vertcat(*table.values),
        a=a,
        lambda_=lambda_,
        turned=ca.vertcat(empty, *(symbol for symbol, _ in angles)),
        angles=ca.vertcat(empty, *(value for _, value in angles)),
    )


def _joint_outputs(bodies: Bodies, table: "_Table", acc: SX) -> list[tuple[SX, SX]]:
    angles: list[tuple[SX, SX]] = []
    for path, item in bodies.equations.items():
        for motion, rate in zip(item.motion, item.rates, strict=True):
            shown = motion.value
            if motion.wraps:
                shown = ca.SX.sym(f"{path}.{motion.position}")
                angles.append((shown, motion.value))
            position, speed = f"{path}.{motion.position}", f"{path}.{motion.rate}"
            derived = position if motion.rate_value is None else None
            table.add(position, motion.unit, _described(bodies, path, motion.position), shown, "output")
            table.add(speed, motion.rate_unit, _described(bodies, path, motion.rate), rate, "output", derived)
            table.add(
                f"{path}.{motion.acceleration}", motion.acceleration_unit, f"derivative of {speed}",
                bodies.ddot(ca.vertcat(rate), acc), "output", speed,
            )  # fmt: skip
    return angles


def _described(bodies: Bodies, path: str, label: str) -> str:
    component = bodies.mechanism.components[path]
    return next((declared.description for declared, name, _ in component.declared() if name == label), "")


def _reaction_outputs(bodies: Bodies, table: "_Table", lambda_: SX, m: int, efforts: dict[str, tuple[SX, ...]]) -> None:
    """Cut force and torque at frame_b: what the body there does to the joint, resolved in frame_b."""
    row, row_G = 0, m
    shift = ca.SX.sym("dr", bodies.dim)
    turn = ca.SX.sym("dtheta", 1 if bodies.planar else 3)
    for path, joint in bodies.mechanism.of(Joint).items():
        item, p = bodies.equations[path], bodies.values[path]
        moved = _moved(item.b, shift, turn)
        faster = Frame(item.b.pose, item.b.v_0 + shift, item.b.w_0 + turn)
        held = [(ca.vertcat(joint.position(p, item.a, moved)), lambda_[row : row + item.Phi.numel()], 1)]
        held.append(
            (
                ca.vertcat(joint.velocity(p, item.a, faster)),
                lambda_[row_G : row_G + item.velocity.numel()],
                1,
            )
        )
        row, row_G = row + item.Phi.numel(), row_G + item.velocity.numel()
        pairs = zip(
            joint.motion(p, item.a, moved),
            joint.motion(p, item.a, faster),
            efforts.get(path, ()),
            strict=False,
        )
        for by_place, by_speed, effort in pairs:
            value = by_place.value if by_speed.rate_value is None else by_speed.rate_value
            held.append((ca.vertcat(value), effort, -1))
        for label, unit, wiggle in (("f", "N", shift), ("t", "N.m", turn)):
            cut = ca.SX(wiggle.numel(), 1)
            for residual, multiplier, sign in held:
                if not residual.numel():
                    continue
                slope = ca.substitute(
                    ca.jacobian(residual, wiggle),
                    ca.vertcat(shift, turn),
                    ca.SX.zeros(shift.numel() + turn.numel(), 1),
                )
                cut += sign * slope.T @ multiplier
            cut = cut if wiggle.numel() == 1 else item.b.R.T @ cut
            text = f"cut {'force' if label == 'f' else 'torque'} on the joint at frame_b, resolved in frame_b"
            table.add(f"{path}.frame_b.{label}", unit, text, cut)


def _body_outputs(bodies: Bodies, table: "_Table", acc: SX) -> tuple[tuple[str, str], ...]:
    aliases: list[tuple[str, str]] = []
    for number, group in enumerate(bodies.groups):
        for path in group.parts:
            part = bodies.mechanism.components[path]
            if not isinstance(part, Body):
                continue
            frame = bodies.frame(number, group.poses[f"{path}.frame_a"])
            where = "of frame_a, resolved in the world frame"
            table.add(f"{path}.r_0", "m", f"position {where}", frame.r_0)
            table.add(f"{path}.v_0", "m/s", f"velocity {where}", frame.v_0, derivative_of=f"{path}.r_0")
            table.add(
                f"{path}.a_0", "m/s2", f"acceleration {where}", bodies.ddot(frame.v_0, acc),
                derivative_of=f"{path}.v_0",
            )  # fmt: skip
            aliases += [(name.replace(".r_0", ".frame_a.r_0"), name) for name in labels(f"{path}.r_0", frame.r_0)]
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
            if isinstance(part, BodyShape):
                end = bodies.frame(number, group.poses[f"{path}.frame_b"])
                text = "position of frame_b, resolved in the world frame"
                table.add(f"{path}.frame_b.r_0", "m", text, end.r_0)
    return tuple(aliases)


def _monitors(bodies: Bodies, table: "_Table", T: SX, V: SX, Phi: SX, velocity_rows: SX) -> None:
    linear, angular = ca.SX(bodies.dim, 1), ca.SX(1 if bodies.planar else 3, 1)
    for group, inertia in bodies.moving():
        pose = bodies.coordinates.poses[group]
        velocity, w = bodies.coordinates.rates[group]
        linear += inertia.m * velocity
        if bodies.planar:
            angular += inertia.m * (pose.r[0] * velocity[1] - pose.r[1] * velocity[0]) + inertia.I_CM * w
        else:
            angular += inertia.m * ca.cross(pose.r, velocity) + pose.R @ (inertia.I_CM @ w)
    table.add("energy.total", "J", "kinetic and potential energy", T + V, "output")
    table.add("energy.kinetic", "J", "kinetic energy", T)
    table.add("energy.potential", "J", "potential energy", V)
    rates = ca.vertcat(bodies.dot(Phi), velocity_rows)
    residual = "largest residual of the constraints on the"
    table.add("constraint.position", "1", f"{residual} coordinates", _largest(Phi), "output")
    table.add("constraint.velocity", "1", f"{residual} velocities", _largest(rates), "output")
    table.add("momentum.linear", "N.s", "linear momentum, resolved in the world frame", linear)
    table.add("momentum.angular", "N.m.s", "angular momentum about the world's origin", angular)


class _Table:
    """The outputs in the order they are added, vectors as scalars ``name[1]`` and so on."""

    def __init__(self) -> None:
        self.signals: list[Signal] = []
        self.values: list[SX] = []

    def add(
        self,
        name: str,
        unit: str,
        text: str,
        value: SX,
        kind: str = "local",
        derivative_of: str | None = None,
    ) -> None:
        value = ca.vertcat(value)
        parents = labels(derivative_of, value) if derivative_of else [None] * value.numel()
        for label, parent in zip(labels(name, value), parents, strict=True):
            self.signals.append(Signal(label, unit, text, kind, parent))
        self.values.append(ca.densify(value))


def _moved(frame: Frame, shift: SX, turn: SX) -> Frame:
    """Return the frame after a small displacement and a small rotation, both resolved in the world frame."""
    angle = frame.phi + turn if frame.planar else quaternion_product(ca.vertcat(1, turn / 2), frame.Q)
    return Frame(Pose(frame.r_0 + shift, angle), frame.v_0, frame.w_0)


def _largest(rows: SX) -> SX:
    return ca.mmax(ca.fabs(ca.densify(rows))) if rows.numel() else ca.SX(0)
