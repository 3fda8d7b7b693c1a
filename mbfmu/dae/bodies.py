"""Bodies: the coordinates of a mechanism, the position and motion of every frame, and the equations of each joint."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from random import Random
from typing import Any

import casadi as ca
import numpy as np

from mbfmu.dae.choice import EVERY_JOINT, CoordinateChoice
from mbfmu.dae.network import Network
from mbfmu.dae.tree.cuts import CutWeights
from mbfmu.dae.tree.recursive import Link
from mbfmu.dae.tree.topology import Group, Tree, anchors_of, rigid_groups, spanning_tree
from mbfmu.dae.turns import unrolled
from mbfmu.errors import MassError, ModelError
from mbfmu.model.component import Component
from mbfmu.model.contacts import AxesContact
from mbfmu.model.couplings import AxisConstraint
from mbfmu.model.expression import Expression
from mbfmu.model.flexible import FlexibleBody
from mbfmu.model.forces import AxesForce, AxisForce
from mbfmu.model.frame import SX, Frame, G_matrix, Pose, expression, identity
from mbfmu.model.joints import Joint, JointCoordinate
from mbfmu.model.mechanism import Mechanism, joints_of, quantities
from mbfmu.model.parts import Inertia, MovingPart, Part
from mbfmu.model.relative import Q_rel, cross, r_rel
from mbfmu.model.rope import RopePath
from mbfmu.model.traced import traced


@dataclass(frozen=True)
class Carried:
    """A tree joint that carries coordinates.

    Args:
        coordinates: SX symbols by name of the motion.
        rates: SX symbols of their derivatives, by the same names.
        pose: pose of frame_b seen from frame_a.
        velocity: velocity of frame_b's origin seen from frame_a, resolved in frame_a.
        w_b: angular velocity of frame_b seen from frame_a, resolved in frame_b.
    """

    coordinates: Mapping[str, SX]
    rates: Mapping[str, SX]
    pose: Pose
    velocity: SX
    w_b: SX


@dataclass(frozen=True)
class Shape:
    """The shape coordinates of a flexible part and their rates, SX symbols, shape (n,).

    Args:
        path: full name of the part.
        eta: the coordinates.
        rate: their rates.
    """

    path: str
    eta: SX
    rate: SX

    @property
    def names(self) -> list[str]:
        """Full names of the coordinates."""
        return [f"{self.path}.eta[{index}]" for index in range(1, self.eta.numel() + 1)]


@dataclass(frozen=True)
class Coordinates:
    """The symbols of the coordinates and, for each group, its pose and velocity.

    Args:
        names: names of the entries of q.
        q: SX, shape (n,).
        v: SX, shape (n,).
        poses: pose of the origin of each group, seen from the world.
        rates: (velocity of the origin in the world, angular velocity in the group's axes) of each group.
        intrinsic: (name, SX residual) of the equations among the coordinates themselves: norms of quaternions.
        carried: the joints that carry coordinates, by full name; none in absolute coordinates.
        order: numbers of the groups in the order of their coordinates in q; those of a flexible part end with its shape
            coordinates.
        recursive: whether velocities are computed from body to body; False: by differentiation, except those of bonded
            groups.
        links: links of the groups whose velocities are computed from body to body.
    """

    names: tuple[str, ...]
    q: SX
    v: SX
    poses: tuple[Pose, ...]
    rates: tuple[tuple[SX, SX], ...]
    intrinsic: tuple[tuple[str, SX], ...]
    carried: Mapping[str, Carried]
    order: tuple[int, ...]
    recursive: bool
    links: tuple[Link, ...]


@dataclass(frozen=True)
class JointEquations:
    """The contributions of one joint.

    Args:
        Phi: holonomic residual.
        velocity: nonholonomic residual.
        motion: its coordinates.
        rates: SX column of each coordinate's rate.
        a, b: its frames.
    """

    Phi: SX
    velocity: SX
    motion: tuple[JointCoordinate, ...]
    rates: tuple[SX, ...]
    a: Frame
    b: Frame


class Bodies:
    """The moving bodies of a mechanism in some coordinates, and the equations of its joints.

    Args:
        mechanism: the mechanism.
        central: whether the origin of each group is its centre of mass, except of bonded groups; False: the origin
            of its first part.
        coordinates: function that makes the coordinates, given the bodies without them.
        turning: whether holonomic rows are resolved in the joint's own frame_a and turn along with it. This costs
            operations, but rows that are redundant in one pose are then redundant in every pose.
        choice: which joints of a tree carry coordinates, and which bodies have their own.
        spare: number of entries of p, before the memory of sampled blocks, that these equations do not read.

    Attributes:
        shapes: the shape coordinates of the flexible parts, by full name.
        integrals: the integrals over the mass of the flexible parts, by full name.
        massive: the mass properties of the rigid parts that have some, by full name.
        at_rest: the coordinates of each joint between two frames that coincide, by full name.
        carrying: full names of the joints that may carry coordinates on the tree.
        weights: what the joints cost there.
        axes: equations of the joints and of the ropes, whose length is an axis, by full name.
        bonded: numbers of the groups that are flexible, or connected to a flexible part without a joint.
        mixed: whether some bodies have coordinates of their own, and some those of joints.
        spare: number of entries of p that these equations do not read.
        lacking: for each group without a mass or a positive inertia of its own, by number, what it lacks.

    Raises:
        FrameConnectionError, MassError: the parts form no valid mechanism.
        UnknownNameError, UsageError: the choice names what there is not, or what has no coordinates.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        central: bool,
        coordinates: Callable[["Bodies"], Coordinates],
        turning: bool = False,
        choice: CoordinateChoice = EVERY_JOINT,
        spare: int = 0,
    ) -> None:
        # Parameters p and inputs u, without the memory of sampled blocks
        self.mechanism = mechanism
        self.turning = turning
        self.mixed = choice.mixed
        self.spare = spare
        self.planar = mechanism.planar
        self.dim = 2 if self.planar else 3
        self.t = ca.SX.sym("t")
        self.entries = [entry for entry in mechanism.entries.values() if entry.free]
        self.symbols = {entry.name: ca.SX.sym(entry.name) for entry in self.entries}
        self.inputs = {
            path: {item.name: ca.SX.sym(f"{path}.{item.name}", item.size) for item in component.inputs(self.planar)}
            for path, component in mechanism.components.items()
        }
        # Inputs that are formulas of the time, and the time since sampled inputs last changed
        sampled = self._sampled()
        self.formulas = {name: Expression(text).evaluate(lambda _: self.t) for name, text in mechanism.formulas.items()}
        names = [label for name, symbol in sampled.items() for label in labels(name, symbol)]
        if any(name in self.formulas for name in names):  # they change all the time: the time since a change is zero
            self.formulas = {**dict.fromkeys(names, ca.SX(0)), **self.formulas}
            sampled = {}
        changed = [ca.SX.sym("changed")] if sampled else []
        # All of p: parameters, sampled inputs, spare entries, and the memory of sampled blocks
        self.network = Network(mechanism, self.symbols, self.t, self.formulas)
        before, after = (*self.symbols.values(), *changed, *sampled.values()), self.network.d.values()
        self.p = ca.vertcat(ca.SX(0, 1), *before, ca.SX.sym("spare", spare), *after)
        # Quantities of each component, as expressions of these symbols and of the shape coordinates eta
        self.shapes = {
            path: Shape(
                path, *(ca.SX.sym(name, part.count(self.planar)) for name in (f"{path}.eta", f"der({path}.eta)"))
            )
            for path, part in mechanism.of(FlexibleBody).items()
        }
        self.values = self._quantities(self.t - changed[0] if sampled else ca.SX(0))
        # Mass properties of parts, and the motions that joints leave at rest
        self.integrals = {
            path: part.integrals(self.values[path], self.shapes[path].rate)
            for path, part in mechanism.of(FlexibleBody).items()
        }
        self.massive = {
            path: inertia
            for path, part in mechanism.of(Part).items()
            if (inertia := part.inertia(self.values[path])) is not None
        }
        joints = mechanism.of(Joint).items()
        self.at_rest = {path: joint.motion(self.values[path], *self.still) for path, joint in joints}
        self.open_rows = self._open_rows_of(joints)
        # Groups of parts that move together, and the spanning tree whose joints carry coordinates
        local = {path: part.poses(self.values[path]) for path, part in mechanism.of(Part).items()}
        groups, bonds = rigid_groups(mechanism, local, self.shapes)
        self.anchors = anchors_of(mechanism, groups, self.shapes)
        self.carrying, own_groups = choice.able(mechanism, self.open_rows), choice.own(mechanism, groups, bonds)
        self.weights = self._weights(groups)
        self.tree: Tree = spanning_tree(mechanism, groups, bonds, self.anchors, self.weights, self.carrying, own_groups)
        # Mass and inertia of each group; those that are flexible or bonded have theirs in links
        held = {index for edge in self.tree.order if not edge.path for index in (edge.near, edge.far)}
        flexible = {index for index, group in enumerate(groups) if any(path in self.shapes for path in group.parts)}
        self.bonded = frozenset((held | flexible) - {0})
        self.lacking: dict[int, str] = {}
        self.groups, self.inertias = self._with_mass(groups, central)
        # Coordinates q and v, and the equations of joints and couplings in terms of them
        self.coordinates = coordinates(self)
        self.q, self.v = self.coordinates.q, self.coordinates.v
        self._frames: dict[tuple[int, str], Frame] = {}
        self._centers: dict[int, Frame] = {}
        self.equations = {path: self._joint(path, joint) for path, joint in mechanism.of(Joint).items()}
        self.ropes = {path: self._rope(path, rope) for path, rope in mechanism.of(RopePath).items()}
        self.axes = self.equations | self.ropes
        self.couplings = {path: self._coupling(path, item) for path, item in mechanism.of(AxisConstraint).items()}

    def _sampled(self) -> dict[str, SX]:
        """Return the symbols of the inputs that are sampled, by full name."""
        return {
            f"{path}.{item.name}": self.inputs[path][item.name]
            for path, component in self.mechanism.components.items()
            for item in component.inputs(self.planar)
            if item.sampled
        }

    def _quantities(self, since: SX) -> dict[str, Any]:
        """Return the quantities of each component, by full name.

        Args:
            since: time since a sampled input last changed, s.
        """
        return {
            path: quantities(
                self.mechanism, path, self.symbols, self.t, since,
                {
                    **{name: self.acting(f"{path}.{name}", symbol) for name, symbol in self.inputs[path].items()},
                    **{name: self.network.z[f"{path}.{name}"] for name in component.states()},
                    **({"eta": self.shapes[path].eta} if path in self.shapes else {}),
                },
            )
            for path, component in self.mechanism.components.items()
        }  # fmt: skip

    def acting(self, name: str, symbol: SX) -> SX:
        """Return an input as it acts on the mechanism: formulas of the time in place of the symbols they replace."""
        entries = zip(labels(name, symbol), symbol.elements(), strict=True)
        return ca.vertcat(*(self.formulas.get(label, entry) for label, entry in entries))

    @cached_property
    def still(self) -> tuple[Frame, Frame]:
        """Two frames that coincide at rest."""
        frame = Frame(identity(self.planar), ca.SX(self.dim, 1), ca.SX(1 if self.planar else 3, 1))
        return frame, frame

    @property
    def tree_joints(self) -> frozenset[str]:
        """Full names of the joints on the tree that carry coordinates, where these are those of joints."""
        return frozenset(edge.path for edge in self.tree.order if edge.path and not edge.free)

    @property
    def rotors(self) -> dict[str, SX]:
        """Inertia that moves with the first rate of a joint alone, SX scalar, by the full name of the joint."""
        of_joints = {path: joint.inertia(self.values[path]) for path, joint in self.mechanism.of(Joint).items()}
        inertias: dict[str, SX] = {path: inertia for path, inertia in of_joints.items() if inertia.nnz()}
        for path, force in self.mechanism.of(AxisForce).items():
            inertia = force.inertia(self.values[path])
            if inertia.nnz():
                (joint,) = joints_of(path, force)
                inertias[joint] = inertias.get(joint, ca.SX(0)) + inertia
        for path, coupling in self.mechanism.of(AxisConstraint).items():
            for joint, lent in zip(joints_of(path, coupling), coupling.inertias(self.values[path]), strict=False):
                inertias[joint] = inertias.get(joint, ca.SX(0)) + lent
        return inertias

    def symbols_of(self, path: str) -> dict[str, SX]:
        """Return fresh symbols for the coordinates of a joint, by the name of the motion."""
        return {
            item.position: ca.SX.sym(f"{path}.{item.position}", expression(item.value).numel())
            for item in self.at_rest[path]
        }

    def _open_rows_of(self, joints: Iterable[tuple[str, Joint]]) -> dict[str, tuple[int, ...]]:
        """Return the open rows of the joints that can carry coordinates; of joints that are alike, one is asked."""
        known: dict[Hashable, tuple[int, ...] | None] = {}
        rows_of: dict[str, tuple[int, ...]] = {}
        for path, joint in joints:
            key = self.likeness(path, joint)
            if key not in known:
                known[key] = self._open_rows(path, joint)
            rows = known[key]
            if rows is not None:
                rows_of[path] = rows
        return rows_of

    def likeness(self, path: str, component: Component) -> Hashable:
        """Return what components have in common whose equations differ in the names of parameters alone."""
        declared = {label for _, label, _ in component.declared()}
        fixed = (getattr(component, item.name) for item in fields(component) if item.name not in {"name", *declared})
        symbols = {self.t.element_hash(): 0}
        features: list[Any] = [type(component), *(value if _is_plain(value) else path for value in fixed)]
        for label, value in vars(self.values[path]).items():
            if label in {"planar", "time", "since"}:  # all components have them in common
                continue
            if not isinstance(value, ca.SX):  # a law
                features.append(path)
                continue
            for entry in value.elements():
                if entry.is_symbolic():
                    features.append((label, symbols.setdefault(entry.element_hash(), len(symbols))))
                else:
                    features.append((label, float(entry) if entry.is_constant() else path))
        return tuple(features)

    def _open_rows(self, path: str, joint: Joint) -> tuple[int, ...] | None:
        """Return the equations of a joint that its coordinates do not meet; None if it cannot carry coordinates.

        A joint can carry coordinates if its pose is a function of them, and they are all the freedom that its other
        equations leave. Random coordinates decide about this.
        """
        if not joint.carries:
            return None
        p, coordinates = self.values[path], self.symbols_of(path)
        pose = joint.pose(p, coordinates)
        if ca.depends_on(ca.vertcat(pose.r, pose.angle), self.t):
            return None
        wiggle = ca.SX.sym("wiggle", 3 if self.planar else 6)
        near, far = self.still[0], replace(self.still[1], pose=pose)
        Phi = ca.vertcat(ca.SX(0, 1), joint.position(p, near, far.moved(wiggle[: self.dim], wiggle[self.dim :])))
        x = ca.vertcat(ca.SX(0, 1), *coordinates.values())
        unknowns = {symbol.element_hash() for symbol in ca.vertcat(x, wiggle).nonzeros()}
        others = [symbol for symbol in ca.symvar(Phi) if symbol.element_hash() not in unknowns]
        constants = ca.vertcat(ca.SX(0, 1), *others)
        slopes = ca.densify(ca.jacobian(Phi, wiggle))
        shown = ca.Function("shown", [x, wiggle, constants], [ca.densify(Phi), slopes])
        rng, values = Random(0), [np.zeros((0, SAMPLES))]  # NumPy's takes longer to be imported than all this
        for item in coordinates.values():
            value = np.array([[rng.gauss(0.0, 1.0) for _ in range(SAMPLES)] for _ in range(item.numel())])
            values.append(value / np.linalg.norm(value, axis=0) if item.numel() == 4 else value)
        still = np.zeros((wiggle.numel(), SAMPLES))
        numbers = [rng.uniform(0.5, 1.5) for _ in range(constants.numel() * SAMPLES)]
        samples = shown(np.concatenate(values), still, np.reshape(numbers, (-1, SAMPLES)))
        residual, slope = (np.array(item) for item in samples)
        met = (np.abs(residual) < MET).all(axis=1)
        columns = slope.reshape(Phi.numel(), SAMPLES, wiggle.numel())[met].swapaxes(0, 1)
        rank = int(np.linalg.matrix_rank(columns, tol=MET).max()) if met.any() else 0
        freedom = x.numel() - sum(item.numel() == 4 for item in coordinates.values())
        return tuple(map(int, np.flatnonzero(~met))) if rank + freedom == wiggle.numel() else None

    def gravity(self) -> SX:
        """Return the gravity acceleration, shape (2,) or (3,), m/s2, in the world frame."""
        world = self.mechanism.world
        return self.mechanism.components[world].gravity(self.values[world])  # type: ignore[attr-defined]

    def _weights(self, groups: Sequence[Group]) -> CutWeights:
        """Return what the joints cost on a spanning tree and off it: they rank by freedom, coupled axes first.

        Elastic joints come before all others: their energy is simplest in coordinates of their own. Those that may not
        carry coordinates come last.
        """
        everything = 3 if self.planar else 6
        coupled = {name for path, item in self.mechanism.of(AxisConstraint).items() for name in joints_of(path, item)}
        joints: dict[str, Joint] = self.mechanism.of(Joint)
        rank, columns, rows = {}, {}, {}
        counted: set[str] = set()
        for path, joint in joints.items():
            motion = self.at_rest[path]
            sizes = [expression(item.value).numel() for item in motion]
            free = sum(3 if item.neutral else size for item, size in zip(motion, sizes, strict=True))
            rank[path] = 2 * (free if path in self.carrying else everything + 1) - (path in coupled)
            if type(joint).potential is not Joint.potential and path in self.carrying:
                rank[path] = -1
            columns[path] = sum(sizes)
            counted |= {path} if any(item.wraps for item in motion) else set()
            rows[path] = expression(joint.position(self.values[path], *self.still)).numel()
        acting = {path for path, joint in joints.items() if joint.actuated} | {
            name
            for path, item in self.mechanism.components.items()
            if isinstance(item, AxisForce | AxesForce | AxisConstraint | AxesContact)
            for name in joints_of(path, item)
        }
        return CutWeights(
            rank,
            columns,
            rows,
            free=3 if self.planar else 7,
            needed=acting & counted | self.rotors.keys(),
            light=[index for index, group in enumerate(groups) if index and not self._massive(group)],
            rotors=self.rotors.keys(),
        )

    def _with_mass(self, groups: tuple[Group, ...], central: bool) -> tuple[tuple[Group, ...], tuple[Inertia, ...]]:
        """Give each moving group its mass and, if asked, move its origin to the centre of mass."""
        moved: list[Group] = [groups[0]]
        inertias: list[Inertia] = []
        for index, group in enumerate(groups[1:], 1):
            if any(path in self.shapes for path in group.parts):
                inertias.append(self._floating(group.parts[0]))
                moved.append(group)
                continue
            total = self._total(group)
            if index not in self.bonded and (reason := self._lack(group, total)):
                if self.mechanism.weightless:
                    total = Inertia(ca.SX(1), total.r_CM, ca.SX(ca.DM.eye(1 if self.planar else 3)))
                else:
                    self.lacking[index] = reason
            if central and index not in self.bonded:
                shift = Pose(-total.r_CM, identity(self.planar).angle)
                group = Group(group.parts, {frame: shift @ pose for frame, pose in group.poses.items()})
                total = replace(total, r_CM=ca.SX(self.dim, 1))
            inertias.append(total)
            moved.append(group)
        return tuple(moved), tuple(inertias)

    def _total(self, group: Group) -> Inertia:
        parts: list[tuple[SX, SX, SX]] = []
        for path in group.parts:
            if path in self.massive:
                inertia, pose = self.massive[path], group.poses[f"{path}.frame_a"]
                parts.append((inertia.m, *placed_inertia(pose.r, pose.R, inertia.r_CM, inertia.I_CM)))
        if len(parts) == 1:
            return Inertia(*parts[0])
        still = ca.SX(self.dim, 1)
        m = sum((part[0] for part in parts), ca.SX(0))
        r_CM = still if m.is_zero() else sum((part[0] * part[1] for part in parts), still) / m
        turning = 1 if self.planar else 3
        I_CM = sum(
            (part[2] + part[0] * _steiner(part[1] - r_CM, self.planar) for part in parts), ca.SX(turning, turning)
        )
        return Inertia(m, r_CM, I_CM)

    def _floating(self, path: str) -> Inertia:
        """Return mass and centre of mass of a flexible part; its inertia depends on the shape.

        Raises:
            MassError: it has no mass.
        """
        integrals = self.integrals[path]
        (m,) = self.numbers(integrals.m)
        if not float(m) > 0:
            raise MassError(f"'{path}' bends but its mass is {float(m):g} kg: give it one")
        turning = 1 if self.planar else 3
        return Inertia(integrals.m, integrals.first / integrals.m, ca.SX(turning, turning))

    def shape_of(self, index: int) -> Shape | None:
        """Return the shape coordinates of a group that is a flexible part; None for others."""
        return next((self.shapes[path] for path in self.groups[index].parts if path in self.shapes), None)

    def _massive(self, group: Group) -> list[str]:
        """Return the parts of a group that have mass, flexible ones too."""
        return [path for path in group.parts if path in self.shapes or path in self.massive]

    def _lack(self, group: Group, total: Inertia) -> str:
        """Return what a group lacks of mass and inertia; an empty text if it has both."""
        if not group.parts:
            return f"the joints at {group.label} have no body with mass between them: connect a Body there"
        massive = self._massive(group)
        if not massive:
            return f"'{group.parts[0]}' can move but has no mass: fix it to a Body, or give it a BodyShape's mass"
        label = " + ".join(massive)
        m, I_CM = (np.array(item) for item in self.numbers(total.m, total.I_CM))
        if not float(m.item()) > 0:
            return f"'{label}' can move but its mass is {float(m.item()):g} kg: give m > 0, or fix it"
        least = float(np.linalg.eigvalsh(I_CM.reshape(int(I_CM.size**0.5), -1)).min())
        if not least > 0:
            names = "I_33" if self.planar else "I_11, I_22, I_33"
            return (
                f"'{label}' can turn but an inertia about its centre of mass is {least:g} kg.m2: "
                f"give {names} > 0 (a point mass has none: use a small one)"
            )
        return ""

    def numbers(self, *expressions: SX) -> list[Any]:
        """Return the values of expressions of the parameters, each as a matrix DM."""
        symbols = ca.symvar(ca.veccat(*expressions))
        values = [self._values[symbol.element_hash()] for symbol in symbols]
        function = ca.Function(
            "values", [ca.vertcat(ca.SX(0, 1), *symbols)], [ca.densify(item) for item in expressions]
        )
        return list(function.call([ca.DM(values)]))

    def has_negative_inertia(self, index: int) -> bool:
        """Return whether a principal moment of inertia of a group about its centre of mass is below zero."""
        (I_CM,) = self.numbers(self.inertias[index - 1].I_CM)
        moments = np.linalg.eigvalsh(np.array(I_CM))
        return bool(moments.min() < -ROUNDED * np.abs(moments).max())

    def is_one_body(self, index: int) -> bool:
        """Return whether one part alone has the mass and inertia of a group."""
        return sum(path in self.massive for path in self.groups[index].parts) == 1

    @cached_property
    def _values(self) -> dict[int, float]:
        """The values of the parameters by the hashes of their symbols."""
        symbols = ca.vertcat(ca.SX(0, 1), *self.symbols.values()).nonzeros()
        return {symbol.element_hash(): float(entry.value) for symbol, entry in zip(symbols, self.entries, strict=True)}

    def frame(self, group: int, pose: Pose) -> Frame:
        """Return a frame fixed to a group, for its pose seen from the group's origin."""
        origin = self.coordinates.poses[group]
        velocity, turning = self.coordinates.rates[group]
        here, shape = origin @ pose, self.shape_of(group)
        recursive = self.coordinates.recursive or group in self.bonded
        if recursive and shape is None:
            return Frame(here, *_velocities(velocity, turning, origin.R, pose.r))
        w_0 = turning if self.planar else origin.R @ turning
        if shape is None:
            columns = self.own_numbers[group]
            return Frame(here, ca.jtimes(here.r, self.q[columns], self.v[columns]), w_0)
        arm = origin.R @ pose.r
        velocity = velocity + origin.R @ ca.jtimes(ca.SX(pose.r), shape.eta, shape.rate)
        turned = turning_of(pose, shape)
        return Frame(here, velocity + cross(w_0, arm), w_0 + (turned if self.planar else here.R @ turned))

    def frame_at(self, group: int, anchor: str) -> Frame:
        """Return a frame of a part by its full name and the number of its group; the same object each time."""
        if (group, anchor) not in self._frames:
            self._frames[group, anchor] = self.frame(group, self.groups[group].poses[anchor])
        return self._frames[group, anchor]

    def frame_of(self, name: str) -> Frame:
        """Return the frame of a joint, force or sensor by its full name."""
        return self.frame_at(*self.anchors[name])

    def center(self, index: int) -> Frame:
        """Return the frame at a moving group's centre of mass, with the group's axes; the same object each time."""
        if index not in self._centers:
            pose = Pose(self.inertias[index - 1].r_CM, identity(self.planar).angle)
            self._centers[index] = self.frame(index, pose)
        return self._centers[index]

    def _joint(self, path: str, joint: Joint) -> JointEquations:
        a, b, p = self.frame_of(f"{path}.frame_a"), self.frame_of(f"{path}.frame_b"), self.values[path]
        velocity = ca.vertcat(joint.velocity(p, a, b))
        carried = self.coordinates.carried.get(path)
        if carried:
            near, across = self._apart(carried)
            closing = ca.vertcat(joint.position(p, near, across))
            Phi = ca.vertcat(ca.SX(0, 1), *(closing[row] for row in self.open_rows[path]))
            motion = joint.motion(p, near, across)
            rates = tuple(
                item.rate_value if item.rate_value is not None else carried.rates[item.position] for item in motion
            )
            motion = tuple(replace(item, value=carried.coordinates[item.position], wraps=False) for item in motion)
            return JointEquations(Phi, velocity, motion, rates, a, b)
        motion, Phi = joint.motion(p, a, b), self.position(path, joint, a, b)
        if self._numbers_in(Phi, self._rate_numbers):
            raise ModelError(f"{type(joint).__name__} '{path}': position depends on velocities; state it as velocity")
        v = self.v[self._numbers_in(velocity, self._rate_numbers)]
        if ca.depends_on(ca.jacobian(velocity, v), v):
            raise ModelError(f"{type(joint).__name__} '{path}': velocity must be linear in the velocities")
        rates = tuple(
            item.rate_value if item.rate_value is not None else self.dot(expression(item.value)) for item in motion
        )
        return JointEquations(Phi, velocity, motion, rates, a, b)

    def _rope(self, path: str, rope: RopePath) -> JointEquations:
        frames, p = self.frames_of(path), self.values[path]
        motion = rope.motion(p, *frames)
        rate = ca.SX(0)
        for (force, torque), frame in zip(rope.pulls(p, *frames), frames, strict=True):
            rate += ca.dot(force, frame.v_0) + (ca.dot(torque, frame.w_0) if torque.nnz() else 0)
        return JointEquations(ca.SX(0, 1), ca.SX(0, 1), (motion,), (rate,), frames[0], frames[-1])

    def frames_of(self, path: str) -> list[Frame]:
        """Return the frames of a joint, force, rope or sensor by its full name."""
        return [self.frame_of(f"{path}.{frame}") for frame in self.mechanism.components[path].frames]

    def position(self, path: str, joint: Joint, a: Frame, b: Frame) -> SX:
        """Return the residual of a joint's holonomic equations between two frames."""
        if self.turning:
            turn = b.phi - a.phi if self.planar else Q_rel(a, b)
            pose = Pose(r_rel(a, b), turn, a.R.T @ b.R)
            a, b = self.still[0], replace(self.still[1], pose=pose)
        return ca.vertcat(joint.position(self.values[path], a, b))

    def _coupling(self, path: str, coupling: AxisConstraint) -> SX:
        axes, p = [self.axes[joint].motion for joint in joints_of(path, coupling)], self.values[path]
        for name, motion in zip(coupling.axes, axes, strict=True):
            if not motion or expression(motion[0].value).numel() != 1:
                raise ModelError(f"{type(coupling).__name__} '{path}': the joint '{name}' has no axis to act on")
        residual = ca.vertcat(coupling.position(p, *(motion[0].value for motion in axes)))
        turning = [index for index, motion in enumerate(axes) if motion[0].wraps]
        if not turning:
            return residual
        # Angles that are known up to full turns
        s = ca.SX.sym("s", len(axes))
        slopes = ca.jacobian(ca.vertcat(coupling.position(p, *ca.vertsplit(s))), s)[:, turning]
        smooth = None
        if not ca.depends_on(slopes, ca.vertcat(s, self.t)):
            smooth = unrolled(residual, slopes, lambda item: np.array(self.numbers(item)[0]).ravel().tolist())
        if smooth is None:
            names = ", ".join(f"'{coupling.axes[index]}'" for index in turning)
            raise ModelError(
                f"{type(coupling).__name__} '{path}': in these coordinates the angle of {names} is known only up to "
                "full turns, and the coupling has no ratio of small whole numbers; use joint coordinates "
                "(--coordinates joint), or put it on a joint of the tree"
            )
        return smooth

    def _apart(self, carried: Carried) -> tuple[Frame, Frame]:
        """Return the frames of a joint that carries coordinates, seen from its frame_a."""
        turning = carried.w_b if self.planar else carried.pose.R @ carried.w_b
        return self.still[0], Frame(carried.pose, carried.velocity, turning)

    def dot(self, expression: SX) -> SX:
        """Return the total time derivative of an expression of (q, t)."""
        return self._slope(expression) + ca.jacobian(expression, self.t)

    def _slope(self, expression: SX) -> SX:
        """Return the time derivative of an expression of q alone; time grows with the expression, not with q."""
        numbers = self._numbers_in(expression, self._coordinate_numbers)
        return ca.jtimes(expression, self.q[numbers], self.v[numbers])

    @cached_property
    def own_numbers(self) -> tuple[list[int], ...]:
        """The numbers of the coordinates that place each group."""
        placed = (ca.vertcat(pose.r, pose.angle) for pose in self.coordinates.poses)
        return tuple(self._numbers_in(item, self._coordinate_numbers) for item in placed)

    @staticmethod
    def _numbers_in(expression: SX, numbers: Mapping[int, int]) -> list[int]:
        """Return the numbers, in order, of those symbols in an expression that have one by their hash."""
        hashes = (symbol.element_hash() for symbol in ca.symvar(expression))
        return sorted(numbers[item] for item in hashes if item in numbers)

    @cached_property
    def _coordinate_numbers(self) -> dict[int, int]:
        """The number of each entry of q by the hash of its symbol."""
        return {symbol.element_hash(): index for index, symbol in enumerate(self.q.nonzeros())}

    @cached_property
    def _rate_numbers(self) -> dict[int, int]:
        """The number of each entry of v by the hash of its symbol."""
        return {symbol.element_hash(): index for index, symbol in enumerate(self.v.nonzeros())}

    def ddot(self, expression: SX, a: SX) -> SX:
        """Return the total time derivative of an expression of (q, v, t), with vdot = a."""
        return self.dot(expression) + ca.jtimes(expression, self.v, a)

    def owner(self, group: int) -> str:
        """Return the full name of the body that gives a moving group its name; of another part if it has no body."""
        parts = self.groups[group].parts
        bodies = tuple(path for path in parts if isinstance(self.mechanism.components[path], MovingPart))
        return (bodies or parts or sorted(self.groups[group].poses))[0]

    def moving(self) -> Iterator[tuple[int, Inertia]]:
        """Yield the number and the mass properties of every group that moves."""
        yield from enumerate(self.inertias, 1)


