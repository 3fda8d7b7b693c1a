"""Classes of Modelica's MultiBody for wheels that roll on the ground z = 0, and the joints that they are."""

import math
from collections.abc import Callable

import numpy as np

from mbfmu.errors import ModelError
from mbfmu.model.component import Component
from mbfmu.model.joints import RollingDisk, UprightWheel
from mbfmu.model.modelica.elements import ModelicaComponent, sequence
from mbfmu.model.modelica.library import LATERAL, ROLLING
from mbfmu.model.modelica.values import joined

UP = (0.0, 0.0, 1.0)
"""Normal of the ground."""


def _rolling(e: ModelicaComponent, name: str) -> Component:
    """Return a disk with the axle -y, whose contact point has the coordinates of the ground.

    With the start angles a of turns about z, y, x, the axle ``R e_y`` gives heading psi and lean theta, and
    ``w = psi_d e_z + theta_d R_z(psi) e_x - phi_d R e_y``.
    """
    fixed = e.values.variables[f"{e.name}.angles"]["fixed"], e.values.variables[f"{e.name}.der_angles"]["fixed"]
    if not all(all(item or [False]) for item in fixed):
        raise ModelError(f"'{e.name}': angles and der_angles that are not fixed are not read: write each fixed=true")
    a, a_d = (
        np.array([e.values.number(item) for item in e.values.of(f"{e.name}.{label}", "start")])
        for label in ("angles", "der_angles")
    )
    # heading, lean and spin from the rotation matrix
    R = sequence(np.array([3, 2, 1]), a)
    psi, theta = math.atan2(-R[0, 1], R[1, 1]), math.asin(max(-1.0, min(1.0, R[2, 1])))
    phi = math.atan2(R[2, 0], R[2, 2])
    # their derivatives from the angular velocity
    turned = [sequence(np.array([3, 2, 1][:count]), a[:count]) for count in range(3)]
    w = sum(R_k[:, axis] * rate for R_k, axis, rate in zip(turned, (2, 1, 0), a_d, strict=True))
    line = np.array([math.cos(psi), math.sin(psi), 0.0])
    w_psi, w_theta, w_spin = np.linalg.solve(np.column_stack((UP, line, -R[:, 1])), w)
    # the contact point, beside the centre of a wheel that leans
    x, y = (e.start(label) for label in ("x", "y"))
    radius = e.value("radius")
    if theta:
        shift = math.sin(theta) * math.sin(psi), -math.sin(theta) * math.cos(psi)
        x, y = (
            joined("-" if factor > 0 else "+", item, joined("*", radius, abs(factor)))
            for item, factor in zip((x, y), shift, strict=True)
        )
    return RollingDisk(
        name, n_a=UP, n=(0.0, -1.0, 0.0), radius=radius, s_x=x, s_y=y, psi=psi, theta=theta, phi=phi,
        w=float(w_spin), w_theta=float(w_theta), w_psi=float(w_psi),
    )  # fmt: skip


def _upright(e: ModelicaComponent, name: str) -> Component:
    sideways = not e.flag("lateralSlidingConstraint")
    return UprightWheel(name, n_a=UP, n=(0.0, 1.0, 0.0), radius=e.value("radius"), sideways=sideways)


ELEMENTS: dict[str, Callable[[ModelicaComponent, str], Component]] = {ROLLING: _rolling, LATERAL: _upright}
"""Function that makes the component, by the path of its class."""
