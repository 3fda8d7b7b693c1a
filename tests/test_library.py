"""Laws over the models of models/: they meet references, closed forms and balances."""

import json
import math
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import thorough
from scipy.linalg import expm
from scipy.spatial.transform import Rotation
from scipy.special import ellipj, ellipk

import mbfmu
from mbfmu.base.result import Result
from mbfmu.errors import StepError, ValueRangeError
from mbfmu.model import Model

REFERENCES = Path(__file__).parent / "references"
ABOUT = {"problem", "source", "differences", "parameters", "t"}
COORDINATES = ("absolute", "joint")
"""Coordinates every law is checked in."""
OWN = ("own",)
"""What a Lagrangian has."""


@dataclass(frozen=True)
class Scheme:
    """A stepper with a step, s, and options.

    Args:
        stepper: its name.
        step: s.
        options: its options.
        only: the one kind of coordinates to run it in, where the other takes long or another step.
        reaches: a tolerance of its own, where its round-off is above the case's.
        slow: takes more than a few seconds, mostly to run.
        until: the last time looked at, s, where the rest would take long and others look at it.
    """

    stepper: str
    step: float
    options: Mapping[str, Any] = field(default_factory=dict)
    only: str = ""
    reaches: float = 0.0
    slow: bool = False
    until: float = math.inf

    def __str__(self) -> str:
        return "-".join([self.stepper, *map(str, self.options.values()), f"{self.step:g}"])


def projected(step: float, order: int = 8, **more: Any) -> Scheme:
    """Explicit steps with projection."""
    return Scheme("projected", step, {"order": order}, **more)


def gauss(step: float, stages: int = 3, **more: Any) -> Scheme:
    """Gauss steps with symmetric projection."""
    return Scheme("gauss", step, {"stages": stages, "projection": "symmetric"}, **more)


def radau(step: float, stages: int = 3, **more: Any) -> Scheme:
    """Radau steps."""
    return Scheme("radau", step, {"stages": stages}, **more)


@dataclass(frozen=True)
class Case:
    """A reference file, the model it is about, and who has to meet it how closely.

    Args:
        reference: name of the file.
        model: name of the model.
        tolerance: relative to 1 and to the largest value of a kind, such as all `w` or all `r_0`. Where round-off
            decides, five times the largest error of runs with gravity changed by -1, 0, 1 and 2 units in its last
            place: so far does rounding alone, which differs between processors, move the result.
        schemes: what runs.
        until: the last time looked at, s: beyond, round-off grows above the tolerance.
        coordinates: in which.
    """

    reference: str
    model: str
    tolerance: float
    schemes: tuple[Scheme, ...]
    until: float = math.inf
    coordinates: tuple[str, ...] = COORDINATES


