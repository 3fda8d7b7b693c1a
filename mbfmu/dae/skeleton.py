"""Skeleton: the points of a mechanism and the lines between them, for a picture."""

from collections.abc import Iterator
from typing import Any

import casadi as ca
from casadi import Function

from mbfmu.dae.bodies import Bodies
from mbfmu.dae.picture import Bending, Bone, DrawnLine, DrawnPart, Hinge, Skeleton
from mbfmu.model.contacts import Cable
from mbfmu.model.flexible import ElasticJoint, FlexibleBody
from mbfmu.model.forces import Damper, Force, LineForce, MaxwellDamper, SeriesSpringDamper, Spring, SpringDamper
from mbfmu.model.frame import SX, Frame, identity
from mbfmu.model.joints import Cylindrical, Distance, Joint, Prismatic, Revolute, Screw
from mbfmu.model.parts import Body, BodyShape, MovingPart
from mbfmu.model.relative import axis
from mbfmu.model.rope import RopePath

MOTIONS: dict[type[Joint], str] = {
    Revolute: "turns", Prismatic: "slides", Cylindrical: "slides", Screw: "slides", Distance: "spans",
    ElasticJoint: "spans",
}  # fmt: skip
"""Kinds of motion in a picture (see `Hinge`); other joints are points."""
LINES = (Spring, Damper, SpringDamper, SeriesSpringDamper, MaxwellDamper, LineForce, Cable)
"""Forces that are drawn as a line between their frames."""


def skeleton(bodies: Bodies) -> Skeleton:
    """Return a star for every moving body, from its centre of mass to its frames, and a point for every joint."""
    # Bodies: bones from the centre of mass to the frames in use
    points: list[SX] = []
    bones: list[Bone] = []
    shaped = {**bodies.mechanism.of(BodyShape), **bodies.mechanism.of(FlexibleBody)}
    ends = {f"{path}.{frame}" for path, part in shaped.items() for frame in part.frames}
    for index, _ in bodies.moving():
        points.append(bodies.center(index).r_0)
        hub = len(points) - 1
        used = {anchor for group, anchor in bodies.anchors.values() if group == index}
        for anchor in bodies.groups[index].poses:
            if anchor in used | ends:
                points.append(bodies.frame_at(index, anchor).r_0)
                bones.append(Bone(_shown(bodies, index), hub, len(points) - 1))
    # Joints: the points of both frames, and the axis in the world
    joints: list[Hinge] = []
    axes: list[SX] = []
    for path, joint in bodies.mechanism.of(Joint).items():
        motion = next((label for kind, label in MOTIONS.items() if isinstance(joint, kind)), "")
        frames = bodies.equations[path].a, bodies.equations[path].b
        near, far = (_owner(bodies, f"{path}.frame_{side}") for side in "ab")
        joints.append(Hinge(path, motion, near, far, len(points), len(points) + 1))
        points += [frame.r_0 for frame in frames]
        has_axis = motion == "slides" or (motion == "turns" and not bodies.planar)
        n = axis(joint.n, bodies.planar) if has_axis else ca.SX(bodies.dim, 1)
        axes.append(frames[0].R @ n)
    # Lines: the points of both frames, axle and radii of the sheaves at the ends of a span
    lines: list[DrawnLine] = []
    sheaves: list[SX] = []
    for path, labels, radii in _spans(bodies):
        near, far = (_owner(bodies, f"{path}.{label}") for label in labels)
        lines.append(DrawnLine(path, near, far, len(points), len(points) + 1))
        held = [bodies.frame_of(f"{path}.{label}") for label in labels]
        points += [frame.r_0 for frame in held]
        axle = ca.SX(2, 1) if bodies.planar else held[1 if radii[0].is_zero() else 0].R[:, 2]
        sheaves += [axle, ca.vertcat(*radii, ca.SX(bodies.dim - 2, 1))]
    world = bodies.mechanism.components[bodies.mechanism.world]
    bare = dict(_bare(bodies))
    weighed = dict(_masses(bodies))
    groups = {path: index for index, group in enumerate(bodies.groups) for path in group.parts}
    shapes = {path: part.shape for path, part in bodies.mechanism.of(Body).items() if part.shape}
    drawn = tuple(DrawnPart(path, _named(bodies, groups[path]), shape) for path, shape in shapes.items())

    def function(name: str, columns: list[SX]) -> ca.Function:
        return ca.Function(
            name, [bodies.q, bodies.p, bodies.t], [ca.densify(ca.horzcat(ca.SX(bodies.dim, 0), *columns))]
        )

    return Skeleton(
        points=function("points", points),
        axes=function("axes", axes),
        bones=tuple(bones),
        joints=tuple(joints),
        lines=tuple(lines),
        sheaves=function("sheaves", sheaves),
        down=tuple(float(item) for item in world.n),  # type: ignore[attr-defined]
        bendings=tuple(_bending(bodies, path, part) for path, part in bodies.mechanism.of(FlexibleBody).items()),
        bare=tuple(bare),
        bare_poses=function("bare_poses", [item for frame in bare.values() for item in (frame.r_0, frame.R)]),
        drawn=drawn,
        masses=function("masses", [column for mass in weighed.values() for column in mass]),
        weighed=tuple(weighed),
        solids=function("solids", [column for item in drawn for column in _solid(bodies, groups[item.part], item)]),
    )


