"""Ease of motion of a model at its references: damping by ratios, and the stiffness of stops."""

import math
from collections.abc import Mapping
from dataclasses import replace

import casadi as ca
import numpy as np

from mbfmu.model.forces import CrankDrive, PoseDrive
from mbfmu.model.frame import Frame, Pose
from mbfmu.model.mjcf.actuators import Actuator, Actuators
from mbfmu.model.mjcf.bodies import MjcfBodies, Site
from mbfmu.model.mjcf.tendons import ROPE, SpatialTendon, Tendon, still
from mbfmu.model.robot.assembly import quaternion
from mbfmu.model.robot.masses import Mobility, mobility_of
from mbfmu.model.robot.robot import Array, Origin, Robot
from mbfmu.model.robot.stiffness import stop_stiffness

BALL = "\n"
"""Beginning of the key of the stop of a ball joint; no tendon has it."""
Ropes = Mapping[str, SpatialTendon]


def damped(actuators: Actuators, robot: Robot, bodies: MjcfBodies, ropes: Ropes) -> Actuators:
    """Return actuators with the damping that a damping ratio zeta asks for, at the references of the joints.

    With the stiffness k and the inertia m that they move, ``d = 2 zeta sqrt(k m)``.
    """
    if not any(item.law.dampratio for item in actuators.acting.values()):
        return actuators
    mobility, changed = mobility_at_references(robot, bodies, ropes), dict(actuators.acting)
    for name, item in actuators.acting.items():
        if item.law.dampratio and (eased_by := mobility.eased(_row_of(mobility, item, robot, bodies, ropes))) > 0:
            d = 2 * item.law.dampratio * math.sqrt(item.law.gain[0] / eased_by)
            changed[name] = replace(item, law=replace(item.law, bias=(*item.law.bias[:2], -d)))
    return replace(actuators, acting=changed)


def stops_of(
    tendons: Mapping[str, Tendon], robot: Robot, bodies: MjcfBodies, ropes: Ropes, limits: bool
) -> dict[str, float]:
    """Return the stiffness of the stop of each tendon and ball joint with limits that can move.

    Args:
        tendons: fixed tendons.
        robot: the tree.
        bodies: the bodies.
        ropes: spatial tendons.
        limits: whether the limits of joints count.
    """
    limited = {name: tendon.ratios for name, tendon in tendons.items() if tendon.limits}
    limited |= {name: {ROPE + name: 1.0} for name, rope in ropes.items() if rope.limits}
    balls = [item.name for item in bodies.joints.values() if limits and item.kind == "ball" and item.limits]
    if not (limited or balls):
        return {}
    mobility = mobility_at_references(robot, bodies, ropes)
    eased = {name: mobility.eased(_along(mobility, ratios, robot, ropes)) for name, ratios in limited.items()}
    eased |= {BALL + name: mobility.eased_by(name) for name in balls if robot.joints[name].kind == "ball"}
    return {name: stop_stiffness(1 / item) for name, item in eased.items() if item > 0}


def mobility_at_references(robot: Robot, bodies: MjcfBodies, ropes: Ropes) -> Mobility:
    """Return how easily a robot moves at the references of its joints, with the armature of ropes."""
    free = {
        item.joints[0].name: item.pose for item in bodies.bodies.values() if [x.kind for x in item.joints] == ["free"]
    }
    placed = {
        name: replace(joint, origin=Origin.of(free[name].r, free[name].R)) if name in free else joint
        for name, joint in robot.joints.items()
    }
    start = {name: joint.ref for name, joint in bodies.joints.items()}
    mobility = mobility_of(replace(robot, joints=placed), start)
    heavy = [rope for rope in ropes.values() if rope.armature]
    return mobility.loaded([(_rope_row(mobility, rope), rope.armature) for rope in heavy])


def _row_of(mobility: Mobility, item: Actuator, robot: Robot, bodies: MjcfBodies, ropes: Ropes) -> Array:
    """Return the velocity along what an actuator acts on, per rate that mimics no other."""
    on = item.on
    if on.joints:
        return _along(mobility, on.joints, robot, ropes)
    if on.turned:
        turning = [(f"{on.turned} {index}", gear) for index, gear in enumerate(item.gear)]
        rows = [gear * mobility.follow[mobility.column[name]] for name, gear in turning if name in mobility.column]
        return sum(rows, np.zeros(mobility.follow.shape[1]))
    sites = [bodies.sites[name] for name in on.sites]
    if not on.between:
        (site,) = sites
        R = mobility.frames[site.body][0] @ site.pose.R
        return mobility.of_point(site.body, site.pose.r, R @ np.array(item.gear[:3]), R @ np.array(item.gear[3:]))
    drive = CrankDrive("drive", **on.fields) if on.crank else PoseDrive("drive", **on.fields)
    moving = [_moving(mobility, site) for site in sites]
    symbols = ca.vertcat(*(x for frame in moving for x in (frame.v_0, frame.w_0)))
    rate = drive.measured(moving[1], moving[0])[1]
    slopes = np.array(ca.evalf(ca.jacobian(rate, symbols))).reshape(len(sites), 2, 3)
    ends = zip(sites, slopes, strict=True)
    return np.sum([mobility.of_point(site.body, site.pose.r, *slope) for site, slope in ends], axis=0)


def _moving(mobility: Mobility, site: Site) -> Frame:
    """Return the frame of a site with any velocity."""
    R, r = mobility.frames[site.body]
    at_rest = still(r + R @ site.pose.r, R @ site.pose.R)
    Q = ca.SX(ca.DM(quaternion(R @ site.pose.R)))
    return Frame(Pose(at_rest.r_0, Q, at_rest.R), ca.SX.sym("v", 3), ca.SX.sym("w", 3))


def _along(mobility: Mobility, ratios: Mapping[str, float], robot: Robot, ropes: Ropes) -> Array:
    """Return the velocity along a combination of axes, as `_row_of`."""
    row = mobility.along({key: ratio for key, ratio in ratios.items() if key in robot.joints})
    for key in ratios:
        if key.startswith(ROPE):
            row = row + ratios[key] * _rope_row(mobility, ropes[key.removeprefix(ROPE)])
    return row


def _rope_row(mobility: Mobility, rope: SpatialTendon) -> Array:
    """Return the rate of a rope's length per rate that mimics no other."""
    held = [(site, *mobility.frames[site.body]) for site in rope.frames]
    frames = (still(r + R @ site.pose.r, R @ site.pose.R) for site, R, r in held)
    row = np.zeros(mobility.follow.shape[1])
    for (site, _, _), pull in zip(held, rope.rope("rope").pulls(None, *frames), strict=True):
        force, torque = (np.array(ca.evalf(ca.SX(item))).ravel() for item in pull)
        row = row + mobility.of_point(site.body, site.pose.r, force, torque)
    return row
