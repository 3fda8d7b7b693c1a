"""The tasks."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from math import asin, atan, cos, exp, hypot, pi, sin, sqrt
from pathlib import Path

from benchmarks.judge import assembled
from benchmarks.task import ORIGIN, Link, Pin, Spring, Task, Vector3, X, Y, Z

REFERENCES = Path(__file__).parents[1] / "tests" / "references"
THIN = 1e-3
"""Of a planar bar's inertia: what is taken about its own axis, about which it never turns."""
CONTACTS = (1e-3, 1e-5, 1e-7)
"""Errors that are to be reached where something touches."""


@cache
def reference(name: str, t: float, outputs: tuple[str, ...]) -> Mapping[str, float]:
    """Return the true values of some outputs at a time, from tests/references."""
    data = json.loads((REFERENCES / f"{name}.json").read_text(encoding="utf-8"))
    row = data["t"].index(t)
    return {output: float(data[output][row]) for output in outputs}


def bar(name: str, parent: int, at: Vector3, l: float, m: float, along: Vector3 = X, **start: float) -> Link:  # noqa: E741
    """Return a uniform bar of length l on a hinge about z."""
    across = m * l**2 / 12
    inertia = (THIN * across, across, across) if along == X else (across, THIN * across, across)
    center = (l / 2 * along[0], l / 2 * along[1], 0.0)
    return Link(name, parent, Z, at, m, center, inertia, **start)  # type: ignore[arg-type]


def box(name: str, parent: int, axis: Vector3, at: Vector3, q: float = 0.0) -> Link:
    """Return a box of 1 kg, 1 x 0.1 x 0.1 m, on a hinge."""
    return Link(name, parent, axis, at, 1.0, (0.5, 0.0, 0.0), (0.02 / 12, 1.01 / 12, 1.01 / 12), q)


def two_link() -> Task:
    """Return the arm of 1 and sqrt(2) m, 1 and 2 kg, released horizontal."""
    l2 = sqrt(2)
    return Task(
        "two_link", "two_link", 5.0, {"l2": l2, "m2": 2.0, "world.g": 9.81},
        links=(bar("shoulder.phi", -1, ORIGIN, 1.0, 1.0), bar("elbow.phi", 0, X, l2, 2.0)),
        exact=reference("two_link_sqrt2", 5.0, ("shoulder.phi", "elbow.phi")),
        targets=(1e-5, 1e-9),
    )  # fmt: skip


def slider_crank() -> Task:
    """Return the slider-crank, released at 45 degrees."""
    links = (
        bar("crank.phi", -1, ORIGIN, 1.0, 1.0, q=pi / 4),
        bar("rod.phi", 0, X, 2.0, 2.0, q=-asin(sin(pi / 4) / 2) - pi / 4),
        Link("slider.s", -1, X, ORIGIN, 1.0, ORIGIN, (0.01, 0.01, 0.01), q=2.5, slides=True),
    )
    return assembled(
        Task(
            "slider_crank", "slider_crank", 10.0,
            links=links,
            pins=(Pin(1, 2, (2.0, 0.0, 0.0), ORIGIN),),
            exact=reference("slider_crank", 10.0, ("crank.phi",)),
            targets=(1e-6,),
        )
    )  # fmt: skip


def four_bar() -> Task:
    """Return the crank-rocker, its crank at 60 degrees with 6 rad/s."""
    links = (
        bar("crank.phi", -1, ORIGIN, 0.5, 0.5, q=pi / 3, v=6.0),
        bar("coupler.phi", 0, (0.5, 0.0, 0.0), 1.2, 1.2, q=-0.5),
        bar("rocker.phi", -1, (1.3, 0.0, 0.0), 1.0, 1.0, along=Y, q=-0.1),
    )
    return assembled(
        Task(
            "four_bar", "four_bar", 10.0,
            links=links,
            pins=(Pin(1, 2, (1.2, 0.0, 0.0), Y),),
            exact=reference("four_bar", 10.0, ("crank.phi",)),
            targets=(1e-6,),
        )
    )  # fmt: skip


