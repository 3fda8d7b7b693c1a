"""Loops, couplings, tendons, drives and sites of a model, as components that join its tree in a system."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mbfmu.model.component import Component, guess
from mbfmu.model.couplings import Gear, PolynomialCoupling
from mbfmu.model.forces import (
    AffineDrive,
    AffineThruster,
    AngularStop,
    AxesEffortLimit,
    AxesLaw,
    AxesSpring,
    AxesStop,
    BoxDrag,
    ConstantForce,
    CrankDrive,
    EffortLimit,
    EllipsoidFluid,
    FilteredCrankDrive,
    FilteredDrive,
    FilteredPoseDrive,
    FilteredThruster,
    IntegratedCrankDrive,
    IntegratedDrive,
    IntegratedPoseDrive,
    IntegratedThruster,
    Muscle,
    PoseDrive,
    TranslationalFriction,
)
from mbfmu.model.forces.stop import NO_LIMIT
from mbfmu.model.joints import Coincident, Fixed, Prismatic
from mbfmu.model.mjcf.actuators import Actuator
from mbfmu.model.mjcf.bodies import ModelBody, Site, joint_path, poses_of
from mbfmu.model.mjcf.closures import Closure, Coupled
from mbfmu.model.mjcf.eased import BALL
from mbfmu.model.mjcf.effort_limits import SharedLimit
from mbfmu.model.mjcf.model import MjcfModel
from mbfmu.model.mjcf.settings import Settings
from mbfmu.model.mjcf.tendons import ROPE, SpatialTendon, Tendon
from mbfmu.model.parts import Body, FixedTranslation
from mbfmu.model.robot.assembly import VELOCITY, bracket, frames_of, identifier, names_of
from mbfmu.model.robot.rigid_pose import RigidPose
from mbfmu.model.robot.robot import AXIAL, Origin, Robot
from mbfmu.model.robot.tree import unlike
from mbfmu.model.system import System
from mbfmu.model.system_data import Connection, connect


class _More:
    """Components and connections to add, with names that are not taken."""

    def __init__(self, system: System, robot: Robot) -> None:
        self.names = names_of(robot)
        self.frames = frames_of(robot, self.names)
        self.taken: dict[str, object] = {item.name: item for item in system.components}
        self.components: list[Component] = []
        self.connections: list[Connection] = []
        self.inputs: dict[str, float] = {}

    def named(self, name: str, kind: str) -> str:
        """Return a name for a component, with its kind at its end if another has it."""
        wanted = identifier(name)
        return unlike(wanted if wanted not in self.taken else f"{wanted}_{kind}", self.taken)

    def add(self, component: Component, **ends: str) -> None:
        """Add a component, with its frames connected to others."""
        self.taken[component.name] = component
        self.components.append(component)
        self.connections += [connect(other, f"{component.name}.{frame}") for frame, other in ends.items()]

    def end(self, name: str, body: str, pose: RigidPose) -> str:
        """Return the full name of a frame fixed to a body, adding a bracket of that name if it is not the body's."""
        frame = self.frames[body]
        item = bracket(unlike(name, self.taken), Origin.of(pose.r, pose.R))
        if item is None:
            return frame
        self.add(item, frame_a=frame)
        return f"{item.name}.frame_b"


def added(system: System, model: MjcfModel) -> System:
    """Return a system with what a model has besides its tree.

    Args:
        system: the tree.
        model: the model.
    """
    robot = model.robot
    more = _More(system, robot)
    axial = {name for name, joint in robot.joints.items() if joint.kind in AXIAL}
    sites = {site.name: _site(more, site) for site in model.bodies.sites.values()}
    for closure in model.equalities.closures:
        _close(more, closure)
    for rope in model.ropes.values():
        axial.add(ROPE + rope.name)
        _span(more, rope, model, sites)
    for coupled in model.equalities.coupled:
        _couple(more, coupled, axial)
    for tendon in model.tendons.values():
        _tend(more, tendon, model, axial)
    _stop_balls(more, model)
    for actuator in model.actuators.acting.values():
        begun = model.keyframe.inputs[model.actuators.indices[actuator.name]] if model.keyframe.inputs else 0.0
        state = model.keyframe.states.get(actuator.name, 0.0)
        _drive(more, actuator, axial, sites, begun, state)
    for actuator in (*model.actuators.acting.values(), *model.actuators.idle.values()):
        _damp(more, actuator, axial)
    for body in model.bodies.bodies.values():
        if body.gravcomp and body.solid.m:
            f = tuple(-body.gravcomp * body.solid.m * item for item in robot.gravity)
            name = more.named(f"{body.name}_gravcomp", "force")
            r: Any = tuple(float(item) for item in body.solid.r)
            more.add(ConstantForce(name, f=f, r=r), frame_b=more.frames[body.name])
            more.names["held", body.name] = name
        _drag(more, body, model.settings)
        if weightless := body.armed[1]:
            f = tuple(-weightless * item for item in robot.gravity)
            more.add(ConstantForce(more.named(f"{body.name}_armature", "force"), f=f), frame_b=more.frames[body.name])
    for limit in model.shared:
        _limit(more, limit, model, axial)
    return replace(
        system,
        components=(*system.components, *more.components),
        connections=(*system.connections, *more.connections),
        input_starts={**system.input_starts, **more.inputs},
    )