CASES = (
    Case(
        "slider_crank",
        "slider_crank",
        5e-12,
        (projected(1e-3), gauss(2e-3, only="absolute", slow=True), gauss(1e-3, only="joint", reaches=5e-11)),
    ),
    Case("two_link_sqrt2", "two_link", 1e-12, (projected(1e-3), gauss(1e-3)), until=3.0),
    Case(
        "arm6",
        "arm6",
        1e-12,
        (
            projected(1e-3),
            gauss(2e-3, 4, only="joint", reaches=5e-12),
            Scheme("partition", 1e-4, only="absolute", slow=True),
        ),
    ),
    Case(
        "four_bar",
        "four_bar",
        5e-12,
        (projected(2e-3), gauss(1e-3, 4, only="absolute"), gauss(1e-3, 4, only="joint", reaches=2e-11)),
    ),
    Case(
        "spatial_slider_crank",
        "spatial_slider_crank",
        5e-12,
        (projected(1e-3), gauss(5e-4, stages=4, only="joint"), Scheme("partition", 4e-5, only="absolute")),
    ),
    Case("andrews", "andrews", 1e-12, (projected(1e-5), gauss(1e-5))),
    Case("andrews_iftomm", "andrews", 1e-12, (projected(1e-5),)),
    Case("n_four_bar_2", "n_four_bar", 1e-9, (gauss(2e-3), radau(1e-3, reaches=5e-9), projected(2.5e-3, order=5))),
    Case(
        "n_four_bar_40",
        "n_four_bar",
        1e-9,
        (
            # singular positions amplify round-off: 0.7e-9 and 1.2e-9 by two orders of operations, more by smaller steps
            projected(5e-3, order=5, only="absolute", reaches=5e-9, slow=True),
            projected(2.5e-3, order=5, only="joint", reaches=5e-9, slow=True),
            radau(2.5e-3, only="joint", slow=True, until=5.0),
        ),
    ),
    Case(
        "bricard",
        "bricard",
        1e-12,
        (projected(2e-3), gauss(2e-3, only="joint"), radau(4e-3, only="absolute", slow=True, until=2.5)),
    ),
    Case(
        "flyball_governor",
        "flyball_governor",
        1e-12,
        (
            projected(1e-4, only="absolute", slow=True),
            radau(2e-3, only="absolute", reaches=2e-10, slow=True, until=2.0),
            projected(2e-4, only="joint"),
            gauss(1e-3, only="joint"),
            radau(1e-3, only="joint", reaches=2e-11),
        ),
    ),
    Case(
        "heavy_top",
        "heavy_top",
        5e-12,
        (projected(1e-4), gauss(2e-4, 4, only="absolute", reaches=1e-11), gauss(1e-3, 4, only="joint", reaches=5e-11)),
    ),
    Case("pendulum", "pendulum", 1e-13, (projected(1e-2), gauss(5e-3, 4)), coordinates=OWN),
    Case("pendulum_long", "pendulum", 1e-9, (projected(1e-2), gauss(1e-2, 4)), coordinates=OWN),
    Case("rolling_disk_lean", "rolling_disk", 2e-11, (projected(2e-3), radau(1e-3)), coordinates=OWN),
)


def read(name: str) -> dict[str, Any]:
    """Read a reference file."""
    found: dict[str, Any] = json.loads((REFERENCES / f"{name}.json").read_text(encoding="utf-8"))
    return found


def run(model: Model, stop: float, scheme: Scheme, coordinates: str, interval: float, **more: Any) -> Result:
    """Simulate a model in the given coordinates."""
    return mbfmu.simulate(
        model,
        stop,
        stepper=scheme.stepper,
        options=scheme.options,
        step=scheme.step,
        output_interval=interval,
        coordinates=None if coordinates in OWN else coordinates,
        **more,
    )


LARGE = {"arm6", "bricard", "n_four_bar_2", "spatial_slider_crank"}
"""References of mechanisms whose kernels in absolute coordinates take seconds to compile."""


def represents(case: Case, scheme: Scheme, coordinates: str) -> bool:
    """Every reference by the first stepper that is quick, and some of them by all that are."""
    if coordinates == "absolute" and case.reference in LARGE:
        return False
    quick = [item for item in case.schemes if not item.slow]
    return scheme in (quick if case.reference in {"slider_crank", "pendulum", "rolling_disk_lean"} else quick[:1])


def marks(case: Case, scheme: Scheme, coordinates: str) -> list[pytest.MarkDecorator]:
    """Return the marks of a case: long runs are optimised."""
    if scheme.slow:
        return [pytest.mark.slow, pytest.mark.long]
    return [] if represents(case, scheme, coordinates) else [pytest.mark.represented]


def spacing(times: list[float]) -> float:
    """Return the longest output interval, a multiple of 1 us, that meets all times."""
    return math.gcd(*(round(t * 1e6) for t in times)) * 1e-6


def kind(name: str) -> str:
    """Return what a variable is: `w`, `r_0` and so on."""
    return name.rpartition(".")[2].partition("[")[0]


