"""Modal analysis: modes about steady states in closed form, the bicycle's published eigenvalues, stability limits."""

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm

import mbfmu
from mbfmu.analysis.linearization.mechanism import point_of
from mbfmu.analysis.modal import Locus, Modes
from mbfmu.analysis.modal.shapes import BodySlopes
from mbfmu.base.formats import read_columns
from mbfmu.errors import EquilibriumError, UnknownNameError, UsageError
from mbfmu.model import (
    Block,
    Body,
    BodyShape,
    Bushing,
    Defined,
    FreeMotion,
    Parameter,
    Port,
    Revolute,
    Sampled,
    State,
    Subsystem,
    System,
    World,
    connect,
    wire,
)
from mbfmu.prepared.prepare import prepare
from mbfmu.show.viewer.geometry import poses_of

# -- the bicycle ------------------------------------------------------------------------------------------------------

WEAVE, CAPSIZE = 4.29238253634111, 6.02426201538837
"""Speeds between which the bicycle balances itself, m/s (Meijaard et al. 2007, table 2a)."""
PUBLISHED = {
    0: (-5.53094371765393, -3.13164324790656, 3.13164324790656, 5.53094371765393),
    1: (-7.11008014637442, -3.13423125066578, 3.52696170990070 + 0.80774027519930j),
    2: (-8.67387984831735, -3.07158645641514, 2.68234517512745 + 1.68066296590675j),
    3: (-10.35101467245920, -2.63366137253667, 1.70675605663975 + 2.31582447384325j),
    4: (-12.15861426576447, -1.42944427361326, 0.41325331521125 + 3.07910818603206j),
    5: (-14.07838969279822, -0.32286642900409, -0.77534188219585 + 4.46486771378823j),
    6: (-16.08537123098026, -0.00406690076970, -1.52644486584142 + 5.87673060598709j),
    7: (-18.15788466125262, 0.10268170574766, -2.13875644258362 + 7.19525913329805j),
    8: (-20.27940894394569, 0.14327879765713, -2.69348683581097 + 8.46037971396931j),
    9: (-22.43788559040858, 0.15790184030917, -3.21675402252485 + 9.69377351531791j),
    10: (-24.62459635017404, 0.16105338653172, -3.72016840437287 + 10.90681139476287j),
}
"""Eigenvalues at speeds in m/s (tables 2b and 2c of the paper), 1/s, one of each pair."""


@cache
def rides() -> Locus:
    return mbfmu.locus("bicycle", {"v": list(range(11))})


@pytest.mark.parametrize("v", PUBLISHED)
def test_a_bicycle_has_the_published_eigenvalues(v: int) -> None:
    """Measured: 6e-14. The other six are zero: place, heading, speed and the angles of the wheels."""
    found = rides().branches[v]
    assert np.sum(found == 0) == 6
    moving = np.array([value for value in found if value != 0 and value.imag >= 0])
    expected = np.array(PUBLISHED[v], dtype=complex)
    order = [int(np.argmin(np.abs(moving - value))) for value in expected]
    assert sorted(order) == list(range(len(expected)))
    np.testing.assert_allclose(moving[order], expected, rtol=1e-12, atol=1e-12)


def test_a_bicycle_balances_itself_between_the_published_speeds() -> None:
    """Measured: 4e-15 and 2e-14 m/s."""
    weave, capsize = rides().critical
    assert (weave.value, capsize.value) == pytest.approx((WEAVE, CAPSIZE), abs=1e-12)
    assert weave.eigenvalue.imag == pytest.approx(3.43503384866144, abs=1e-12)
    assert capsize.eigenvalue.imag == 0
    assert [item.text for item in rides().critical] == ["oscillation becomes stable", "divergence becomes unstable"]
    assert rides().unstable.tolist() == [2, 2, 2, 2, 2, 0, 0, 1, 1, 1, 1]


def test_a_push_of_the_bicycle_dies_out_as_its_linear_form_says() -> None:
    """By a run of the equations themselves, which knows no linearization; what is left out is of second order."""
    push, end = 1e-5, 0.5
    run = mbfmu.simulate(
        "bicycle", end, values={"rear.w_theta": push}, step=1e-3, stepper="projected", output_interval=0.1
    )
    form = mbfmu.linearize("bicycle")
    x = np.zeros(len(form.states))
    x[form.states.index("der(rear.theta)")] = push
    for name in ("rear.theta", "steer.phi"):
        row = form.states.index(name)
        expected = [(expm(form.A * t) @ x)[row] for t in run.time]
        np.testing.assert_allclose(run[name], expected, atol=1e-6 * push)