def _drag(more: _More, body: ModelBody, settings: Settings) -> None:
    """Add the drag of a body if a fluid is around it: of its wings, or of the box with its mass and inertia."""
    solid = body.solid
    if not (solid.m and settings.passive and (settings.density or settings.viscosity)):
        return
    fluid: dict[str, Any] = {"rho": settings.density, "mu": settings.viscosity, "wind": settings.wind}
    for wing in body.wings:
        name = more.named(f"{body.name}_fluid", "force")
        kinds: dict[str, Any] = dict(
            zip(("blunt", "slender", "angular", "kutta", "magnus"), wing.coefficients, strict=True)
        )
        item = EllipsoidFluid(name, a=wing.a, **fluid, **kinds)
        more.add(item, frame_b=more.end(f"{name}_b", body.name, wing.pose))
    if body.wings:
        return
    pose = solid.pose
    moments = np.diag(pose.R.T @ solid.I @ pose.R)
    squares = 6 * (moments.sum() - 2 * moments) / solid.m
    b: Any = tuple(float(np.sqrt(max(item, 0.0))) for item in squares)
    name = more.named(f"{body.name}_drag", "force")
    drag = BoxDrag(name, b=b, **fluid)
    more.add(drag, frame_b=more.end(f"{name}_b", body.name, pose))


def _close(more: _More, closure: Closure) -> None:
    name = more.named(closure.name, "loop")
    ends = {
        f"frame_{side}": more.end(f"{name}_{side}", body, pose)
        for side, body, pose in zip("ab", closure.bodies, closure.poses, strict=True)
    }
    more.add(Fixed(name) if closure.rigid else Coincident(name), **ends)


def _span(more: _More, rope: SpatialTendon, model: MjcfModel, sites: Mapping[str, str]) -> None:
    """Add a spatial tendon, with what acts along it."""
    name = more.named(rope.name, "tendon")
    item, ends = rope.rope(name), {}
    for label, site in zip(item.frames, rope.frames, strict=True):
        ends[label] = more.end(f"{name}_{label}", site.body, site.pose) if site.shape else sites[site.name]
    more.add(item, **ends)
    more.names["joint", ROPE + rope.name] = name
    axis: dict[str, Any] = {"joints": (name,), "ratios": (1.0,)}
    if rope.stiffness or rope.damping:
        lower, upper = rope.slack
        spring = AxesSpring(more.named(f"{name}_spring", "tendon"), **axis, c=rope.stiffness, d=rope.damping,
                            lower=lower, upper=upper)  # fmt: skip
        more.add(spring)
    if rope.law:
        more.add(AxesLaw(more.named(f"{name}_law", "tendon"), **axis, formula=rope.law))
    if rope.name in model.stops and rope.limits:
        c, (lower, upper) = model.stops[rope.name], rope.limits
        more.add(AxesStop(more.named(f"{name}_stop", "tendon"), **axis, lower=lower, upper=upper, c=c, d=c / VELOCITY))
    if rope.friction:
        more.add(TranslationalFriction(more.named(f"{name}_friction", "tendon"), joint=name, f_c=rope.friction))
    if rope.armature:  # a mass that slides along without weight
        slide, mass = more.named(f"{name}_slide", "tendon"), more.named(f"{name}_mass", "tendon")
        length: Any = guess(rope.length(poses_of(model.bodies)))
        more.add(Prismatic(slide, n=(1.0, 0.0, 0.0), s=length, v=None), frame_a=more.frames[model.robot.root])
        more.add(Body(mass, m=rope.armature), frame_a=f"{slide}.frame_b")
        f = tuple(-rope.armature * item for item in model.robot.gravity)
        more.add(ConstantForce(more.named(f"{name}_weight", "tendon"), f=f), frame_b=f"{slide}.frame_b")
        more.add(Gear(more.named(f"{name}_gear", "tendon"), joint_a=slide, joint_b=name))


