"""Kinematics: closed forms of linkages, the motion of runs, singular positions by their time, and workspaces."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbfmu
from mbfmu.base.formats import read_columns
from mbfmu.errors import MassError, UnknownNameError, UsageError
from mbfmu.model import FixedTranslation, Parameter, Revolute, System, World, connect

BARS = {"d": 1.3, "l1": 0.5, "l2": 1.2, "l3": 1.0}


def rocker_of(phi: Any, branch: int) -> Any:
    """Angle of the four-bar's rocker from +y: its pin is where two circles meet, on one side or the other."""
    x, y = BARS["d"] - BARS["l1"] * np.cos(phi), -BARS["l1"] * np.sin(phi)
    far = np.hypot(x, y)
    inner = np.arccos((far**2 + BARS["l3"] ** 2 - BARS["l2"] ** 2) / (2 * far * BARS["l3"]))
    return np.arctan2(-y, -x) - branch * inner - math.pi / 2


def differences(values: Any, h: float) -> tuple[Any, Any]:
    """First and second derivatives of samples by central differences of order 4, without two points at each end."""
    first = (values[:-4] - 8 * values[1:-3] + 8 * values[3:-1] - values[4:]) / (12 * h)
    second = (-values[:-4] + 16 * values[1:-3] - 30 * values[2:-2] + 16 * values[3:-1] - values[4:]) / (12 * h**2)
    return first, second


def massless() -> System:
    """The four-bar of models/, of links without mass."""
    return System(
        "massless",
        planar=True,
        parameters=tuple(Parameter(name, value, "m", name) for name, value in BARS.items()),
        components=(
            World(g=9.81),
            Revolute("crank", phi=math.pi / 3),
            FixedTranslation("bar1", r=("l1", 0)),
            Revolute("coupler"),
            FixedTranslation("bar2", r=("l2", 0)),
            Revolute("pin"),
            FixedTranslation("bearing", r=("d", 0)),
            Revolute("rocker"),
            FixedTranslation("bar3", r=(0, "l3")),
        ),
        connections=(
            connect("world.frame_b", "crank.frame_a"),
            connect("crank.frame_b", "bar1.frame_a"),
            connect("bar1.frame_b", "coupler.frame_a"),
            connect("coupler.frame_b", "bar2.frame_a"),
            connect("bar2.frame_b", "pin.frame_a"),
            connect("pin.frame_b", "bar3.frame_b"),
            connect("world.frame_b", "bearing.frame_a"),
            connect("bearing.frame_b", "rocker.frame_a"),
            connect("rocker.frame_b", "bar3.frame_a"),
        ),
    )


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_slider_follows_its_crank_by_the_textbook(coordinates: str) -> None:
    """s = cos phi + sqrt(4 - sin^2 phi), with phi = 0.4 + 3 t + t^2, differentiated by hand."""
    found = mbfmu.kinematics("slider_crank", {"crank.phi": "0.4 + 3*time + time**2"}, 1.5, coordinates=coordinates)
    t = found.time
    phi, w, a = 0.4 + 3 * t + t**2, 3 + 2 * t, 2.0
    root = np.sqrt(4 - np.sin(phi) ** 2)
    slope = -np.sin(phi) - np.sin(phi) * np.cos(phi) / root
    bend = -np.cos(phi) - np.cos(2 * phi) / root - (np.sin(phi) * np.cos(phi)) ** 2 / root**3
    np.testing.assert_allclose(found["slider.s"], np.cos(phi) + root, atol=1e-12)
    np.testing.assert_allclose(found["slider.v"], slope * w, atol=1e-11)
    np.testing.assert_allclose(found["slider.a"], bend * w**2 + slope * a, atol=1e-10)
    np.testing.assert_allclose(found["link2.frame_b.r_0[1]"], found["slider.s"], atol=1e-12)
    np.testing.assert_allclose(found["link2.frame_b.a_0[1]"], found["slider.a"], atol=1e-10)
    assert found["regularity"].min() > 0.01
    assert found.notices == ()


