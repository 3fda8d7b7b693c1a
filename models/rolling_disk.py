"""A disk that rolls on a plane without slipping, by its Lagrangian.

Source: Gao et al., discrete integration of nonholonomic constrained dynamical systems, third example; (x, y) is the
contact point, theta the inclination to the ground (pi/2 upright), psi the heading, phi the spin. Known facts: the
energy is constant. The paper prints phi' = 0.8, with which the disk falls nearly flat (theta down to 0.119 and
psi' up to 57 rad/s) and none of its figures is met; with 8, the default here, all are.
"""

from math import cos, sin

from mbfmu.model import Coordinate, LagrangianSystem, Parameter

THETA, PSI, SPIN = 1.0, 2.0, 8.0


def rolling_disk() -> LagrangianSystem:
    """Return the disk; der(x) and der(y) start as rolling asks."""
    return LagrangianSystem(
        name="rolling_disk",
        description="A disk that rolls on a plane without slipping",
        parameters=(
            Parameter("M", 1.0, "kg", "mass", min=1e-9),
            Parameter("a", 1.0, "m", "radius", min=1e-9),
            Parameter("A", 0.25, "kg.m2", "inertia about a diameter", min=1e-9),
            Parameter("C", 0.5, "kg.m2", "inertia about the axis", min=1e-9),
            Parameter("g", 10.0, "m/s2", "gravity acceleration"),
        ),
        coordinates=(
            Coordinate("x", "m", 0.0, -SPIN * sin(PSI), "contact point"),
            Coordinate("y", "m", 0.0, SPIN * cos(PSI), "contact point"),
            Coordinate("theta", "rad", THETA, 0.2, "inclination to the ground"),
            Coordinate("psi", "rad", PSI, 0.1, "heading"),
            Coordinate("phi", "rad", 0.0, SPIN, "spin"),
        ),
        kinetic="M/2*(der(x)**2 + der(y)**2 + a**2*(der(theta)**2 + cos(theta)**2*der(psi)**2)"
        " - 2*a*sin(theta)*der(theta)*(der(x)*cos(psi) + der(y)*sin(psi))"
        " + 2*a*cos(theta)*der(psi)*(-der(x)*sin(psi) + der(y)*cos(psi)))"
        " + A/2*(der(theta)**2 + sin(theta)**2*der(psi)**2) + C/2*(der(phi) + der(psi)*cos(theta))**2",
        potential="M*g*a*sin(theta)",
        velocity=("der(x) + a*der(phi)*sin(psi)", "der(y) - a*der(phi)*cos(psi)"),
    )
