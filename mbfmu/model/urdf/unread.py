"""Effects on the motion of the elements of a URDF that are not read, those of Gazebo and Drake among them."""

import re
from collections.abc import Iterator, Mapping

from mbfmu.errors import ModelError
from mbfmu.model.robot.attributes import NUMBER, Attributes
from mbfmu.model.robot.robot import RobotJoint
from mbfmu.model.robot.unread import (
    LOOP,
    OFF,
    Rule,
    check_attributes,
    harmless,
    left_out,
    plugin,
    quiet,
    refused,
    shown,
    unless_off,
    unless_zero,
)
from mbfmu.model.robot.xml import XmlElement
from mbfmu.model.urdf.gazebo import tags_read

READ = {
    "robot": {
        "link", "joint", "material", "loop_joint", "loop", "drake:ball_constraint", "drake:linear_bushing_rpy",
        "drake:linear_spring_damper", "force_element",
    },
    "link": {"inertial", "visual"},
    "joint": {"origin", "parent", "child", "axis", "dynamics", "joint_properties", "limit", "mimic"},
    "inertial": {"origin", "mass", "inertia"},
}  # fmt: skip
"""Elements that are read, by the element they stand in."""
ATTRIBUTES = {
    "origin": ("xyz rpy", ""),
    "mass": ("value", ""),
    "inertia": ("ixx ixy ixz iyy iyz izz", ""),
    "axis": ("xyz", "rpy"),
    "dynamics": ("damping friction", "K D mu_coulomb mu_viscous"),
    "joint_properties": ("damping friction", ""),
    "limit": (
        "lower upper effort velocity",
        "acceleration deceleration jerk drake:acceleration drake:jerk command_effort current gear_velocity k_velocity "
        "k_position soft_lower_limit soft_upper_limit",
    ),
    "mimic": ("joint multiplier offset", ""),
}
"""Attributes that are read, and those that no reader of URDF takes, by the element."""
TWINS = {"iyx": "ixy", "izx": "ixz", "izy": "iyz"}
"""Products of inertia that a file may repeat, and those that are read, as all readers of URDF do."""
SPRINGS = {"spring_stiffness", "spring_reference"}
"""Attributes of SDF that may stand in the ``<dynamics>`` of a joint that has no spring."""
MECHANICAL = re.compile(
    "(?<![a-z])(joint|link|body|spring|damp|force|torque|mass|inerti|tendon|cable|rope|gravity|constrain|coupl|mimic|"
    "loop|weld|stiff|frict|equality|actuator|motor|wrench|moment|load)"
)
"""Words of mechanics in the name of an element, in lower case."""
FORCE = "loads bodies, which is not read: remove it, and add the force in a TOML file that takes this robot"
DRIVEN = "moves a link by itself, which is not read: remove it"
START = "sets a start value, which is not read: remove it, and give the start in a TOML file that takes this robot"
SLOWED = "slows a link down, which is not read: remove it"

