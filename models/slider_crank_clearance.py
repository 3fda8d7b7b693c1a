"""A slider-crank whose slider has play in its guide and hits it with its four corners.

th1, th2 and th3 are the angles of crank, rod and slider from the x axis. The slider (2 a long, 2 b high) turns on the
rod's end about its centre of mass, between faces at y = +-guide_half_height, c away from it; the crank's bearing is the
origin, and no torque drives it. Corners hit with Newton's restitution e_N, all that touch at once, and rub with
Coulomb's friction mu. Source: Flores, Leine & Glocker, Modeling and analysis of planar rigid multibody systems with
translational clearance joints based on the non-smooth dynamics approach, Multibody Syst. Dyn. 23, 2010. Known facts:
the energy is constant while no corner touches. From th3 = 0 at rest both corners of a face hit together, so that th3
stays 0; this motion is unstable: with th3 off zero corners hit one after the other, and the slider stays on the face.
"""

from mbfmu.model import Contact, Coordinate, LagrangianSystem, Parameter

CORNERS = {"rear_top": ("-a", "b"), "front_top": ("a", "b"), "rear_bottom": ("-a", "-b"), "front_bottom": ("a", "-b")}
"""Places of the corners on the slider; the front is that towards +x."""
CENTRE = ("l1*cos(th1) + l2*cos(th2)", "l1*sin(th1) + l2*sin(th2)")
"""Place of the slider's centre of mass."""


def slider_crank_clearance() -> LagrangianSystem:
    """Return the mechanism; `om1`, `om2` and `om3` are the rates of the angles."""
    contacts = []
    for name, (x, y) in CORNERS.items():
        height = f"({CENTRE[1]} + ({x})*sin(th3) + ({y})*cos(th3))"
        contacts.append(
            Contact(
                name,
                gap=f"guide_half_height {'-' if y == 'b' else '+'} {height}",
                restitution="e_N",
                slide=f"{CENTRE[0]} + ({x})*cos(th3) - ({y})*sin(th3)",
                sliding="mu*normal",
            )
        )
    return LagrangianSystem(
        name="slider_crank_clearance",
        description="A slider-crank with play between slider and guide",
        coordinates=(
            Coordinate("th1", "rad", 0.0, 150.0, "angle of the crank"),
            Coordinate("th2", "rad", 0.0, -75.0, "angle of the rod"),
            Coordinate("th3", "rad", 0.0, 0.0, "angle of the slider"),
        ),
        kinetic=(
            "(J_1 + m_1*l1**2/4)*der(th1)**2/2 + J_2*der(th2)**2/2 + J_3*der(th3)**2/2"
            " + m_2*(l1**2*der(th1)**2 + l1*l2*der(th1)*der(th2)*cos(th1 - th2) + l2**2*der(th2)**2/4)/2"
            " + m_3*(l1**2*der(th1)**2 + 2*l1*l2*der(th1)*der(th2)*cos(th1 - th2) + l2**2*der(th2)**2)/2"
        ),
        potential=f"g*(m_1*l1/2*sin(th1) + m_2*(l1*sin(th1) + l2/2*sin(th2)) + m_3*({CENTRE[1]}))",
        parameters=(
            Parameter("l1", 0.153, "m", "length of the crank", min=1e-9),
            Parameter("l2", 0.306, "m", "length of the rod", min=1e-9),
            Parameter("a", 0.05, "m", "half length of the slider", min=0),
            Parameter("b", 0.025, "m", "half height of the slider", min=0),
            Parameter("c", 0.001, "m", "play on each side", min=0),
            Parameter("guide_half_height", "b + c", "m", "distance of the guide's faces from the axis"),
            *(
                Parameter(f"m_{i}", m, "kg", f"mass of {name}", min=1e-9)
                for i, name, m in ((1, "crank", 0.038), (2, "rod", 0.038), (3, "slider", 0.076))
            ),
            *(
                Parameter(f"J_{i}", J, "kg.m2", f"inertia of {name} about its centre of mass", min=1e-12)
                for i, name, J in ((1, "crank", 7.4e-5), (2, "rod", 5.9e-4), (3, "slider", 2.7e-6))
            ),
            Parameter("g", 9.81, "m/s2", "gravity acceleration"),
            Parameter("e_N", 0.4, "1", "restitution", min=0, max=1),
            Parameter("mu", 0.01, "1", "friction", min=0),
        ),
        contacts=tuple(contacts),
        names={
            **{f"om{i}": f"der(th{i})" for i in (1, 2, 3)},
            **{f"m[{i}]": f"m_{i}" for i in (1, 2, 3)},
            **{f"J_about_mass_centre[{i}]": f"J_{i}" for i in (1, 2, 3)},
        },
    )
