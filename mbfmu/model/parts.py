"""Rigid parts of a body or of the world. All frames of a part move together."""

import math
import os
from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from mbfmu.model.component import Component, Value, Vector, direction, quantity, start
from mbfmu.model.frame import SX, Frame, Pose, axis_quaternion, identity
from mbfmu.model.shape import ENDINGS, SOLID, shape_of
from mbfmu.model.traced import traced


@dataclass(frozen=True)
class Inertia:
    """Mass properties of a part.

    Args:
        m: SX scalar, kg.
        r_CM: SX, shape (2,) or (3,), m, centre of mass, resolved in frame_a.
        I_CM: SX scalar (planar) or shape (3, 3), kg.m2, about the centre of mass, resolved in frame_a.
    """

    m: SX
    r_CM: SX
    I_CM: SX


@dataclass(frozen=True)
class Part(Component):
    """Base of rigid parts: a part states the poses of its frames and its mass properties."""

    def poses(self, p: Any) -> dict[str, Pose]:
        """Return the pose of each frame seen from frame_a.

        Args:
            p: the component's quantities as expressions.
        """
        return {"frame_a": identity(p.planar)}

    def inertia(self, p: Any) -> Inertia | None:
        """Return the mass properties; None for a massless part."""
        return None

    def rates(self, p: Any, a: Frame) -> tuple[SX, ...]:
        """Return the rates of the first-order states (see `component.state`), in the order of their fields, 1/s.

        Args:
            p: the component's quantities and states.
            a: frame_a.
        """
        return ()


@dataclass(frozen=True)
class World(Part):
    """The inertial frame, with a uniform gravity field: acceleration ``g * n``.

    Args:
        g: gravity acceleration, m/s2.
        n: direction of gravity, a unit vector resolved in the world frame (default: -y).
    """

    name: str = "world"
    g: Value = quantity(9.81, "m/s2", "gravity acceleration")
    n: tuple[float, ...] = direction(0.0, -1.0, 0.0)

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_b",)

    def poses(self, p: Any) -> dict[str, Pose]:
        return {"frame_b": identity(p.planar)}

    def gravity(self, p: Any) -> SX:
        """Return the gravity acceleration, shape (2,) or (3,), m/s2, resolved in the world frame."""
        return p.g * ca.SX(list(self.n[: 2 if p.planar else 3]))


@dataclass(frozen=True, kw_only=True)
class MovingPart(Part):
    """Base of parts with mass, which give the start values of their frame_a.

    Args:
        r_0: start position of frame_a, m, resolved in the world frame.
        v_0: start velocity of frame_a, m/s, resolved in the world frame.
        phi, w: start angle (rad) and angular velocity (rad/s) of a planar body.
        Q: start quaternion of frame_a seen from the world (spatial).
        w_a: start angular velocity, rad/s, resolved in frame_a (spatial).
    """

    r_0: Vector | None = start("m", "position of frame_a, resolved in the world frame", sizes=(2, 3))
    v_0: Vector | None = start("m/s", "velocity of frame_a, resolved in the world frame", sizes=(2, 3))
    phi: Value | None = start("rad", "angle of frame_a seen from the world")
    w: Value | None = start("rad/s", "angular velocity about z")
    Q: Vector | None = start("1", "quaternion of frame_a seen from the world", sizes=(4,), spatial_only=True)
    w_a: Vector | None = start("rad/s", "angular velocity, resolved in frame_a", sizes=(3,), spatial_only=True)

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_a",)


