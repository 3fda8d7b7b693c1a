"""Limits of what all actuators together put on joints and tendons (actuatorfrcrange)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from mbfmu.errors import ModelError
from mbfmu.model.mjcf.actuators import Actuator, Actuators
from mbfmu.model.mjcf.bodies import MjcfBodies, joint_path
from mbfmu.model.mjcf.closures import joints_along
from mbfmu.model.mjcf.settings import Settings, flag_of
from mbfmu.model.mjcf.tendons import SpatialTendon, Tendon
from mbfmu.model.robot.attributes import Attributes

Limits = tuple[float, float]


@dataclass(frozen=True)
class SharedLimit:
    """A limit of what several actuators put on a joint, or on a tendon.

    Args:
        name: name of the joint or the tendon.
        ratios: the axes it holds for, of a joint itself with 1.
        limits: least and greatest effort.
        actuators: names of the actuators.
        tendons: names of the tendons whose limits take something back before.
        bodies: names of the bodies whose held weight counts.
        on_joint: whether a joint has it.
    """

    name: str
    ratios: Mapping[str, float]
    limits: Limits
    actuators: tuple[str, ...]
    tendons: tuple[str, ...] = ()
    bodies: tuple[str, ...] = ()
    on_joint: bool = False


def held(
    reader: Attributes,
    bodies: MjcfBodies,
    tendons: Mapping[str, Tendon | SpatialTendon],
    actuators: Actuators,
    settings: Settings,
) -> tuple[Actuators, tuple[SharedLimit, ...]]:
    """Return actuators whose forces are within what their tendons and joints take, and the limits of several of them.

    A limit for one actuator, where no other acts, becomes one of its force. Limits of tendons come first.

    Args:
        reader: reader of attributes.
        bodies: the bodies.
        tendons: fixed and spatial tendons.
        actuators: the actuators.
        settings: settings of the model.

    Raises:
        ModelError: actuators of a tendon with a limit have limits or unlike gears, or weight is to be held that
            no actuator holds.
    """
    acting, shared = dict(actuators.acting), []
    for tendon in tendons.values():
        pulling = [item for item in acting.values() if item.tendon == tendon.name]
        if not (tendon.efforts and pulling):
            continue
        if len(pulling) == 1:
            (item,) = pulling
            acting[item.name] = replace(item, forces=_in_turn(tendon.efforts, item.forces))
            continue
        shared.append(_of_tendon(reader, tendon, tendon.efforts, pulling))
    above = _joints_above(bodies, tendons, acting)
    for joint in bodies.joints.values():
        weights = tuple(_held_weights(reader, bodies, joint.name, actuators, settings))
        if not joint.efforts:
            continue
        names = tuple(name for name, joints in above.items() if joint.name in joints)
        alone = acting[names[0]] if len(names) == 1 and not weights else None
        if alone and [*alone.joints] == [joint.name] and not any(names[0] in item.actuators for item in shared):
            ratio = alone.joints[joint.name]
            if ratio:
                least, greatest = sorted(item / ratio for item in joint.efforts)
                acting[alone.name] = replace(alone, forces=_in_turn(alone.forces, (least, greatest)))
        elif names or weights:
            before = tuple(item.name for item in shared if not item.on_joint and {*item.actuators} & {*names})
            shared.append(SharedLimit(joint.name, {joint.name: 1.0}, joint.efforts, names, before, weights, True))
    return replace(actuators, acting=acting), tuple(shared)


def _of_tendon(
    reader: Attributes, tendon: Tendon | SpatialTendon, limits: Limits, pulling: list[Actuator]
) -> SharedLimit:
    """Return the limit of a tendon that several actuators pull."""
    for item in pulling:
        message = ""
        if item.forces:
            message = "has a forcerange too: remove it"
        elif item.gear[0] != pulling[0].gear[0]:
            message = "has another gear than the others: give all one"
        if message:
            said = (
                f"tendon '{tendon.name}': its actuatorfrcrange limits the sum of several actuators, and '{item.name}'"
            )
            raise reader.error(tendon.element, ModelError(f"{said} {message}"))
    return SharedLimit(tendon.name, pulling[0].joints, limits, tuple(item.name for item in pulling))


def _joints_above(
    bodies: MjcfBodies, tendons: Mapping[str, Tendon | SpatialTendon], acting: Mapping[str, Actuator]
) -> dict[str, set[str]]:
    """Return the joints that each actuator acts through, by its name."""
    above: dict[str, set[str]] = {}
    for name, item in acting.items():
        ways = [set(joint_path(bodies, bodies.sites[site].body)) for site in item.on.sites]
        shared = set.intersection(*ways) if len(ways) > 1 else set()
        above[name] = {joint for way in ways for joint in way} - shared
        for key in item.joints:
            above[name] |= joints_along(bodies, tendons, key)
    return above


def _held_weights(
    reader: Attributes, bodies: MjcfBodies, name: str, actuators: Actuators, settings: Settings
) -> Iterator[str]:
    """Yield the bodies whose weight an actuated joint holds."""
    joint = bodies.joints[name]
    if not (any(settings.gravity) and flag_of(reader, joint.element, "actuatorgravcomp", False)):
        return
    for body in bodies.bodies.values():
        if not (body.gravcomp and body.solid.m and name in joint_path(bodies, body.name)):
            continue
        if not actuators.count or not settings.flags["actuation"]:
            message = "has actuatorgravcomp, and no actuator of the model acts, which leaves the weight to fall: remove"
            raise reader.error(joint.element, ModelError(f"joint '{name}' {message} it"))
        yield body.name


def _in_turn(first: Limits | None, second: Limits | None) -> Limits | None:
    """Return the limits of a force that is held within some limits, and then within others."""
    if not (first and second):
        return first or second
    least, greatest = (min(max(item, second[0]), second[1]) for item in first)
    return least, greatest