SAMPLES = 5
MET = 1e-9
"""Residual at random coordinates below which an equation counts as met."""
ROUNDED = 1e-9
"""Largest relative size of a negative principal moment that counts as rounding."""


def _is_plain(value: Any) -> bool:
    """Return whether a value is a number, a text or nothing, or a tuple of these: its hash tells what it is."""
    items = value if type(value) is tuple else [value]
    return all(item is None or isinstance(item, str | float | int) for item in items)


@traced
def placed_inertia(r: SX, R: SX, r_CM: SX, I_CM: SX) -> tuple[SX, SX]:
    """Return centre of mass and inertia about it, seen from a frame in which r and R are the pose of their own."""
    return r + R @ r_CM, I_CM if I_CM.numel() == 1 else R @ I_CM @ R.T


@traced
def _velocities(v_0: SX, w: SX, R: SX, r: SX) -> tuple[SX, SX]:
    """Return velocity of a point at r and angular velocity, in the world frame, of a body whose origin moves so."""
    if w.numel() == 1:
        return v_0 + cross(w, R @ r), w
    return v_0 + R @ ca.cross(w, r), R @ w


def labels(name: str, value: SX) -> list[str]:
    """Return the names of the scalars of a quantity: the name itself, or ``name[1]`` and so on."""
    count = expression(value).numel()
    return [name] if count == 1 else [f"{name}[{index}]" for index in range(1, count + 1)]


def turning_of(pose: Pose, shape: Shape) -> SX:
    """Return the angular velocity of a frame of a flexible part seen from that part's origin, in the frame's axes."""
    turning = ca.jtimes(ca.SX(pose.angle), shape.eta, shape.rate)
    return turning if pose.planar else 2 * G_matrix(pose.angle) @ turning


def _steiner(d: SX, planar: bool) -> SX:
    """Return the inertia of a unit point mass at distance d."""
    return ca.dot(d, d) if planar else ca.dot(d, d) * ca.SX.eye(3) - d @ d.T