@pytest.mark.parametrize(
    ("case", "scheme", "coordinates"),
    [
        pytest.param(
            case,
            scheme,
            chosen,
            id=f"{case.reference}-{scheme}-{chosen}",
            marks=marks(case, scheme, chosen),
        )
        for case in CASES
        for scheme in case.schemes
        for chosen in case.coordinates
        if scheme.only in {"", chosen}
    ],
)
def test_motion_meets_its_reference(case: Case, scheme: Scheme, coordinates: str) -> None:
    known = read(case.reference)
    model = mbfmu.load(case.model, {name: float(value) for name, value in known["parameters"].items()})
    times = [t for t in known["t"] if t <= min(case.until, scheme.until)]
    interval = spacing(times)
    result = run(model, times[-1], scheme, coordinates, interval)
    rows = [round(t / interval) for t in times]
    exact = {name: np.array(known[name][: len(times)], float) for name in known.keys() - ABOUT}
    size: dict[str, float] = {}
    for name, values in exact.items():
        size[kind(name)] = max(size.get(kind(name), 1.0), np.abs(values).max())
    for name, values in exact.items():
        error = np.abs(result[name][rows] - values).max() / size[kind(name)]
        assert error <= (scheme.reaches or case.tolerance), name


@pytest.mark.parametrize("step", thorough(zip([1e-3, 1.2e-3, 2e-3, 2.5e-3]), lambda step: step == 2e-3))
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_singular_position_is_passed_with_the_energy_or_refused(coordinates: str, step: float) -> None:
    """Stages near it amplify round-off: with gravity changed in its last bits up to 1.6e-8 of the energy is lost.

    Whether a stage comes so near that the step is refused hangs on the last bits too. Steps of 2 ms pass.
    """
    model, interval = mbfmu.load("n_four_bar", {"N": 2}), 0.02 if step == 2e-3 else 60 * step
    refused = nullcontext() if step == 2e-3 else suppress(StepError)
    with refused:
        result = run(model, 20.0, projected(step, 5), coordinates, interval)
        assert np.ptp(result["energy.total"]) < 1e-7 * np.abs(result["energy.kinetic"]).max()


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("scheme", [projected(1e-2), radau(5e-3)], ids=str)
def test_knife_edge_on_an_incline_follows_its_closed_form(scheme: Scheme, coordinates: str) -> None:
    m, inertia, g, slope, W = 1.25, 0.13, 9.81, 0.5, 1.3
    values = {"skate.m": m, "skate.I_33": inertia, "world.g": g * math.sin(slope), "skate.w": W}
    result = run(mbfmu.load("ice_skate").with_values(values), 10.0, scheme, coordinates, 0.1)
    t, a = result.time, g * math.sin(slope) / (2 * W**2)
    exact = {
        "skate.r_0[1]": a * np.sin(W * t) ** 2,
        "skate.r_0[2]": a * (W * t - np.sin(2 * W * t) / 2),
        "skate.v_0[1]": a * W * np.sin(2 * W * t),
        "skate.v_0[2]": a * W * (1 - np.cos(2 * W * t)),
        "skate.phi": W * t,
    }
    for name, path in exact.items():
        assert np.abs(result[name] - path).max() < 2e-12 * max(1, np.abs(path).max()), name


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("scheme", [projected(1e-3), radau(1e-3)], ids=str)
def test_chaplygin_sleigh_follows_its_closed_form(scheme: Scheme, coordinates: str) -> None:
    m, a, inertia, v0, w0 = 1.0, 0.3, 0.2, 0.4, 1.5
    result = run(mbfmu.load("chaplygin_sleigh"), 10.0, scheme, coordinates, 0.1)
    A = inertia + m * a**2
    k, V = m * a / A, math.sqrt(v0**2 + A * w0**2 / m)
    T0 = -math.atanh(v0 / V)
    T = k * V * result.time - T0
    v, w = V * np.tanh(T), V * math.sqrt(m / A) / np.cosh(T)
    phi = math.sqrt(m / A) / k * (np.arctan(np.sinh(T)) - np.arctan(np.sinh(-T0)))
    along = result["sleigh.v_0[1]"] * np.cos(phi) + result["sleigh.v_0[2]"] * np.sin(phi)
    assert along == pytest.approx(v, abs=1e-12)
    assert result["sleigh.w"] == pytest.approx(w, abs=1e-12)
    assert result["sleigh.phi"] == pytest.approx(phi, abs=1e-12)
    assert np.ptp(result["energy.total"]) < 1e-12


