"""Slider-crank with a flexible rod: a crank at constant speed, and a rod that bends and stretches in four modes.

Source: Simeon, Modelling a flexible slider crank mechanism by a mixed system of DAEs and PDEs, Math. Modelling of
Systems 2 (1996), as given with its start and reference solution in the test set for initial value problem solvers
(Mazzia & Magherini, 2008). The rod has the modes sin(pi x/L) and sin(2 pi x/L) of bending and, for the stretch, the
displacements of its middle and its end as a parabola; terms of second order are left out. The equations of the test set
give the stretch 15 times its mass, which is kept for the sake of their digits. Their start violates the constraints on
velocities by 1.2e-8; here it is corrected by the least change in the metric of the masses. Known facts: state and rates
after 0.1 s.
"""

import numpy as np
import numpy.typing as npt

from mbfmu.model import (
    AxisMotion,
    Body,
    BodyShape,
    ModalBody,
    ModalData,
    Parameter,
    Prismatic,
    Revolute,
    System,
    World,
    connect,
)

L1, L2 = 0.15, 0.3
WIDTH, HEIGHT, DENSITY, E = 0.008, 0.008, 7870.0, 2e11
M1, J1, M2, J2, M3 = 0.36, 0.002727, 0.151104, 0.0045339259, 0.075552
"""Masses, kg, and moments of inertia about the crank's axis and the rod's first end, kg.m2."""
PI = 3.1415927
"""pi as the published equations round it."""
STRETCH = 15.0
"""Factor on the mass of the stretch in the published equations, where integrals of parabolas are not divided by 15."""
ETA = (0.0, 0.0, 1.03339863e-05, 1.69327969e-05)
ETA_T = (0.4448961125816005, 0.004634339319238007, -1.78591076e-06, -2.68938672e-06)
"""Start of the rod's modes."""


def crank_flexible() -> System:
    """Return the slider-crank in the plane, without gravity; `rod.eta` are the coordinates of the modes."""
    return System(
        name="crank_flexible",
        description="A slider-crank with a flexible rod, whose crank turns at constant speed",
        planar=True,
        stepper="radau",
        parameters=(Parameter("Omega", 150.0, "rad/s", "speed of the crank"),),
        components=(
            World(g=0.0),
            Revolute("crank"),
            AxisMotion("drive", joint="crank", s="Omega*time"),
            BodyShape("link", m=M1, r=(L1, 0), r_CM=(L1 / 2, 0), I_33=J1 - M1 * L1**2 / 4),
            Revolute("pin"),
            ModalBody("rod", data=rod(), eta=ETA, eta_t=ETA_T),
            Revolute("wrist"),
            Body("block", m=M3, I_33=1e-3),
            Prismatic("slider", n=(1, 0)),
        ),
        connections=(
            connect("world.frame_b", "crank.frame_a"),
            connect("crank.frame_b", "link.frame_a"),
            connect("link.frame_b", "pin.frame_a"),
            connect("pin.frame_b", "rod.frame_a"),
            connect("rod.tip", "wrist.frame_a"),
            connect("wrist.frame_b", "block.frame_a"),
            connect("world.frame_b", "slider.frame_a"),
            connect("slider.frame_b", "block.frame_a"),
        ),
    )


def rod() -> ModalData:
    """Return the rod's constants: integrals over its mass by Gauss quadrature, which is exact to round-off here."""
    xi, weights = np.polynomial.legendre.leggauss(24)
    xi, dm = (xi + 1) / 2, M2 * weights / 2
    still = np.zeros_like(xi)
    r = np.array([L2 * xi, still, still])
    waves = (np.array([still, np.sin(k * np.pi * xi), still]) for k in (1, 2))
    parabolas = (np.array([item, still, still]) for item in (4 * xi * (1 - xi), xi * (2 * xi - 1)))
    phi = np.stack([*waves, *parabolas], axis=1)
    both = np.einsum("aiq,bjq,q->abij", phi, phi, dm)
    both[:, :, 2:, 2:] *= STRETCH
    square = np.einsum("aaij->ij", both)
    rounded = np.array([np.pi / PI, np.pi / PI, 1.0, 1.0])
    mixed, along = rounded * np.einsum("aq,biq,q->abi", r, phi, dm), np.einsum("aq,aiq,q->i", r, phi, dm)
    unit = np.eye(3)
    A, I_z = WIDTH * HEIGHT, WIDTH * HEIGHT**3 / 12
    Ke = np.zeros((4, 4))
    Ke[:2, :2] = E * I_z / L2**3 * PI**4 / 2 * np.diag([1.0, 16.0])
    Ke[2:, 2:] = E * A / L2 / 3 * np.array([[16.0, -8.0], [-8.0, 7.0]])
    Phi0 = np.zeros((1, 3, 4))
    Phi0[0, 0, 3] = 1.0
    Psi0 = np.zeros((1, 3, 4))
    Psi0[0, 2, :2] = np.pi / L2 * np.array([-1.0, 2.0])
    return ModalData(
        m=M2,
        c0=r @ dm,
        C1=rounded * (phi @ dm),
        C2=np.zeros((3, 4, 4)),
        J0=np.diag([2 * (J2 - M2 * L2**2 / 3), J2, J2]),
        J1=2 * unit[:, :, None] * along - mixed - mixed.transpose(1, 0, 2),
        J2=2 * unit[:, :, None, None] * square - both - both.transpose(1, 0, 2, 3),
        N2=np.zeros((3, 3, 4, 4)),
        Cr0=_cross(mixed),
        Cr1=_cross(both),
        Me=square,
        Ke=Ke,
        De=np.zeros((4, 4)),
        frames=("tip",),
        r0=np.array([[L2, 0.0, 0.0]]),
        Phi0=Phi0,
        Phi1=np.zeros((1, 3, 4, 4)),
        Psi0=Psi0,
    )


def _cross(products: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the vector of the antisymmetric part of integrals of a_a b_b: the integral of a x b."""
    return np.stack([products[(c + 1) % 3, (c + 2) % 3] - products[(c + 2) % 3, (c + 1) % 3] for c in range(3)])