# -- modes ------------------------------------------------------------------------------------------------------------


def hanging() -> Modes:
    return mbfmu.modes("two_link")


def test_modes_are_those_about_the_equilibrium_that_the_start_leads_to() -> None:
    """A double pendulum that starts level hangs; its equilibrium says so and starts a run there."""
    found, there = hanging(), mbfmu.linearize("two_link", {"shoulder.phi": -math.pi / 2, "elbow.phi": 0.0})
    assert found.equilibrium is not None
    assert found.values["shoulder.phi"] == pytest.approx(-math.pi / 2, abs=1e-12)
    expected = [mode.frequency for mode in there.modes]
    assert [item.mode.frequency for item in found.shapes] == pytest.approx(expected, rel=1e-12)
    assert mbfmu.linearize("two_link", found.values).rest < 1e-9


def test_bodies_move_in_a_mode_as_their_joints_turn_them() -> None:
    """Of hanging rods of 1 and 2 m: each centre swings by angles times lengths, in units of the largest of all ends."""
    for item in hanging().shapes:
        one, two = item.mode.relative([0, 1]).real
        upper, lower = item.bodies
        unit = max(abs(one), abs(one + 2 * (one + two)))
        moved = np.array([one / 2, one + (one + two)]) / unit
        turned = np.array([one, one + two]) / unit
        sign = np.sign(moved[0] * upper.displacement[0].real)
        np.testing.assert_allclose([upper.displacement[0], lower.displacement[0]], sign * moved, atol=1e-12)
        np.testing.assert_allclose([upper.rotation[0], lower.rotation[0]], sign * turned, atol=1e-12)
        np.testing.assert_allclose(upper.largest, abs(one) / unit)
        np.testing.assert_allclose([upper.displacement[1], lower.displacement[1]], 0, atol=1e-12)


def test_the_slopes_of_bodies_in_space_are_those_of_their_poses() -> None:
    """By central differences of the rotation matrices, on another route than quaternions."""
    model = mbfmu.load("arm6")
    prepared = prepare(model, "direct", None, 1e-3)
    dae = prepared.dae
    q, way, small = np.linspace(0.3, -0.9, dae.n), np.linspace(-1.0, 0.7, dae.n), 1e-6
    point = point_of(prepared, dae, {})._replace(q=q)
    found = BodySlopes(dae, point)
    bodies = tuple(found.turns)
    assert len(bodies) == 6
    _, R = poses_of(dae, bodies, np.array([q - small * way, q, q + small * way]), np.zeros(3))
    for k, body in enumerate(bodies):
        spin = (R[2, k] - R[0, k]) / (2 * small) @ R[1, k].T
        expected = [spin[2, 1], spin[0, 2], spin[1, 0]]
        np.testing.assert_allclose(found.turns[body] @ way, expected, atol=1e-8)


def test_both_coordinates_have_the_same_modes_and_bodies() -> None:
    start = {"shoulder.phi": -1.5, "elbow.phi": 0.1}
    joint, absolute = (mbfmu.modes("two_link", start, coordinates=item) for item in ("joint", "absolute"))
    for one, other in zip(joint.shapes, absolute.shapes, strict=True):
        assert one.mode.frequency == pytest.approx(other.mode.frequency, rel=1e-9)
        for left, right in zip(one.bodies, other.bodies, strict=True):
            np.testing.assert_allclose(left.displacement, right.displacement, atol=1e-8)


def test_the_modes_of_a_steady_motion_are_those_of_its_equilibrium() -> None:
    """The governor at 6 rad/s, held there; its shaft turns on without changing anything."""
    found = mbfmu.modes("flyball_governor", hold={"shaft.w": 6.0}, free=["shaft.tau"])
    expected = mbfmu.equilibrium("flyball_governor", hold={"shaft.w": 6.0}, free=["shaft.tau"]).eigenvalues
    values = np.array([item.mode.eigenvalue for item in found.shapes])
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-9)