@pytest.mark.parametrize("analysis", [mbfmu.kinematics, mbfmu.inverse])
@pytest.mark.parametrize("interval", [0.5, 1.0])
def test_a_motion_is_the_same_however_few_points_of_it_are_shown(analysis: Any, interval: float) -> None:
    """The crank turns by 3 or 6 rad from point to point: the slider stays on its side, and nothing is singular."""
    found = analysis("slider_crank", {"crank.phi": "6*time"}, 5.0, output_interval=interval)
    phi = 6 * found.time
    np.testing.assert_allclose(found["slider.s"], np.cos(phi) + np.sqrt(4 - np.sin(phi) ** 2), atol=1e-12)
    assert found.notices == ()


@pytest.mark.parametrize("analysis", [mbfmu.kinematics, mbfmu.inverse])
def test_an_axis_has_the_full_turns_that_its_motion_asks_for(analysis: Any) -> None:
    """In absolute coordinates its angle is counted: from the start to the first point, and from point to point."""
    others = {f"joint{k}.phi": "0" for k in range(2, 7)}
    motion = {"joint1.phi": "4 + 4*time", **others}
    found = analysis("arm6", motion, 3.0, output_interval=1.0, coordinates="absolute")
    np.testing.assert_allclose(found["joint1.phi"], [4, 8, 12, 16], atol=1e-12)


@pytest.mark.parametrize("branch", [1, -1])
def test_a_four_bar_stays_in_the_branch_in_which_it_starts(branch: int) -> None:
    start = {"rocker.phi": f"guess({float(rocker_of(math.pi / 3, branch))!r})"}
    found = mbfmu.kinematics(massless(), {"crank.phi": "pi/3 + 5*time"}, 2.0, values=start, output_interval=0.004)
    expected = np.unwrap(rocker_of(math.pi / 3 + 5 * found.time, branch))
    moved = found["rocker.phi"] - expected
    np.testing.assert_allclose(moved - 2 * math.pi * round(moved[0] / (2 * math.pi)), 0, atol=1e-12)
    first, second = differences(expected, 0.004)
    np.testing.assert_allclose(found["rocker.w"][2:-2], first, atol=1e-4)
    np.testing.assert_allclose(found["rocker.a"][2:-2], second, atol=2e-2)


def test_links_need_no_mass_and_masses_change_nothing() -> None:
    with pytest.raises(MassError):
        mbfmu.simulate(massless(), 0.1)
    one, other = (mbfmu.kinematics(item, {"crank.phi": "4*time"}, 1.0) for item in (massless(), "four_bar"))
    for name in ("rocker.phi", "rocker.w", "rocker.a", "coupler.phi", "bar2.frame_b.r_0[1]", "bar2.frame_b.a_0[2]"):
        np.testing.assert_allclose(one[name], other[name], atol=1e-11)
    assert not [name for name in one.names if name.startswith(("energy", "momentum")) or name.endswith(".t")]


@pytest.mark.parametrize(
    ("name", "axis", "others"),
    [
        ("four_bar", "crank", ("rocker", "coupler")),
        ("slider_crank", "crank", ("slider", "rod")),
        ("spatial_slider_crank", "crank", ("slider",)),
    ],
)
def test_the_motion_of_a_runs_driven_axis_gives_that_of_all_others(
    name: str, axis: str, others: tuple[str, ...], tmp_path: Path
) -> None:
    """By a run of the equations of motion, from its table of coordinate, rate and acceleration."""
    run = mbfmu.simulate(name, 0.5, step=1e-3, stepper="rattle", output_interval=0.01)
    found = mbfmu.kinematics(name, run.write(tmp_path / "run.csv"))
    assert not found.notices
    for other in others:
        for letter in ("s", "v", "a") if other == "slider" else ("phi", "w", "a"):
            key = f"{other}.{letter}"
            np.testing.assert_allclose(found[key], run[key], rtol=1e-8, atol=1e-8 * np.abs(run[key]).max())
    table = {"time": run.time, **{f"{axis}.{letter}": run[f"{axis}.{letter}"] for letter in ("phi", "w", "a")}}
    mbfmu.base.formats.write_columns(tmp_path / "driven.csv", table)
    alone = mbfmu.kinematics(name, tmp_path / "driven.csv")
    for other in others:
        key = f"{other}.{'v' if other == 'slider' else 'w'}"
        np.testing.assert_allclose(alone[key], run[key], rtol=1e-8, atol=1e-8 * np.abs(run[key]).max())