@pytest.mark.parametrize("coordinates", thorough(zip(COORDINATES), lambda coordinates: coordinates == "joint"))
@pytest.mark.parametrize(
    "scheme",
    thorough(zip([projected(1e-4), gauss(1e-3, stages=4)]), lambda scheme: scheme.stepper == "gauss"),
    ids=str,
)
@pytest.mark.parametrize("slow", [True, False])
def test_heavy_top_precesses_steadily_at_both_roots(scheme: Scheme, coordinates: str, slow: bool) -> None:
    """Jt cos(theta) W^2 - Ja w3 W + m g l = 0; the axis is (sin theta cos W t, sin theta sin W t, cos theta)."""
    m, g, l, Jt, Ja, spin, theta = 15.0, 9.81, 1.0, 15.234375, 0.46875, 150.0, math.pi / 3  # noqa: E741
    W = sorted(np.roots([Jt * math.cos(theta), -Ja * spin, m * g * l]))[0 if slow else 1]
    down = np.array([-math.cos(theta), 0, math.sin(theta)])
    n = np.array([math.sin(theta), 0, math.cos(theta)])
    R = np.column_stack([np.cross(n, down), n, down])
    x, y, z, scalar = Rotation.from_matrix(R).as_quat()
    w = R.T @ (n * (spin - W * math.cos(theta)) + np.array([0, 0, W]))
    values = {f"top.Q[{i}]": q for i, q in enumerate((scalar, x, y, z), 1)}
    values |= {f"top.w_a[{i}]": w[i - 1] for i in (1, 2, 3)}
    result = run(mbfmu.load("heavy_top").with_values(values), 1.0, scheme, coordinates, 0.01)
    t = result.time
    exact = np.sin(theta) * np.cos(W * t), np.sin(theta) * np.sin(W * t), np.cos(theta) + 0 * t
    for i, path in enumerate(exact, 1):
        assert result[f"top.r_0[{i}]"] == pytest.approx(path, abs=1e-12)


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("scheme", [projected(1e-3), gauss(5e-4)], ids=str)
def test_quarter_car_is_a_matrix_exponential(scheme: Scheme, coordinates: str) -> None:
    """A step of the road by 50 mm, and a force of 500 N in the suspension."""
    ms, mu, ks, cs, kt, g, f, z = 300.0, 40.0, 18e3, 1.4e3, 180e3, 9.81, 500.0, 0.05
    A = np.zeros((5, 5))
    A[0, 2] = A[1, 3] = 1
    wheel = np.array([-kt, ks, 0, cs, kt * z - f - mu * g]) / mu
    body = np.array([0, -ks, 0, -cs, f - ms * g]) / ms
    A[2], A[3] = wheel, body - wheel
    inputs = {"suspension.f": "500", "tyre.z": "0.05"}
    result = run(mbfmu.load("quarter_car"), 2.0, scheme, coordinates, 0.1, inputs=inputs)
    for row, t in enumerate(result.time):
        exact = expm(A * t) @ np.array([0, 0, 0, 0, 1])
        for name, value in zip(("hub.s", "suspension.s", "hub.v", "suspension.v"), exact, strict=False):
            assert result[name][row] == pytest.approx(value, abs=1e-12), (name, t)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_chain_of_one_link_is_a_pendulum(coordinates: str) -> None:
    """From rest at the horizontal: sin(theta/2) = k cd(w0 t, k) from the downward vertical, k = sin(45 degrees)."""
    result = run(mbfmu.load("chain", {"N": 1}), 2.0, projected(1e-3), coordinates, 0.1)
    w0 = math.sqrt(9.81 * 1.5)
    _, cn, dn, _ = ellipj(w0 * result.time, 0.5)
    theta = 2 * np.arcsin(math.sqrt(0.5) * cn / dn)
    assert result["joint1.phi"] == pytest.approx(theta - math.pi / 2, abs=1e-12)
    assert 4 * ellipk(0.5) / w0 < 2.0