def rotor(I_22: float) -> System:
    """Return a rotor with I_11 = 5 kg.m2 in a ring on springs that are alike all round, at 20 rad/s."""
    return System(
        "rotor",
        (
            World(g=0.0),
            FreeMotion("place", r_rel=(0, 0, 0), Q_rel=(1, 0, 0, 0), v_rel=(0, 0, 0), w_rel=(0, 0, 0)),
            Body("ring", m=1.0, I_11=0.5, I_22=0.5, I_33=0.5),
            Bushing("springs", c=(4e3, 4e3, 4e3), c_phi_1=1e3, c_phi_2=1e3, c_phi_3=1e3),
            Revolute("axle", n=(0, 0, 1), phi=0.3, w=20.0),
            Body("disk", m=10.0, I_11=5.0, I_22=I_22, I_33=8.0),
        ),
        (
            connect("world.frame_b", "place.frame_a"),
            connect("place.frame_b", "ring.frame_a"),
            connect("world.frame_b", "springs.frame_a"),
            connect("ring.frame_a", "springs.frame_b"),
            connect("ring.frame_a", "axle.frame_a"),
            connect("axle.frame_b", "disk.frame_a"),
        ),
    )


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_spinning_rotor_whirls_with_the_frequencies_of_its_spin(coordinates: str) -> None:
    """(I_1 + ring) omega^2 -+ I_3 w omega - c = 0 for whirling forwards and backwards."""
    found = mbfmu.modes(rotor(5.0), coordinates=coordinates)
    root = math.sqrt((8.0 * 20.0) ** 2 + 4 * 5.5 * 1e3)
    expected = [(root - 160.0) / 11, (root + 160.0) / 11]
    values = np.array([item.mode.eigenvalue for item in found.shapes])
    assert all(np.abs(values - 1j * omega).min() < 1e-8 * omega for omega in expected)
    assert found.equilibrium is None


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_spinning_rotor_that_is_not_alike_all_round_has_no_eigenvalues(coordinates: str) -> None:
    with pytest.raises(EquilibriumError, match="the linear form changes in time"):
        mbfmu.modes(rotor(2.0), coordinates=coordinates)


def test_a_block_has_modes_without_bodies() -> None:
    states = (State("x", "v"), State("v", "-25*x - 2*v"))
    found = mbfmu.modes(Block("ring", states=states, defined=(Defined("y", "x", output=True),)))
    assert found[0].mode.eigenvalue == pytest.approx(-1 + 1j * math.sqrt(24))
    assert found[0].bodies == ()
    assert sum(found[0].joints.values()) == pytest.approx(1)


def test_what_nothing_determines_has_no_modes() -> None:
    with pytest.raises(EquilibriumError, match=r"nothing determines rail\.s: hold it"):
        mbfmu.modes("cart_pendulum")
    with pytest.raises(UsageError, match=r"hold: rail\.s = nan must be a finite number"):
        mbfmu.modes("cart_pendulum", hold={"rail.s": math.nan})


# -- root locus -------------------------------------------------------------------------------------------------------


def turning() -> System:
    """A point mass on a rod of 0.5 m below a shaft that turns: the pendulum of a governor."""
    return System(
        "turning",
        parameters=(Parameter("l", 0.5, "m", "length", min=1e-9),),
        components=(
            World(g=9.81),
            Revolute("shaft", n=(0, 1, 0), phi=0.0, w=0.0, actuated=True),
            Body("hub", m=1.0, I_11=1.0, I_22=1.0, I_33=1.0),
            Revolute("arm", n=(0, 0, 1), phi=0.0, w=0.0),
            BodyShape("bob", m=2.0, r=(0, "-l", 0), r_CM=(0, "-l", 0)),
        ),
        connections=(
            connect("world.frame_b", "shaft.frame_a"),
            connect("shaft.frame_b", "hub.frame_a"),
            connect("shaft.frame_b", "arm.frame_a"),
            connect("arm.frame_b", "bob.frame_a"),
        ),
    )


def test_a_pendulum_on_a_shaft_leaves_the_vertical_at_its_own_frequency() -> None:
    """w^2 = g/l: an undamped pair meets in zero and parts along the real axis."""
    found = mbfmu.locus(turning(), {"shaft.w": np.linspace(1.0, 8.0, 8).tolist()}, hold={"arm.phi": 0.0})
    (critical,) = found.critical
    assert critical.value == pytest.approx(math.sqrt(9.81 / 0.5), rel=1e-12)
    assert critical.text == "divergence becomes unstable"
    for w, values in zip(found.values, found.branches, strict=True):
        size = math.sqrt(abs(w**2 - 9.81 / 0.5))
        assert np.abs(values).max() == pytest.approx(size, rel=1e-9)


