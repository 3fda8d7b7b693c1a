"""Spin-up manoeuvre: a flexible beam on a hub that is brought from rest to 4 rad/s within 15 s.

Source: Wu & Haug, Int. J. Numer. Methods Eng. 26 (1988); Simo & Vu-Quoc, J. Appl. Mech. 53 (1986). The tip, 8 m from
the hub, lags behind by up to 0.534 m at 6.77 s. Without the shortening of a bent beam there is no such motion: its
stiffness would end below 4 rad/s.
"""

from mbfmu.model import AxisMotion, Beam, Parameter, Revolute, System, World, connect

RAMP = "Omega/T*(time**2/2 + (T/(2*pi))**2*(cos(2*pi*time/T) - 1))"
"""Angle of the hub until T, rad: its rate is Omega/T (t - T/(2 pi) sin(2 pi t/T))."""


def spin_up_beam(modes: int = 4) -> System:
    """Return the beam with a number of bending modes; the sum of `beam.eta` is the deflection of its tip."""
    return System(
        name="spin_up_beam",
        description="A flexible beam that is spun up",
        planar=True,
        parameters=(
            Parameter("Omega", 4.0, "rad/s", "rate of the hub at the end"),
            Parameter("T", 15.0, "s", "duration of the spin-up", min=1e-3),
        ),
        components=(
            World(g=0.0),
            Revolute("hub"),
            AxisMotion("drive", joint="hub", s=f"where(time < T, {RAMP}, Omega*(time - T/2))"),
            Beam("beam", L=8.0, rho=2766.67, A=7.299e-5, E=6.895e10, I_z=8.218e-9, modes=modes),
        ),
        connections=(connect("world.frame_b", "hub.frame_a"), connect("hub.frame_b", "beam.frame_a")),
    )
