"""Bodies: the symbols of the coordinates, and where every frame is and how it moves.

The origin of a body's coordinates is its centre of mass, so that the mass matrix is block diagonal.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from mbfmu.dae.topology import Group, Tree, anchors_of, rigid_groups, spanning_tree
from mbfmu.errors import MassError, ModelError
from mbfmu.model.frame import SX, Frame, G_matrix, Pose, identity
from mbfmu.model.joints import Joint, Motion
from mbfmu.model.mechanism import Mechanism, quantities
from mbfmu.model.parts import Body, Inertia, Part


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


class Bodies:
    """The moving bodies of a mechanism in absolute coordinates, and the equations of its joints.

    Args:
        mechanism: the whole.

    Raises:
        FrameConnectionError, MassError: the parts make no mechanism.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.planar = mechanism.planar
        self.dim = 2 if self.planar else 3
        self.t = ca.SX.sym("t")
        self.entries = [entry for entry in mechanism.entries.values() if entry.free]
        self.symbols = {entry.name: ca.SX.sym(entry.name) for entry in self.entries}
        self.p = ca.vertcat(ca.SX(0, 1), *self.symbols.values())
        self.inputs = {
            path: {item.name: ca.SX.sym(f"{path}.{item.name}", item.size) for item in component.inputs(self.planar)}
            for path, component in mechanism.components.items()
        }
        self.values = {
            path: quantities(mechanism, path, self.symbols, self.t, self.inputs[path]) for path in mechanism.components
        }
        local = {path: part.poses(self.values[path]) for path, part in mechanism.of(Part).items()}
        groups = rigid_groups(mechanism, local)
        self.anchors = anchors_of(mechanism, groups)
        self.tree: Tree = spanning_tree(mechanism, groups, self.anchors)
        self.groups, self.inertias = self._with_mass(groups)
        self.coordinates = self._coordinates()
        self.q, self.v = self.coordinates.q, self.coordinates.v
        self.equations = {path: self._joint(path, joint) for path, joint in mechanism.of(Joint).items()}

    def _with_mass(self, groups: tuple[Group, ...]) -> tuple[tuple[Group, ...], tuple[Inertia, ...]]:
        """Give each moving group its mass and move its origin to the centre of mass."""
        moved: list[Group] = [groups[0]]
        inertias: list[Inertia] = []
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
        q, v, poses = [], [], [identity(self.planar)]
        rates = [(ca.SX(self.dim, 1), ca.SX(1 if self.planar else 3, 1))]
        entries = ("x", "y", "phi") if self.planar else ("r[1]", "r[2]", "r[3]", "Q[1]", "Q[2]", "Q[3]", "Q[4]")
        for number, _ in self.moving():
            own = [f"{self.owner(number)}.{entry}" for entry in entries]
            names += own
            here = ca.vertcat(*(ca.SX.sym(name) for name in own))
            rate = ca.vertcat(*(ca.SX.sym(f"der({name})") for name in own))
            q.append(here)
            v.append(rate)
            pose = Pose(here[: self.dim], here[self.dim :])
            poses.append(pose)
            turning = rate[self.dim :] if self.planar else 2 * G_matrix(pose.angle) @ rate[self.dim :]
            rates.append((rate[: self.dim], turning))
        empty = ca.SX(0, 1)
        return Coordinates(tuple(names), ca.vertcat(empty, *q), ca.vertcat(empty, *v), tuple(poses), tuple(rates))

    def frame(self, group: int, pose: Pose) -> Frame:
        here = self.coordinates.poses[group] @ pose
        turning = self.coordinates.rates[group][1]
        w_0 = turning if self.planar else self.coordinates.poses[group].R @ turning
        return Frame(here, ca.jtimes(here.r, self.q, self.v), w_0)

    def frame_of(self, name: str) -> Frame:
        group, anchor = self.anchors[name]
        return self.frame(group, self.groups[group].poses[anchor])

    def _joint(self, path: str, joint: Joint) -> JointEquations:
        a, b, p = self.frame_of(f"{path}.frame_a"), self.frame_of(f"{path}.frame_b"), self.values[path]
        motion = joint.motion(p, a, b)
        Phi, velocity = ca.vertcat(joint.position(p, a, b)), ca.vertcat(joint.velocity(p, a, b))
        if ca.depends_on(Phi, self.v):
            raise ModelError(f"{type(joint).__name__} '{path}': position depends on velocities; state it as velocity")
        if ca.depends_on(ca.jacobian(velocity, self.v), self.v):
            raise ModelError(f"{type(joint).__name__} '{path}': velocity must be linear in the velocities")
        rates = tuple(
            item.rate_value if item.rate_value is not None else self.dot(ca.vertcat(item.value)) for item in motion
        )
        return JointEquations(Phi, velocity, motion, rates, a, b)

    def dot(self, expression: SX) -> SX:
        """Return the total time derivative of an expression of (q, t)."""
        return ca.jtimes(expression, self.q, self.v) + ca.jacobian(expression, self.t)

    def ddot(self, expression: SX, a: SX) -> SX:
        """Return the total time derivative of an expression of (q, v, t), with vdot = a."""
        return self.dot(expression) + ca.jtimes(expression, self.v, a)

    def owner(self, group: int) -> str:
        """Return the full name of the body that gives a moving group its name."""
        return next(path for path in self.groups[group].parts if isinstance(self.mechanism.components[path], Body))

    def moving(self) -> Iterator[tuple[int, Inertia]]:
        """Yield the number and the mass properties of every group that moves."""
        yield from enumerate(self.inertias, 1)


def labels(name: str, value: SX) -> list[str]:
    """Return the names of the scalars of a quantity: the name itself, or ``name[1]`` and so on."""
    count = ca.vertcat(value).numel()
    return [name] if count == 1 else [f"{name}[{number}]" for number in range(1, count + 1)]


def _steiner(d: SX, planar: bool) -> SX:
    """Return the inertia of a unit point mass at distance d."""
    return ca.dot(d, d) if planar else ca.dot(d, d) * ca.SX.eye(3) - d @ d.T
