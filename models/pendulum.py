"""The simple pendulum in Cartesian coordinates: a point mass at a constant distance, by its Lagrangian.

Source: IFToMM multibody benchmark A01 (Gonzalez, Dopico, Lugris & Cuadrado, a benchmarking system for multibody
system simulation software, Multibody Syst. Dyn. 16, 2006): 1 kg, 1 m, g = 9.81 m/s2, from rest at x = -1. Known facts:
with k = sin(45 degrees), sin(theta/2) = k cd(w0 t, k), theta from the downward vertical, w0 = sqrt(g/L); the period is
4 K(k)/w0 = 2.36784194757623745 s.
"""

from mbfmu.model import Coordinate, LagrangianSystem, Parameter


def pendulum() -> LagrangianSystem:
    """Return the pendulum; gravity points along -y."""
    return LagrangianSystem(
        name="pendulum",
        description="The simple pendulum in Cartesian coordinates",
        parameters=(
            Parameter("m", 1.0, "kg", "mass", min=1e-9),
            Parameter("L", 1.0, "m", "length", min=1e-9),
            Parameter("g", 9.81, "m/s2", "gravity acceleration"),
        ),
        coordinates=(
            Coordinate("x", "m", -1.0, 0.0, "horizontal position"),
            Coordinate("y", "m", 0.0, 0.0, "vertical position"),
        ),
        kinetic="m/2*(der(x)**2 + der(y)**2)",
        potential="m*g*y",
        position=("(x**2 + y**2 - L**2)/2",),
        inputs={"x": "f_x"},
    )