def _spans(bodies: Bodies) -> Iterator[tuple[str, tuple[str, str], tuple[SX, SX]]]:
    """Yield the name, the frames at both ends and the signed radii there, m, of every force and span along a line."""
    for path, force in bodies.mechanism.of(Force).items():
        if isinstance(force, LINES):
            yield path, ("frame_a", "frame_b"), (ca.SX(0), ca.SX(0))
    for path, rope in bodies.mechanism.of(RopePath).items():
        for index, *radii in rope.spans(bodies.values[path]):
            yield path, (f"frame_{index}", f"frame_{index + 1}"), (radii[0], radii[1])


def _bare(bodies: Bodies) -> Iterator[tuple[str, Frame]]:
    """Yield the name and the frame of every moving group that is shown by itself and has no body."""
    for index, _ in bodies.moving():
        name, poses = _shown(bodies, index), bodies.groups[index].poses
        if not isinstance(bodies.mechanism.components.get(name), MovingPart):
            yield name, bodies.frame_at(index, name if name in poses else f"{name}.frame_a")


def _masses(bodies: Bodies) -> Iterator[tuple[str, tuple[SX, SX]]]:
    """Yield the name of every moving body of one rigid part in space, with the columns of `Skeleton.masses`."""
    for index, inertia in () if bodies.planar else bodies.moving():
        parts = bodies.groups[index].parts
        if len(parts) == 1 and parts[0] == _shown(bodies, index) and parts[0] in bodies.massive:
            yield parts[0], (ca.repmat(ca.SX(inertia.m), 3, 1), inertia.I_CM)


def _solid(bodies: Bodies, group: int, item: DrawnPart) -> tuple[SX, SX, SX, SX]:
    """Return the columns of `Skeleton.solids` of a part in a group."""
    poses, p = bodies.groups[group].poses, bodies.values[item.part]
    part, body = poses[f"{item.part}.frame_a"], poses.get(f"{item.body}.frame_a", identity(bodies.planar))
    r = p.r if isinstance(bodies.mechanism.components[item.part], BodyShape) else ca.SX(bodies.dim, 1)
    return body.R.T @ (part.r - body.r), body.R.T @ part.R, ca.vertcat(p.r_CM), ca.vertcat(r)


def _bending(bodies: Bodies, path: str, part: FlexibleBody) -> Bending:
    p, shape = bodies.values[path], bodies.shapes[path]
    arguments = [shape.eta, bodies.p, bodies.t]
    poses = part.poses(p)
    columns = [item for pose in poses.values() for item in (pose.r, pose.R)]

    def surface(thick: float) -> tuple[Function, Any] | None:
        drawn = part.surface(p, thick)
        if drawn is None:
            return None
        stress = ca.SX(0, drawn.points.shape[1]) if drawn.stress is None else drawn.stress
        return ca.Function("surface", arguments, [ca.densify(drawn.points), ca.densify(stress)]), drawn.triangles

    return Bending(
        path,
        tuple(shape.names),
        tuple(poses),
        ca.Function("poses", arguments, [ca.densify(ca.horzcat(*columns))]),
        surface,
    )


def _owner(bodies: Bodies, frame: str) -> str:
    return _named(bodies, bodies.anchors[frame][0])


def _named(bodies: Bodies, group: int) -> str:
    """Return the full name of what a group is shown with; empty for the world."""
    return _shown(bodies, group) if group else ""


def _shown(bodies: Bodies, index: int) -> str:
    """Return the body that a group is shown with: its own, or the flexible one that it is connected to."""
    owner = bodies.owner(index)
    if index not in bodies.bonded or isinstance(bodies.mechanism.components[owner], MovingPart):
        return owner
    bonds = (edge for edge in bodies.tree.order if not edge.path)
    other = next(far if near == index else near for _, near, far, *_ in bonds if index in (near, far))
    return bodies.owner(other)