def test_a_spatial_chain_of_six_is_the_arm() -> None:
    """Turned by -90 degrees about x: hinges about -z and y in turn, gravity along -y."""
    known = read("arm6")
    start = {f"joint{i}.phi": (-0.1 if i % 2 else 0.1) for i in range(1, 7)}
    result = run(mbfmu.load("chain", {"N": 6, "spatial": True, **start}), 2.0, projected(1e-3), "joint", 2.0)
    for i in range(1, 7):
        exact = known[f"joint{i}.phi"][0] * (-1 if i % 2 else 1)
        assert result[f"joint{i}.phi"][-1] == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("name", ["chain", "n_four_bar"])
def test_a_model_of_no_links_is_refused(name: str) -> None:
    with pytest.raises(ValueRangeError, match="at least 1"):
        mbfmu.load(name, {"N": 0})


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_gymnast_flies_a_parabola_whatever_the_joints_do(coordinates: str) -> None:
    M, g = 70.0, 9.81
    drive = {"shoulder.tau": "30*sin(9*time)", "hip.tau": "-60*sin(7*time)", "knee.tau": "20*cos(8*time)-20"}
    model = mbfmu.load("gymnast")
    result = run(model, 0.8, projected(1e-3), coordinates, 1e-3, inputs=drive)
    t, p0 = result.time, result["momentum.linear[1]"][0]
    assert np.ptp(result["hip.phi"]) > 1.0
    assert result["momentum.linear[1]"] == pytest.approx(p0, abs=1e-11)
    assert result["momentum.linear[2]"] == pytest.approx(result["momentum.linear[2]"][0] - M * g * t, abs=1e-11)
    fallen = result["momentum.angular"][0] - g * p0 * t**2 / 2  # the centre of mass starts above the origin
    assert result["momentum.angular"] == pytest.approx(fallen, abs=1e-10)