@dataclass(frozen=True)
class Body(MovingPart):
    """A rigid body with one frame.

    Args:
        m: mass, kg.
        r_CM: from frame_a to the centre of mass, m, resolved in frame_a.
        I_11, I_22, I_33, I_21, I_31, I_32: inertia about the centre of mass, kg.m2, resolved in frame_a; a planar
            body has I_33 only.
        shape: solid that the body is drawn as, m: ``box(length, width, height)``, ``cylinder(radius, length)`` or
            ``sphere(radius)``. The length is along r where frame_b is elsewhere, and the solid in the middle of r;
            else it is along x (box) or z (cylinder), and the solid about the centre of mass. ``box(width, height)``
            and ``cylinder(radius)`` reach from frame_a to frame_b, or are as long as wide. Or the path of an .stl or
            .obj file, in m, seen from frame_a. Empty: the body is drawn by its frames.
        r_0, v_0, phi, w, Q, w_a: start values as in `MovingPart`.
    """

    m: Value = quantity(0.0, "kg", "mass", min=0)
    r_CM: Vector = quantity((0.0, 0.0, 0.0), "m", "frame_a to centre of mass, resolved in frame_a")
    I_11: Value = quantity(0.0, "kg.m2", "inertia about x", min=0, spatial_only=True)
    I_22: Value = quantity(0.0, "kg.m2", "inertia about y", min=0, spatial_only=True)
    I_33: Value = quantity(0.0, "kg.m2", "inertia about z", min=0)
    I_21: Value = quantity(0.0, "kg.m2", "product of inertia", spatial_only=True)
    I_31: Value = quantity(0.0, "kg.m2", "product of inertia", spatial_only=True)
    I_32: Value = quantity(0.0, "kg.m2", "product of inertia", spatial_only=True)
    shape: str = field(default="", kw_only=True, metadata={"file": ENDINGS, "or": SOLID.pattern})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shape:
            shape_of(self.shape, f"{self.name}.shape")
            object.__setattr__(self, "shape", os.fspath(self.shape))

    def inertia(self, p: Any) -> Inertia:
        if p.planar:
            return Inertia(p.m, p.r_CM, p.I_33)
        return Inertia(p.m, p.r_CM, _tensor(p.I_11, p.I_22, p.I_33, p.I_21, p.I_31, p.I_32))


@traced
def _tensor(I_11: SX, I_22: SX, I_33: SX, I_21: SX, I_31: SX, I_32: SX) -> SX:
    rows = ((I_11, I_21, I_31), (I_21, I_22, I_32), (I_31, I_32, I_33))
    return ca.vertcat(*(ca.horzcat(*row) for row in rows))


@dataclass(frozen=True)
class FixedTranslation(Part):
    """Massless rod: frame_b is frame_a moved by `r`.

    Args:
        r: from frame_a to frame_b, m, resolved in frame_a.
    """

    r: Vector = quantity((0.0, 0.0, 0.0), "m", "frame_a to frame_b, resolved in frame_a")

    @property
    def frames(self) -> tuple[str, ...]:
        return ("frame_a", "frame_b")

    def poses(self, p: Any) -> dict[str, Pose]:
        here = identity(p.planar)
        return {"frame_a": here, "frame_b": Pose(p.r, here.angle)}


@dataclass(frozen=True)
class BodyShape(FixedTranslation, Body):
    """A rigid body with two frames of the same orientation.

    Args:
        r: from frame_a to frame_b, m, resolved in frame_a.
        m, r_CM, I_11 and so on: as in `Body`.
    """


@dataclass(frozen=True)
class FixedRotation(FixedTranslation):
    """Massless bracket: frame_b is frame_a moved by `r` and turned by `angle` about `n`.

    Args:
        r: from frame_a to frame_b, m, resolved in frame_a.
        n: axis, a unit vector resolved in frame_a (a planar system turns about z).
        angle: rad.
    """

    n: tuple[float, ...] = direction(0.0, 0.0, 1.0)
    angle: Value = quantity(0.0, "rad", "angle of frame_b seen from frame_a", min=-4 * math.pi, max=4 * math.pi)

    def poses(self, p: Any) -> dict[str, Pose]:
        turn = p.angle if p.planar else axis_quaternion(self.n, p.angle)
        return {"frame_a": identity(p.planar), "frame_b": Pose(p.r, turn)}
