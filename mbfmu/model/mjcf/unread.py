"""Effects on the motion of what an MJCF file has and its reader does not read; names that MJCF does not have."""

from collections import Counter
from collections.abc import Iterator

from mbfmu.errors import ModelError, nearest
from mbfmu.model.mjcf.laws import AFFINE, OTHERS
from mbfmu.model.robot.attributes import Attributes
from mbfmu.model.robot.unread import Rule, harmless, left_out, quiet, refused
from mbfmu.model.robot.xml import XmlElement

SECTIONS = {"compiler", "option", "size", "default", "worldbody", "tendon", "equality", "actuator", "keyframe"}
"""Sections of a model that are read."""
SILENT = ("visual", "statistic", "custom", "asset")
"""Sections that change no motion, which no notice reports."""
ALIKE = refused("is not expanded: save the model with MuJoCo first, which writes its bodies out")
BENDING = "is a body that bends, made of many, which is not read: remove it, or model the body by bodies and joints"


def _flexcomp(element: XmlElement) -> str:
    """Return what a flexible composite does: nothing but contacts if it is rigid, a surface without mass."""
    return "" if element.attributes.get("rigid") == "true" else BENDING


PLUGIN = "acts by a program of its own, which is not modelled: remove it"
MODEL: dict[str, Rule] = {
    **quiet(" ".join((*SILENT, "sensor", "contact"))),
    "deformable": lambda item: "is not modelled: remove it" if any(x.tag != "skin" for x in item.children) else "",
    "body": harmless,  # MuJoCo leaves it out; a notice names it
    "extension": harmless,  # plugins are judged where they act
    **dict.fromkeys(("replicate", "composite"), ALIKE),
    "flexcomp": _flexcomp,
}
"""Effects of the other sections."""
BODY = {"body", "frame", "joint", "freejoint", "inertial", "geom", "site"}
"""Elements of bodies that are read."""
INSIDE: dict[str, Rule] = {
    **quiet("camera light"),
    "plugin": refused(PLUGIN),
    "composite": ALIKE,
    "flexcomp": _flexcomp,
}
"""Effects of other elements in bodies."""
CLASSES = {"default", "joint", "geom", "site", "mesh", "material", "tendon", "equality", *AFFINE, *OTHERS}
"""Elements of default classes that are read."""
CONTACTS = quiet("pair exclude")
TURNS = "quat axisangle xyaxes zaxis euler"
SOFT = "solref solimp"
ENDS = "joint jointinparent tendon site refsite body cranksite slidersite cranklength"
DRIVE = (
    f"name class group nsample interp delay user gear damping armature ctrlrange ctrllimited forcerange forcelimited \
actrange actlimited lengthrange actdim actearly {ENDS}"
)
EQUALITY = f"name class active {SOFT}"
TENDON = (
    "name class group user limited range actuatorfrclimited actuatorfrcrange solreflimit solimplimit solreffriction \
solimpfriction frictionloss springlength margin stiffness damping armature springyield width material rgba"
)
NAMES: dict[str, str] = {
    "compiler": "autolimits boundmass boundinertia settotalmass balanceinertia strippath coordinate angle fitaabb "
    "eulerseq meshdir texturedir discardvisual usethread fusestatic inertiafromgeom inertiagrouprange saveinertial "
    "assetdir alignfree conflict convexhull exactmeshinertia",
    "option": "timestep impratio tolerance ls_tolerance noslip_tolerance ccd_tolerance sleep_tolerance gravity wind "
    "magnetic density viscosity o_margin o_solref o_solimp o_friction integrator cone jacobian solver iterations "
    "ls_iterations noslip_iterations ccd_iterations sdf_iterations sdf_initpoints actuatorgroupdisable apirate "
    "collision mpr_iterations mpr_tolerance",
    "flag": "constraint equality frictionloss limit contact passive spring damper gravity clampctrl warmstart "
    "filterparent actuation refsafe sensor midphase eulerdamp autoreset nativeccd island multiccd override energy "
    "fwdinv invdiscrete sensornoise sleep diagexact",
    "geom": f"name class type contype conaffinity condim group priority size material friction mass density solmix "
    f"shellinertia {SOFT} margin gap surfacevel adhesion fromto pos {TURNS} hfield mesh fitscale rgba fluidshape "
    "fluidcoef user",
    "site": f"name class type group pos {TURNS} material size fromto rgba user",
    "replicate": "count sep offset euler prefix",
    "attach": "model body frame prefix",
    "frame": f"name childclass pos {TURNS}",
    "freejoint": "name group align user",
    "inertial": f"pos mass diaginertia fullinertia {TURNS}",
    "mesh": "name class content_type file vertex normal texcoord face refpos refquat scale smoothnormal maxhullvert "
    "inertia builtin params material octree_maxdepth",
    "key": "name time qpos qvel act mpos mquat ctrl",
    "connect": f"{EQUALITY} body1 body2 anchor site1 site2",
    "weld": f"{EQUALITY} body1 body2 relpose anchor site1 site2 torquescale",
    "fixed": TENDON,
    "spatial": TENDON,
    "tendon": f"{TENDON} {EQUALITY} tendon1 tendon2 polycoef",
    "equality": EQUALITY,
    "motor": DRIVE,
    "general": f"{DRIVE} gaintype gainprm biastype biasprm dyntype dynprm inheritrange input velrange ffrange",
    "position": f"{DRIVE} kp kv dampratio timeconst inheritrange",
    "velocity": f"{DRIVE} kv",
    "damper": f"{DRIVE} kv",
    "cylinder": f"{DRIVE} timeconst area diameter bias",
}
"""Attributes of elements that act on the motion, those of older versions among them; bodies and joints have their own
check."""


def unread(reader: Attributes, root: XmlElement) -> Iterator[str]:
    """Yield the tags of the sections that are left out and change no motion, of some those of each element in them.

    Raises:
        ModelError: others change the motion, or are unknown, or an attribute is.
    """
    for section in left_out(reader, root, SECTIONS, MODEL):
        if section.tag == "contact":
            yield from (item.tag for item in left_out(reader, section, (), CONTACTS))
        elif section.tag not in SILENT:
            yield from (section.tag for _ in section.children or [section])
    for element in root.children:
        if element.tag not in {"visual", "statistic", "custom", "sensor", "contact", "size"}:
            _check(reader, element)


def inside(reader: Attributes, element: XmlElement) -> Counter[str]:
    """Return the number of the elements in a body or frame that are left out and change no motion, by tag.

    Raises:
        ModelError: others change the motion, or are unknown.
    """
    return Counter(item.tag for item in left_out(reader, element, BODY, INSIDE))


def _check(reader: Attributes, element: XmlElement) -> None:
    """Raise an error if an element or one in it has an attribute that MJCF does not have, or a class an element."""
    if element.tag == "default":
        list(left_out(reader, element, CLASSES, quiet("camera light pair")))
    names = NAMES.get(element.tag, "").split()
    wraps = element.tag in {"geom", "site"} and element.tag in element.attributes  # in a spatial tendon
    for key in element.attributes:
        if names and key not in names and not wraps:
            raise reader.error(element, ModelError(f"a <{element.tag}> has no '{key}'; {nearest(key, names)}"))
    for item in element.children:
        _check(reader, item)
