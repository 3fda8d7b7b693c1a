"""A four-bar linkage whose pin between coupler and rocker has play in its bearing, and knocks.

The linkage is `four_bar`; coupler and rocker meet in a round pin in a round hole, with Newton's restitution e and
Coulomb's friction mu_pin. It starts as the ideal linkage with the pin in the middle. Source: own data; Flores &
Ambrosio, Revolute joints with clearance in multibody systems, Comput. Struct. 82, 2004, has such joints with compliant
contact. Known facts: until the pin meets the hole the two sides are a double and a single pendulum; the energy never
grows, and is constant without impacts and friction; as the clearance goes to zero, so does the distance from the motion
of the ideal linkage. On the wall of its hole the pin swings as a pendulum as long as the clearance, here with 50 Hz:
steps have to resolve that.
"""

from dataclasses import replace
from math import acos, atan2, cos, hypot, pi, sin

from mbfmu import load
from mbfmu.model import Parameter, PinInHole, Revolute, System

D, CRANK, COUPLER, ROCKER = 1.3, 0.5, 1.2, 1.0
"""Distance of the bearings and lengths of the bars, m, as in `four_bar`."""
ANGLE, RATE = pi / 3, 6.0
"""Angle of the crank, rad, and its rate, rad/s, at the start."""


def four_bar_clearance() -> System:
    """Return the four-bar; `crank.phi` is measured from +x, `rocker.phi` from +y, `coupler.phi` from the crank."""
    ideal: System = load("four_bar")
    coupler, rocker = angles()
    rates = rates_at(coupler, rocker)
    loose = {
        "pin": PinInHole("pin", radius="r_pin", clearance="clearance", e="e", mu="mu_pin"),
        "coupler": Revolute("coupler", phi=coupler - ANGLE, w=rates[0] - RATE),
        "rocker": Revolute("rocker", phi=rocker - pi / 2, w=rates[1]),
    }
    return replace(
        ideal,
        name="four_bar_clearance",
        description="A planar four-bar linkage with play in a pin",
        parameters=(
            *ideal.parameters,
            Parameter("r_pin", 0.02, "m", "radius of the pin", min=0),
            Parameter("clearance", 0.5e-3, "m", "radius of the hole without that of the pin", min=0),
            Parameter("e", 0.5, "1", "restitution", min=0, max=1),
            Parameter("mu_pin", 0.1, "1", "coefficient of friction of the pin", min=0),
        ),
        components=tuple(loose.get(item.name, item) for item in ideal.components),
    )


def angles() -> tuple[float, float]:
    """Return the angles of coupler and rocker from +x, rad, that close the linkage, with the rocker's end above."""
    x, y = D - CRANK * cos(ANGLE), -CRANK * sin(ANGLE)
    far = hypot(x, y)
    coupler = atan2(y, x) + acos((far**2 + COUPLER**2 - ROCKER**2) / (2 * far * COUPLER))
    rocker = atan2(y, x) + pi - acos((far**2 + ROCKER**2 - COUPLER**2) / (2 * far * ROCKER))
    return coupler, rocker


def rates_at(coupler: float, rocker: float) -> tuple[float, float]:
    """Return the rates of coupler and rocker, rad/s, that keep the linkage closed."""
    turn = RATE * CRANK / sin(coupler - rocker)
    return turn * sin(rocker - ANGLE) / COUPLER, turn * sin(coupler - ANGLE) / ROCKER