def turned(angle: Any, point: tuple[float, float]) -> Any:
    """Turn a point of the plane; complex steps allowed."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * point[0] - s * point[1], s * point[0] + c * point[1]])


def length(gap: Any) -> Any:
    """Return the length of a vector; complex steps allowed."""
    return np.sqrt(gap[0] ** 2 + gap[1] ** 2)


def crane(boom: Any, jib: Any) -> tuple[Any, Any, Any]:
    """Return potential energy, J, and strokes of lift and tilt, m, by plane geometry."""
    foot, knuckle = np.array([0.25, 0.8]), np.array([0, 2.0]) + turned(boom, (3.5, 0))
    eye1, foot2 = np.array([0, 2.0]) + turned(boom, (1.0, -0.15)), np.array([0, 2.0]) + turned(boom, (1.9, 0.35))
    eye2 = knuckle + turned(boom + jib, (-0.3, 0.25))
    l1, l2 = length(eye1 - foot), length(eye2 - foot2)
    up1, up2 = (eye1 - foot)[1] / l1, (eye2 - foot2)[1] / l2
    V = 250 * turned(boom, (0.45 * 3.5, 0.05))[1] + 120 * (knuckle + turned(boom + jib, (1.0, 0.03)))[1]
    V += 200 * (knuckle + turned(boom + jib, (2.5, 0)))[1]
    V += 40 * 0.6 * up1 + 20 * (eye1[1] - 0.5 * up1) + 25 * (foot2[1] + 0.5 * up2) + 12 * (eye2[1] - 0.4 * up2)
    return 9.81 * V, l1 - 1.3, l2 - 1.1


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_crane_stands_still_with_the_forces_of_virtual_work(coordinates: str) -> None:
    """F . ds = dV for both angles, by complex steps; the pose is unstable, so not for long."""
    rows = np.array([np.imag(crane(0.5 + 1e-30j, -1.0)), np.imag(crane(0.5, -1.0 + 1e-30j))]) * 1e30
    lift, tilt = np.linalg.solve(rows[:, 1:], rows[:, 0])
    forces = {"lift.f": lambda _: lift, "tilt.f": lambda _: tilt}
    result = run(mbfmu.load("crane"), 1.0, projected(1e-3), coordinates, 0.1, inputs=forces)
    assert result["lift.s"][0] == pytest.approx(np.real(crane(0.5, -1.0)[1]), abs=1e-13)
    assert result["boom.phi"] == pytest.approx(0.5, abs=1e-11)
    assert result["jib.phi"] == pytest.approx(-1.0, abs=1e-11)
    assert lift > 2e4


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_the_work_of_the_cylinders_is_the_energy_of_the_crane(coordinates: str) -> None:
    """Constant forces: E - f_lift s_lift - f_tilt s_tilt is constant."""
    forces = {"lift.f": "62e3", "tilt.f": "-12e3"}
    result = run(mbfmu.load("crane"), 1.0, projected(1e-3), coordinates, 0.01, inputs=forces)
    work = 62e3 * result["lift.s"] - 12e3 * result["tilt.s"]
    assert np.ptp(work) > 1e3
    assert np.ptp(result["energy.total"] - work) < 1e-8


@pytest.mark.slow
def test_a_stewart_platform_stands_on_six_equal_forces() -> None:
    """Virtual work of a lift by dz: 6 f ds = dV; the legs' angle changes with z, and with it their centres of mass."""
    model = mbfmu.load("stewart")
    masses = {item.name: float(item.m) for item in model.components if hasattr(item, "m")}

    def lifted(z: complex) -> tuple[complex, complex]:
        home = math.sqrt(10 - 6 * math.cos(math.radians(47.5)) + 4)
        leg = np.sqrt(home**2 - 4 + z**2)
        V = masses["platform"] * z
        V += 6 * (masses["tube1"] * 0.375 * home * z / leg + masses["rod1"] * (z - 0.375 * home * z / leg))
        return 9.81 * V, leg

    V, leg = lifted(2.0 + 1e-30j)
    f = V.imag / leg.imag / 6
    inputs = {f"leg{i}.f": (lambda _: f) for i in range(1, 7)}
    result = run(model, 0.2, projected(2e-3, order=4), "joint", 0.1, inputs=inputs)
    for i in range(1, 7):
        assert result[f"leg{i}.s"] == pytest.approx(0.0, abs=1e-10)
        assert result[f"leg{i}.a"] == pytest.approx(0.0, abs=1e-8)
    assert result["platform.r_0[3]"][-1] == pytest.approx(2.0, abs=1e-10)


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_the_work_of_the_motor_is_in_the_energy_of_the_squeezer(coordinates: str) -> None:
    result = run(mbfmu.load("andrews"), 0.03, projected(1e-5), coordinates, 1e-3)
    assert np.ptp(result["energy.kinetic"]) > 0.1
    assert np.ptp(result["energy.total"]) < 1e-13


def test_a_governor_keeps_its_momentum_and_only_loses_energy() -> None:
    result = run(mbfmu.load("flyball_governor"), 2.0, projected(2e-4), "joint", 0.01)
    momentum = result["momentum.angular[3]"]
    assert np.abs(momentum / momentum[0] - 1).max() < 1e-13
    assert np.diff(result["energy.total"]).max() < 1e-10
