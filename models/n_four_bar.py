"""N parallelogram four-bars in a row: N loops, one degree of freedom, singular whenever the bars lie horizontally.

Source: IFToMM multibody benchmark A02 (Gonzalez, Dopico, Lugris & Cuadrado, a benchmarking system for multibody
system simulation software, Multibody Syst. Dyn. 16, 2006): bars 1 m, 1 kg, upright, B0 moving at 1 m/s. Known facts:
with theta from +x, theta'' = -g ((N+1)/2 + N)/((N+1)/3 + N) cos(theta); the energy is constant. In a horizontal
position the Jacobian loses rank and every loop could leave as an antiparallelogram.
"""

from mbfmu.errors import ValueRangeError
from mbfmu.model import BodyShape, Component, Connection, FixedTranslation, Parameter, Revolute, System, World, connect


def n_four_bar(N: int = 2) -> System:
    """Return N four-bars; `a0.phi` is measured from the upright, `b0.r_0` is the point B0.

    Args:
        N: number of loops. Bar `link<i>` stands on hinge `a<i>`; `b<i>` is the bar from B<i> to B<i+1>.
    """
    if N < 1:
        raise ValueRangeError(f"n_four_bar: N = {N} must be at least 1")
    components: list[Component] = [World(g=9.81)]
    connections: list[Connection] = []
    for i in range(N + 1):
        components += [
            FixedTranslation(f"ground{i}", r=(f"{i}*l", 0)),
            Revolute(f"a{i}", **({"phi": 0.0, "w": "-v0/l", "actuated": True} if i == 0 else {})),
            BodyShape(f"link{i}", m="m", r=(0, "l"), r_CM=(0, "l/2"), I_33="m*l**2/12"),
        ]
        connections += [
            connect("world.frame_b", f"ground{i}.frame_a"),
            connect(f"ground{i}.frame_b", f"a{i}.frame_a"),
            connect(f"a{i}.frame_b", f"link{i}.frame_a"),
        ]
    for i in range(N):
        components += [
            Revolute(f"c{i}"),
            BodyShape(f"b{i}", m="m", r=("l", 0), r_CM=("l/2", 0), I_33="m*l**2/12"),
            Revolute(f"d{i}"),
        ]
        connections += [
            connect(f"link{i}.frame_b", f"c{i}.frame_a"),
            connect(f"c{i}.frame_b", f"b{i}.frame_a"),
            connect(f"b{i}.frame_b", f"d{i}.frame_a"),
            connect(f"d{i}.frame_b", f"link{i + 1}.frame_b"),
        ]
    return System(
        name="n_four_bar",
        description=f"{N} parallelogram four-bars in a row, singular when horizontal",
        planar=True,
        parameters=(
            Parameter("l", 1.0, "m", "length of every bar", min=1e-9),
            Parameter("m", 1.0, "kg", "mass of every bar", min=1e-9),
            Parameter("v0", 1.0, "m/s", "start velocity of B0"),
        ),
        components=tuple(components),
        connections=tuple(connections),
    )
