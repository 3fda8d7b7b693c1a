"""System -> Dae in absolute coordinates: (x, y, phi) or (r, Q) of every rigid body, multipliers for every joint.

The origin of a body's coordinates is its centre of mass, so that the mass matrix is block diagonal. Everything is
derived from expressions of frames by automatic differentiation:

    T = sum m v.v/2 + w.J w/2,    w = 2 G(Q) Qdot,    M = T_vv,    force = T_q - (M v)_q v - V_q + Q_applied

Symbols as in Lu & Ren (displacement-form Gauss integrator of a rigid body) for G(Q) and the kinetic energy.
"""

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from mbfmu.dae.dae import Assembly, Dae, Loop, ParameterSignal, Signal
from mbfmu.dae.topology import Group, Tree, anchors_of, rigid_groups, spanning_tree
from mbfmu.errors import MassError, ModelError
from mbfmu.model.forces import AxisForce, Force
from mbfmu.model.frame import SX, Frame, G_matrix, Pose, identity, quaternion_product
from mbfmu.model.joints import Joint, Motion
from mbfmu.model.mechanism import Entry, Mechanism, flatten, joint_of, quantities, resolve
from mbfmu.model.parts import Body, BodyShape, Inertia, Part
from mbfmu.model.system import System


@dataclass(frozen=True)
class Coordinates:
    """The symbols of the whole and, for each group, its pose and velocity.

    Args:
        names: of q.
        q: SX, shape (n,).
        v: SX, shape (n,).
        poses: pose of the centre of mass of each group, seen from the world.
        rates: (velocity of the centre of mass in the world, angular velocity in the body) of each group.
    """

    names: tuple[str, ...]
    q: SX
    v: SX
    poses: tuple[Pose, ...]
    rates: tuple[tuple[SX, SX], ...]


@dataclass(frozen=True)
class JointEquations:
    """What one joint contributes.

    Args:
        Phi: holonomic residual.
        velocity: nonholonomic residual.
        motion: its coordinates.
        rates: SX column of each motion's rate.
        a, b: its frames.
    """

    Phi: SX
    velocity: SX
    motion: tuple[Motion, ...]
    rates: tuple[SX, ...]
    a: Frame
    b: Frame


def absolute(system: System) -> Dae:
    """Derive the equations of a system in absolute coordinates.

    Raises:
        ModelError: the system is not a mechanism; the message says what to mend.
    """
    return _Builder(flatten(system)).build()


