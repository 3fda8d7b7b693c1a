"""Forces on combinations of the axes of several joints: tendons, and the drives that pull on them."""

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca

from mbfmu.model.combined import CombinedAxes
from mbfmu.model.component import Input, Value, quantity, state
from mbfmu.model.forces.commanded import Commanded, Filtered, Integrated, affine
from mbfmu.model.forces.stop import NO_LIMIT, AxisStop, check_limits
from mbfmu.model.frame import SX


@dataclass(frozen=True)
class AxesForce(CombinedAxes):
    """Base of efforts along a linear combination of axes: with ``s = sum ratio_k s_k``, axis k takes ``ratio_k f``.

    Args:
        joints, ratios: the combination, see `CombinedAxes`.
    """

    def potential(self, p: Any, s: SX) -> SX:
        """Return the potential energy, J, for the combination s."""
        return ca.SX(0)

    def effort(self, p: Any, s: SX, v: SX) -> SX:
        """Return the force along the combination s, whose rate is v; force times rate is the power put in, W."""
        return ca.SX(0)

    def rates(self, p: Any, s: SX, v: SX) -> tuple[SX, ...]:
        """Return the rates of the first-order states (see `component.state`), in the order of their fields, 1/s."""
        return ()


@dataclass(frozen=True)
class AxesSpring(AxesForce):
    """Linear spring and damper on a combination of axes, slack within a range: a tendon over joints.

    ``V = c x^2 / 2`` with ``x = max(0, s - upper) - max(0, lower - s)``, and ``f = -d v``. Units are those of the
    combination: m with N, or rad with N.m.

    Args:
        joints, ratios: the combination, see `AxesForce`.
        c: stiffness.
        lower, upper: range of the combination without spring force; if it is a point in the model, it stays one.
        d: damping constant.
    """

    c: Value = quantity(0.0, "1", "stiffness", min=0)
    lower: Value = quantity(0.0, "1", "least length without force")
    upper: Value = quantity(0.0, "1", "greatest length without force")
    d: Value = quantity(0.0, "1", "damping constant", min=0)

    def potential(self, p: Any, s: SX) -> SX:
        if self.lower == self.upper:  # smooth, so that its slope at rest is c; a slack that is set later has no value
            rest = ca.if_else(ca.eq(p.lower, p.upper), p.lower, math.nan)
            return p.c * (s - rest) ** 2 / 2
        return p.c * (ca.fmax(0, s - p.upper) - ca.fmax(0, p.lower - s)) ** 2 / 2

    def effort(self, p: Any, s: SX, v: SX) -> SX:
        return -p.d * v


@dataclass(frozen=True)
class AxesStop(AxesForce):
    """Compliant limits of a combination of axes, such as the length of a tendon: a spring and a damper beyond them.

    With the depth ``x = max(0, lower - s) + max(0, s - upper)``: ``V = c x^2 / 2``, and the damping ``-d x v``, as in
    `RotationalStop`. Units are those of the combination: m with N, or rad with N.m.

    Args:
        joints, ratios: the combination, see `AxesForce`.
        lower, upper: least and greatest value of the combination.
        c: stiffness.
        d: damping per depth.
    """

    lower: Value = quantity(-NO_LIMIT, "1", "least value of the combination")
    upper: Value = quantity(NO_LIMIT, "1", "greatest value of the combination")
    c: Value = quantity(0.0, "1", "stiffness", min=0)
    d: Value = quantity(0.0, "1", "damping per depth", min=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_limits(self, self.lower, self.upper)

    def potential(self, p: Any, s: SX) -> SX:
        return p.c * AxisStop.depth(p, s) ** 2 / 2

    def effort(self, p: Any, s: SX, v: SX) -> SX:
        return -p.d * AxisStop.depth(p, s) * v


@dataclass(frozen=True)
class AffineDrive(Commanded, AxesForce):
    """A drive on a combination of axes, with a force that is affine in the input `u`, the combination and its rate.

    ``f = (gain + gain_s s + gain_v v) u + bias + bias_s s + bias_v v``, with u and f held within their limits: a motor
    has gain alone, a position servo ``gain = k``, ``bias_s = -k``, a speed servo ``bias_v = -k``. It is the affine
    actuator of MuJoCo. Units are those of the combination and of u.

    Args:
        joints, ratios: the combination, see `AxesForce`.
        gain, gain_s, gain_v: force per input, and its slopes.
        bias, bias_s, bias_v: force without input, and its slopes.
        u_least, u_greatest: limits of the input.
        f_least, f_greatest: limits of the force.
    """

    gain: Value = quantity(1.0, "1", "force per input")
    gain_s: Value = quantity(0.0, "1", "slope of the gain by the combination of axes")
    gain_v: Value = quantity(0.0, "1", "slope of the gain by the velocity of the combination")
    bias: Value = quantity(0.0, "1", "force without input")
    bias_s: Value = quantity(0.0, "1", "slope of the force by the combination of axes")
    bias_v: Value = quantity(0.0, "1", "slope of the force by the velocity of the combination")
    u_least: Value = quantity(-NO_LIMIT, "1", "least input")
    u_greatest: Value = quantity(NO_LIMIT, "1", "greatest input")
    f_least: Value = quantity(-NO_LIMIT, "1", "least force")
    f_greatest: Value = quantity(NO_LIMIT, "1", "greatest force")

    def inputs(self, planar: bool) -> tuple[Input, ...]:
        return (Input("u", "1", "what the drive is asked for"),)

    def effort(self, p: Any, s: SX, v: SX) -> SX:
        return affine(p, s, v, self.acting(p))


@dataclass(frozen=True)
class FilteredDrive(Filtered, AffineDrive):
    """An affine drive behind a filter of first order: its gain multiplies `z`, with ``z' = (u - z) / T``.

    Args:
        joints, ratios, gain, ...: see `AffineDrive`.
        T: time constant, s.
        z: start value of the filter's state.
    """

    T: Value = quantity(1.0, "s", "time constant", min=1e-9)
    z: Value = state("1", "filtered input")


@dataclass(frozen=True)
class IntegratedDrive(Integrated, AffineDrive):
    """An affine drive behind an integrator: its gain multiplies `z`, with ``z' = u`` between the limits of z.

    A position servo behind it is asked for a speed.

    Args:
        joints, ratios, gain, ...: see `AffineDrive`.
        z_least, z_greatest: limits of z.
        z: start value of the integral.
    """

    z_least: Value = quantity(-NO_LIMIT, "1", "least integral")
    z_greatest: Value = quantity(NO_LIMIT, "1", "greatest integral")
    z: Value = state("1", "integral of the input")
