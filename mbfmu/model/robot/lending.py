"""Inertia that joints lend to those coupled with them that move no mass."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from mbfmu.model.robot.loops import held
from mbfmu.model.robot.masses import accelerations_of_axes
from mbfmu.model.robot.robot import Robot, RobotJoint, RobotLink

SHARE = 0.01
"""Part of the inertia on an axis that it lends; in joint coordinates the rest has to be positive wherever it moves."""


def moving_mass(
    links: Mapping[str, RobotLink], joints: Mapping[str, RobotJoint], held: Collection[str] = ()
) -> set[str]:
    """Return the names of the joints that move mass: that of a link, of a rotor on an axis, or beyond a loop.

    Args:
        links: the links by name.
        joints: the joints by name, each after the joint that carries its parent.
        held: names of the links that joints of loops hold.
    """
    massive = {name for name, link in links.items() if link.massive or name in held}
    moving = set()
    for name, joint in reversed(list(joints.items())):
        if joint.child in massive or joint.rotor:
            massive.add(joint.parent)
            moving.add(name)
    return moving


def coupled(joints: Mapping[str, RobotJoint]) -> list[dict[str, float]]:
    """Return the sets of joints that move together as they mimic each other: the rate of each, relative to one."""
    near: dict[str, dict[str, float]] = {}
    for name, joint in joints.items():
        if joint.mimic and joint.mimic.multiplier:
            near.setdefault(joint.mimic.joint, {})[name] = joint.mimic.multiplier
            near.setdefault(name, {})[joint.mimic.joint] = 1 / joint.mimic.multiplier
    sets: list[dict[str, float]] = []
    for first in near:
        if any(first in rates for rates in sets):
            continue
        rates, todo = {first: 1.0}, [first]
        for name in todo:  # grows in the loop
            for other, ratio in near[name].items():
                if other not in rates:
                    rates[other] = ratio * rates[name]
                    todo.append(other)
        sets.append(rates)
    return sets


def lent(robot: Robot, start: Mapping[str, float]) -> dict[str, float]:
    """Return the inertia that each joint that mimics another gets from that one, see `Gear`, kg.m2 or kg.

    One joint of each coupled set, of the largest inertia, lends a small part of it to all that move no mass, along the
    couplings between them. It does not change the motion: coupled, they have the inertia that they had.

    Args:
        robot: the robot.
        start: coordinate of each joint with an axis.
    """
    moving = moving_mass(robot.links, robot.joints, held(robot.loops))
    sets = [rates for rates in coupled(robot.joints) if not moving.issuperset(rates)]
    if not sets:
        return {}
    # The inertia on each axis while all others, coupled or not, are free: 1 / (M^-1)_ii.
    free = replace(robot, joints={name: replace(joint, mimic=None) for name, joint in robot.joints.items()})
    names, eased = accelerations_of_axes(free, start)
    inertia = {name: 1 / item for name, item in zip(names, eased.diagonal(), strict=True) if item > 0}
    amounts: dict[str, float] = {}
    for rates in sets:
        # Part of the lender's inertia for each idle joint, for the rate of the set's first joint: J_i rate_i^2.
        lender = max(rates, key=lambda name: inertia.get(name, 0.0) * rates[name] ** 2)
        idle = rates.keys() - moving
        part = SHARE * inertia.get(lender, 0.0) * rates[lender] ** 2 / len(idle)
        # What flows through the coupling of two joints is the part of each idle one beyond it, seen from the lender.
        for name in rates:
            mimic = robot.joints[name].mimic
            if mimic is None or mimic.joint not in rates:
                continue
            beyond = _side(robot.joints, rates, name)
            count = len(idle & beyond) if lender not in beyond else -len(idle - beyond)
            if count:
                amounts[name] = part * count / rates[name] ** 2
    return amounts


def _side(joints: Mapping[str, RobotJoint], rates: Mapping[str, float], cut: str) -> set[str]:
    """Return the joints of a coupled set that hang together with one while its own mimicking is cut."""
    side = {cut}
    while True:
        more = {
            name
            for name in rates
            if name not in side and (mimic := joints[name].mimic) is not None and mimic.joint in side
        }
        if not more:
            return side
        side |= more
