"""FlexibleLine: shapes in closed form, rods by an independent method, published results, and orders of convergence."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from conftest import REFERENCES
from scipy.integrate import solve_bvp
from scipy.linalg import eigh
from scipy.optimize import brentq
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc

import mbfmu
from mbfmu.dae import Dae, derive
from mbfmu.dae.vibration import vibrations
from mbfmu.errors import ValueRangeError
from mbfmu.model import (
    AxisMotion,
    Beam,
    Component,
    Fixed,
    FlexibleLine,
    FreeMotion,
    Revolute,
    System,
    World,
    WorldForce,
    WorldTorque,
    connect,
    guess,
)
from mbfmu.model.flexible.line import weights

Array = npt.NDArray[np.float64]

SLENDER: dict[str, Any] = {"rho": 1e-6, "A": 1e6, "E": 1.0, "G": 1.0, "I_z": 1.0, "I_y": 1.0, "I_t": 2.0}
"""A line of EI = 1 N.m2, GI_t = 2 N.m2 and 1 kg/m that hardly stretches or shears."""
CLAMPED = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
"""Place and quaternion of a clamped end."""
CANTILEVER = np.array([1.8751040687119611, 4.694091132974175]) ** 2
"""Frequencies of the first modes of Euler and Bernoulli's cantilever, in sqrt(EI / (rho A L^4))."""


def clamped(*loads: Component, planar: bool = True, g: float = 0.0, **fields: Any) -> System:
    """Return a line on the world, with loads at frame_b."""
    ends = [connect("line.frame_b", f"{item.name}.frame_b") for item in loads]
    return System(
        "clamped", planar=planar,
        components=(World(g=g), Fixed("root"), FlexibleLine("line", **SLENDER | fields), *loads),
        connections=(connect("world.frame_b", "root.frame_a"), connect("root.frame_b", "line.frame_a"), *ends),
    )  # fmt: skip


def start(dae: Dae) -> Array:
    """Return the coordinates at the start, where nothing is closed."""
    s = dae.s_default()[: len(dae.start.starts)]
    return np.array(dae.start.guess(s, dae.p_default(), 0.0)).ravel()


def rest(dae: Dae, u: Any, steps: int = 8) -> dict[str, float]:
    """Return the outputs where a tree without constraints rests under inputs, which grow from zero."""
    q, v, z, given, p, t = dae.symbols()
    force = dae.equations.force(q, ca.DM.zeros(dae.n), z, given, p, t)
    values, still = dae.p_default(), np.zeros(dae.n)
    function = ca.Function("rest", [q, v, z, given, p, t], [force, ca.jacobian(force, q)])
    x = start(dae)
    for k in range(1, steps + 1):
        for _ in range(40):
            residual, slopes = function(x, still, [], np.array(u) * k / steps, values, 0.0)
            change = -np.linalg.solve(np.array(slopes), np.array(residual).ravel())
            x = x + change
            if np.abs(change).max() < 1e-11:
                break
        else:
            raise AssertionError("no equilibrium")
    y = dae.output(x, still, [], dae.angles(x, values, 0.0), still, [], u, values, 0.0)
    return dict(zip((item.name for item in dae.outputs), np.array(y).ravel(), strict=True))


def tip(found: dict[str, float], name: str = "line") -> Array:
    """Return the place of the last node."""
    last = max(int(item.split(".node")[1].split(".")[0]) for item in found if item.startswith(f"{name}.node"))
    places = [f"{name}.node{last}.r_0[{k}]" for k in (1, 2, 3)]
    return np.array([found[item] for item in places if item in found])


