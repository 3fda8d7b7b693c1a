"""Four-bar mechanism of elastic bars with a misaligned hinge: it moves only because its bars bend and twist.

Source: Bauchau, Betsch, Cardona, Gerstmayr, Jonker, Masarati & Sonneville, Validation of flexible multibody dynamics
beam formulations using benchmark problems, Multibody Syst. Dyn. 37 (2016), with the data, and the way the crank turns,
of that problem among the examples of the program TACS (four_bar_mechanism), as the paper's own text was not at hand.
Steel bars AB of 0.12 m, BC of 0.24 m and CD of 0.12 m stand on the ground AD as a rectangle; the axes of the hinges are
normal to it, but that of C is turned by 5 degrees about CD. The crank AB turns at constant speed, without gravity;
turned the other way, its positions follow backward. Stiffnesses are EA 52.99 MN, GJ 733.5 N.m2 and EI 1131 N.m2 for AB
and BC, 13.25 MN, 45.84 N.m2 and 70.66 N.m2 for CD; with `shear` also GA_s, 16.88 and 4.22 MN.

Known facts: slow as it is, the motion is a row of positions at rest but for vibrations after the two in which all bars
lie in one line. There the rocker CD turns back: it swings between -90.5 and 90.3 degrees. The moment at A reaches 166
N.m, and in line the crank is pressed by 5.5 and by 6.0 kN. The bars are free of load after half a turn, where the
rocker stands at 53.13 degrees, and after a whole one.
"""

import math
from itertools import pairwise
from typing import Any

from mbfmu.model import (
    AbsoluteSensor,
    AxisMotion,
    Beam,
    FixedRotation,
    FixedTranslation,
    Parameter,
    Revolute,
    System,
    World,
    connect,
)

E, NU, RHO = 207e9, 0.3, 7800.0
"""Modulus of elasticity, N/m2, Poisson's ratio and density, kg/m3."""
SHEAR, TORSION = 0.8281, 0.14058
"""GA_s/(G A) and I_t/h^4 of a square section with the side h, from the stiffnesses."""


def misaligned_four_bar(shear: int = 0) -> System:
    """Return the mechanism; `D.phi` is the rocker's angle, `joint_C.r[3]` the way of C out of the plane.

    Args:
        shear: number of shape functions of shear of each bar in each direction.
    """
    y, z = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    left = (
        Revolute("A", n=z),
        FixedRotation("turn_AB", n=z, angle="pi/2"),
        bar("AB", 0.12, 0.016, shear),
        FixedRotation("back_AB", n=z, angle="-pi/2"),
        Revolute("B", n=z, phi="guess(0.0)"),
        bar("BC", 0.24, 0.016, shear),
        FixedRotation("tilt_BC", n=y, angle="misalignment"),
    )
    right = (
        FixedTranslation("ground", r=(0.24, 0.0, 0.0)),
        Revolute("D", n=z, phi="guess(0.0)"),
        FixedRotation("turn_CD", n=z, angle="pi/2"),
        bar("CD", 0.12, 0.008, shear),
        FixedRotation("back_CD", n=z, angle="-pi/2"),
        FixedRotation("tilt_CD", n=y, angle="misalignment"),
    )
    return System(
        name="misaligned_four_bar",
        description="A four-bar mechanism of elastic bars that moves though a hinge is misaligned",
        stepper="radau",
        parameters=(
            Parameter("Omega", -0.6, "rad/s", "speed of the crank"),
            Parameter("misalignment", math.radians(5.0), "rad", "angle of the axis of C about CD from the others"),
        ),
        components=(
            World(g=0.0),
            *left,
            *right,
            Revolute("C", n=z, phi="guess(0.0)"),
            AxisMotion("drive", joint="A", s="Omega*time"),
            AbsoluteSensor("joint_C"),
        ),
        connections=(
            *(
                connect(f"{a}.frame_b", f"{b}.frame_a")
                for side in (left, right)
                for a, b in pairwise(["world", *(item.name for item in side)])
            ),
            connect("tilt_BC.frame_b", "C.frame_a"),
            connect("tilt_CD.frame_b", "C.frame_b"),
            connect("BC.frame_b", "joint_C.frame_a"),
        ),
    )


def bar(name: str, L: float, h: float, shear: int) -> Beam:
    """Return a bar of square section: what bends it under loads at its ends, one function of tension, one of torsion.

    The rates of its shape are free at the start, where the crank has its speed at once: rigid bars could not follow it.

    Args:
        name: its name.
        L: length, m.
        h: side of the section, m.
        shear: number of shape functions of shear in each direction.
    """
    G, A, modes = E / (2 * (1 + NU)), h**2, 2
    sheared: dict[str, Any] = {"shear": shear, "GA_s": SHEAR * G * A} if shear else {}
    return Beam(
        name, L=L, rho=RHO, A=A, E=E, I_z=h**4 / 12, I_y=h**4 / 12, G=G, I_t=TORSION * h**4, c_y=h / 2, c_z=h / 2,
        modes=modes, axial=1, torsion=1, sections=(0.5,), eta_t=(None,) * (2 * (modes + shear) + 2), **sheared,
    )  # fmt: skip