def arm6() -> Task:
    """Return the arm of six boxes, released at 0.1 rad."""
    links = tuple(box(f"joint{i + 1}.phi", i - 1, Z if i % 2 else Y, X if i else ORIGIN, q=0.1) for i in range(6))
    names = tuple(link.name for link in links)
    return Task(
        "arm6", "arm6", 2.0,
        gravity=(0.0, 0.0, -9.81),
        links=links,
        exact=reference("arm6", 2.0, names),
        targets=(1e-6, 1e-9),
    )  # fmt: skip


def chain(N: int, spatial: bool) -> Task:
    """Return the chain of N links, released horizontal."""
    names = [f"joint{i + 1}.phi" for i in range(N)]
    if spatial:
        links = [box(name, i - 1, Y if i % 2 else Z, X if i else ORIGIN) for i, name in enumerate(names)]
    else:
        links = [bar(name, i - 1, X if i else ORIGIN, 1.0, 1.0) for i, name in enumerate(names)]
    kind = "spatial" if spatial else "planar"
    values = {"N": float(N), "spatial": float(spatial)}
    return Task(f"chain_{kind} {N}", "chain", 0.3, values, links=tuple(links), steps=(1e-3,))


def andrews() -> Task:
    """Return Andrews' squeezing mechanism over 0.03 s (numbers of the IVP test set)."""
    A, B, C = (-0.06934, -0.00227, 0.0), (-0.03635, 0.03273, 0.0), (0.014, 0.072, 0.0)
    E2, E3, E4, E6 = (-0.028, 0.0, 0.0), (0.0, -0.035, 0.0), (0.0, -0.02, 0.0), (0.02, 0.0, 0.0)

    def body(name: str, parent: int, at: Vector3, m: float, x: float, y: float, I: float, q: float) -> Link:  # noqa: E741
        return Link(f"{name}.phi", parent, Z, at, m, (x, y, 0.0), (I, I, I), q)

    links = (
        replace(body("beta", -1, ORIGIN, 0.04325, 0.00092, 0.0, 2.194e-6, -0.0617138900142764496), torque=0.033),
        body("Theta", 0, (0.007, 0.0, 0.0), 0.00365, -0.0115, 0.0, 4.41e-7, 0.0),
        body("gamma", -1, B, 0.02373, 0.01043, -0.01874, 5.255e-6, 0.455),
        body("delta", -1, A, 0.0705, 0.02308, 0.00916, 1.169e-5, 0.487),
        body("Phi", 3, (0.04, 0.0, 0.0), 0.00706, 0.0, -0.00579, 5.667e-7, 0.223),
        body("epsilon", -1, A, 0.05498, -0.00449, -0.01228, 1.912e-5, 1.231),
        body("Omega", 5, (0.0, -0.04, 0.0), 0.00706, 0.00579, 0.0, 5.667e-7, -0.223),
    )
    return assembled(
        Task(
            "andrews", "andrews", 0.03,
            gravity=ORIGIN,
            links=links,
            pins=(Pin(1, 2, E2, E3), Pin(1, 4, E2, E4), Pin(1, 6, E2, E6)),
            springs=(Spring(2, -1, (0.02, -0.018, 0.0), C, 4530.0, 0.07785),),
            exact=reference("andrews", 0.03, tuple(link.name for link in links)),
            targets=(1e-6, 1e-9),
            steps=(1e-5, 1e-4),
        )
    )  # fmt: skip


def rolling_disk() -> Task:
    """Return the rolling disk over 10 s."""
    exact = reference("rolling_disk", 10.0, ("x", "y", "theta", "psi", "phi"))
    return Task("rolling_disk", "rolling_disk", 10.0, exact=exact, targets=(1e-6,))


def steppers() -> Task:
    """Return the two-link arm of the model's defaults over 2 s, for the table of all steppers."""
    return Task("steppers", "two_link", 2.0, exact=reference("two_link", 2.0, ("shoulder.phi", "elbow.phi")))


def bouncing_ball() -> Task:
    """Return the ball with restitution 0.8 over two impacts and 1.5 s; closed form."""
    h, g, e, stop = 1.0, 9.81, 0.8, 1.5
    t, v = sqrt(2 * h / g), sqrt(2 * g * h) * e
    while t + 2 * v / g < stop:
        t, v = t + 2 * v / g, v * e
    rest = stop - t
    return Task(
        "bouncing_ball", "bouncing_ball", stop, {"h": h, "m": 1.0, "g": g, "e": e},
        exact={"y": v * rest - g * rest**2 / 2, "v": v - g * rest},
        targets=CONTACTS, touching="ball", steps=(1e-3,),
    )  # fmt: skip