@pytest.mark.parametrize("name", ["c", "u"])
def test_a_damper_that_pushes_makes_an_oscillation_unstable_where_its_factor_is_zero(name: str) -> None:
    """Over a parameter and over an input: s^2 + (c - u) s + 9 = 0."""
    block = Block(
        "pushed",
        inputs=(Port("u"),),
        states=(State("x", "v"), State("v", "-9*x - (c - u - 0.3)*v")),
        defined=(Defined("y", "x", output=True),),
        parameters=(Parameter("c", 0.0, "1", "damping"),),
    )
    found = mbfmu.locus(block, {name: [-1.0, 0.0, 1.0]})
    (critical,) = found.critical
    assert critical.value == pytest.approx(0.3 if name == "c" else -0.3, abs=1e-14)
    assert critical.eigenvalue == pytest.approx(3j)
    assert critical.unstable == ((2, 0) if name == "c" else (0, 2))
    roots = np.array([np.roots([1, (value if name == "c" else -value) - 0.3, 9]) for value in found.values])
    np.testing.assert_allclose(np.sort_complex(found.branches), np.sort_complex(roots), atol=1e-12)


def test_a_sampled_loop_becomes_unstable_at_the_gain_of_the_jury_criterion() -> None:
    """x' = u, u held at -K x every T: z = 1 - K T, which leaves the unit circle at -1 for K = 2/T."""
    T = 0.1
    plant = Block("plant", inputs=(Port("u"),), states=(State("x", "u"),), defined=(Defined("y", "x", output=True),))
    control = Block(
        "control", inputs=(Port("y"),), defined=(Defined("u", "-K*y", output=True),),
        parameters=(Parameter("K", 1.0, "1", "gain"),),
    )  # fmt: skip
    loop = System(
        "loop",
        (Subsystem("plant", plant), Subsystem("control", Sampled(control, T))),
        wires=(wire("plant.y", "control.y"), wire("control.u", "plant.u")),
    )
    found = mbfmu.locus(loop, {"control.K": [5.0, 15.0, 25.0]})
    (critical,) = found.critical
    assert critical.value == pytest.approx(2 / T, rel=1e-12)
    assert critical.eigenvalue.imag == pytest.approx(math.pi / T)
    assert critical.unstable == (0, 1)


def test_a_locus_runs_over_an_argument_of_the_models_function() -> None:
    found = mbfmu.locus("cantilever", {"modes": [1.0, 2.0]})
    assert np.sum(~np.isnan(found.branches), axis=1).tolist() == [2, 4]
    assert found.critical == ()


def test_a_table_of_a_locus_reads_back(tmp_path: Path) -> None:
    columns = read_columns(rides().write(tmp_path / "locus.csv"))
    assert [float(item) for item in columns["v"]] == rides().values.tolist()
    assert float(columns["eigenvalue[1].re"][3]) == rides().branches[3, 0].real


def test_what_a_locus_cannot_run_over_is_named() -> None:
    with pytest.raises(UsageError, match="one name with its values"):
        mbfmu.locus("bicycle", {"v": [0.0, 1.0], "w": [1.0, 2.0]})
    with pytest.raises(UsageError, match="must be two or more finite numbers that rise"):
        mbfmu.locus("bicycle", {"v": [1.0, 1.0]})
    with pytest.raises(UnknownNameError, match="has no parameter, input or output 'vv'"):
        mbfmu.locus(mbfmu.load("bicycle"), {"vv": [0.0, 1.0]})
    with pytest.raises(UnknownNameError, match="'vv'"):
        mbfmu.locus("bicycle", {"vv": [0.0, 1.0]})
    with pytest.raises(UsageError, match=r"r_R = -1 is outside its bounds"):
        mbfmu.locus("bicycle", {"r_R": [-1.0, 1.0]})
    with pytest.raises(EquilibriumError, match=r"rail\.f = 1: "):
        mbfmu.locus("cart_pendulum", {"rail.f": [1.0, 2.0]})
