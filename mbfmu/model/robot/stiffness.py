"""Stops and the stepper that suit a robot's inertias, so that it runs with a step of 1 ms as it is."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from mbfmu.errors import first_of
from mbfmu.model.forces import RotationalFriction, TranslationalFriction
from mbfmu.model.robot.masses import inertias_on_axes
from mbfmu.model.robot.robot import AXIAL, Robot, RobotJoint

STEP = 1e-3
"""Default step of a run, s."""
GIVE = 0.01
"""Deflection of a stop under the maximum effort of the joint's drive, rad or m, unless the joint is too light."""
MUCH = 0.2
"""Deflection of a stop, rad or m, from which a notice reports it."""
EFFORT = 10.0
"""Maximum effort, N.m or N, of a drive whose file states none."""
SETTLING = 100.0
"""Largest decrease of a rate by friction and damping, over one step and relative to the rate, that `rattle` takes.

One joint of a double pendulum with Coulomb friction runs up to 500, and fails to converge at 1000."""
STIFF = "radau"
"""Default stepper of robots whose rates decrease by more than `SETTLING` in a step."""


@dataclass(frozen=True)
class Suited:
    """Stops and a stepper that suit a robot.

    Args:
        stops: stiffness of the stop of each joint with limits, N.m/rad or N/m.
        stepper: name of the default stepper; empty: the one of all systems.
        notices: choices that a user should know.
    """

    stops: Mapping[str, float]
    stepper: str
    notices: tuple[str, ...]


def stop_stiffness(J: float, effort: float = EFFORT) -> float:
    """Return the stiffness of a stop that gives by `GIVE` under an effort, and turns an inertia back within pi steps.

    Args:
        J: inertia that it stops, kg.m2 or kg.
        effort: greatest effort of the drive, N.m or N.
    """
    return min(effort / GIVE, J / STEP**2)


def bounds_of(joint: RobotJoint) -> tuple[float, float]:
    """Return the least and the greatest coordinate of a joint, rad or m; infinite if it has no limits."""
    lower, upper = joint.limit.lower, joint.limit.upper
    if joint.kind == "continuous" or lower is None or upper is None:
        return -math.inf, math.inf
    return lower, upper


def start_of(joint: RobotJoint) -> float:
    """Return the start of a joint's coordinate: as given, or zero, or the limit nearest to zero."""
    if joint.start:
        return joint.start[0]
    lower, upper = bounds_of(joint)
    return min(max(0.0, lower), upper)


def suited(robot: Robot) -> Suited:
    """Return stops and a stepper that suit the inertias that the joints move at the start.

    Unless the stepper is for stiff forces, a stop on an inertia J is at most so stiff that it turns the motion back
    within pi steps, ``c = J / STEP^2``; the steppers for smooth forces are stable up to four times that.
    """
    inertias = inertias_on_axes(robot, {name: start_of(joint) for name, joint in robot.joints.items()})
    settling = {name: _rate(robot.joints[name]) / J * STEP for name, J in inertias.items()}
    stiff = [f"'{name}' ({STEP / value:.1g} s)" for name, value in settling.items() if value > SETTLING]
    stops: dict[str, float] = {}
    soft: list[str] = []
    lightest = min(inertias.values(), default=math.inf)  # for joints that close loops
    every = {**robot.joints, **{name: loop.joint for name, loop in robot.loops.items()}}
    for name, joint in every.items():
        if joint.kind in AXIAL and math.isfinite(bounds_of(joint)[0]):
            effort = joint.limit.effort or EFFORT
            J = inertias.get(name, lightest if name in robot.loops else math.inf)
            stops[name] = stop_stiffness(math.inf if stiff else J, effort)
            if effort / stops[name] > MUCH:
                soft.append(f"'{name}' ({effort / stops[name]:.2g} {'m' if joint.kind == 'prismatic' else 'rad'})")
    notices = []
    if soft:
        message = "stops are soft, as the joints are light for steps of 1 ms; they yield under the maximum efforts: "
        notices.append(message + first_of(soft))
    if stiff:
        message = f"the default stepper is '{STIFF}', as friction and damping stop light joints at once: "
        notices.append(message + first_of(stiff))
    return Suited(stops, STIFF if stiff else "", tuple(notices))


def _rate(joint: RobotJoint) -> float:
    """Return the effort of friction and damping per rate, of a joint about to stop, N.m.s/rad or N.s/m."""
    friction = TranslationalFriction if joint.kind == "prismatic" else RotationalFriction
    return joint.damping + joint.friction / float(friction(name="friction").v_0)