GAZEBO: dict[str, Rule] = {
    **quiet(
        "material mu mu1 mu2 kp kd minDepth min_depth maxVel max_vel maxContacts max_contacts fdir1 slip1 slip2 "
        "selfCollide self_collide allow_auto_disable enable_wind laserRetro laser_retro visual collision sensor light "
        "projector audio_sink audio_source battery particle_emitter implicitSpringDamper implicit_spring_damper "
        "cfmDamping cfm_damping provideFeedback provide_feedback disableFixedJointLumping preserveFixedJoint stopCfm "
        "stopErp stopKp stopKd erp cfm fudgeFactor fudge_factor springReference canonicalBody gripper frame "
        "controller: sensor: interface: ros"
    ),
    "joint:": refused(LOOP),
    "gearbox": refused(LOOP),
    "constraint": refused(LOOP),
    "gravity": harmless,
    "turnGravityOff": harmless,
    "kinematic": unless_off(DRIVEN),
    "static": unless_off("holds a link, which is not read: remove it, and make its joint fixed"),
    "dampingFactor": unless_zero(SLOWED),
    "velocity_decay": unless_zero(SLOWED),
    "springStiffness": unless_zero(FORCE),
    "initial_joint_position": unless_zero(START),
    "initialJointPosition": unless_zero(START),
    "pose": unless_zero("moves a link, which only the <origin> of a <joint> can: remove it"),
}
"""Effects of elements in a ``<gazebo>``."""
ROBOT: dict[str, Rule] = {
    **quiet(
        "transmission sensor frame self_filter collision_checking self_collision_checking disable_collisions group "
        "group_state collision_filter_group drake:collision_filter_group bullet version create velocity RefLink xacro:"
    ),
    "constraint": refused(LOOP),
    "coupling": refused("couples joints, which is not read: remove it, and write <mimic> in a joint"),
    "drake:joint": refused("is a joint of a kind of Drake's, which is not read: remove it, and add it in a TOML file "
                           "that takes this robot"),
    "cable": refused(LOOP),
    "deformable": refused("is a body that bends, which is not read: remove it"),
    "reduced_deformable": refused("is a body that bends, which is not read: remove it"),
    "drake:": refused("is an element of Drake's that is not read: remove it"),
    "inertial": harmless,
}  # fmt: skip
"""Effects of elements in a robot."""
LINK: dict[str, Rule] = {
    **quiet(
        "collision material sensor self_collision_checking self_filter collision_checking surface audio_source "
        "bullet verbose xacro:"
    ),
    "contact": harmless,
    "gravity": harmless,
    "kinematic": unless_off(DRIVEN),
    "origin": unless_zero("moves a link, which only the <origin> of a <joint> can: remove it"),
}
"""Effects of elements in a link."""
JOINT: dict[str, Rule] = {
    **quiet("safety_controller calibration controller_gains drake:controller_gains hardwareInterface traits xacro:"),
    "anchor": unless_zero("moves a joint, which only <origin> can: remove it"),
}
"""Effects of elements in a joint."""
MASSES = {"settotalmass", "boundmass", "boundinertia", "inertiafromgeom"}
"""Settings of MuJoCo's compiler that change masses."""


def unread(reader: Attributes, root: XmlElement, joints: Mapping[str, RobotJoint]) -> Iterator[str]:
    """Yield the elements and attributes of a robot that are left out and change no motion, as a notice shows them.

    Args:
        reader: reader of attributes.
        root: the ``<robot>``.
        joints: its joints by name.

    Raises:
        ModelError: others change the motion, or are unknown.
    """
    rules: dict[str, Rule] = {
        **ROBOT,
        "gazebo": lambda item: _gazebo(reader, item, joints),
        "ros2_control": harmless,
        "mujoco": _mujoco,
        "": _unknown,
    }
    turning = {id(item) for item in root.all("transmission") if any(rotor_inertias(item))}
    items = [item for item in left_out(reader, root, READ["robot"], rules) if id(item) not in turning]
    for link in root.all("link"):
        items += left_out(reader, link, READ["link"], LINK)
        for inertial in link.all("inertial"):
            items += left_out(reader, inertial, READ["inertial"], {})
    for joint in root.all("joint"):
        items += left_out(reader, joint, READ["joint"], JOINT)
    known = rules.keys() | {"inertial"}
    for item in items:
        outside = " outside a <link>" if item.tag == "inertial" else ""
        unknown = any(item is child for child in root.children) and item.tag not in known and ":" not in item.tag
        yield f"<{item.tag}>{outside}{' that no format has' * unknown}"
    for owner in (*root.all("link"), *root.all("joint")):
        for item in (*owner.children, *(inner for each in owner.all("inertial") for inner in each.children)):
            if item.tag in ATTRIBUTES and item.tag in READ["joint"] | READ["inertial"]:
                read, unused = (words.split() for words in ATTRIBUTES[item.tag])
                unused += [key for key in TWINS if item.tag == "inertia"]
                if item.tag == "axis" and owner.attributes.get("type") in {"fixed", "floating"}:
                    unused += [key for key in item.attributes if key not in read]
                if item.tag == "dynamics" and not _stiff(item):
                    unused += SPRINGS
                check_attributes(reader, item, read, unused)
                yield from (f"<{item.tag} {key}>{_other(item, key)}" for key in item.attributes if key in unused)


