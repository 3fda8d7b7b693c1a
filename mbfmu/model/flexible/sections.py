"""Sections of a beam: what their strains make outputs, and the surface that they sweep in a picture."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.model.flexible.body import Surface
from mbfmu.model.frame import SX, Pose
from mbfmu.model.sensors import Measured

CORNERS = ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))
"""Outermost fibres of a rectangular section, as parts of c_y and c_z, in order around the x axis."""
PLANAR_FIBRES = ((1.0, 0.0), (-1.0, 0.0))
"""Outermost fibres in the plane."""
ROUND = tuple((math.cos(k * math.tau / 12), math.sin(k * math.tau / 12)) for k in range(12))
"""Outline of a round bar, as parts of its radius."""


@dataclass(frozen=True)
class Section:
    """A section of a beam with its strains, SX.

    Args:
        pose: its pose seen from frame_a.
        strain: axial strain.
        twist: twist for each length, rad/m; zero in the plane.
        kappa_y, kappa_z: second derivatives of the deflection by bending, 1/m; the latter zero in the plane.
        gamma: shear angles along y and, in space, along z, rad; empty where the beam has no shear.
    """

    pose: Pose
    strain: SX
    twist: SX
    kappa_y: SX
    kappa_z: SX
    gamma: SX


def section_signals(p: Any, section: Section, name: str, where: str, axial: bool) -> tuple[Measured, ...]:
    """Return normal force, moment, shear force and normal stresses of a section, as far as they are known.

    The moment is that of the part beyond the section: torque, and bending moments about y and z; in the plane the last
    alone. Fibres are at (c_y, c_z), (-c_y, c_z), (-c_y, -c_z) and (c_y, -c_z), in the plane at c_y and -c_y.

    Args:
        p: the beam's quantities.
        section: the section.
        name: name of the outputs before the last dot.
        where: words for the place.
        axial: whether the beam can be drawn.
    """
    moment = p.E * p.I_z * section.kappa_y
    if not p.planar:
        moment = ca.vertcat(p.G * p.I_t * section.twist, -p.E * p.I_y * section.kappa_z, moment)
    signals = [Measured(f"{name}.N", "N", f"normal force {where}", p.E * p.A * section.strain)] if axial else []
    signals.append(Measured(f"{name}.M", "N.m", f"moment {where}", moment))
    if section.gamma.numel():
        signals.append(Measured(f"{name}.V", "N", f"shear force {where}", p.GA_s * section.gamma))
    if _has_fibres(p):
        sigma = _stresses(p, section, PLANAR_FIBRES if p.planar else CORNERS)
        signals.append(Measured(f"{name}.sigma", "N/m2", f"normal stress of a fibre {where}", sigma.T))
    return tuple(signals)


def swept_surface(p: Any, sections: Sequence[Section], thick: float) -> Surface:
    """Return the surface that sections sweep: rectangles of the outermost fibres, no thinner than a third of `thick`.

    Without c_y and c_z it is a round bar, in the plane a flat one, and its stresses are unknown.

    Args:
        p: the beam's quantities.
        sections: the sections, in order along the beam.
        thick: radius of a bar that is drawn as a line is, m.
    """
    known = _has_fibres(p)
    h_y = ca.fmax(p.c_y, thick / 3) if known else ca.SX(thick)
    h_z = ca.fmax(p.c_z, thick / 3) if known and not p.planar else ca.SX(thick)
    outline = CORNERS if known or p.planar else ROUND
    points = []
    for item in sections:
        r, R = item.pose.r, item.pose.R
        for a, b in outline:
            points.append(
                ca.vertcat(r + R @ ca.vertcat(0, a * h_y), b * h_z) if p.planar
                else r + R @ ca.vertcat(0, a * h_y, b * h_z)
            )  # fmt: skip
    stress = ca.horzcat(*(_stresses(p, item, outline) for item in sections)) if known else None
    return Surface(ca.horzcat(*points), _triangles(len(sections), len(outline)), stress)


def _has_fibres(p: Any) -> bool:
    return bool(p.c_y.nnz() and (p.planar or p.c_z.nnz()))


def _stresses(p: Any, item: Section, fibres: Sequence[tuple[float, float]]) -> SX:
    """Return the normal stresses of fibres at parts of (c_y, c_z), N/m2, shape (1, number)."""
    c_z = ca.SX(0) if p.planar else p.c_z
    strains = (item.strain - a * p.c_y * item.kappa_y - b * c_z * item.kappa_z for a, b in fibres)
    return p.E * ca.horzcat(*strains)


def _triangles(sections: int, corners: int) -> npt.NDArray[np.int64]:
    """Return the triangles between sections in a row along x, and at its ends, shape (f, 3).

    Args:
        sections: number of sections.
        corners: number of corners of each, counted in order around the x axis.
    """
    a = np.arange((sections - 1) * corners)
    beside = a - a % corners + (a + 1) % corners
    fan = np.column_stack([np.zeros(corners - 2, dtype=np.int64), *(np.arange(k, corners - 2 + k) for k in (1, 2))])
    return np.vstack([
        np.column_stack([a, beside, beside + corners]), np.column_stack([a, beside + corners, a + corners]),
        fan[:, ::-1], fan + (sections - 1) * corners,
    ])  # fmt: skip
