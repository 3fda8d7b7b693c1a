"""Picture: the points, lines and shapes that show a mechanism, as data."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from casadi import Function


@dataclass(frozen=True)
class Bone:
    """A line of a picture.

    Args:
        body: full name of the body it belongs to.
        start: number of the point it begins at.
        end: number of the point it ends at.
    """

    body: str
    start: int
    end: int


@dataclass(frozen=True)
class Hinge:
    """The place of a joint in a picture.

    Args:
        name: full name of the joint.
        motion: ``turns`` or ``slides`` along its axis, ``spans`` from frame_a to frame_b, or empty for any other joint.
        near: full name of the body of frame_a; empty for the world.
        far: full name of the body of frame_b; empty for the world.
        start: number of the point at frame_a.
        end: number of the point at frame_b.
    """

    name: str
    motion: str
    near: str
    far: str
    start: int
    end: int


@dataclass(frozen=True)
class DrawnLine:
    """A line of a picture along which a force or a rope acts, from one frame to another.

    Args:
        name: full name of the force or rope.
        near: full name of the first body; empty for the world.
        far: full name of the other body; empty for the world.
        start: number of the point at the first frame.
        end: number of the point at the other.
    """

    name: str
    near: str
    far: str
    start: int
    end: int


@dataclass(frozen=True)
class Bending:
    """The shape of a flexible body in a picture.

    Args:
        body: full name of the body.
        coordinates: names of the shape coordinates.
        frames: names of its frames, frame_a first.
        poses: Function (eta, p, t) -> for each frame its position (m) and rotation matrix seen from frame_a, side by
            side, shape (2 or 3, (3 or 4) times the number of frames).
        surface: function of the radius of a bar (m) -> the surface's Function (eta, p, t) -> points, shape (3, v), and
            stresses, shape (0, 1 or 6, v), and its triangles, see `Surface`; None: it has no surface.
    """

    body: str
    coordinates: tuple[str, ...]
    frames: tuple[str, ...]
    poses: Function
    surface: Callable[[float], tuple[Function, npt.NDArray[np.int64]] | None]


@dataclass(frozen=True)
class DrawnPart:
    """A part that is drawn as a solid of its own.

    Args:
        part: full name of the part.
        body: full name of the body that it moves with.
        shape: its `Body.shape`.
    """

    part: str
    body: str
    shape: str


@dataclass(frozen=True)
class Skeleton:
    """The points and lines in a picture of a mechanism.

    Args:
        points: Function (q, p, t) -> positions in the world frame, shape (2 or 3, number of points), m.
        axes: Function (q, p, t) -> axes of the joints in the world frame, zero for a joint without one, shape
            (2 or 3, number of joints).
        bones: the lines of the moving bodies.
        joints: the places of the joints.
        lines: what acts along lines.
        sheaves: Function (q, p, t) -> for each line the axle of the sheaves at its ends in the world frame, zero in the
            plane, and their signed radii, m, in the first two rows, shape (2 or 3, 2 times the number of lines).
        down: direction of gravity, in the world frame.
        bendings: the shapes of the flexible bodies.
        bare: what moves between joints without being a part, by the frame that it is shown with.
        bare_poses: Function (q, p, t) -> positions and rotation matrices of these frames in the world, side by side,
            shape (2 or 3, (3 or 4) times their number).
        drawn: the parts that are drawn as solids of their own.
        solids: Function (q, p, t) -> for each of them position and rotation matrix of its frame_a, as the body's
            frame_a sees it, its r_CM and its r, as its own frame_a sees them, shape (2 or 3, (5 or 6) times their
            number).
        masses: Function (q, p, t) -> mass in all rows, kg, and matrix of inertia about the centre of mass, kg.m2, in
            the axes of frame_a, of each moving body of one rigid part in space, shape (3, 4 times their number).
        weighed: full names of these bodies.
    """

    points: Function
    axes: Function
    bones: tuple[Bone, ...]
    joints: tuple[Hinge, ...]
    lines: tuple[DrawnLine, ...]
    sheaves: Function
    down: tuple[float, ...]
    bendings: tuple[Bending, ...] = ()
    bare: tuple[str, ...] = ()
    bare_poses: Function | None = None
    drawn: tuple[DrawnPart, ...] = ()
    solids: Function | None = None
    masses: Function | None = None
    weighed: tuple[str, ...] = ()