def turned(Q: Array) -> Array:
    """Return rotation matrices of unit quaternions, shape (3, 3, n)."""
    s, x, y, z = Q
    matrix: Array = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - s * z), 2 * (x * z + s * y)],
        [2 * (x * y + s * z), 1 - 2 * (x * x + z * z), 2 * (y * z - s * x)],
        [2 * (x * z - s * y), 2 * (y * z + s * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip
    return matrix


def rod(
    L: float, stretch: Array, bend: Array, force: Array, kappa: Array | None = None, torque: Array | None = None
) -> Array:
    """Return the tip of a clamped rod, from Cosserat's equations as a boundary value problem.

    Args:
        L: length.
        stretch: EA, GA_y, GA_z.
        bend: GI_t, EI_y, EI_z.
        force: at the tip, in the world frame.
        kappa: curvature without loads.
        torque: at the tip, in the world frame.
    """
    free, end = np.zeros(3) if kappa is None else kappa, np.zeros(3) if torque is None else torque

    def rate(share: float) -> Callable[[Array, Array], Array]:
        def slopes(_: Array, y: Array) -> Array:
            r, Q, m = y[:3], y[3:7] / np.linalg.norm(y[3:7], axis=0), y[7:]
            R = turned(Q)
            gamma = np.einsum("jik,j->ik", R, share * force) / stretch[:, None] + np.array([[1.0], [0.0], [0.0]])
            curve = np.einsum("jik,jk->ik", R, m) / bend[:, None] + free[:, None]
            r_s = np.einsum("ijk,jk->ik", R, gamma)
            turning = np.concatenate(
                [-np.sum(Q[1:] * curve, axis=0)[None], Q[0] * curve + np.cross(Q[1:], curve, axis=0)]
            )
            pull = np.cross(r_s, np.broadcast_to(share * force[:, None], r_s.shape), axis=0)
            return np.concatenate([r_s, turning / 2, -pull]) + 0 * np.concatenate([r, Q, m])

        return slopes

    s = np.linspace(0.0, L, 41)
    y = np.zeros((10, 41))
    y[0], y[3] = s, 1.0
    for share in (0.25, 0.5, 0.75, 1.0):
        held = lambda a, b, share=share: np.concatenate([a[:7] - CLAMPED, b[7:] - share * end])  # noqa: E731
        found = solve_bvp(rate(share), held, s, y, tol=1e-7, max_nodes=20000)
        assert found.success
        s, y = found.x, found.y
    last: Array = y[:3, -1]
    return last


def frequencies(dae: Dae) -> Array:
    """Return the natural frequencies about the start of a mechanism without constraints, rad/s."""
    symbols = dae.symbols()
    slopes = ca.Function("slopes", [*symbols], [ca.jacobian(dae.equations.force(*symbols), symbols[0])])
    q, p = start(dae), dae.p_default()
    K = -np.array(slopes(q, np.zeros(dae.n), [], [0.0] * len(dae.inputs), p, 0.0))
    found: Array = np.sqrt(eigh(K, np.array(dae.equations.M(q, p)), eigvals_only=True))
    return found


@pytest.mark.parametrize(("planar", "elements"), [(True, 3), (False, 3)])
def test_a_moment_of_a_full_turn_bends_a_line_to_a_circle(planar: bool, elements: int) -> None:
    dae = derive(clamped(WorldTorque("load"), planar=planar, elements=elements, L=2.0), "joint")
    moment = [math.pi] if planar else [0.0, 0.0, math.pi]  # 2 pi EI / L
    found = rest(dae, moment)
    assert tip(found) == pytest.approx(np.zeros(2 if planar else 3), abs=1e-10)
    cut = found[f"line.joint{elements}.frame_b.t" + ("" if planar else "[3]")]
    assert cut == pytest.approx(math.pi, rel=1e-10)


def elastica(load: float) -> Array:
    """Return the tip of the inextensible cantilever under a load P L^2 / EI across it (Bisshopp & Drucker, 1945)."""

    def root(k: float) -> float:
        return float(ellipk(k * k) - ellipkinc(math.asin(1 / (k * math.sqrt(2))), k * k) - math.sqrt(load))

    k = brentq(root, math.sqrt(0.5) + 1e-12, 1 - 1e-12, xtol=1e-15)
    phi, slope = math.asin(1 / (k * math.sqrt(2))), 2 * math.asin(k) - math.pi / 2
    fall = 1 - 2 / math.sqrt(load) * (ellipe(k * k) - ellipeinc(phi, k * k))
    return np.array([math.sqrt(2 * math.sin(slope) / load), -fall])


def test_a_line_bends_to_the_elastica_with_an_error_of_fourth_order() -> None:
    errors = []
    for elements in (3, 6):
        dae = derive(clamped(WorldForce("load"), elements=elements, A=1e8, rho=1e-8), "joint")
        errors.append(np.abs(tip(rest(dae, [0.0, -5.0])) - elastica(5.0)).max())
    assert errors[1] < 3e-5
    assert errors[1] < errors[0] / 12


def test_a_bow_of_45_degrees_bends_out_of_its_plane_as_published() -> None:
    """Bathe & Bolourchi, 1979: (15.9, 47.2, 53.4) with eight straight elements; others within 0.3 of it."""
    stretch, bend = np.array([1e7, 5e6 * 5 / 6, 5e6 * 5 / 6]), np.array([5e6 / 6, 1e7 / 12, 1e7 / 12])
    bow: dict[str, Any] = {"L": 25 * math.pi, "A": 1.0, "E": 1e7, "G": 5e6, "I_z": 1 / 12, "I_y": 1 / 12, "I_t": 1 / 6}
    wanted = rod(bow["L"], stretch, bend, np.array([0.0, 0.0, 600.0]), np.array([0.0, 0.0, 0.01]))
    errors = []
    for elements in (2, 4):
        dae = derive(clamped(WorldForce("load"), planar=False, kappa_z=0.01, elements=elements, **bow), "joint")
        found = tip(rest(dae, [0.0, 0.0, 600.0]))
        errors.append(np.abs(found - wanted).max())
    assert found == pytest.approx([47.2, 15.9, 53.4], abs=0.3)
    assert errors[1] < 0.01
    assert errors[1] < errors[0] / 10


@pytest.mark.parametrize("case", ["8.896 15", "13.345 45", pytest.param("13.345 75", marks=pytest.mark.further)])
def test_the_princeton_beam_bends_and_twists_as_published(case: str) -> None:
    reference = json.loads((REFERENCES / "princeton_beam.json").read_text())
    P, theta = (float(item) for item in case.split())
    model = mbfmu.load("princeton_beam", {"P": P, "theta": theta})
    dae = derive(model, "joint")
    found = tip(rest(dae, dae.u_default()), "beam")
    published = np.array([item["u"] for item in reference["results"][case].values()])
    slack = reference["slack"] * np.abs(published).max()
    assert np.all(found[1:] > published.min(axis=0) - slack)
    assert np.all(found[1:] < published.max(axis=0) + slack)
    h, b, E, G = 12.3777e-3, 3.2024e-3, 71.7e9, 71.7e9 / 2.62
    I_t = next(item.value for item in dae.parameters if item.name == "beam.I_t")
    stretch, bend = (
        h * b * np.array([E, G * 5 / 6, G * 5 / 6]),
        np.array([G * I_t, E * h * b**3 / 12, E * b * h**3 / 12]),
    )
    load = P * np.array([0.0, -math.cos(math.radians(theta)), math.sin(math.radians(theta))])
    assert found == pytest.approx(rod(0.508, stretch, bend, load), abs=2e-4)


def test_bending_frequencies_have_an_error_of_fourth_order() -> None:
    errors = []
    for elements in (3, 6):
        found = frequencies(derive(clamped(elements=elements), "joint"))
        errors.append(np.abs(found[:2] / CANTILEVER - 1).max())
    assert errors[1] < 1e-2
    assert errors[1] < errors[0] / 10


def test_frequencies_are_the_same_in_absolute_coordinates() -> None:
    fields: dict[str, Any] = {
        "planar": False,
        "elements": 2,
        "L": 1.0,
        "A": 1.0,
        "I_y": 2e-3,
        "I_z": 1e-3,
        "I_t": 2e-3,
        "rho": 1.0,
    }
    dae = derive(clamped(**fields), "joint")
    one, other = next(vibrations(dae)), next(vibrations(derive(clamped(**fields), "absolute")))
    own = frequencies(dae) / (2 * math.pi)
    assert [one.lowest, other.lowest] == pytest.approx([own[0], own[0]], rel=1e-9)
    assert one.highest == pytest.approx(own[-1], rel=1e-9)
    assert other.highest == pytest.approx(own[-1], rel=0.2)  # without what the clamped node lends to it


def test_every_mode_of_a_damped_line_decays_at_half_the_time_by_the_square_of_its_frequency() -> None:
    tau = 1e-4
    modes = mbfmu.linearize(clamped(elements=3, tau=tau, A=1.0, I_z=1e-2, rho=1.0)).modes
    values = np.array([mode.eigenvalue for mode in modes if mode.eigenvalue.imag > 0])
    assert len(values) > 3
    assert -values.real / np.abs(values) ** 2 == pytest.approx(np.full(len(values), tau / 2), rel=1e-6)


def test_a_load_in_the_middle_bends_a_line_as_in_closed_form() -> None:
    load = 1e-5
    system = clamped(elements=2, at=(0.5,))
    system = System(
        "middle", planar=True, components=(*system.components, WorldForce("load")),
        connections=(*system.connections, connect("line.frame_1", "load.frame_b")),
    )  # fmt: skip
    found = rest(derive(system, "joint"), [0.0, load], steps=1)
    assert tip(found)[1] == pytest.approx(5 * load / 48, rel=1e-5)


def test_a_line_with_curvature_begins_as_a_helix() -> None:
    x, z, L = 0.7, 1.1, 2.0
    found = rest(derive(clamped(planar=False, L=L, kappa_x=x, kappa_z=z, elements=2), "joint"), [], steps=1)
    turn = math.hypot(x, z)
    axis = np.array([x, 0.0, z]) / turn
    along, radial = axis[0] * axis, np.array([1.0, 0.0, 0.0]) - axis[0] * axis
    place = L * along + math.sin(turn * L) / turn * radial + (1 - math.cos(turn * L)) / turn * np.cross(axis, radial)
    assert tip(found) == pytest.approx(place, abs=1e-12)


def thrown(planar: bool, coordinates: str) -> Any:
    """Return a run of a free line that turns and bends."""
    begun: dict[str, Any] = {"phi": 0.0, "w": 3.0, "v_rel": (0.1, 0.2)}
    if not planar:
        begun = {"w_rel": (0.5, 1.0, 3.0), "v_rel": (0.1, 0.2, 0.3)}
    fields = SLENDER | {"A": 1.0, "rho": 1.0, "I_z": 0.02, "I_y": 0.01, "I_t": 0.02, "elements": 2}
    system = System(
        "thrown", planar=planar,
        components=(World(g=0.0), FreeMotion("free", **begun), FlexibleLine("line", **fields)),
        connections=(connect("world.frame_b", "free.frame_a"), connect("free.frame_b", "line.frame_a")),
    )  # fmt: skip
    ways: dict[str, Any] = {"step": 0.01, "stepper": "gauss", "output_interval": 0.1}
    return mbfmu.simulate(system, stop=1.0, coordinates=coordinates, **ways)


@pytest.mark.parametrize("planar", [True, pytest.param(False, marks=pytest.mark.further)])
def test_a_free_line_keeps_its_momentum_and_energy(planar: bool) -> None:
    run = thrown(planar, "absolute")
    momenta = [name for name in run.names if name.startswith("momentum")]
    assert len(momenta) == (3 if planar else 6)
    for name in momenta:
        assert np.ptp(run[name]) < 1e-10
    assert np.ptp(run["energy.potential"]) > 1e-2
    assert np.ptp(run["energy.total"]) < 1e-8 * run["energy.total"][0]


@pytest.mark.further
@pytest.mark.parametrize("planar", [True, False])
def test_joint_coordinates_give_the_motion_of_absolute_ones(planar: bool) -> None:
    one, other = thrown(planar, "joint"), thrown(planar, "absolute")
    for k in (1, 2) if planar else (1, 2, 3):
        name = f"line.node2.r_0[{k}]"
        assert one[name] == pytest.approx(other[name], abs=1e-10)


@pytest.mark.further
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_line_in_a_loop_moves_as_a_beam_of_modes_does(coordinates: str) -> None:
    model = mbfmu.load("flexible_four_bar", {"modes": 4})
    fields: dict[str, Any] = {"L": 2.0, "rho": 1000.0, "A": 1e-3, "E": 2e9, "I_z": 1e-7}
    rods = Beam("rod", modes=4, **fields), FlexibleLine("rod", elements=6, G=1e12, **fields)
    runs = []
    for rod in rods:
        closed = {"pin1": guess(-0.7), "rocker": guess(1.9)}  # of two closed poses that above the ground
        others = {"rod": rod, **{name: Revolute(name, phi=phi) for name, phi in closed.items()}}
        parts = tuple(others.get(item.name, item) for item in model.components)
        ways: dict[str, Any] = {"step": 5e-3, "stepper": "radau", "output_interval": 0.05, "coordinates": coordinates}
        ways["error_samples"] = 0  # its steps leave the fastest rates of bending off by more than a percent
        runs.append(mbfmu.simulate(replace(model, components=parts), stop=0.5, **ways))
    for name in ("crank.phi", "rocker.phi"):
        assert runs[1][name] == pytest.approx(runs[0][name], abs=1e-3)  # 4.5e-4 measured
    assert np.abs(runs[0]["rod.eta[1]"]).max() > 0.01


def test_shares_of_the_mass_are_those_of_a_rule_of_fourth_order() -> None:
    assert [float(item) for item in weights(2)] == pytest.approx([1 / 3, 4 / 3, 1 / 3])
    for elements in (2, 3, 4, 7):
        nodes = np.arange(elements + 1) / elements
        share = np.array([float(item) for item in weights(elements)]) / elements
        assert [share @ nodes**k for k in range(4)] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4], abs=1e-14)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"elements": 1}, "whole number from 2 to 1000"),
        ({"elements": True}, "whole number from 2 to 1000"),
        ({"at": (0.3,)}, "0.3 is not at a node.*1/8"),
        ({"at": 0.5}, r"such as \(0.5,\)"),
        ({"at": (1.0,)}, "not at a node between the ends"),
        ({"L": -1.0}, "L"),
    ],
)
def test_a_line_that_cannot_be_divided_so_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueRangeError, match=message):
        FlexibleLine("line", **fields)


