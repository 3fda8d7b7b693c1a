"""Loads: the potential energy, the inputs, and the generalised force of everything that does work."""

import casadi as ca

from mbfmu.dae.bodies import Bodies, JointEquations, labels
from mbfmu.dae.dae import Signal
from mbfmu.errors import ModelError
from mbfmu.model.forces import AxisForce, Force
from mbfmu.model.frame import SX
from mbfmu.model.joints import Joint
from mbfmu.model.mechanism import joints_of


def potential(bodies: Bodies) -> SX:
    """Return the potential energy of gravity and springs, SX scalar, J."""
    world = bodies.mechanism.components[bodies.mechanism.world]
    gravity = world.gravity(bodies.values[bodies.mechanism.world])  # type: ignore[attr-defined]
    V = ca.SX(0)
    for group, inertia in bodies.moving():
        V -= inertia.m * ca.dot(gravity, bodies.coordinates.poses[group].r)
    for path, force in bodies.mechanism.of(Force).items():
        a, b = bodies.frame_of(f"{path}.frame_a"), bodies.frame_of(f"{path}.frame_b")
        V += force.potential(bodies.values[path], a, b)
    for path, force in bodies.mechanism.of(AxisForce).items():
        axis = _axis(bodies, path, force)
        V += force.potential(bodies.values[path], axis.motion[0].value)
    return V


def _axis(bodies: Bodies, path: str, force: AxisForce) -> JointEquations:
    equations = bodies.equations[joints_of(path, force)[0]]
    wanted = force.axis_unit
    if not equations.motion or (wanted and equations.motion[0].unit != wanted):
        raise ModelError(
            f"{type(force).__name__} '{path}' does not fit the joint '{force.joint}': "
            f"it needs an axis measured in {wanted or 'any unit'}"
        )
    return equations


def applied_force(bodies: Bodies) -> tuple[tuple[Signal, ...], SX, SX, dict[str, tuple[SX, ...]]]:
    """Return the inputs, their symbols, the applied generalised force, and each joint's efforts."""
    power: list[tuple[SX, SX]] = []
    signals: list[Signal] = []
    symbols: list[SX] = []
    efforts: dict[str, tuple[SX, ...]] = {}
    for path, joint in bodies.mechanism.of(Joint).items():
        if not joint.actuated:
            continue
        given = []
        for motion, rate in zip(bodies.equations[path].motion, bodies.equations[path].rates, strict=True):
            names = labels(f"{path}.{motion.effort}", rate)
            effort = ca.vertcat(*(ca.SX.sym(name) for name in names))
            signals += [
                Signal(name, motion.effort_unit, f"effort of the drive on {path}.{motion.position}", "input")
                for name in names
            ]
            symbols.append(effort)
            given.append(effort)
            power.append((rate, effort))
        efforts[path] = tuple(given)
    for path, force in bodies.mechanism.of(Force).items():
        a, b = bodies.frame_of(f"{path}.frame_a"), bodies.frame_of(f"{path}.frame_b")
        power += force.efforts(bodies.values[path], a, b)
    for path, force in bodies.mechanism.of(AxisForce).items():
        axis = _axis(bodies, path, force)
        power.append((axis.rates[0], force.effort(bodies.values[path], axis.motion[0].value, axis.rates[0])))
    applied = ca.SX(bodies.q.shape[0], 1)
    for rate, effort in power:
        applied += ca.jacobian(ca.vertcat(rate), bodies.v).T @ ca.vertcat(effort)
    return tuple(signals), ca.vertcat(ca.SX(0, 1), *symbols), applied, efforts
