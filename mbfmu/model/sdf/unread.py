"""Effects on the motion of the elements of an SDF file that are not read."""

from collections.abc import Iterator

from mbfmu.errors import ModelError
from mbfmu.model.robot.unread import Rule, harmless, left_out, plugin, quiet, refused, unless_off, unless_zero
from mbfmu.model.robot.xml import XmlElement
from mbfmu.model.sdf.scene import Scene
from mbfmu.model.sdf.texts import Texts

READ = {
    "sdf": {"world", "model", "include"},
    "world": {"model", "gravity", "joint", "frame", "include", "physics"},
    "model": {"link", "joint", "frame", "pose", "static", "include", "model"},
    "link": {"pose", "inertial", "visual", "gravity"},
    "inertial": {"pose", "mass", "inertia"},
    "inertia": {"ixx", "ixy", "ixz", "iyy", "iyz", "izz"},
    "joint": {
        "pose",
        "parent",
        "child",
        "axis",
        "axis2",
        "screw_thread_pitch",
        "thread_pitch",
        "drake:mimic",
        "drake:rotor_inertia",
        "drake:gear_ratio",
    },
    "axis": {"xyz", "limit", "dynamics", "use_parent_model_frame", "mimic", "initial_position"},
    "mimic": {"multiplier", "offset", "reference"},
    "limit": {"lower", "upper", "effort", "velocity"},
    "dynamics": {"damping", "friction", "spring_reference", "spring_stiffness"},
}
"""Elements that are read, by the element they stand in."""
FLUID = "adds the mass of a fluid, which is not modelled: remove it"
MOTOR = "drives the joint by itself, which is not read: remove it"
ROUND = "of a ball joint is not modelled, as it has no axis: remove it"
OTHERS: dict[str, Rule] = {":": harmless, "drake:": refused("is an element of Drake's that is not read: remove it")}
"""Effects of elements with a prefix, of which SDF itself takes none."""


def _driving(element: XmlElement) -> str:
    """Return what the settings of a joint for engines do."""
    motors = (item for engine in element.all("ode") for tag in ("max_force", "velocity") for item in engine.all(tag))
    return next((effect for item in motors if (effect := unless_zero(MOTOR)(item))), "")


RULES: dict[str, dict[str, Rule]] = {
    "sdf": quiet("light actor"),
    "world": {
        **quiet("light scene gui audio atmosphere magnetic_field spherical_coordinates road actor wind"),
        "plugin": plugin,
        "state": refused("sets poses and velocities, which are not read: remove it, and set them in the <model>"),
        "population": refused("stands for models that are not written out: write them out, or remove it"),
    },
    "model": {
        **quiet("self_collide allow_auto_disable enable_wind gripper drake:collision_filter_group"),
        "plugin": plugin,
    },
    "link": {
        **quiet("collision sensor projector audio_sink audio_source battery light particle_emitter self_collide "
                "contact enable_wind drake:proximity_properties"),
        "kinematic": unless_off("moves a link by itself, which is not read: remove it"),
        "must_be_base_link": unless_off("frees a link, which is not read: remove it, and its joint to the world"),
        "velocity_decay": unless_zero("slows a link down, which is not modelled: set it to 0"),
        "drake:deformable_properties": refused("is for a body that bends, which is not read: remove it"),
    },
    "inertial": {
        "fluid_added_mass": unless_zero(FLUID),
        **quiet("density auto_inertia_params"),
    },
    "joint": {
        **quiet("sensor provide_feedback drake:controller_gains gearbox_ratio gearbox_reference_body"),
        "physics": _driving,
    },
    "axis": {},
    "inertia": {},
    "mimic": {},
    "limit": quiet("stiffness dissipation drake:acceleration"),
    "dynamics": {},
}  # fmt: skip
"""Effects of the others, by the element they stand in."""


def unread(reader: Texts, scene: Scene) -> Iterator[XmlElement]:
    """Yield the elements that are left out and change no motion.

    Args:
        reader: reader of values.
        scene: the models of the file.

    Raises:
        ModelError: others change the motion, or are unknown.
    """
    for root in (scene.root, *scene.roots):
        list(_left(reader, root, "sdf"))
    if scene.world is not None:
        list(_left(reader, scene.world, "world"))
    for model in scene.models:
        yield from _of_model(reader, model)


def _of_model(reader: Texts, model: XmlElement) -> Iterator[XmlElement]:
    yield from _left(reader, model, "model")
    for link in model.all("link"):
        yield from _left(reader, link, "link")
        for inertial in link.all("inertial"):
            yield from _left(reader, inertial, "inertial")
            for item in inertial.all("inertia"):
                yield from _left(reader, item, "inertia")
    for joint in model.all("joint"):
        yield from _left(reader, joint, "joint")
        for axis in (*joint.all("axis"), *joint.all("axis2")):
            yield from _left(reader, axis, "axis")
            for item in (*axis.all("limit"), *axis.all("mimic")):
                yield from _left(reader, item, item.tag)
            for item in axis.all("dynamics"):
                yield from _left(reader, item, "dynamics")
                if joint.attributes.get("type") == "ball" and (effect := unless_zero(ROUND)(item)):
                    raise reader.error(item, ModelError(f"<dynamics> {effect}"))


def _left(reader: Texts, element: XmlElement, kind: str) -> Iterator[XmlElement]:
    return left_out(reader, element, READ[kind], {**OTHERS, **RULES[kind]})