RAMP = "Omega/T*(time**2/2 + (T/(2*pi))**2*(cos(2*pi*time/T) - 1))".replace("Omega", "4.0").replace("T", "15.0")


@pytest.mark.slow
def test_a_line_that_is_spun_up_meets_the_reference_with_an_error_of_fourth_order() -> None:
    reference = json.loads((REFERENCES / "flexible.json").read_text())["spin_up"]
    largest, errors = max(abs(item["v_transverse"]) for item in reference), []
    for elements in (4, 8):
        beam: dict[str, Any] = {
            "L": 8.0,
            "rho": 2766.67,
            "A": 7.299e-5,
            "E": 6.895e10,
            "G": 6.895e10 / 2.6,
            "I_z": 8.218e-9,
        }
        system = System(
            "spun", planar=True,
            components=(
                World(g=0.0), Revolute("hub"), FlexibleLine("line", elements=elements, **beam),
                AxisMotion("drive", joint="hub", s=f"where(time < 15, {RAMP}, 4*(time - 7.5))"),
            ),
            connections=(connect("world.frame_b", "hub.frame_a"), connect("hub.frame_b", "line.frame_a")),
        )  # fmt: skip
        run = mbfmu.simulate(system, stop=20.0, step=5e-3, stepper="radau", coordinates="absolute", output_interval=1.0)
        x, y, angle = (
            run[f"{name}"] for name in (f"line.node{elements}.r_0[1]", f"line.node{elements}.r_0[2]", "hub.phi")
        )
        deflection = np.cos(angle) * y - np.sin(angle) * x
        errors.append(max(abs(deflection[int(item["t"])] - item["v_transverse"]) for item in reference) / largest)
    assert errors[0] < 3e-3
    assert errors[1] < 3e-4
    assert errors[1] < errors[0] / 9