def incline(name: str, part: float, P: float, x: float) -> Task:
    """Return the block on an incline of a part of the angle of friction, shaken by P, which is at x after 6 s."""
    values = {"m": 1.0, "g": 9.81, "mu": 0.5, "alpha": part * atan(0.5), "P": P, "omega_push": 4.0}
    return Task(
        f"incline {name}", "incline", 6.0, values, exact={"x": x}, targets=CONTACTS, touching="block", steps=(1e-3,)
    )


def inclines() -> tuple[Task, ...]:
    """Return a block that sticks while it is shaken, one that slides, and one that sticks and slides by turns.

    The last is joined of elementary pieces, whose times are roots found to round-off.
    """
    alpha = 1.1 * atan(0.5)
    return (
        incline("sticks", 0.9, 0.3, 0.0),
        incline("slides", 1.1, 0.0, 9.81 * (sin(alpha) - 0.5 * cos(alpha)) * 18),
        incline("shaken", 0.9, 12.0, 16.661408983598864),
    )


def belt() -> Task:
    """Return the mass on a belt with Coulomb friction, which sticks and then slips for good, over 30 s; closed form."""
    v, F, c, stop = 0.2, 0.5, 0.05, 30.0
    begins = (F - c * v) / v  # the spring and the damper pull with F
    t, decay, w = stop - begins, c / 2, sqrt(1 - c**2 / 4)
    x = F + exp(-decay * t) * (-c * v * cos(w * t) + (v - decay * c * v) / w * sin(w * t))
    values = {"m": 1.0, "k": 1.0, "c": c, "v_belt": v, "F_s": F, "F_k": F}
    return Task("belt", "stick_slip", stop, values, exact={"x": x}, targets=CONTACTS, touching="belt", steps=(1e-3,))


def belt_falling() -> Task:
    """Return the mass on a belt whose friction falls with the slip rate, over 30 s (Leine's cycle of 12.001 s)."""
    return Task(
        "belt_falling", "stick_slip", 30.0, exact={"x": 1.133131474829726},
        targets=CONTACTS, touching="falling", steps=(1e-3,),
    )  # fmt: skip


def thrown_puck() -> Task:
    """Return the puck that is thrown, lands without restitution, slides and rests, over 1.5 s; closed form."""
    values = {"m": 1.0, "mu": 0.3, "height": 0.2, "v_1": 1.5, "v_2": 2.0, "world.g": 9.81}
    g, mu, speed = values["world.g"], values["mu"], hypot(values["v_1"], values["v_2"])
    falls = sqrt(2 * values["height"] / g)
    way = speed * falls + (speed - mu * g * falls) ** 2 / (2 * mu * g)
    exact = {f"way_{k}.s": way * values[f"v_{k}"] / speed for k in (1, 2)}
    return Task(
        "thrown_puck", str(Path(__file__).with_name("puck.py")), 1.5, values, exact=exact,
        targets=CONTACTS, touching="puck", steps=(1e-3,),
    )  # fmt: skip


SIZES = (2, 8, 32, 128)
TASKS: dict[str, Callable[[], tuple[Task, ...]]] = {
    "two_link": lambda: (two_link(),),
    "slider_crank": lambda: (slider_crank(),),
    "four_bar": lambda: (four_bar(),),
    "arm6": lambda: (arm6(),),
    "chain_planar": lambda: tuple(chain(N, False) for N in SIZES),
    "chain_spatial": lambda: tuple(chain(N, True) for N in SIZES),
    "andrews": lambda: (andrews(),),
    "rolling_disk": lambda: (rolling_disk(),),
    "steppers": lambda: (steppers(),),
}
"""The tasks of a name."""
TOUCHING: dict[str, Callable[[], tuple[Task, ...]]] = {
    "bouncing_ball": lambda: (bouncing_ball(),),
    "incline": inclines,
    "belt": lambda: (belt(),),
    "belt_falling": lambda: (belt_falling(),),
    "thrown_puck": lambda: (thrown_puck(),),
}
"""Those where something touches, for `benchmarks.contacts`."""