def _other(inertia: XmlElement, key: str) -> str:
    """Return how a product of inertia that no reader takes differs from the one that all take; empty: they agree."""
    texts = [inertia.attributes.get(name, "0").strip() for name in (key, TWINS.get(key, key))]
    if texts[0] == texts[1] or (all(map(NUMBER.fullmatch, texts)) and float(texts[0]) == float(texts[1])):
        return ""
    return f" other than {TWINS[key]}"


def _stiff(dynamics: XmlElement) -> bool:
    """Return whether the attributes of SDF in a ``<dynamics>`` state a spring."""
    text = dynamics.attributes.get("spring_stiffness", "0").strip()
    return not NUMBER.fullmatch(text) or float(text) != 0


def _unknown(element: XmlElement) -> str:
    """Return what an element of a robot does that no format has: nothing, unless its names are words of mechanics.

    Readers of URDF leave such elements out; programs of their own read them.
    """
    if MECHANICAL.search(re.sub("(?<=[a-z])(?=[A-Z])", "_", " ".join(_names(element))).lower()):
        return "is not known in a <robot> and could change the motion: remove it"
    return ""


def _names(element: XmlElement) -> Iterator[str]:
    yield element.tag
    yield from element.attributes
    yield from (element.attributes.get(key, "") for key in ("name", "type"))
    for inner in element.children:
        yield from _names(inner)


def weightless(root: XmlElement) -> set[str]:
    """Return the names of the links of a robot on which no gravity acts, as Gazebo and Bullet have it."""
    names = set()
    for tag, name in (("link", "name"), ("gazebo", "reference")):
        for element in root.all(tag):
            off = any(item.text.lower() in OFF - {""} for item in element.all("gravity"))
            if off or any(item.text.lower() not in OFF for item in element.all("turnGravityOff")):
                names.add(element.attributes.get(name, ""))
    return names


def rotor_inertias(transmission: XmlElement) -> Iterator[XmlElement]:
    """Yield the rotors' inertias in a transmission, an element of Drake's."""
    return (item for actuator in transmission.all("actuator") for item in actuator.all("drake:rotor_inertia"))


def _gazebo(reader: Attributes, element: XmlElement, joints: Mapping[str, RobotJoint]) -> str:
    """Return what a ``<gazebo>`` does, which raises an error of its own where it changes the motion."""
    list(left_out(reader, element, tags_read(element, joints), {**GAZEBO, "plugin": _plugin}))
    return ""


def _plugin(element: XmlElement) -> str:
    """Return what a program of Gazebo does, but for those that make a joint follow another, which are read."""
    return "" if any(element.all("mimicJoint")) else plugin(element)


def _mujoco(element: XmlElement) -> str:
    compilers = [key for item in element.all("compiler") for key in item.attributes if key in MASSES]
    others = [shown(item) for item in element.children if item.tag not in {"compiler", "size"}]
    settings = [*compilers, *others]
    return f"sets {settings[0]}, which is not read: remove it" if settings else ""


def check_axes(reader: Attributes, element: XmlElement, joint: RobotJoint) -> None:
    """Raise an error if a joint without one axis has what only acts along an axis.

    Args:
        reader: reader of attributes.
        element: the joint's element.
        joint: the joint.

    Raises:
        ModelError: it has friction or damping that is not modelled, or mimics another joint.
    """
    if joint.kind not in {"floating", "planar"}:
        return
    reasons = {
        "a <mimic> is not modelled: remove it": joint.mimic,
        "friction is not modelled: set it to 0": joint.friction,
        "damping is not modelled: set it to 0": joint.damping and joint.kind == "planar",
    }
    if attribute := next((text for text, there in reasons.items() if there), ""):
        raise reader.error(element, ModelError(f"joint '{joint.name}': a {joint.kind} joint with {attribute}"))