class _Builder:
    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.planar = mechanism.planar
        self.dim = 2 if self.planar else 3
        self.t = ca.SX.sym("t")
        self.entries = [entry for entry in mechanism.entries.values() if entry.free]
        self.symbols = {entry.name: ca.SX.sym(entry.name) for entry in self.entries}
        self.p = ca.vertcat(ca.SX(0, 1), *self.symbols.values())
        self.values = {
            path: quantities(mechanism, path, self.symbols, self.t) for path in mechanism.components
        }  # fmt: skip
        local = {path: part.poses(self.values[path]) for path, part in mechanism.of(Part).items()}
        groups = rigid_groups(mechanism, local)
        self.anchors = anchors_of(mechanism, groups)
        self.tree: Tree = spanning_tree(mechanism, groups, self.anchors)
        self.groups, self.inertias = self._with_mass(groups)
        self.coordinates = self._coordinates()
        self.q, self.v = self.coordinates.q, self.coordinates.v
        self.equations = {path: self._joint(path, joint) for path, joint in mechanism.of(Joint).items()}

    # -- bodies -------------------------------------------------------------------------------------------------

    def _with_mass(self, groups: tuple[Group, ...]) -> tuple[tuple[Group, ...], tuple[Inertia | None, ...]]:
        """Give each moving group its mass and move its origin to the centre of mass."""
        moved: list[Group] = [groups[0]]
        inertias: list[Inertia | None] = [None]
        for group in groups[1:]:
            total = self._total(group)
            self._check_mass(group, total)
            inertias.append(total)
            shift = Pose(-total.r_CM, identity(self.planar).angle)
            moved.append(Group(group.parts, {frame: shift @ pose for frame, pose in group.poses.items()}))
        return tuple(moved), tuple(inertias)

    def _total(self, group: Group) -> Inertia:
        parts: list[tuple[SX, SX, SX]] = []
        for path in group.parts:
            inertia = self.mechanism.components[path].inertia(self.values[path])  # type: ignore[attr-defined]
            if inertia is not None:
                pose = group.poses[f"{path}.frame_a"]
                turned = inertia.I_CM if self.planar else pose.R @ inertia.I_CM @ pose.R.T
                parts.append((inertia.m, pose.r + pose.R @ inertia.r_CM, turned))
        if not parts:
            raise MassError(
                f"'{group.parts[0]}' can move but has no mass: fix it to a Body, or give it a BodyShape's mass"
            )
        if len(parts) == 1:
            return Inertia(*parts[0])
        m = sum(part[0] for part in parts)
        r_CM = sum(part[0] * part[1] for part in parts) / m
        I_CM = sum(part[2] + part[0] * _steiner(part[1] - r_CM, self.planar) for part in parts)
        return Inertia(m, r_CM, I_CM)

    def _check_mass(self, group: Group, total: Inertia) -> None:
        label = " + ".join(path for path in group.parts if isinstance(self.mechanism.components[path], Body))
        m, I_CM = (np.array(item) for item in self._numbers(total.m, total.I_CM))
        if not float(m.item()) > 0:
            raise MassError(f"'{label}' can move but its mass is {float(m.item()):g} kg: give m > 0, or fix it")
        least = float(np.linalg.eigvalsh(I_CM.reshape(int(I_CM.size**0.5), -1)).min())
        if not least > 0:
            names = "I_33" if self.planar else "I_11, I_22, I_33"
            raise MassError(
                f"'{label}' can turn but an inertia about its centre of mass is {least:g} kg.m2: "
                f"give {names} > 0 (a point mass has none: use a small one)"
            )

    def _numbers(self, *expressions: SX) -> list[Any]:
        values = ca.vertcat(ca.SX(0, 1), *(float(entry.value) for entry in self.entries))
        return [ca.DM(ca.evalf(ca.substitute(ca.densify(item), self.p, values))) for item in expressions]

    def _coordinates(self) -> Coordinates:
        names: list[str] = []
        q, v, poses, rates = (
            [],
            [],
            [identity(self.planar)],
            [(ca.SX(self.dim, 1), ca.SX(1 if self.planar else 3, 1))],
        )
        labels = ("x", "y", "phi") if self.planar else ("r[1]", "r[2]", "r[3]", "Q[1]", "Q[2]", "Q[3]", "Q[4]")
        for group in self.groups[1:]:
            owner = next(path for path in group.parts if isinstance(self.mechanism.components[path], Body))
            names += [f"{owner}.{label}" for label in labels]
            here = ca.vertcat(*(ca.SX.sym(f"{owner}.{label}") for label in labels))
            rate = ca.vertcat(*(ca.SX.sym(f"der({owner}.{label})") for label in labels))
            q.append(here)
            v.append(rate)
            pose = Pose(here[: self.dim], here[self.dim :])
            poses.append(pose)
            turning = rate[self.dim :] if self.planar else 2 * G_matrix(pose.angle) @ rate[self.dim :]
            rates.append((rate[: self.dim], turning))
        empty = ca.SX(0, 1)
        return Coordinates(tuple(names), ca.vertcat(empty, *q), ca.vertcat(empty, *v), tuple(poses), tuple(rates))

    def _frame(self, group: int, pose: Pose) -> Frame:
        here = self.coordinates.poses[group] @ pose
        turning = self.coordinates.rates[group][1]
        w_0 = turning if self.planar else self.coordinates.poses[group].R @ turning
        return Frame(here, ca.jtimes(here.r, self.q, self.v), w_0)

    def _frame_of(self, name: str) -> Frame:
        group, anchor = self.anchors[name]
        return self._frame(group, self.groups[group].poses[anchor])

    # -- joints -------------------------------------------------------------------------------------------------

    def _joint(self, path: str, joint: Joint) -> JointEquations:
        a, b, p = self._frame_of(f"{path}.frame_a"), self._frame_of(f"{path}.frame_b"), self.values[path]
        motion = joint.motion(p, a, b)
        rates = tuple(
            item.rate_value if item.rate_value is not None else self._dot(ca.vertcat(item.value)) for item in motion
        )
        return JointEquations(
            ca.vertcat(joint.position(p, a, b)), ca.vertcat(joint.velocity(p, a, b)), motion, rates, a, b
        )

    def _dot(self, expression: SX) -> SX:
        """Return the total time derivative of an expression of (q, t)."""
        return ca.jtimes(expression, self.q, self.v) + ca.jacobian(expression, self.t)

    def _ddot(self, expression: SX, a: SX) -> SX:
        """Return the total time derivative of an expression of (q, v, t), with vdot = a."""
        return self._dot(expression) + ca.jtimes(expression, self.v, a)

    # -- the whole ----------------------------------------------------------------------------------------------

    def build(self) -> Dae:
        q, v, p, t = self.q, self.v, self.p, self.t
        if not q.numel():
            raise ModelError(f"system '{self.mechanism.name}' has no body that can move: add one")
        T, intrinsic, regular = ca.SX(0), [], ca.SX(0)
        for group in range(1, len(self.groups)):
            inertia = self.inertias[group]
            assert inertia is not None
            velocity, w = self.coordinates.rates[group]
            T += (inertia.m * ca.dot(velocity, velocity) + ca.dot(w, inertia.I_CM @ w)) / 2
            if not self.planar:
                Q, Qdot = self.coordinates.poses[group].angle, v[7 * group - 4 : 7 * group]
                intrinsic.append((self._owner(group), ca.dot(Q, Q) - 1))
                regular += 2 * ca.trace(inertia.I_CM) / 3 * ca.dot(Q, Qdot) ** 2
        V = self._potential()
        inputs, u, applied, efforts = self._applied()
        Phi, constraint_names = self._rows(intrinsic)
        velocity_rows = ca.vertcat(ca.SX(0, 1), *(item.velocity for item in self.equations.values()))

        rate = ca.gradient(T, q) - ca.gradient(V, q) + applied
        full = T + regular
        M, momentum = ca.hessian(full, v)[0], ca.gradient(full, v)
        force = ca.gradient(full, q) - ca.gradient(V, q) + applied - ca.jtimes(momentum, q, v)
        Phidot = self._dot(Phi)
        G = ca.jacobian(velocity_rows, v)
        g = ca.substitute(velocity_rows, v, ca.SX.zeros(v.shape[0], 1))

        outputs, aliases, y, turned, a, lambda_, angles = self._outputs(T, V, Phi, velocity_rows, efforts)
        bound = [entry for entry in self.mechanism.entries.values() if not entry.free]
        bound_values = ca.vertcat(ca.SX(0, 1), *(resolve(self.mechanism, entry, self.symbols) for entry in bound))

        def function(name: str, arguments: list[SX], result: SX) -> Any:
            return ca.Function(name, arguments, [ca.cse(result)])

        Phi_q = ca.jacobian(Phi, q)
        shape = ca.vertcat(ca.vec(M), Phi, velocity_rows)
        return Dae(
            name=self.mechanism.name,
            description=self.mechanism.description,
            coordinates=self.coordinates.names,
            inputs=inputs,
            parameters=tuple(
                _parameter(entry, tunable=not ca.depends_on(shape, self.symbols[entry.name])) for entry in self.entries
            ),
            bound=tuple(Signal(e.name, e.quantity.unit, e.quantity.description, "parameter") for e in bound),
            outputs=outputs,
            aliases=aliases,
            m=Phi.numel(),
            k=velocity_rows.numel(),
            M=function("M", [q, p], M),
            force=function("force", [q, v, u, p, t], force),
            Phi=function("Phi", [q, p, t], Phi),
            Phi_q=function("Phi_q", [q, p, t], Phi_q),
            Phi_t=function("Phi_t", [q, p, t], ca.jacobian(Phi, t)),
            gamma=function("gamma", [q, v, p, t], -self._dot(Phidot)),
            G=function("G", [q, p, t], G),
            g=function("g", [q, p, t], g),
            gamma_G=function("gamma_G", [q, v, p, t], -self._dot(velocity_rows)),
            momentum=function("momentum", [q, v, p], ca.gradient(T, v)),
            momentum_rate=function("momentum_rate", [q, v, u, p, t], rate),
            kinetic=function("kinetic", [q, v, p], T),
            potential=function("potential", [q, p, t], V),
            angles=function("angles", [q, p, t], angles),
            output=function("output", [q, v, turned, a, lambda_, u, p, t], y),
            bound_values=function("bound_values", [p], bound_values),
            n_angles=angles.numel(),
            assembly=self._assembly(constraint_names),
            constant_mass=not ca.depends_on(M, q),
        )

    def _owner(self, group: int) -> str:
        return self.coordinates.names[7 * (group - 1)].rsplit(".", 1)[0]

    def _rows(self, intrinsic: list[tuple[str, SX]]) -> tuple[SX, tuple[str, ...]]:
        rows = [(path, item.Phi) for path, item in self.equations.items()] + intrinsic
        names = tuple(path for path, Phi in rows for _ in range(Phi.numel()))
        return ca.vertcat(ca.SX(0, 1), *(Phi for _, Phi in rows)), names

    def _potential(self) -> SX:
        world = self.mechanism.components[self.mechanism.world]
        gravity = world.gravity(self.values[self.mechanism.world])  # type: ignore[attr-defined]
        V = ca.SX(0)
        for group in range(1, len(self.groups)):
            inertia = self.inertias[group]
            assert inertia is not None
            V -= inertia.m * ca.dot(gravity, self.coordinates.poses[group].r)
        for path, force in self.mechanism.of(Force).items():
            a, b = self._frame_of(f"{path}.frame_a"), self._frame_of(f"{path}.frame_b")
            V += force.potential(self.values[path], a, b)
        for path, force in self.mechanism.of(AxisForce).items():
            axis = self._axis(path, force)
            V += force.potential(self.values[path], axis.motion[0].value)
        return V

    def _axis(self, path: str, force: AxisForce) -> JointEquations:
        equations = self.equations[joint_of(path, force)]
        wanted = force.axis_unit
        if not equations.motion or (wanted and equations.motion[0].unit != wanted):
            raise ModelError(
                f"{type(force).__name__} '{path}' does not fit the joint '{force.joint}': "
                f"it needs an axis measured in {wanted or 'any unit'}"
            )
        return equations

    def _applied(self) -> tuple[tuple[Signal, ...], SX, SX, dict[str, tuple[SX, ...]]]:
        """Return the inputs, their symbols, the applied generalised force, and each joint's efforts."""
        power: list[tuple[SX, SX]] = []
        signals: list[Signal] = []
        symbols: list[SX] = []
        efforts: dict[str, tuple[SX, ...]] = {}
        for path, joint in self.mechanism.of(Joint).items():
            if not joint.actuated:
                continue
            given = []
            for motion, rate in zip(self.equations[path].motion, self.equations[path].rates, strict=True):
                names = _labels(f"{path}.{motion.effort}", rate)
                effort = ca.vertcat(*(ca.SX.sym(name) for name in names))
                signals += [
                    Signal(name, motion.effort_unit, f"effort of the drive on {path}.{motion.position}", "input")
                    for name in names
                ]
                symbols.append(effort)
                given.append(effort)
                power.append((rate, effort))
            efforts[path] = tuple(given)
        for path, force in self.mechanism.of(Force).items():
            a, b = self._frame_of(f"{path}.frame_a"), self._frame_of(f"{path}.frame_b")
            power += force.efforts(self.values[path], a, b)
        for path, force in self.mechanism.of(AxisForce).items():
            axis = self._axis(path, force)
            power.append((axis.rates[0], force.effort(self.values[path], axis.motion[0].value, axis.rates[0])))
        applied = ca.SX(self.q.shape[0], 1)
        for rate, effort in power:
            applied += ca.jacobian(ca.vertcat(rate), self.v).T @ ca.vertcat(effort)
        return tuple(signals), ca.vertcat(ca.SX(0, 1), *symbols), applied, efforts

    # -- outputs ------------------------------------------------------------------------------------------------

    def _outputs(
        self, T: SX, V: SX, Phi: SX, velocity_rows: SX, efforts: dict[str, tuple[SX, ...]]
    ) -> tuple[tuple[Signal, ...], tuple[tuple[str, str], ...], SX, SX, SX, SX, SX]:
        acc = ca.SX.sym("a", self.q.shape[0])
        lambda_ = ca.SX.sym("lambda_", Phi.numel() + velocity_rows.numel())
        table = _Table()
        angles = self._joint_outputs(table, acc)
        turned = ca.vertcat(ca.SX(0, 1), *(symbol for symbol, _ in angles))
        self._reaction_outputs(table, lambda_, Phi.numel(), efforts)
        aliases = self._body_outputs(table, acc)
        self._monitors(table, T, V, Phi, velocity_rows)
        raw = ca.vertcat(ca.SX(0, 1), *(value for _, value in angles))
        y = ca.vertcat(*table.values)
        return tuple(table.signals), aliases, y, turned, acc, lambda_, raw

    def _joint_outputs(self, table: "_Table", acc: SX) -> list[tuple[SX, SX]]:
        angles: list[tuple[SX, SX]] = []
        for path, item in self.equations.items():
            for motion, rate in zip(item.motion, item.rates, strict=True):
                shown = motion.value
                if motion.wraps:
                    shown = ca.SX.sym(f"{path}.{motion.position}")
                    angles.append((shown, motion.value))
                position, speed = f"{path}.{motion.position}", f"{path}.{motion.rate}"
                derived = position if motion.rate_value is None else None
                table.add(position, motion.unit, self._described(path, motion.position), shown, "output")
                table.add(speed, motion.rate_unit, self._described(path, motion.rate), rate, "output", derived)
                table.add(
                    f"{path}.{motion.acceleration}", motion.acceleration_unit, f"derivative of {speed}",
                    self._ddot(ca.vertcat(rate), acc), "output", speed,
                )  # fmt: skip
        return angles

    def _described(self, path: str, label: str) -> str:
        component = self.mechanism.components[path]
        return next((declared.description for declared, name, _ in component.declared() if name == label), "")

    def _reaction_outputs(self, table: "_Table", lambda_: SX, m: int, efforts: dict[str, tuple[SX, ...]]) -> None:
        """Cut force and torque at frame_b: what the body there does to the joint, resolved in frame_b."""
        row, row_G = 0, m
        shift = ca.SX.sym("dr", self.dim)
        turn = ca.SX.sym("dtheta", 1 if self.planar else 3)
        for path, joint in self.mechanism.of(Joint).items():
            item, p = self.equations[path], self.values[path]
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

    def _body_outputs(self, table: "_Table", acc: SX) -> tuple[tuple[str, str], ...]:
        aliases: list[tuple[str, str]] = []
        for number, group in enumerate(self.groups):
            for path in group.parts:
                part = self.mechanism.components[path]
                if not isinstance(part, Body):
                    continue
                frame = self._frame(number, group.poses[f"{path}.frame_a"])
                where = "of frame_a, resolved in the world frame"
                table.add(f"{path}.r_0", "m", f"position {where}", frame.r_0)
                table.add(f"{path}.v_0", "m/s", f"velocity {where}", frame.v_0, derivative_of=f"{path}.r_0")
                table.add(
                    f"{path}.a_0", "m/s2", f"acceleration {where}", self._ddot(frame.v_0, acc),
                    derivative_of=f"{path}.v_0",
                )  # fmt: skip
                aliases += [(name.replace(".r_0", ".frame_a.r_0"), name) for name in _labels(f"{path}.r_0", frame.r_0)]
                if self.planar:
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
                    end = self._frame(number, group.poses[f"{path}.frame_b"])
                    text = "position of frame_b, resolved in the world frame"
                    table.add(f"{path}.frame_b.r_0", "m", text, end.r_0)
        return tuple(aliases)

    def _monitors(self, table: "_Table", T: SX, V: SX, Phi: SX, velocity_rows: SX) -> None:
        linear, angular = ca.SX(self.dim, 1), ca.SX(1 if self.planar else 3, 1)
        for group in range(1, len(self.groups)):
            inertia, pose = self.inertias[group], self.coordinates.poses[group]
            assert inertia is not None
            velocity, w = self.coordinates.rates[group]
            linear += inertia.m * velocity
            if self.planar:
                angular += inertia.m * (pose.r[0] * velocity[1] - pose.r[1] * velocity[0]) + inertia.I_CM * w
            else:
                angular += inertia.m * ca.cross(pose.r, velocity) + pose.R @ (inertia.I_CM @ w)
        table.add("energy.total", "J", "kinetic and potential energy", T + V, "output")
        table.add("energy.kinetic", "J", "kinetic energy", T)
        table.add("energy.potential", "J", "potential energy", V)
        rates = ca.vertcat(self._dot(Phi), velocity_rows)
        residual = "largest residual of the constraints on the"
        table.add("constraint.position", "1", f"{residual} coordinates", _largest(Phi), "output")
        table.add("constraint.velocity", "1", f"{residual} velocities", _largest(rates), "output")
        table.add("momentum.linear", "N.s", "linear momentum, resolved in the world frame", linear)
        table.add("momentum.angular", "N.m.s", "angular momentum about the world's origin", angular)

    # -- the start ----------------------------------------------------------------------------------------------

    def _assembly(self, constraint_names: tuple[str, ...]) -> Assembly:
        given = [entry for entry in self.mechanism.starts.values() if entry.free]
        symbols = {entry.name: ca.SX.sym(entry.name) for entry in given}
        s = ca.vertcat(ca.SX(0, 1), *symbols.values())
        every = {**self.symbols, **symbols}

        def wanted(name: str, like: SX) -> list[SX | None]:
            entries = [self.mechanism.starts.get(label) for label in _labels(name, like)]
            return [None if entry is None else resolve(self.mechanism, entry, every) for entry in entries]

        positions: list[tuple[str, SX]] = []
        rates: list[tuple[str, SX]] = []
        placed: dict[str, dict[str, SX]] = {}
        for path, item in self.equations.items():
            placed[path] = {}
            for motion, rate in zip(item.motion, item.rates, strict=True):
                value, rate = ca.vertcat(motion.value), ca.vertcat(rate)
                asked = wanted(f"{path}.{motion.position}", value)
                if motion.neutral and all(entry is not None for entry in asked):
                    column = ca.vertcat(*asked)
                    asked = ca.vertsplit(column / ca.norm_2(column))
                neutral = motion.neutral or (0.0,) * value.numel()
                placed[path][motion.position] = ca.vertcat(
                    *(rest if entry is None else entry for entry, rest in zip(asked, neutral, strict=True))
                )
                for into, name, shown, target in (
                    (positions, motion.position, value, asked),
                    (rates, motion.rate, rate, wanted(f"{path}.{motion.rate}", rate)),
                ):
                    for number, label in enumerate(_labels(f"{path}.{name}", shown)):
                        if (number_wanted := target[number]) is not None:
                            into.append((label, shown[number] - number_wanted))
        q, v, p, t = self.q, self.v, self.p, self.t
        rows: dict[str, list[int]] = {}
        for row, name in enumerate(constraint_names):
            rows.setdefault(name, []).append(row)
        empty = ca.SX(0, 1)
        return Assembly(
            starts=tuple(_parameter(entry, tunable=False) for entry in given),
            positions=ca.Function("positions", [q, s, p, t], [ca.vertcat(empty, *(row for _, row in positions))]),
            rates=ca.Function("rates", [q, v, s, p, t], [ca.vertcat(empty, *(row for _, row in rates))]),
            guess=ca.Function("guess", [s, p, t], [ca.cse(self._placed(placed))]),
            position_names=tuple(name for name, _ in positions),
            rate_names=tuple(name for name, _ in rates),
            loops=tuple(
                Loop(joints, tuple(row for joint in joints for row in rows.get(joint, ())))
                for joints in self.tree.loops
            ),
            constraint_names=constraint_names,
        )

    def _placed(self, coordinates: dict[str, dict[str, SX]]) -> SX:
        """Walk the spanning tree and put every body where the joints' coordinates say."""
        here: dict[int, Pose] = {0: identity(self.planar)}
        for path, near, far, forward in self.tree.order:
            joint: Joint = self.mechanism.components[path]  # type: ignore[assignment]
            across = joint.pose(self.values[path], coordinates[path])
            ends = [self.anchors[f"{path}.{frame}"][1] for frame in ("frame_a", "frame_b")]
            if not forward:
                across, ends = across.inverse(), ends[::-1]
            start, stop = self.groups[near].poses[ends[0]], self.groups[far].poses[ends[1]]
            here[far] = here[near] @ start @ across @ stop.inverse()
        poses = [here[number] for number in range(1, len(self.groups))]
        return ca.vertcat(*(ca.vertcat(pose.r, pose.angle) for pose in poses))


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
        parents = _labels(derivative_of, value) if derivative_of else [None] * value.numel()
        for label, parent in zip(_labels(name, value), parents, strict=True):
            self.signals.append(Signal(label, unit, text, kind, parent))
        self.values.append(ca.densify(value))


def _labels(name: str, value: SX) -> list[str]:
    count = ca.vertcat(value).numel()
    return [name] if count == 1 else [f"{name}[{number}]" for number in range(1, count + 1)]


def _parameter(entry: Entry, *, tunable: bool) -> ParameterSignal:
    declared = entry.quantity
    return ParameterSignal(
        entry.name,
        declared.unit,
        declared.description,
        float(entry.value),
        declared.min,
        declared.max,
        tunable,
    )


def _steiner(d: SX, planar: bool) -> SX:
    """Return the inertia of a unit point mass at distance d."""
    return ca.dot(d, d) if planar else ca.dot(d, d) * ca.SX.eye(3) - d @ d.T


def _moved(frame: Frame, shift: SX, turn: SX) -> Frame:
    """Return the frame after a small displacement and a small rotation, both resolved in the world frame."""
    angle = frame.phi + turn if frame.planar else quaternion_product(ca.vertcat(1, turn / 2), frame.Q)
    return Frame(Pose(frame.r_0 + shift, angle), frame.v_0, frame.w_0)


def _largest(rows: SX) -> SX:
    return ca.mmax(ca.fabs(ca.densify(rows))) if rows.numel() else ca.SX(0)
