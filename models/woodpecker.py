"""A toy woodpecker that pecks its way down a pole, held by friction and thrown back by its beak.

A sleeve (M) with play on the pole carries the bird (S) on a spring. y is the height of the sleeve, phi_M and phi_S are
the angles of sleeve and bird. The sleeve's lower and upper edge can touch the pole, and the beak pecks at it. Newton's
restitution e_N and Coulomb's friction mu of beak, lower and upper edge, in this order. Source: Pfeiffer & Glocker,
Multibody Dynamics with Unilateral Contacts, 1996; Leine, Glocker & van Campen, Nonlinear dynamics of the woodpecker
toy, ASME DETC 2001; data as published, with the start angle of the sleeve so that the lower edge touches. Known facts:
a stable limit cycle of 0.14598 s (6.85 Hz) that descends by 19.445 mm and has nine events.
"""

from mbfmu.model import Contact, Coordinate, LagrangianSystem, Parameter


def woodpecker() -> LagrangianSystem:
    """Return the toy; `v`, `omega_M` and `omega_S` are the rates of `y`, `phi_M` and `phi_S`."""
    contacts = ("beak", "lower", "upper")
    return LagrangianSystem(
        name="woodpecker",
        description="A toy woodpecker that pecks its way down a pole",
        coordinates=(
            Coordinate("y", "m", 0.0, -0.3411, "height of the sleeve"),
            Coordinate("phi_M", "rad", -(0.0031 - 0.0025) / 0.0058, 0.0, "angle of the sleeve"),
            Coordinate("phi_S", "rad", -0.2788, -7.4583, "angle of the bird"),
        ),
        kinetic=(
            "m_M*der(y)**2/2 + J_M*der(phi_M)**2/2 + J_S*der(phi_S)**2/2"
            " + m_S*(der(y) + l_M*der(phi_M) + l_G*der(phi_S))**2/2"
        ),
        potential="m_M*g*y + m_S*g*(y + l_M*phi_M + l_G*phi_S) + c_phi*(phi_M - phi_S)**2/2",
        parameters=(
            Parameter("m_M", 0.0003, "kg", "mass of the sleeve", min=1e-12),
            Parameter("J_M", 5e-9, "kg.m2", "inertia of the sleeve", min=1e-15),
            Parameter("m_S", 0.0045, "kg", "mass of the bird", min=1e-12),
            Parameter("J_S", 7e-7, "kg.m2", "inertia of the bird", min=1e-15),
            Parameter("c_phi", 0.0056, "N.m/rad", "stiffness of the spring", min=0),
            Parameter("g", 9.81, "m/s2", "gravity acceleration"),
            Parameter("r_0", 0.0025, "m", "radius of the pole", min=0),
            Parameter("r_M", 0.0031, "m", "inner radius of the sleeve", min=0),
            Parameter("h_M", 0.0058, "m", "half height of the sleeve", min=0),
            Parameter("l_M", 0.010, "m", "distance of the spring from the pole's axis", min=0),
            Parameter("l_G", 0.015, "m", "distance of the bird's centre of mass from the spring", min=0),
            Parameter("h_S", 0.020, "m", "height of the beak above the bird's centre of mass", min=0),
            Parameter("l_S", 0.0201, "m", "distance of the beak from the bird's centre of mass", min=0),
            *(
                Parameter(f"e_{i}", e, "1", f"restitution of contact {i} ({name})", min=0, max=1)
                for i, (name, e) in enumerate(zip(contacts, (0.5, 0.0, 0.0), strict=True), 1)
            ),
            *(
                Parameter(f"mu_{i}", 0.3, "1", f"friction of contact {i} ({name})", min=0)
                for i, name in enumerate(contacts, 1)
            ),
        ),
        contacts=(
            Contact(
                "beak",
                gap="l_M + l_G - l_S - r_0 - h_S*phi_S",
                restitution="e_1",
                slide="y + l_M*phi_M + (l_G - l_S)*phi_S",
                sliding="mu_1*normal",
            ),
            Contact(
                "lower", gap="r_M - r_0 + h_M*phi_M", restitution="e_2", slide="y + r_M*phi_M", sliding="mu_2*normal"
            ),
            Contact(
                "upper", gap="r_M - r_0 - h_M*phi_M", restitution="e_3", slide="y + r_M*phi_M", sliding="mu_3*normal"
            ),
        ),
        names={
            "v": "der(y)",
            "omega_M": "der(phi_M)",
            "omega_S": "der(phi_S)",
            **{f"e_N[{i}]": f"e_{i}" for i in (1, 2, 3)},
            **{f"mu[{i}]": f"mu_{i}" for i in (1, 2, 3)},
        },
    )
