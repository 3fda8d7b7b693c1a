"""Start: the start values a user gives, as equations, and a first pose along the spanning tree."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import casadi as ca

from mbfmu.dae.bodies import Bodies, Coordinates, labels
from mbfmu.dae.linear_algebra.merged import merged
from mbfmu.dae.loads import half_turns
from mbfmu.dae.parts.start import Loop, Start, size_of
from mbfmu.dae.signals import ParameterSignal
from mbfmu.dae.tree.topology import Group
from mbfmu.dae.tree.tree_coordinates import tree_coordinates, tree_links
from mbfmu.dae.turns import KNOWN
from mbfmu.errors import UsageError
from mbfmu.model.flexible import FlexibleBody
from mbfmu.model.frame import SX, Pose, expression, identity, quaternion_product, wrapped
from mbfmu.model.joints import Joint
from mbfmu.model.mechanism import FIXED, Entry, resolve
from mbfmu.model.parts import MovingPart


def holonomic_rows(bodies: Bodies) -> tuple[SX, tuple[str, ...]]:
    """Return all holonomic equations, and the joint, coupling or body that each row belongs to."""
    rows = [(path, item.Phi) for path, item in bodies.equations.items()]
    rows += [(path, Phi) for path, Phi in bodies.couplings.items()]
    rows += bodies.coordinates.intrinsic
    names = tuple(path for path, Phi in rows for _ in range(Phi.numel()))
    return ca.vertcat(ca.SX(0, 1), *(Phi for _, Phi in rows)), names


def assembly(bodies: Bodies, closing: SX, constraint_names: tuple[str, ...]) -> Start:
    """Return the start values, the equations they stand for, and the pose that the spanning tree gives.

    Where equations remain that this pose may not meet, closed poses are sought in the coordinates of the joints,
    whatever the coordinates: they are then the same in all.

    Args:
        bodies: the bodies.
        closing: all holonomic rows.
        constraint_names: joint, coupling or body of each of them.

    Raises:
        UsageError: whether start values are met is to be chosen, but none of them depends on others.
    """
    # A choice between a start value and a guess needs coordinates that depend on each other
    choices = bodies.mechanism.choices
    if choices and not (bodies.tree.loops or bodies.couplings):
        raise UsageError(
            f"'{bodies.mechanism.name}' has no closed loop and no coupling: its start values do not depend on each "
            f"other, and all of them can be set; nothing is to be chosen for {', '.join(choices)}"
        )
    # Start values s of the coordinates and rates of joints, and where each joint begins
    requested = _Requested(bodies)
    joints = {
        path: {
            motion.position: requested.add(
                path, motion.position, motion.value, motion.rate, rate, motion.neutral, wraps=motion.wraps
            )[0]
            for motion, rate in zip(item.motion, item.rates, strict=True)
        }
        for path, item in bodies.equations.items()
    }
    # Start values of bodies; the pose along the tree is exact if it meets Phi = 0 and all start values
    of_joints = len(requested.positions) + len(requested.leanings)
    fixed = {
        index: pose
        for index, group in enumerate(bodies.groups)
        if (pose := _body_start(bodies, requested, index, group))
    }
    exact = _is_exact(bodies) and of_joints == len(requested.positions) + len(requested.leanings)
    # If it is not, closed poses are sought in the coordinates of joints
    tree = None
    if not exact and (bodies.mixed or not bodies.coordinates.recursive):
        tree = _joint_bodies(bodies)
    # Start values of shape coordinates, and the rates along the tree that the start values give
    bent = {path: _shape_start(bodies, requested, path) for path in bodies.shapes}
    q, v, p, t, s = bodies.q, bodies.v, bodies.p, bodies.t, requested.s
    moving = None if fixed or bent else _moving(bodies, requested, joints)
    # Rows of Phi that belong to each joint, coupling or body, for the loops
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(constraint_names):
        rows.setdefault(name, []).append(row)
    # Residuals of positions, rates and guesses; and the pose from which the constraints are corrected
    empty = ca.SX(0, 1)
    positions = ca.vertcat(empty, *requested.positions.values())
    rates = ca.vertcat(empty, *requested.rates.values())
    leanings = ca.vertcat(empty, *requested.leanings)
    if tree is None:
        within, placed = None, None
        guess = merged("guess", [s, p, t], [_placed(bodies, joints, fixed, bent)])
    else:
        within, placed = assembly(tree, *holonomic_rows(tree)), _from_tree(bodies, tree, joints, s)
        guess = merged("guess", [s, p, t], [placed(within.guess(s, p, t), s, p, t)])
    return Start(
        starts=tuple(parameter(entry, tunable=False) for entry in requested.given),
        closing=merged("closing", [q, p, t], [ca.densify(closing)]),
        positions=ca.Function("positions", [q, s, p, t], [positions]),
        rates=ca.Function("rates", [q, v, s, p, t], [rates]),
        sizes=ca.Function(
            "sizes",
            [s, p, t],
            [ca.vertcat(empty, *(requested.sizes[name] for name in (*requested.positions, *requested.rates)))],
        ),
        leanings=ca.Function("leanings", [q, s, p, t], [leanings]),
        guess=guess,
        mass_metric=not bodies.coordinates.recursive,
        counted=ca.Function("counted", [q, s, p, t], [ca.vertcat(empty, *requested.counted)]),
        position_names=tuple(requested.positions),
        rate_names=tuple(requested.rates),
        loops=tuple(
            Loop(joints, tuple(row for joint in joints for row in rows.get(joint, ()))) for joints in bodies.tree.loops
        ),
        constraint_names=constraint_names,
        norms=len(bodies.coordinates.intrinsic),
        rate_guess=None if moving is None else merged("rate_guess", [s, p, t], [moving]),
        exact=exact,
        tree=within,
        placed=placed,
    )


def _is_exact(bodies: Bodies) -> bool:
    """Return whether a pose along the spanning tree meets all equations: joints that it does not meet are not there."""
    joints = bodies.mechanism.of(Joint)
    return not (bodies.tree.loops or bodies.couplings or any(bodies.open_rows.get(path) != () for path in joints))


def _joint_bodies(bodies: Bodies) -> Bodies:
    """Return the bodies of the same mechanism in the coordinates of its joints."""

    def coordinates(item: Bodies) -> Coordinates:
        return tree_coordinates(item, tree_links(item))

    return Bodies(bodies.mechanism, central=False, coordinates=coordinates, spare=bodies.spare)


def _is_central(bodies: Bodies, index: int) -> bool:
    """Return whether the coordinates that a group has of its own are those of its centre of mass, not of its origin."""
    return bodies.shape_of(index) is None and (bodies.coordinates.recursive or index not in bodies.bonded)


def _from_tree(bodies: Bodies, tree: Bodies, coordinates: dict[str, dict[str, SX]], s: SX) -> Any:
    """Return the Function (x, s, p, t) -> q of the bodies, from the coordinates x of joints.

    Args:
        bodies: the bodies.
        tree: the bodies in the coordinates of joints.
        coordinates: where the joints begin, by full name and by name of the motion; angles are counted from there.
        s: start values.
    """
    # What the coordinates q of each body are, as functions of those of the joints
    values: dict[int, list[SX]] = {}
    begun: dict[int, list[SX | None]] = {}
    for edge in bodies.tree.order:
        path, far = edge.path, edge.far
        shape = bodies.shape_of(far)
        parts: list[tuple[SX, SX | None]] = []
        if path in bodies.coordinates.carried:
            motions = tree.equations[path].motion
            parts = [(item.value, coordinates[path][item.position] if item.wraps else None) for item in motions]
        elif path:
            pose = tree.coordinates.poses[far]
            if _is_central(bodies, far):
                pose = tree.center(far).pose
            parts = [(pose.r, None), (pose.angle, None)]
        if shape is not None:
            parts.append((tree.shapes[shape.path].eta, None))
        columns = [(ca.densify(expression(value)), first) for value, first in parts]
        values[far] = [entry for value, _ in columns for entry in value.elements()]
        begun[far] = [first for value, first in columns for _ in range(value.numel())]
    # One function of all of them, in the order of q
    order, empty = bodies.coordinates.order, ca.SX(0, 1)
    shown = ca.Function(
        "shown", [tree.q, tree.p, tree.t], [ca.vertcat(empty, *(entry for far in order for entry in values[far]))]
    )
    # Angles between -pi and pi from where they begin
    x, p, t = ca.SX.sym("x", tree.q.numel()), bodies.p, bodies.t
    firsts = [first for far in order for first in begun[far]]
    q = [
        value if first is None else first + wrapped(value - first)
        for value, first in zip(ca.vertsplit(shown(x, p, t)), firsts, strict=True)
    ]
    return merged("placed", [x, s, p, t], [ca.densify(ca.vertcat(empty, *q))])


class _Requested:
    """The start values that are given, and the equations they stand for, by name."""

    def __init__(self, bodies: Bodies) -> None:
        self.mechanism, self._taken = bodies.mechanism, half_turns(bodies)
        self.given = [entry for entry in bodies.mechanism.starts.values() if entry.free]
        symbols = {entry.name: ca.SX.sym(entry.name) for entry in self.given}
        self.s = ca.vertcat(ca.SX(0, 1), *symbols.values())
        self._every = {**bodies.symbols, **symbols}
        self._met = {name: bodies.symbols[FIXED + name] != 0 for name in bodies.mechanism.choices}
        self.counted: list[SX] = []
        self.positions: dict[str, SX] = {}
        self.rates: dict[str, SX] = {}
        self.sizes: dict[str, SX] = {}
        self.leanings: list[SX] = []

    def add(
        self,
        path: str,
        name: str,
        value: SX,
        rate_name: str,
        rate: SX,
        neutral: tuple[float, ...],
        wraps: bool = False,
    ) -> tuple[SX, bool]:
        """Add the start values of a coordinate and its rate.

        Args:
            path: full name of the component.
            name: name of the coordinate.
            value: the coordinate, SX column.
            rate_name: name of its rate.
            rate: the rate, SX column.
            neutral: value of the coordinate without start values (default zeros); it is given for quaternions only.
            wraps: whether the coordinate is an angle known up to full turns, which a start value determines.

        Returns:
            The coordinate to place the body with, and whether all its entries have start values or guesses.
        """
        # Start values and guesses of each entry; an entry begins at the first that there is
        wanted, guesses = (self.wanted(f"{path}.{name}", value, guess) for guess in (False, True))
        complete = all(entry is not None for entry in wanted)
        begun: list[Any] = [first if first is not None else other for first, other in zip(wanted, guesses, strict=True)]
        if neutral and all(entry is not None for entry in begun):
            begun = ca.vertsplit(ca.vertcat(*begun) / ca.norm_2(ca.vertcat(*begun)))
        # Residuals of the position: an angle up to full turns, a quaternion up to its sign, or entry by entry
        if wraps:
            within = path in self._taken  # forces take it within half a turn
            requested = (wrapped(value) if within else value) if begun[0] is None else begun[0]
            apart = wrapped(value - requested)
            counted = requested + apart
            self.counted.append(counted * ca.if_else(ca.fabs(counted) <= KNOWN, 1, math.nan) if within else counted)
            if begun[0] is not None:
                self._require(f"{path}.{name}", apart, requested, guess=not complete)
        elif neutral and all(entry is not None for entry in begun):
            away = quaternion_product(ca.vertcat(*begun) * ca.SX([1, -1, -1, -1]), value)
            for index in (1, 2, 3):  # three rows: the quaternion and its negative are one orientation
                row = f"{path}.{name}[{index + 1}]"
                self._require(row, 2 * away[index], ca.SX(1), guess=not complete, choice=f"{path}.{name}")
        else:
            for full, entry, requested, guess in zip(
                labels(f"{path}.{name}", value), ca.vertsplit(expression(value)), wanted, guesses, strict=True
            ):
                if requested is not None:
                    self._require(full, entry - requested, requested, guess=False)
                elif guess is not None:
                    self._require(full, entry - guess, guess, guess=True)
        # Residuals of the rate, and the value that places the body
        self._note(self.rates, f"{path}.{rate_name}", rate, self.wanted(f"{path}.{rate_name}", rate))
        rest = neutral or (0.0,) * len(begun)
        placed = (other if entry is None else entry for entry, other in zip(begun, rest, strict=True))
        return ca.vertcat(*placed), all(entry is not None for entry in begun)

    def _require(self, name: str, apart: SX, requested: SX, guess: bool, choice: str | None = None) -> None:
        """Add the equation of a coordinate's start value, or of its guess; of both, one zero, if that is to be chosen.

        Args:
            name: full name of the coordinate.
            apart: its distance from the start value.
            requested: the start value.
            guess: whether it is a guess, unless that is to be chosen.
            choice: what the choice names, if not the coordinate.
        """
        met = self._met.get(choice or name)
        if met is not None or not guess:
            self.positions[name] = apart if met is None else met * apart
            self.sizes[name] = size_of(requested)
        if met is not None or guess:
            self.leanings.append(apart if met is None else (1 - met) * apart)

    def _note(self, into: dict[str, SX], name: str, shown: SX, wanted: list[SX | None]) -> None:
        for index, (full, start) in enumerate(zip(labels(name, shown), wanted, strict=True)):
            if start is not None:
                into[full] = expression(shown)[index] - start
                self.sizes[full] = size_of(start)

    def wanted(self, name: str, like: SX, guess: bool = False) -> list[SX | None]:
        """Return the start values of a quantity, or its guesses; None for entries without."""
        entries = [self.mechanism.starts.get(label) for label in labels(name, like)]
        return [
            None if entry is None or entry.guess != guess else resolve(self.mechanism, entry, self._every)
            for entry in entries
        ]


def _shape_start(bodies: Bodies, requested: _Requested, path: str) -> SX:
    """Add the start values of a flexible part, which begins undeformed and at rest in itself unless it has others."""
    part, shape = bodies.mechanism.components[path], bodies.shapes[path]
    assert isinstance(part, FlexibleBody)
    placed = []
    for index, (eta, rate) in enumerate(zip(shape.eta.elements(), shape.rate.elements(), strict=True), 1):
        name, rate_name = f"eta[{index}]", f"eta_t[{index}]"
        placed.append(requested.add(path, name, eta, rate_name, rate, ())[0])
        if part.eta is None:
            requested.positions[f"{path}.{name}"], requested.sizes[f"{path}.{name}"] = eta, size_of(ca.SX(0))
        if part.eta_t is None:
            requested.rates[f"{path}.{rate_name}"], requested.sizes[f"{path}.{rate_name}"] = rate, size_of(ca.SX(0))
    return ca.vertcat(*placed)


def _body_start(bodies: Bodies, requested: _Requested, index: int, group: Group) -> Pose | None:
    """Add the start values of the bodies of a group; return its pose if one of them gives all of it, else None."""
    pose = None
    for path in group.parts:
        if not isinstance(bodies.mechanism.components[path], MovingPart):
            continue
        frame = bodies.frame_at(index, f"{path}.frame_a")
        r, whole = requested.add(path, "r_0", frame.r_0, "v_0", frame.v_0, ())
        if bodies.planar:
            angle, turned = requested.add(path, "phi", frame.phi, "w", frame.w_0, ())
        else:
            angle, turned = requested.add(path, "Q", frame.Q, "w_a", frame.R.T @ frame.w_0, (1.0, 0.0, 0.0, 0.0))
        if whole and turned:
            pose = Pose(r, angle) @ group.poses[f"{path}.frame_a"].inverse()
    return pose


def _placed(bodies: Bodies, coordinates: dict[str, dict[str, SX]], fixed: dict[int, Pose], bent: dict[str, SX]) -> SX:
    """Return q, with every body on the spanning tree placed by its own start values or by the joints' coordinates.

    Args:
        bodies: the bodies.
        coordinates: those of the joints, by full name and by name of the motion.
        fixed: poses of bodies that are given by themselves.
        bent: shape coordinates of the flexible parts, by full name.
    """
    poses = [group.poses for group in bodies.groups]
    for path, near, far, _, start, stop, _ in reversed(bodies.tree.order):
        if not path and near and far in fixed:
            fixed = {near: fixed[far] @ poses[far][stop] @ poses[near][start].inverse(), **fixed}
    here: dict[int, Pose] = {0: identity(bodies.planar)}
    q: dict[int, SX] = {}
    for path, near, far, forward, start, stop, _ in bodies.tree.order:
        near_end = here[near] @ poses[near][start]
        if path:
            joint: Joint = bodies.mechanism.components[path]  # type: ignore[assignment]
            p = bodies.values[path]
            across = joint.pose(p, coordinates[path])
            if not forward:
                across = across.inverse()
            here[far] = fixed.get(far) or near_end @ across @ poses[far][stop].inverse()
            begins = coordinates[path]
            if far in fixed:
                frames = [replace(frame, pose=pose) for frame, pose in zip(
                    bodies.still, (near_end, here[far] @ poses[far][stop]), strict=True)]  # fmt: skip
                motion = joint.motion(p, *(frames if forward else frames[::-1]))
                begins = {item.position: expression(item.value) for item in motion}
            q[far] = ca.vertcat(ca.SX(0, 1), *begins.values())
            if path not in bodies.coordinates.carried:
                pose = here[far]
                if _is_central(bodies, far):
                    pose = pose @ Pose(bodies.inertias[far - 1].r_CM, identity(bodies.planar).angle)
                q[far] = ca.vertcat(pose.r, pose.angle)
        else:
            here[far] = near_end @ poses[far][stop].inverse()
            q[far] = ca.SX(0, 1)
        shape = bodies.shape_of(far)
        if shape is not None:
            q[far] = ca.vertcat(q[far], bent[shape.path])
    placed = ca.vertcat(ca.SX(0, 1), *(q[index] for index in bodies.coordinates.order))
    if bent:
        eta = ca.vertcat(*(shape.eta for shape in bodies.shapes.values()))
        placed = ca.substitute(placed, eta, ca.vertcat(*bent.values()))
    return placed


def _moving(bodies: Bodies, requested: _Requested, coordinates: dict[str, dict[str, SX]]) -> SX | None:
    """Return v of bodies on a tree of joints, if the rates of all joints have start values; None for others.

    Args:
        bodies: the bodies.
        requested: the start values.
        coordinates: those of the joints, by full name and by name of the motion.
    """
    if bodies.coordinates.recursive or bodies.tree.loops or bodies.couplings:
        return None
    symbols: dict[str, dict[str, SX]] = {}
    positions, rates = [], []
    for path, item in bodies.equations.items():
        symbols[path] = {}
        for motion, rate in zip(item.motion, item.rates, strict=True):
            wanted = requested.wanted(f"{path}.{motion.rate}", rate)
            if motion.neutral or any(entry is None for entry in wanted):
                return None
            symbols[path][motion.position] = ca.SX.sym(motion.position, len(wanted))
            positions.append(coordinates[path][motion.position])
            rates += [entry for entry in wanted if entry is not None]
    x = ca.vertcat(ca.SX(0, 1), *(symbol for each in symbols.values() for symbol in each.values()))
    q = _placed(bodies, symbols, {}, {})
    v = ca.jtimes(q, x, ca.vertcat(ca.SX(0, 1), *rates)) + ca.jacobian(q, bodies.t)
    return ca.densify(ca.substitute(v, x, ca.vertcat(ca.SX(0, 1), *positions)))


def parameters(entries: Sequence[Entry], p: SX, shaping: SX) -> tuple[ParameterSignal, ...]:
    """Return free parameters as signals of a Dae.

    Args:
        entries: the parameters.
        p: their symbols, and more after them.
        shaping: what may not change during a run.
    """
    fixed = ca.which_depends(shaping, p, 1, False) if p.numel() and shaping.numel() else [False] * len(entries)
    return tuple(
        parameter(entry, tunable=not item and not entry.name.startswith(FIXED))
        for entry, item in zip(entries, fixed, strict=False)
    )


def parameter(entry: Entry, *, tunable: bool) -> ParameterSignal:
    """Return a free parameter or start value as a signal of a Dae."""
    declared = entry.quantity
    return ParameterSignal(
        entry.name,
        declared.unit,
        declared.description,
        float(entry.value),
        declared.min,
        declared.max,
        tunable,
        entry.guess,
        declared.type,
        declared.items,
    )