# -- singular positions -----------------------------------------------------------------------------------------------


def test_a_slider_that_is_pulled_beyond_its_rod_stops_in_the_singular_position_at_its_time() -> None:
    """Crank and rod, 1 and 2 m, are stretched at s = 3."""
    with pytest.raises(UsageError, match=r"at t = 0\.714285714 s the position is singular .* continue beyond it"):
        mbfmu.kinematics("slider_crank", {"slider.s": "2.5 + 0.7*time"}, 1.0)
    found = mbfmu.kinematics("slider_crank", {"slider.s": "2.5 + 0.7*time"}, 0.714)
    assert found["regularity"][-1] < 0.1 * found["regularity"][0]


def test_a_slider_that_drives_a_crank_carries_it_over_the_dead_centres() -> None:
    """With s of a crank that turns steadily it turns steadily, over the dead centres at phi = pi and 2 pi."""
    motion = {"slider.s": "cos(0.5 + 2*time) + sqrt(4 - sin(0.5 + 2*time)**2)"}
    found = mbfmu.kinematics("slider_crank", motion, 3.0, output_interval=0.01, values={"crank.phi": 0.5})
    np.testing.assert_allclose(found["crank.phi"], 0.5 + 2 * found.time, atol=1e-6)
    (text,) = found.notices
    named = [float(item.split()[0]) for item in text.split("t = ")[1].split(", ")[:2]]
    assert named == pytest.approx([(math.pi - 0.5) / 2, math.pi - 0.25], abs=1e-5)
    assert np.min(found["regularity"]) < 0.01


def test_a_sample_in_a_dead_centre_says_that_nothing_determines_the_crank() -> None:
    with pytest.raises(UsageError, match=r"at t = 1 s the position is singular .* velocities .* are not det"):
        mbfmu.kinematics("slider_crank", {"slider.s": "3 - (1 - time)**2/4"}, 2.0, output_interval=0.5)


def test_axes_that_are_too_few_or_contradict_each_other_are_told() -> None:
    with pytest.raises(UsageError, match=r"leaves 1 freedom\(s\) open"):
        mbfmu.kinematics("two_link", {"shoulder.phi": "time"}, 1.0)
    with pytest.raises(UsageError, match="contradicts the constraints"):
        mbfmu.kinematics("slider_crank", {"crank.phi": "time", "slider.s": "1"}, 1.0)
    with pytest.raises(UsageError, match="is a block of equations: kinematics is that of a mechanism"):
        mbfmu.kinematics("dc_motor", {"x": "time"}, 1.0)
    with pytest.raises(UnknownNameError, match=r"no coordinate of a joint 'crank\.fi'"):
        mbfmu.kinematics("slider_crank", {"crank.fi": "time"}, 1.0)
    with pytest.raises(UsageError, match="needs a stop time"):
        mbfmu.kinematics("slider_crank", {"crank.phi": "time"})


# -- workspaces -------------------------------------------------------------------------------------------------------


def test_the_workspace_of_an_arm_is_its_forward_kinematics() -> None:
    one, two = np.linspace(-1.0, 2.0, 5), np.linspace(0.3, 2.5, 4)
    found = mbfmu.workspace("two_link", "link2.frame_b", {"shoulder.phi": one.tolist(), "elbow.phi": two.tolist()})
    assert found.reached.all()
    a, b = np.meshgrid(one, two, indexing="ij")
    expected = np.stack([np.cos(a) + 2 * np.cos(a + b), np.sin(a) + 2 * np.sin(a + b)], axis=-1)
    np.testing.assert_allclose(found.position, expected, atol=1e-12)


def test_a_rocker_reaches_what_crank_and_coupler_allow() -> None:
    """Its pin is between l2 - l1 and l2 + l1 away from the crank's bearing; the side of the coupler stays."""
    angles = np.linspace(-1.6, 1.6, 65)
    found = mbfmu.workspace(massless(), "bar3.frame_b", {"rocker.phi": angles.tolist()})
    pin = np.stack([BARS["d"] - np.sin(angles), np.cos(angles)], axis=-1)
    far = np.linalg.norm(pin, axis=1)
    expected = (far > BARS["l2"] - BARS["l1"]) & (far < BARS["l2"] + BARS["l1"])
    np.testing.assert_array_equal(found.reached, expected)
    np.testing.assert_allclose(found.position[expected], pin[expected], atol=1e-10)
    assert np.isnan(found.position[~expected]).all()
    assert 0 < np.nanmin(found.regularity) < 0.5 * np.nanmax(found.regularity)


