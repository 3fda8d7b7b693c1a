"""Skeleton: the points of a mechanism and the lines between them, for a picture."""

import casadi as ca

from mbfmu.dae.bodies import Bodies
from mbfmu.dae.dae import Bone, Skeleton
from mbfmu.model.frame import SX
from mbfmu.model.joints import Joint
from mbfmu.model.parts import BodyShape


def skeleton(bodies: Bodies) -> Skeleton:
    """Return a star for every moving body, from its centre of mass to its frames, and a point for every joint."""
    points: list[SX] = []
    bones: list[Bone] = []
    ends = {f"{path}.{frame}" for path, part in bodies.mechanism.of(BodyShape).items() for frame in part.frames}
    for number, _ in bodies.moving():
        points.append(bodies.center(number).r_0)
        hub = len(points) - 1
        used = {anchor for group, anchor in bodies.anchors.values() if group == number}
        for anchor, pose in bodies.groups[number].poses.items():
            if anchor in used | ends:
                points.append(bodies.frame(number, pose).r_0)
                bones.append(Bone(bodies.owner(number), hub, len(points) - 1))
    joints: list[tuple[str, int]] = []
    for path in bodies.mechanism.of(Joint):
        joints.append((path, len(points)))
        points.append(bodies.equations[path].a.r_0)
    world = bodies.mechanism.components[bodies.mechanism.world]
    return Skeleton(
        points=ca.Function("points", [bodies.q, bodies.p, bodies.t], [ca.densify(ca.horzcat(*points))]),
        bones=tuple(bones),
        joints=tuple(joints),
        down=tuple(float(item) for item in world.n),  # type: ignore[attr-defined]
    )