def _tend(more: _More, tendon: Tendon, model: MjcfModel, axial: set[str]) -> None:
    """Add what a fixed tendon has."""
    if tendon.stiffness or tendon.damping:
        axes = _axes(more, tendon.ratios, axial)
        lower, upper = tendon.slack
        name = more.named(tendon.name, "tendon")
        more.add(AxesSpring(name, **axes, c=tendon.stiffness, lower=lower, upper=upper, d=tendon.damping))
    if tendon.law:
        axes = _axes(more, tendon.ratios, axial)
        more.add(AxesLaw(more.named(f"{tendon.name}_law", "tendon"), **axes, formula=tendon.law))
    if tendon.name in model.stops and tendon.limits:
        c, (lower, upper) = model.stops[tendon.name], tendon.limits
        name = more.named(f"{tendon.name}_stop", "tendon")
        more.add(AxesStop(name, **_axes(more, tendon.ratios, axial), lower=lower, upper=upper, c=c, d=c / VELOCITY))


def _stop_balls(more: _More, model: MjcfModel) -> None:
    """Add the stops of ball joints."""
    for joint in model.bodies.joints.values():
        if BALL + joint.name in model.stops and joint.limits:
            c, turned = model.stops[BALL + joint.name], more.names["joint", joint.name]
            upper = min(max(joint.limits), math.pi)
            stop = AngularStop(more.named(f"{turned}_stop", "joint"), upper=upper, c=c, d=c / VELOCITY)
            more.add(stop, frame_a=f"{turned}.frame_a", frame_b=f"{turned}.frame_b")


def _couple(more: _More, coupled: Coupled, axial: set[str]) -> None:
    name = more.named(coupled.name, "coupling")
    c = coupled.coefficients
    if len(coupled.a) == len(coupled.b) == 1 and not any(c[2:]) and {*coupled.b} <= axial and any(coupled.a.values()):
        ((a, one),), ((b, other),) = coupled.a.items(), coupled.b.items()
        ratio = c[1] * other / one
        offset = (coupled.references[0] + c[0] - c[1] * coupled.references[1]) / one
        joint_a, joint_b = more.names["joint", a], more.names["joint", b]
        more.add(Gear(name, joint_a=joint_a, joint_b=joint_b, ratio=ratio, offset=offset))
        return
    axes = {
        f"{label}_{side}": item
        for side, combination in (("a", coupled.a), ("b", coupled.b))
        for label, item in _axes(more, combination, axial).items()
    }
    a_0, b_0 = coupled.references
    coefficients: dict[str, Any] = {f"c_{power}": value for power, value in enumerate(c)}
    more.add(PolynomialCoupling(name, **axes, a_0=a_0, b_0=b_0, **coefficients))


def _axes(more: _More, combination: Mapping[str, float], axial: set[str]) -> dict[str, Any]:
    """Return joints and ratios of a combination as fields, without joints that are fixed."""
    kept = {more.names["joint", name]: ratio for name, ratio in combination.items() if name in axial}
    return {"joints": tuple(kept), "ratios": tuple(kept.values())}


def _drive(
    more: _More, actuator: Actuator, axial: set[str], sites: Mapping[str, str], begun: float, state: float
) -> None:
    law = actuator.law
    if actuator.on.turned and ("joint", actuator.on.turned) not in more.names:  # the base was fixed
        return
    name = more.names["actuator", actuator.name] = more.named(actuator.name, "actuator")
    limits = dict(_limits(actuator))
    fields: dict[str, Any] = {"gain": law.gain[0], "bias": law.bias[0], "bias_v": law.bias[2], **limits}
    if law.dyntype == "integrator":
        least, greatest = actuator.states or (-NO_LIMIT, NO_LIMIT)
        fields |= {"z_least": least, "z_greatest": greatest, "z": state}
    elif law.filtered:
        fields |= {"T": law.filtered, "z": state}
    kind = 1 if law.dyntype == "integrator" else 2 if law.filtered else 0
    if actuator.muscle:
        more.add(Muscle(name, **_axes(more, actuator.joints, axial), **actuator.muscle, z=state))
    elif actuator.on.between:
        _between(more, name, actuator, sites, kind, fields)
    elif actuator.on.sites:
        force, torque = actuator.gear[:3], actuator.gear[3:]
        thruster = (AffineThruster, IntegratedThruster, FilteredThruster)[kind]
        more.add(thruster(name, force=force, torque=torque, **fields), frame_b=sites[actuator.on.sites[0]])
    else:
        fields |= {"gain_s": law.gain[1], "gain_v": law.gain[2], "bias_s": law.bias[1]}
        drive = (AffineDrive, IntegratedDrive, FilteredDrive)[kind]
        more.add(drive(name, **_axes(more, actuator.joints, axial), **fields))
    if begun:
        more.inputs[f"{name}.u"] = begun


