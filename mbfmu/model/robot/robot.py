"""Robot: links and joints of a tree as checked numbers, whatever the format of the file."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from mbfmu.model.component import Component
from mbfmu.model.source import SourceText

Array = npt.NDArray[np.float64]
KINDS = ("revolute", "continuous", "prismatic", "screw", "fixed", "floating", "planar", "ball")
AXIAL = ("revolute", "continuous", "prismatic", "screw")
"""Kinds of joints that move along or about one axis."""
DUST = 1e-15
"""Magnitude of a negative moment of inertia, kg.m2, up to which it counts as rounding."""


@dataclass(frozen=True)
class Origin:
    """A pose: moved by `xyz`, then turned by the fixed angles `rpy`.

    Args:
        xyz: translation, m.
        rpy: angles about the axes x, y and z of the frame before the move, in this order, rad.
    """

    xyz: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @classmethod
    def of(cls, r: Sequence[float] | Array, R: Array) -> "Origin":
        """Return the pose at a position r, m, with a rotation matrix R, shape (3, 3)."""
        yaw = math.atan2(R[1, 0], R[0, 0]) if math.hypot(R[0, 0], R[1, 0]) > 1e-12 else 0.0
        s, c = math.sin(yaw), math.cos(yaw)
        pitch = math.atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
        roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
        x, y, z = (float(item) for item in r)
        return cls((x, y, z), (roll, pitch, yaw))

    @property
    def R(self) -> Array:
        """Rotation matrix, shape (3, 3): ``Rz(yaw) Ry(pitch) Rx(roll)``."""
        (cr, cp, cy), (sr, sp, sy) = ([f(angle) for angle in self.rpy] for f in (math.cos, math.sin))
        return np.array(
            [
                [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                [-sp, cp * sr, cp * cr],
            ]
        )

    @property
    def matrix(self) -> Array:
        """Homogeneous matrix, shape (4, 4)."""
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = self.R, self.xyz
        return matrix


@dataclass(frozen=True)
class Visual:
    """The look of a link, which has no effect on the motion.

    Args:
        link: name of the link in the URDF.
        frame: full name of the link's frame in the system.
        origin: origin of the geometry, seen from the frame.
        kind: ``box``, ``cylinder``, ``sphere``, ``capsule`` or ``mesh``.
        size: the sides of a box, radius and length of a cylinder or capsule, the radius of a sphere, m; the scale of a
            mesh.
        mesh: file of a mesh, as written (often ``package://...``); empty for other kinds.
        colour: red, green, blue, alpha from 0 to 1; None if none is given.
    """

    link: str
    frame: str
    origin: Origin
    kind: str
    size: tuple[float, ...]
    mesh: str = ""
    colour: tuple[float, ...] | None = None


@dataclass(frozen=True)
class RobotLink:
    """A link.

    Args:
        name: name in the URDF.
        line: line in the URDF.
        m: mass, kg; 0 for a link without inertia.
        r_CM: centre of mass, m, resolved in the link's frame.
        inertia: about the centre of mass, shape (3, 3), kg.m2, resolved in the link's frame.
        visuals: the link's visuals, with `frame` still empty.
        unseen: what is wrong with visuals that were left out.
        weightless: whether no gravity acts on it.
    """

    name: str
    line: int
    m: float
    r_CM: tuple[float, ...]
    inertia: Array
    visuals: tuple[Visual, ...] = ()
    unseen: tuple[str, ...] = ()
    weightless: bool = False

    @property
    def massive(self) -> bool:
        """Return whether the link has mass or inertia."""
        return self.m > 0 or bool(self.inertia.any())


@dataclass(frozen=True)
class Limit:
    """The limits of a joint; a bound that is not given is None.

    Args:
        lower, upper: least and greatest coordinate, rad or m.
        effort: greatest effort of its drive, N.m or N.
        velocity: greatest rate, rad/s or m/s.
    """

    lower: float | None = None
    upper: float | None = None
    effort: float = 0.0
    velocity: float = 0.0


@dataclass(frozen=True)
class Mimic:
    """The rule of a joint that follows another: its coordinate is ``multiplier * other + offset``."""

    joint: str
    multiplier: float
    offset: float
    line: int


@dataclass(frozen=True)
class RobotJoint:
    """A joint.

    Args:
        name: name in the URDF.
        line: line in the URDF.
        kind: one of `KINDS`.
        parent, child: names of links.
        origin: origin of the joint and of the child's frame, seen from the parent's frame.
        axis: unit vector, resolved in the joint's frame.
        damping: damping constant, N.m.s/rad or N.s/m.
        friction: Coulomb friction, N.m or N.
        limit: limits of its motion.
        mimic: the joint it follows, if any.
        rotor: inertia of the rotors of its drives, as it acts on the axis, kg.m2 or kg.
        stiffness: of a spring on its axis, N.m/rad or N/m.
        rest: coordinate at which that spring is at rest, rad or m.
        start: start values of its coordinate; of a floating joint the position, m, and the quaternion, of a ball joint
            the quaternion; empty: zero, or the limit nearest to it.
        rate: start values of its rate; of a floating joint the velocity and the angular velocity, of a ball joint the
            latter, resolved in the joint's frame; empty: zero.
        guessed: whether the start is only where the search for closed loops begins.
        driven: whether its effort is an input.
        advance: of a screw, m for each rad.
    """

    name: str
    line: int
    kind: str
    parent: str
    child: str
    origin: Origin
    axis: tuple[float, ...]
    damping: float
    friction: float
    limit: Limit
    mimic: Mimic | None
    rotor: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    start: tuple[float, ...] = ()
    rate: tuple[float, ...] = ()
    guessed: bool = False
    driven: bool = True
    advance: float = 0.0


@dataclass(frozen=True)
class RobotLoop:
    """A joint between two links of the tree, which closes a loop.

    Args:
        joint: the joint; its origin is seen from the parent's frame.
        end: pose of the joint's frame seen from the child's frame, where the loop is closed.
    """

    joint: RobotJoint
    end: Origin


@dataclass(frozen=True)
class RobotForce:
    """A force between frames of two links.

    Args:
        name: its name.
        line: line in the file.
        links: names of the links.
        origins: pose of each frame, seen from the link's frame.
        components: the springs and dampers, whose names are endings.
    """

    name: str
    line: int
    links: tuple[str, str]
    origins: tuple[Origin, Origin]
    components: tuple[Component, ...]


@dataclass(frozen=True)
class Robot:
    """A tree of links and joints, with what was asked of it applied to it.

    Args:
        name: name in the URDF.
        source: file of the robot, for messages.
        links: links by name.
        joints: joints by name, each after the joint that carries its parent.
        root: name of the link that no joint carries.
        notices: what was left out, or decided where the file says nothing.
        format: name of the format it was read from.
        gravity: acceleration of gravity, m/s2, resolved in the world.
        loops: joints that close loops, by name.
        forces: forces between links.
    """

    name: str
    source: SourceText
    links: Mapping[str, RobotLink]
    joints: Mapping[str, RobotJoint]
    root: str
    notices: tuple[str, ...] = ()
    format: str = "URDF"
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    loops: Mapping[str, RobotLoop] = field(default_factory=dict)
    forces: tuple[RobotForce, ...] = ()