def test_the_regularity_falls_to_zero_at_the_edge_of_what_a_cylinder_reaches() -> None:
    """As the root of the distance: boom and bracket stretch the cylinder at a length that the triangle gives."""
    lug, bracket, top = np.array([1.0, -0.15]), np.array([0.25, 0.8]), np.array([0.0, 2.0])
    longest = np.linalg.norm(lug) + np.linalg.norm(top - bracket)  # bracket, hinge of the boom and lug in a row
    edge = float(longest) - 1.3  # the barrel's length
    strokes = [edge - 1e-2, edge - 1e-4, edge + 1e-4]
    found = mbfmu.workspace("crane", "beam1", {"lift.s": strokes, "tilt.s": [0.55]})
    assert found.reached[:, 0].tolist() == [True, True, False]
    assert found.regularity[1, 0] == pytest.approx(found.regularity[0, 0] / 10, rel=0.1)


def test_the_workspace_in_space_is_that_of_the_motion(tmp_path: Path) -> None:
    """Of a closed loop in space, against the same positions over time."""
    angles = np.linspace(0.0, 2.0, 9)
    found = mbfmu.workspace("spatial_slider_crank", "block", {"crank.phi": angles.tolist()})
    run = mbfmu.kinematics("spatial_slider_crank", {"crank.phi": "2*time"}, 1.0, output_interval=0.125)
    np.testing.assert_allclose(found.position[:, 0], run["block.r_0[1]"], atol=1e-10)
    columns = read_columns(found.write(tmp_path / "space.csv"))
    assert [float(item) for item in columns["block.r_0[1]"]] == found.position[:, 0].tolist()
    assert [float(item) for item in columns["reached"]] == [1.0] * 9


def test_what_has_no_workspace_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"has no frame 'link3'; did you mean 'link[12]'"):
        mbfmu.workspace("two_link", "link3", {"shoulder.phi": [0.0]})
    with pytest.raises(UnknownNameError, match="no coordinate of a joint 'shoulder'"):
        mbfmu.workspace("two_link", "link2", {"shoulder": [0.0]})
    with pytest.raises(UsageError, match="name at least one"):
        mbfmu.workspace("two_link", "link2", {})
    with pytest.raises(UsageError, match="must be finite numbers"):
        mbfmu.workspace("two_link", "link2", {"shoulder.phi": [math.nan], "elbow.phi": [0.0]})
    with pytest.raises(UsageError, match="freedom"):
        mbfmu.workspace("two_link", "link2", {"shoulder.phi": [0.0]})
    with pytest.raises(UsageError, match="is a block of equations"):
        mbfmu.workspace("dc_motor", "x", {"y": [0.0]})
    with pytest.raises(UsageError, match=r"an axis goes 1e\+09 rad or m; at most 1000 can be followed"):
        mbfmu.workspace("two_link", "link2", {"shoulder.phi": [0.0, 1e9], "elbow.phi": [0.0]})


def test_a_table_of_angles_that_are_kept_within_a_turn_is_refused(tmp_path: Path) -> None:
    """One that goes far from row to row is none: its angles go on over full turns."""
    turning = np.linspace(0, 30, 21)
    path = tmp_path / "table.csv"

    def run(angles: np.ndarray[Any, Any]) -> mbfmu.Result:
        np.savetxt(path, np.c_[turning / 10, angles], delimiter=",", header="time,crank.phi", comments="")
        return mbfmu.kinematics("slider_crank", path)

    with pytest.raises(UsageError, match=r"crank\.phi jumps from .* rad after t = .*: let it continue over full"):
        run(np.remainder(turning + np.pi, 2 * np.pi) - np.pi)
    assert run(5 * turning)["crank.phi"][-1] == pytest.approx(150.0, abs=1e-12)