def _between(
    more: _More, name: str, actuator: Actuator, sites: Mapping[str, str], kind: int, fields: dict[str, Any]
) -> None:
    """Add a drive between two sites, or the frames of a joint."""
    law, on = actuator.law, actuator.on
    fields = {**fields, "gain_s": law.gain[1], "gain_v": law.gain[2], "bias_s": law.bias[1], **on.fields}
    kinds: Any = (CrankDrive, IntegratedCrankDrive, FilteredCrankDrive) if on.crank else (
        PoseDrive, IntegratedPoseDrive, FilteredPoseDrive)  # fmt: skip
    if on.turned:
        joint = more.names["joint", on.turned]
        ends = {f"frame_{side}": f"{joint}.frame_{side}" for side in "ab"}
    else:
        b, a = (sites[item] for item in on.sites)
        ends = {"frame_a": a, "frame_b": b}
    more.add(kinds[kind](name, **fields), **ends)


def _limit(more: _More, limit: SharedLimit, model: MjcfModel, axial: set[str]) -> None:
    """Add a limit of what several actuators put on a joint or a tendon, if it can move."""
    axes, (lower, upper) = _axes(more, limit.ratios, axial), limit.limits
    if not axes["joints"]:
        return
    name = more.names["limit", ROPE * (not limit.on_joint) + limit.name] = more.named(f"{limit.name}_limit", "limit")
    acting = [model.actuators.acting[item] for item in limit.actuators]
    forces = tuple(more.names["actuator", item.name] for item in acting)
    if not limit.on_joint:
        more.add(AxesEffortLimit(name, **axes, forces=forces, lower=lower, upper=upper))
        return
    carried: list[str] = []
    bodies, key = model.bodies, limit.name
    for item in acting:
        for site, end in zip(item.on.sites, ("frame_b", "frame_a"), strict=False):
            if key in joint_path(bodies, bodies.sites[site].body):
                carried.append(f"{more.names['actuator', item.name]}.{end}")
        for rope in (model.ropes[label.removeprefix(ROPE)] for label in item.joints if label.startswith(ROPE)):
            of_rope = more.names["joint", ROPE + rope.name]
            labels = zip(rope.rope(of_rope).frames, rope.frames, strict=True)
            carried += [f"{of_rope}.{label}" for label, site in labels if key in joint_path(bodies, site.body)]
    weights = tuple(more.names["held", body] for body in limit.bodies)
    forces += (*(more.names["limit", ROPE + tendon] for tendon in limit.tendons), *weights)
    carried += [f"{weight}.frame_b" for weight in weights]
    (joint,) = axes["joints"]
    held: dict[str, Any] = {"forces": forces, "carried": tuple(dict.fromkeys(carried))}
    more.add(EffortLimit(name, joint=joint, **held, lower=lower, upper=upper))


def _damp(more: _More, actuator: Actuator, axial: set[str]) -> None:
    axes = _axes(more, actuator.joints, axial)
    if actuator.damping and axes["joints"]:
        more.add(AxesSpring(more.named(f"{actuator.name}_damping", "damper"), **axes, d=actuator.damping))


def _limits(actuator: Actuator) -> Iterator[tuple[str, float]]:
    for letter, limits in (("u", actuator.inputs), ("f", actuator.forces)):
        if limits:
            yield f"{letter}_least", limits[0]
            yield f"{letter}_greatest", limits[1]


def _site(more: _More, site: Site) -> str:
    """Add the frame of a site, and return its full name."""
    name = more.named(site.name, "site")
    item = bracket(name, Origin.of(site.pose.r, site.pose.R)) or FixedTranslation(name)
    more.add(item, frame_a=more.frames[site.body])
    return f"{name}.frame_b"
