"""Princeton beam: an aluminium strip, clamped at one end, whose load at the tip bends it both ways and twists it.

Source: the experiment of Dowell & Traybar (NASA CR-137968 and CR-137969, 1975) with the data of Bauchau et al.,
Multibody Syst. Dyn. 37 (2016); torsion constant of a rectangle after Saint-Venant. The section's long side is along y
where theta is 0. Known facts: with P = 13.345 N and theta = 45 degrees the tip moves by 0.015 m along the long side and
by 0.157 m across it (Obrezkov et al., Nonlinear Dyn. 109, 2022, by finite elements).
"""

import math

from mbfmu.model import Fixed, FlexibleLine, System, World, WorldForce, connect

HEIGHT, THICKNESS = 12.3777e-3, 3.2024e-3
"""Sides of the section, m."""
E, NU = 71.7e9, 0.31
"""Modulus of elasticity, N/m2, and Poisson's ratio."""


def princeton_beam(P: float = 13.345, theta: float = 45.0, elements: int = 2) -> System:
    """Return the beam, to which the load comes suddenly; without damping it swings about where it would rest.

    Args:
        P: load at the tip, N; the input `load.f` has its components along the section's axes.
        theta: angle from the section's long side to the load, degrees.
        elements: number of elements.
    """
    h, b, angle = HEIGHT, THICKNESS, math.radians(theta)
    series = sum(math.tanh(k * math.pi * h / (2 * b)) / k**5 for k in range(1, 20, 2))
    return System(
        name="princeton_beam",
        description="An elastic strip that bends both ways and twists under a load at its tip",
        stepper="radau",
        components=(
            World(g=0.0),
            Fixed("root"),
            FlexibleLine(
                "beam", L=0.508, rho=2700.0, A=h * b, E=E, G=E / (2 * (1 + NU)), I_z=b * h**3 / 12, I_y=h * b**3 / 12,
                I_t=h * b**3 / 3 * (1 - 192 / math.pi**5 * b / h * series), elements=elements,
            ),
            WorldForce("load"),
        ),
        connections=(
            connect("world.frame_b", "root.frame_a"),
            connect("root.frame_b", "beam.frame_a"),
            connect("beam.frame_b", "load.frame_b"),
        ),
        input_starts={"load.f[2]": -P * math.cos(angle), "load.f[3]": P * math.sin(angle)},
    )  # fmt: skip
