"""Pages that show a mechanism moving: what they hold is the motion, and they need nothing from elsewhere."""

import base64
import json
import re
import sys
from collections.abc import Sequence
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from harness import extra, thorough
from scipy.spatial.transform import Rotation
from test_drives import BARREL, ROD_OF_DRIVE, crane_with, leg

import mbfmu
from mbfmu import cli
from mbfmu.base.formats import FORMATS
from mbfmu.base.result import Result
from mbfmu.errors import MbfmuError, ModelError, UnknownNameError, UsageError
from mbfmu.fmu.ssp import Wire
from mbfmu.model import (
    Body,
    BodyShape,
    FixedTranslation,
    FreeMotion,
    HydraulicCylinder,
    LinearDrive,
    Prismatic,
    Revolute,
    System,
    World,
    connect,
)
from mbfmu.model.robot_options import RobotOptions
from mbfmu.show.viewer import (
    Look,
    Page,
    ShownMotion,
    looks_of,
    motion_of_mode,
    motion_of_model,
    motion_of_result,
    page_of,
    read_result,
    together,
)
from mbfmu.show.viewer.drawing import Solid, cylinder_of, drawing_of, outline
from mbfmu.show.viewer.looks import MOST, TOGETHER
from mbfmu.show.viewer.page import three_js

STOP = 0.3
LARGEST_PAGE = 1.5e6
"""Bytes."""


def data(page: Page | Path) -> dict[str, Any]:
    """Return what the page's script reads."""
    text = page.html if isinstance(page, Page) else page.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="motion">(.*?)</script>', text)
    assert found
    content: dict[str, Any] = json.loads(found[1])
    return content


def unpacked(text: str, kind: str = "<f4") -> npt.NDArray[Any]:
    """Return packed numbers."""
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def joint(motion: ShownMotion, name: str) -> npt.NDArray[np.float64]:
    """Return where a joint is, shape (n_t, dim)."""
    (found,) = (item for item in motion.geometry.joints if item.name == name)
    return motion.track(found.near, found.start)


# -- the motion ------------------------------------------------------------------------------------------------------


def test_joints_and_ends_of_a_planar_arm_are_where_its_angles_say(two_link: System) -> None:
    motion = motion_of_model(two_link, STOP)
    result = mbfmu.simulate(two_link, STOP)
    assert np.array_equal(motion.result.values, result.values)
    phi, elbow = result["shoulder.phi"], joint(motion, "elbow")
    l1 = np.linalg.norm(elbow[0])
    assert np.allclose(elbow, l1 * np.column_stack([np.cos(phi), np.sin(phi)]), atol=1e-12)
    tip = np.column_stack([result["link2.frame_b.r_0[1]"], result["link2.frame_b.r_0[2]"]])
    ends = [motion.track("link2", point) for point in motion.geometry.bodies["link2"].anchors]
    assert any(np.allclose(end, tip, atol=1e-12) for end in ends)
    assert motion.up == (0.0, 1.0)
    assert not joint(motion, "shoulder").any()


@pytest.mark.parametrize(
    "name", thorough(zip(["four_bar", "spatial_slider_crank", "stewart"]), lambda name: name != "stewart")
)
def test_the_two_sides_of_a_joint_stay_together_on_its_axis(name: str) -> None:
    motion = motion_of_model(mbfmu.load(name), 0.05, step=1e-3)
    assert motion.geometry.joints
    for item in motion.geometry.joints:
        gap = motion.track(item.far, item.end) - motion.track(item.near, item.start)
        if item.motion == "slides":
            turn = motion.R[:, motion.bodies.index(item.near)] if item.near else np.eye(motion.dim)[None]
            axis = turn @ item.axis
            gap = gap - np.sum(gap * axis, axis=1)[:, None] * axis
        assert np.abs(gap).max() < 1e-9


@pytest.mark.parametrize("massless", [True, False])
@pytest.mark.parametrize("planar", [True, False])
def test_what_moves_between_joints_without_a_body_is_where_they_say(planar: bool, massless: bool) -> None:
    axis = (1, 0) if planar else (1, 0, 0)
    across = {} if planar else {"I_11": 0.1, "I_22": 0.1}
    arm: dict[str, Any] = {"m": 1.0, "r_CM": (0, -0.5) if planar else (0, -0.5, 0), "I_33": 0.1, **across}
    system = System(
        name="trolley",
        planar=planar,
        components=(
            World(g=9.81),
            Prismatic("slide", n=axis, s=0.2, v=1.0),
            Revolute("hinge", phi=0.5, w=0.0),
            Body("arm", **arm),
            *([FixedTranslation("carriage", r=(0, 0) if planar else (0, 0, 0))] if massless else ()),
        ),
        connections=(
            connect("world.frame_b", "slide.frame_a"),
            *(
                (connect("slide.frame_b", "carriage.frame_a"), connect("carriage.frame_b", "hinge.frame_a"))
                if massless
                else (connect("slide.frame_b", "hinge.frame_a"),)
            ),
            connect("hinge.frame_b", "arm.frame_a"),
        ),
    )
    motion = motion_of_model(system, STOP)
    bare = motion.bodies.index("carriage" if massless else "hinge.frame_a")
    np.testing.assert_allclose(motion.r[:, bare, 0], motion.result["slide.s"], atol=1e-14)
    np.testing.assert_array_equal(motion.R[:, bare], np.broadcast_to(np.eye(motion.dim), motion.R[:, bare].shape))
    np.testing.assert_allclose(motion.track("arm", np.zeros(motion.dim)), joint(motion, "hinge"), atol=1e-14)


@pytest.mark.parametrize("name", thorough(zip(["two_link", "heavy_top"]), lambda name: name == "two_link"))
def test_a_recorded_run_moves_the_models_geometry_as_the_model_does(name: str, tmp_path: Path) -> None:
    model = mbfmu.load(name)
    motion, run = motion_of_model(model, STOP), mbfmu.simulate(model, STOP)
    coordinates = [item for item in run.names if ".r_0" not in item and ".Q[" not in item]
    angles = Result(run.time, tuple(coordinates), np.column_stack([run[item] for item in coordinates]))
    prefixed = Result(run.time, tuple(f"arm.{item}" for item in run.names), run.values)
    for recorded in (
        *(read_result(run.write(tmp_path / f"run{ending}")) for ending in FORMATS), prefixed, run,
        *([angles] if name == "two_link" else []),
    ):  # fmt: skip
        found = motion_of_result(recorded, "run", model=model)
        assert np.allclose(found.r, motion.r, atol=1e-12)
        assert np.allclose(found.R, motion.R, atol=1e-12)
        assert found.geometry.bodies.keys() == motion.geometry.bodies.keys()
        assert found.up == motion.up


def test_a_run_of_coupled_fmus_shows_each_mechanism(two_link_fmu: Path) -> None:
    wire = Wire("one.shoulder.phi", "two.shoulder.tau", -0.5)
    run = mbfmu.couple({"one": two_link_fmu, "two": two_link_fmu}, [wire], 0.02, 0.01)
    assert [body["name"] for body in data(mbfmu.view(run, model="two_link"))["bodies"]] == ["link1", "link2"]
    bodies = data(mbfmu.view(run, model={"one": "two_link", "two": "two_link"}))["bodies"]
    assert [body["name"] for body in bodies] == ["one.link1", "one.link2", "two.link1", "two.link2"]
    assert [body["group"] for body in bodies] == ["one", "one", "two", "two"]
    model = mbfmu.load("two_link")
    both = together({name: motion_of_result(run, "run", model=model, component=name) for name in ("one", "two")})
    for number, name in enumerate(("one", "two")):
        phi = run[f"{name}.shoulder.phi"]
        assert np.allclose(both.R[:, 2 * number, 0, 0], np.cos(phi), atol=1e-12)
        assert np.allclose(joint(both, f"{name}.elbow")[:, 1], np.sin(phi), atol=1e-12)
    assert np.ptp(both.R[:, 0] - both.R[:, 2]) > 0  # the two move differently
    with pytest.raises(UsageError, match=r"'three\.shoulder\.phi' is missing"):
        mbfmu.view(run, model={"three": "two_link"})
    with pytest.raises(UsageError, match="in the plane or in space"):
        together({"one": both, "top": motion_of_model(mbfmu.load("heavy_top"), 0.01)})


def test_a_run_without_a_model_shows_lines_between_its_frames(two_link: System, two_link_fmu: Path) -> None:
    run = mbfmu.simulate(two_link_fmu, STOP)
    found, model = motion_of_result(run, "two_link.fmu"), motion_of_model(two_link, STOP)
    assert found.bodies == model.bodies == ("link1", "link2")
    assert np.allclose(found.r, model.r, atol=1e-9)
    assert np.allclose(found.R, model.R, atol=1e-9)
    angles = [index for index, name in enumerate(run.names) if not name.endswith(".phi")]
    bare = Result(run.time, tuple(run.names[index] for index in angles), run.values[:, angles])
    turned = motion_of_result(bare, "bare")
    for body in found.bodies:
        start, end = found.geometry.bodies[body].anchors
        assert np.allclose(turned.track(body, turned.geometry.bodies[body].anchors[1]), found.track(body, end))
        assert not start.any()


def test_a_run_with_other_parameters_than_the_models_is_told(two_link_fmu: Path, tmp_path: Path) -> None:
    path = mbfmu.simulate(mbfmu.load("two_link"), 0.1, values={"l1": 0.7}).write(tmp_path / "run.csv")
    with pytest.warns(UserWarning, match=r"'.*run\.csv' does not fit the model 'two_link': .*'elbow' opens by 0\.3 m"):
        mbfmu.view(path, model="two_link")
    mbfmu.view(path, model="two_link", values={"l1": 0.7})  # warnings are errors
    mbfmu.view(two_link_fmu, 0.1, model="two_link", values={"l1": 0.7, "solver.step": 2e-3})


def test_columns_that_a_recorded_run_lacks_are_named(two_link: System) -> None:
    bare = Result(np.array([0.0, 1.0]), ("shoulder.phi",), np.zeros((2, 1)))
    with pytest.raises(
        UsageError, match=r"'bare\.csv' is not a run of the model 'two_link': .* 'elbow\.phi' is missing"
    ):
        motion_of_result(bare, "bare.csv", model=two_link)
    with pytest.raises(UsageError, match=r"'bare\.csv' has no positions of bodies: it needs columns NAME\.r_0"):
        motion_of_result(bare, "bare.csv")


def test_bodies_turn_with_their_angular_velocity() -> None:
    motion = motion_of_model(mbfmu.load("rigid_body"), STOP)
    R = motion.R[:, 0]
    assert np.allclose(np.swapaxes(R, 1, 2) @ R, np.eye(3), atol=1e-9)
    rate = np.gradient(R, motion.result.time, axis=0, edge_order=2)
    spin = np.swapaxes(R, 1, 2) @ rate  # the skew matrix of the angular velocity in the body
    w = np.stack([motion.result[f"body.w_a[{k}]"] for k in (1, 2, 3)], axis=1)
    found = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
    assert np.allclose(found, w, atol=1e-4)


def test_upwards_is_against_gravity_unless_asked(two_link: System) -> None:
    arm = mbfmu.load("heavy_top")
    assert motion_of_model(arm, 0.01).up == (0.0, 0.0, 1.0)
    assert motion_of_model(arm, 0.01, up="-y").up == (0.0, -1.0, 0.0)
    for model, up in ((arm, "w"), (two_link, "z")):
        with pytest.raises(UsageError, match="upwards"):
            motion_of_model(model, 0.01, up=up)


# -- modes -----------------------------------------------------------------------------------------------------------


def test_a_mode_moves_the_joints_in_its_shape_and_keeps_loops_closed() -> None:
    down = mbfmu.load("two_link").with_values({"shoulder.phi": -np.pi / 2, "elbow.phi": 0.0})
    expected = mbfmu.linearize(down).modes[1]
    motion, mode = motion_of_mode(down, 2)
    assert mode.frequency == pytest.approx(expected.frequency)
    t, moved = motion.result.time, motion.result.values - [-np.pi / 2, 0.0]
    assert t[-1] == pytest.approx(3 / mode.frequency)
    shape = np.real(mode.shape[:2] / mode.shape[1])  # neither joint lags behind
    assert np.allclose(moved, np.outer(moved[:, 1], shape), atol=1e-9)
    swings = np.abs(moved[::80, 1])  # at whole periods
    assert np.allclose(swings, swings[0], atol=1e-9)
    tip = motion.track("link2", motion.geometry.bodies["link2"].anchors[1])
    assert 0.02 < np.ptp(tip, axis=0).max() / motion.size < 0.3


def test_a_mode_of_a_closed_loop_opens_it_in_second_order_only() -> None:
    motion, _ = motion_of_mode(mbfmu.load("four_bar"), 1)
    gaps = [
        np.abs(motion.track(item.far, item.end) - motion.track(item.near, item.start)).max()
        for item in motion.geometry.joints
    ]
    assert max(gaps) < 0.02 * motion.size  # measured 0.005, with displacements of 0.12


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"mode": 3}, "has the modes 1 to 2, and no mode 3"),
        ({"mode": 1, "stop": 1.0}, "a mode is not a run: leave stop out"),
        ({"at": 1.0}, "name the mode too"),
    ],
)
def test_what_is_no_mode_is_refused(given: dict[str, Any], reason: str) -> None:
    down = {"shoulder.phi": -np.pi / 2, "elbow.phi": 0.0}
    with pytest.raises(UsageError, match=reason):
        mbfmu.view("two_link", values=down, **given)


# -- the drawing -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "count"),
    thorough(
        [("crane", 2), ("stewart", 6), ("cart_pendulum", 0), ("slider_crank", 0)], lambda name, _: name != "stewart"
    ),
)
def test_a_sliding_joint_between_two_bodies_is_a_barrel_whose_rod_never_leaves_it(name: str, count: int) -> None:
    motion = motion_of_model(mbfmu.load(name), 0.2, step=2e-3)
    cylinders = [item for part in motion.geometry.joints if (item := cylinder_of(motion, part))]
    assert len(cylinders) == count
    for item in cylinders:
        foot, mouth = (motion.track(item.joint.near, point) for point in (item.foot, item.mouth))
        eye = motion.track(item.joint.far, item.eye)
        along, barrel = eye - foot, mouth - foot
        reach = np.linalg.norm(along, axis=1)
        assert np.allclose(np.sum(along * barrel, axis=1), reach * np.linalg.norm(barrel, axis=1), rtol=1e-6)
        assert np.all(reach > np.linalg.norm(barrel, axis=1))
    drawn = {(item.near, item.far) for item in drawing_of(motion).struts}
    assert {(item.joint.near, item.joint.far) for item in cylinders} <= drawn


def test_a_cylinder_reaches_from_its_foot_to_its_eye() -> None:
    motion = motion_of_model(mbfmu.load("crane"), 0.02)
    for rod, foot, eye in (("lift", "lift_foot", "lift_eye"), ("tilt", "tilt_foot", "tilt_eye")):
        (found,) = (item for part in motion.geometry.joints if part.name == rod and (item := cylinder_of(motion, part)))
        assert np.allclose(motion.track(found.joint.near, found.foot), joint(motion, foot), atol=1e-9)
        assert np.allclose(motion.track(found.joint.far, found.eye), joint(motion, eye), atol=1e-9)


@pytest.mark.parametrize(
    ("model", "name"),
    thorough(
        [
            (crane_with(LinearDrive("lift", n=(0, 1), L=1.3, **BARREL, **ROD_OF_DRIVE)), "lift"),
            (crane_with(HydraulicCylinder("lift", n=(0, 1), L=1.3, **BARREL, **ROD_OF_DRIVE)), "lift"),
            (leg(True), "slide"),
        ],
        lambda _, name: name == "slide",
    ),
    ids=["drive", "hydraulic", "space"],
)
def test_a_drive_is_a_barrel_with_a_rod_from_lug_to_lug(model: System, name: str) -> None:
    motion = motion_of_model(model, 0.1)
    (item,) = (found for part in motion.geometry.joints if part.name == name and (found := cylinder_of(motion, part)))
    assert (item.joint.near, item.joint.far) == (f"{name}.barrel", f"{name}.rod")
    foot, eye = motion.track(item.joint.near, item.foot), motion.track(item.joint.far, item.eye)
    assert np.allclose(foot, joint(motion, f"{name}.foot"), atol=1e-9)
    assert np.allclose(eye, joint(motion, f"{name}.eye"), atol=1e-9)
    length = 1.0 if model.name == "leg" else 1.3
    assert np.allclose(np.linalg.norm(eye - foot, axis=1), length + motion.result[f"{name}.s"], atol=1e-9)


@pytest.mark.parametrize("name", ["two_link", "crane", "four_bar", "heavy_top", "slider_crank"])
def test_every_body_is_drawn_around_its_attachments(name: str) -> None:
    motion = motion_of_model(mbfmu.load(name), 0.01)
    drawing = drawing_of(motion)
    for body, attached in motion.geometry.bodies.items():
        own = [item for item in drawing.solids if item.body == body and item.role == "body"]
        places = [corner for item in own for corner in corners(item)]
        places += [item.to if item.far == body else item.at for item in drawing.struts if body in (item.near, item.far)]
        assert places
        for anchor in attached.anchors:
            gaps = [np.linalg.norm(place[: motion.dim] - anchor) for place in places]
            assert min(gaps) < 0.06 * motion.size


def test_a_body_in_free_motion_hangs_on_nothing() -> None:
    drawing = drawing_of(motion_of_model(mbfmu.load("gymnast"), 0.1))
    assert [item for item in drawing.solids if not item.body] == []
    held = drawing_of(motion_of_model(mbfmu.load("two_link"), 0.1))
    assert {item.role for item in held.solids if not item.body} == {"ground", "joint"}


def corners(item: Solid) -> list[npt.NDArray[np.float64]]:
    """Return points of a simple solid."""
    if item.kind == "plate":
        at, x, y = (item.sizes[name] for name in ("at", "x", "y"))
        return [at + a * x + b * y for a, b in item.sizes["outline"]]
    return [item.sizes[name] for name in ("at", "to") if name in item.sizes]


def test_an_outline_is_convex_and_lies_at_its_distance_around_the_points() -> None:
    points = np.random.default_rng(0).normal(size=(9, 2))
    found = outline(points, 0.5)
    edges = np.roll(found, -1, axis=0) - found
    turned = np.roll(edges, -1, axis=0)
    assert np.all(edges[:, 0] * turned[:, 1] - edges[:, 1] * turned[:, 0] > 0)
    gaps = np.linalg.norm(found[:, None] - points, axis=2).min(axis=1)
    assert np.allclose(gaps, 0.5)
    normals = np.column_stack([edges[:, 1], -edges[:, 0]]) / np.linalg.norm(edges, axis=1, keepdims=True)
    depth = np.einsum("nk,npk->np", normals, found[:, None] - points)
    assert depth.min() > 0.49  # a circle of 24 corners is 0.9 % narrower between two of them


# -- the page --------------------------------------------------------------------------------------------------------


class Elements(HTMLParser):
    """Notes the ids of a page, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: dict[str, str] = {}
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids[value or ""] = tag
            elif name in {"src", "href"}:
                self.loaded.append(value or "")


@pytest.mark.parametrize("name", ["two_link", "heavy_top"])
def test_a_page_holds_every_pose_its_controls_and_nothing_from_elsewhere(name: str, tmp_path: Path) -> None:
    motion = motion_of_model(mbfmu.load(name), STOP)
    page = page_of(motion, name, "free fall").write(tmp_path / "page.html")
    text = page.read_text(encoding="utf-8")
    assert len(text) < LARGEST_PAGE
    assert three_js() in text
    own = text.replace(three_js(), "")
    assert "://" not in own
    assert "default-src 'none'" in own
    assert re.search(r"@[A-Z]+@", own) is None
    elements = Elements()
    elements.feed(own)
    assert elements.loaded == ["data:,"]
    controls = {"play": "button", "time": "input", "speed": "select", "camera": "select", "traces": "input"}
    assert controls.items() <= elements.ids.items()
    content = data(page)
    poses = unpacked(content["poses"]).reshape(*motion.r.shape[:2], -1)
    assert np.allclose(poses[..., : motion.dim], motion.r, atol=1e-6)
    if motion.dim == 2:
        assert np.allclose(np.cos(poses[..., 2]), motion.R[..., 0, 0], atol=1e-6)
        assert np.allclose(np.sin(poses[..., 2]), motion.R[..., 1, 0], atol=1e-6)
    else:
        turned = Rotation.from_quat(poses[..., [4, 5, 6, 3]].reshape(-1, 4)).as_matrix()
        assert np.allclose(turned, motion.R.reshape(-1, 3, 3), atol=1e-6)
    assert np.array_equal(unpacked(content["times"], "<f8"), motion.result.time)
    curves = {item["name"]: unpacked(item["values"]) for item in content["curves"]}
    assert set(curves) == set(motion.result.names)
    assert "energy.total" in content["shown"]
    for label, values in curves.items():
        assert np.allclose(values, motion.result[label], rtol=1e-6, atol=1e-6)


def test_the_curves_of_a_page_are_those_requested_and_the_others_have_fewer_points() -> None:
    t = np.linspace(0, 9, 5001)
    motion = moving(t, **{f"other{n}": n * t for n in range(99)})
    content = data(page_of(motion, "arm", show=("b.phi", "other1?")))
    assert content["shown"] == ["b.phi", *(f"other1{n}" for n in range(10))]
    assert {len(unpacked(content[name], "<f8")) for name in ("curve_times", "sparse_times")} == {1000, 659}
    for item in content["curves"]:
        times = unpacked(content["sparse_times" if item["sparse"] else "curve_times"], "<f8")
        assert item["sparse"] == (item["name"] not in content["shown"])
        assert np.allclose(
            unpacked(item["values"]), np.interp(times, t, motion.result[item["name"]]), rtol=1e-6, atol=1e-6
        )
    with pytest.raises(UnknownNameError, match=r"there is no variable 'b\.psi'"):
        page_of(motion, "arm", show=("b.psi",))


def test_a_page_of_a_hundred_bodies_stays_small() -> None:
    t, count = np.linspace(0, 9, 5001), 100
    names = [
        f"b{n}.{part}"
        for n in range(count)
        for part in (*(f"r_0[{k}]" for k in (1, 2, 3)), *(f"Q[{k}]" for k in range(1, 5)))
    ]
    values = np.tile(np.column_stack([np.cos(t), np.sin(t), t, np.cos(t), np.sin(t), 0 * t, 0 * t]), count)
    assert len(page_of(motion_of_result(Result(t, tuple(names), values), "many"), "many").html) < LARGEST_PAGE


def test_a_long_run_is_thinned_with_its_ends() -> None:
    t = np.linspace(0, 9, 5001)
    columns = {"b.r_0[1]": np.cos(t), "b.r_0[2]": np.sin(t), "b.phi": t}
    motion = motion_of_result(Result(t, tuple(columns), np.column_stack(list(columns.values()))), "long")
    content = data(page_of(motion, "long"))
    times = unpacked(content["times"], "<f8")
    assert len(times) == 1000
    assert (times[0], times[-1]) == (0.0, 9.0)
    phi = unpacked(content["poses"]).reshape(-1, 3)[:, 2]
    assert np.allclose(phi, times, atol=1e-5)  # counted over full turns


def moving(t: npt.NDArray[np.float64], **more: npt.NDArray[np.float64]) -> ShownMotion:
    """The motion of one body at some times, with more columns."""
    columns = {"b.r_0[1]": np.cos(t), "b.r_0[2]": np.sin(t), "b.phi": t - t[0], **more}
    return motion_of_result(Result(t, tuple(columns), np.column_stack(list(columns.values()))), "run")


def test_times_long_after_zero_stay_apart() -> None:
    times = 1764216000.25 + np.arange(5) * 1e-3
    content = data(page_of(moving(times), "late"))
    assert np.array_equal(unpacked(content["times"], "<f8"), times)
    assert np.array_equal(unpacked(content["curve_times"], "<f8"), times)


@pytest.mark.parametrize("wrong", [{"b.r_0[1]": 1e40}, {"b.r_0[2]": np.nan}, {"b.phi": np.nan}])
def test_a_motion_without_finite_poses_has_no_page(wrong: dict[str, float]) -> None:
    t = np.arange(3.0)
    motion = moving(t, **{name: np.array([0.0, value, 1.0]) for name, value in wrong.items()})
    with pytest.raises(UsageError, match="the motion cannot be shown"):
        page_of(motion, "wild")


def test_the_page_of_a_file_whose_name_is_no_text_is_written(tmp_path: Path) -> None:
    page = page_of(moving(np.arange(3.0)), "p\udcff").write(tmp_path / "page.html")
    assert "<h1>p?</h1>" in page.read_text(encoding="utf-8")


def test_names_cannot_break_the_page() -> None:
    t = np.array([0.0, 1.0])
    name = "</script><b>"
    result = Result(t, (f"{name}.r_0[1]", f"{name}.r_0[2]", f"{name}.phi"), np.array([[0.0, 1, 2], [1, 2, 3]]))
    page = page_of(motion_of_result(result, "odd"), name, "@MOTION@")
    assert name not in page.html
    assert "@MOTION@" in page.html
    assert len(unpacked(data(page)["poses"])) == 2 * 3


def test_a_notebook_shows_the_page_inline(two_link: System) -> None:
    page = page_of(motion_of_model(two_link, 0.01), "arm")
    shown = page._repr_html_()
    found = re.fullmatch(r'<iframe srcdoc="([^"]*)" [^<>]*></iframe>', shown)
    assert found
    assert unescape(found[1]) == page.html
    assert len(repr(page)) < 100


# -- mistakes and the command ----------------------------------------------------------------------------------------


def test_what_has_no_bodies_is_refused() -> None:
    with pytest.raises(ModelError, match="no bodies to show"):
        motion_of_model(mbfmu.load("rolling_disk"), 0.1)


def test_a_missing_library_is_named_with_the_way_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jupyter_threejs_sage", None)
    with pytest.raises(UsageError, match=r"needs three\.js: .*pip install .*\[view\]"):
        mbfmu.view("two_link", 0.01)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"source": "RUN", "stop": 1.0}, "is a run already: leave stop out"),
        ({"source": "RUN", "values": {"l1": 1.0}}, "is a run already: leave values out"),
        ({"source": "RUN", "free": ["elbow.phi"], "robot": RobotOptions()}, "is a run already: leave free, robot out"),
        ({"source": "two_link", "robot": RobotOptions()}, "options of robots go with .urdf"),
        ({"source": "two_link", "model": "two_link"}, "is a model itself"),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(given: dict[str, Any], reason: str, tmp_path: Path) -> None:
    if given["source"] == "RUN":
        path = tmp_path / "run.csv"
        path.write_text("time,shoulder.phi,elbow.phi\n0,0,0\n1,1,1\n", encoding="utf-8")
        given = {**given, "source": path}
    with pytest.raises(UsageError, match=reason):
        mbfmu.view(**given)


def test_a_damaged_parquet_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.parquet").write_text("no table", encoding="utf-8")
    with pytest.raises(MbfmuError, match=r"cannot read '.*run\.parquet'"):
        read_result(tmp_path / "run.parquet")


# -- what links look like --------------------------------------------------------------------------------------------

ARM = """<robot name="arm">
<link name="base"><visual><geometry><box size="1 2 3"/></geometry></visual></link>
<link name="rod"><inertial><origin xyz="0.5 0 0"/><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>
<visual><origin xyz="0.5 0 0" rpy="0 1.5707963267948966 0"/><geometry>ROD</geometry></visual></link>
<link name="tool"><visual><origin xyz="0 0 1"/><geometry><sphere radius="0.1"/></geometry><material name="m">
<color rgba="1 0 0 0.5"/></material></visual></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint>
<joint name="weld" type="fixed"><parent link="rod"/><child link="tool"/>
<origin xyz="1 0 0" rpy="0 -1.5707963267948966 0"/></joint>
</robot>"""
"""A rod that swings about y, with a massless tool welded to its end, whose z points back along the rod."""


def arm(folder: Path, rod: str = '<cylinder radius="0.1" length="1"/>') -> str:
    """Write the arm with another geometry for its rod; return the path."""
    path = folder / "arm.urdf"
    path.write_text(ARM.replace("ROD", rod), encoding="utf-8")
    return str(path)


def volume(look: Look) -> float:
    """Return the volume that triangles enclose whose corners go round counterclockwise from outside."""
    a, b, c = (look.vertices[look.triangles[:, corner]] for corner in range(3))
    return float(np.sum(a * np.cross(b, c))) / 6


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ('<box size="1 2 3"/>', 6.0),
        ('<cylinder radius="0.2" length="3"/>', np.pi * 0.2**2 * 3),
        ('<sphere radius="0.3"/>', 4 / 3 * np.pi * 0.3**3),
        ('<capsule radius="0.2" length="3"/>', np.pi * 0.2**2 * 3 + 4 / 3 * np.pi * 0.2**3),
    ],
)
def test_the_triangles_of_a_shape_enclose_its_volume(shape: str, size: float, tmp_path: Path) -> None:
    look = looks_of(arm(tmp_path, shape))[1]
    assert volume(look) == pytest.approx(size, rel=0.03)
    assert np.allclose(look.vertices.mean(axis=0), (0.5, 0, 0), atol=1e-12)


def test_a_look_belongs_to_the_body_its_link_is_fixed_to(tmp_path: Path) -> None:
    base, rod, tool = looks_of(arm(tmp_path))
    assert (base.body, rod.body, tool.body) == ("", "rod", "rod")
    assert np.allclose(np.ptp(base.vertices, axis=0), (1, 2, 3))
    assert np.allclose(np.ptp(rod.vertices, axis=0), (1, 0.2, 0.2), atol=2e-2)
    assert np.allclose(tool.vertices.mean(axis=0), (0, 0, 0), atol=1e-12)  # 1 m out along the rod and 1 m back
    assert (rod.colour, tool.colour) == (None, (1, 0, 0, 0.5))


@pytest.mark.parametrize(("ending", "scale"), [("stl", 0.5), ("obj", 0.5), ("dae", 0.5), ("dae", 0.01)])
@pytest.mark.parametrize("name", ["meshes/rod.", "package://robots/meshes/rod.", "file://FOLDER/robots/meshes/rod."])
def test_a_mesh_is_read_by_its_path_or_package_in_its_scale_and_unit(
    name: str, ending: str, scale: float, tmp_path: Path
) -> None:
    folder = tmp_path / "robots"
    (folder / "meshes").mkdir(parents=True)
    file = folder / "meshes" / f"rod.{ending}"
    extra("trimesh", "view").creation.box((1, 2, 3)).export(file)
    if scale == 0.01:  # in centimetres
        unit = '<unit name="centimeter" meter="0.01"/><up_axis>'
        file.write_text(file.read_text(encoding="utf-8").replace("<up_axis>", unit), encoding="utf-8")
    given = f"{name}{ending}".replace("FOLDER", str(tmp_path))
    text = "" if scale == 0.01 else f'scale="{scale} {scale} {scale}"'
    look = looks_of(arm(folder, f'<mesh filename="{given}" {text}/>'))[1]
    assert volume(look) == pytest.approx(6 * scale**3, rel=1e-5)


def test_a_mesh_too_fine_for_a_browser_is_made_coarser(tmp_path: Path) -> None:
    extra("trimesh", "view").creation.icosphere(subdivisions=6).export(tmp_path / "ball.stl")
    look = looks_of(arm(tmp_path, '<mesh filename="ball.stl"/>'))[1]
    assert MOST / 4 < len(look.triangles) <= MOST
    assert volume(look) == pytest.approx(4 / 3 * np.pi, rel=0.05)
    assert set(np.unique(look.triangles)) == set(range(len(look.vertices)))


@pytest.mark.parametrize(
    ("file", "reason"),
    [("none.stl", "there is no such file"), ("junk.stl", "cannot be read"), ("good.stl", "needs trimesh")],
)
def test_a_mesh_that_cannot_be_drawn_is_named_and_left_out(
    file: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "junk.stl").write_text("no mesh", encoding="utf-8")
    extra("trimesh", "view").creation.box().export(tmp_path / "good.stl")
    if file == "good.stl":
        monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.warns(UserWarning, match=f"'{file}' of the link 'rod' is not drawn: .*{re.escape(reason)}"):
        base, tool = looks_of(arm(tmp_path, f'<mesh filename="{file}"/>'))
    assert (base.body, tool.body) == ("", "rod")


@pytest.mark.parametrize("length", [1.0, 7.0])
def test_the_page_places_a_shape_where_its_body_is_in_its_true_size(length: float, tmp_path: Path) -> None:
    """The size of the mechanism, which decides how long axes are drawn, has no part in it."""
    path = arm(tmp_path, f'<box size="0.1 0.2 {length}"/>')
    motion = motion_of_model(mbfmu.load(path), STOP, looks=looks_of(path))
    content = data(page_of(motion, "arm"))
    base, rod, tool = content["meshes"]
    assert (base["body"], rod["body"], tool["body"]) == (-1, 0, 0)
    assert np.array_equal(unpacked(base["triangles"], "<u4").reshape(-1, 3), motion.geometry.looks[0].triangles)
    poses = unpacked(content["poses"]).reshape(-1, 7)
    turned = Rotation.from_quat(poses[:, [4, 5, 6, 3]]).as_matrix()

    def placed(mesh: dict[str, Any]) -> npt.NDArray[np.float64]:
        vertices = unpacked(mesh["vertices"]).reshape(-1, 3).astype(float)
        return poses[:, None, :3] + np.einsum("tjk,vk->tvj", turned, vertices)

    assert np.allclose(placed(tool).mean(axis=1), 0.0, atol=1e-6)  # the tool's sphere lies on the hinge
    phi = motion.result["hinge.phi"]
    assert np.ptp(phi) > 0.1
    along = np.column_stack([np.cos(phi), 0 * phi, -np.sin(phi)])
    assert np.allclose(placed(rod).mean(axis=1), 0.5 * along, atol=1e-6)
    assert np.allclose(np.ptp(np.einsum("tvj,tj->tv", placed(rod), along), axis=1), length, rtol=1e-5)


def test_all_meshes_together_stay_small(tmp_path: Path) -> None:
    extra("trimesh", "view").creation.icosphere(subdivisions=4).export(tmp_path / "ball.stl")
    links = "".join(
        f'<link name="l{n}"><visual><geometry><mesh filename="ball.stl"/></geometry></visual></link>'
        f'<joint name="j{n}" type="fixed"><parent link="base"/><child link="l{n}"/></joint>'
        for n in range(10)
    )
    path = tmp_path / "many.urdf"
    text = ARM.replace("ROD", '<box size="1 1 1"/>').replace("</robot>", f"{links}</robot>")
    path.write_text(text, encoding="utf-8")
    assert sum(len(look.triangles) for look in looks_of(str(path))) < TOGETHER + 1000  # the arm's own shapes


def test_what_is_no_urdf_has_no_looks() -> None:
    assert looks_of("two_link") == ()


# -- the command -----------------------------------------------------------------------------------------------------


def call(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run `mbfmu ARGUMENTS` in this process; return its exit status."""
    monkeypatch.setattr(sys, "argv", ["mbfmu", *arguments])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_the_command_shows_models_fmus_and_results(
    two_link_fmu: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    mbfmu.simulate(mbfmu.load("two_link"), 0.1).write("run.csv")
    more = ["--stop", "0.1", "--set", "l1=0.7", "--input", "shoulder.tau=2"]
    for name, arguments in {
        "two_link.html": ["two_link", *more],
        "fmu.html": [str(two_link_fmu), *more, "-o", "fmu.html"],
        "run.html": ["run.csv"],
        "arm.html": ["run.csv", "--model", "two_link", "-o", "arm.html"],
    }.items():
        assert call("view", *arguments, monkeypatch=monkeypatch) == 0
        out, err = capfd.readouterr()
        assert out.startswith(f"wrote {name} (")
        assert err == ""
        content = data(tmp_path / name)
        assert content["dim"] == 2
        assert {body["name"] for body in content["bodies"]} == {"link1", "link2"}
        assert unpacked(content["times"], "<f8")[-1] == pytest.approx(0.1)


MISTAKES = {
    "two_lnik": "did you mean 'two_link'",
    "two_link --stop -1": "the stop time is -1.0 s",
    "two_link --stop 0.01 -o page.pdf": "'page.pdf' must end in .html",
    "two_link --stop 0.01 -o file/page.html": "cannot write 'file/page.html'",
    "two_link --stop 0.01 --up z": "--up z",
    "rolling_disk --stop 0.01": "no bodies to show",
    "missing.csv": "cannot read 'missing.csv'",
    "other.csv": "'other.csv' has no positions of bodies",
    "other.csv --stop 1": "'other.csv' is a run already",
    "missing.fmu": "no FMU 'missing.fmu'",
    "two_link --mode 9": "and no mode 9",
    "two_link --at 1": "name the mode too",
    "other.csv --model two_link": "'other.csv' is not a run of the model 'two_link'",
    "other.csv --model one=two_link": "'one.shoulder.phi' is missing",
}


@pytest.mark.parametrize("arguments", MISTAKES)
def test_a_mistake_ends_in_one_clear_line_and_leaves_no_file(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "other.csv").write_text("time,other\n0,1\n1,2\n", encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    assert call("view", *arguments.split(), monkeypatch=monkeypatch) == 1
    out, err = capfd.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("mbfmu: ")
    assert MISTAKES[arguments] in line
    assert sorted(tmp_path.iterdir()) == before


# -- shapes of bodies ------------------------------------------------------------------------------------------------


def spatial(name: str, components: Sequence[Any], ends: Sequence[Any]) -> System:
    """Return a system in space."""
    return System(name, components=(World(), *components), connections=tuple(ends))


def shaped(shape: str, name: str = "BodyShape", **more: Any) -> tuple[Look, ...]:
    """Return the looks of a body on a hinge about z; its frame_b is at (0.3, 0.4, 0), its centre of mass half way."""
    kind: Any = {"Body": Body, "BodyShape": BodyShape}[name]
    length = {"r": (0.3, 0.4, 0.0)} if name == "BodyShape" else {}
    body = kind("link", m=2.0, r_CM=(0.15, 0.2, 0.0), I_11=0.1, I_22=0.1, I_33=0.1, shape=shape, **length, **more)
    hinge = Revolute("hinge", n=(0.0, 0.0, 1.0), phi=0.7)
    ends = (connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "link.frame_a"))
    return motion_of_model(spatial("arm", (hinge, body), ends), 0.01).geometry.looks


def enclosed(look: Look) -> float:
    """Return the volume within a surface, m3."""
    a, b, c = (look.vertices[look.triangles[:, k]] for k in range(3))
    return float(np.sum(a * np.cross(b, c)) / 6)


@pytest.mark.parametrize(
    ("shape", "name", "middle", "volume", "along"),
    [
        ("box(0.1, 0.2)", "BodyShape", (0.15, 0.2, 0.0), 0.5 * 0.1 * 0.2, (0.6, 0.8, 0.0)),
        ("box(0.8, 0.1, 0.2)", "BodyShape", (0.15, 0.2, 0.0), 0.8 * 0.1 * 0.2, (0.6, 0.8, 0.0)),
        ("box(0.8, 0.1, 0.2)", "Body", (0.15, 0.2, 0.0), 0.8 * 0.1 * 0.2, (1.0, 0.0, 0.0)),
        ("cylinder(0.05)", "BodyShape", (0.15, 0.2, 0.0), 0.5 * np.pi * 0.05**2, (0.6, 0.8, 0.0)),
        ("cylinder(0.05, 0.9)", "Body", (0.15, 0.2, 0.0), 0.9 * np.pi * 0.05**2, (0.0, 0.0, 1.0)),
        ("sphere(2*0.1)", "Body", (0.15, 0.2, 0.0), 4 / 3 * np.pi * 0.2**3, None),
    ],
)
def test_a_body_is_drawn_as_the_solid_that_its_shape_names(
    shape: str, name: str, middle: Sequence[float], volume: float, along: Sequence[float] | None
) -> None:
    (look,) = shaped(shape, name)
    assert look.body == "link"
    assert enclosed(look) == pytest.approx(volume, rel=0.03)  # round ones have 24 sides
    assert (look.vertices.min(axis=0) + look.vertices.max(axis=0)) / 2 == pytest.approx(np.array(middle), abs=1e-12)
    if along is not None:
        widest = np.linalg.svd(look.vertices - np.array(middle))[2][0]
        assert abs(widest @ np.array(along)) == pytest.approx(1.0, abs=1e-9)


def test_a_part_fixed_to_another_is_drawn_where_it_is_and_a_mesh_as_its_file_says(tmp_path: Path) -> None:
    (tmp_path / "prism.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    bodies = (
        BodyShape("rod", m=1.0, r=(2.0, 0.0, 0.0), I_11=0.1, I_22=0.1, I_33=0.1),
        Body("tip", m=1.0, I_11=0.1, I_22=0.1, I_33=0.1, shape=tmp_path / "prism.obj"),  # type: ignore[arg-type]
    )
    ends = (
        connect("world.frame_b", "hinge.frame_a"),
        connect("hinge.frame_b", "rod.frame_a"),
        connect("rod.frame_b", "tip.frame_a"),
    )
    arm = spatial("arm", (Revolute("hinge", n=(0.0, 1.0, 0.0)), *bodies), ends)
    (look,) = motion_of_model(arm, 0.01).geometry.looks
    assert look.body == "rod"
    assert look.vertices.min(axis=0) == pytest.approx(np.array([2.0, 0.0, 0.0]), abs=1e-12)
    assert enclosed(look) == pytest.approx(1 / 6)


@pytest.mark.parametrize("text", ["cube(1)", "box(1)", "sphere(-1)", "sphere(x)", "hull.step", 3])
def test_what_is_no_shape_is_refused_with_the_forms_there_are(text: Any) -> None:
    with pytest.raises(ModelError, match=r"b.shape = .* must be one of box\(length, width, height\)"):
        Body("b", m=1.0, shape=text)


def test_a_toml_body_has_a_shape_and_a_mesh_is_sought_beside_the_file(tmp_path: Path) -> None:
    text = """
name = "ball"
planar = true
connections = [["world.frame_b", "hinge.frame_a"], ["hinge.frame_b", "bob.frame_a"]]
[components.world]
type = "World"
[components.hinge]
type = "Revolute"
[components.bob]
type = "Body"
m = 1.0
I_33 = 1.0
shape = "SHAPE"
"""
    shapes = {}
    (tmp_path / "hull.stl").touch()
    for shape in ("sphere(0.2)", "hull.stl"):
        (tmp_path / "ball.toml").write_text(text.replace("SHAPE", shape))
        model = mbfmu.load(tmp_path / "ball.toml")
        assert isinstance(model, System)
        (shapes[shape],) = (item.shape for item in model.components if isinstance(item, Body))
    assert shapes == {"sphere(0.2)": "sphere(0.2)", "hull.stl": str(tmp_path / "hull.stl")}


def test_a_body_without_length_in_space_is_the_box_with_its_mass_and_inertia() -> None:
    m, sides = 3.0, np.array([0.3, 0.2, 0.1])
    moments = m / 12 * (sides @ sides - sides**2)
    turn = Rotation.from_rotvec([0.3, -0.5, 0.2]).as_matrix()
    I_CM = turn @ np.diag(moments) @ turn.T
    inertia = {f"I_{i + 1}{k + 1}": float(I_CM[i, k]) for i in range(3) for k in range(i + 1)}
    ends = (connect("world.frame_b", "free.frame_a"), connect("free.frame_b", "brick.frame_a"))
    system = spatial("brick", (FreeMotion("free"), Body("brick", m=m, **inertia)), ends)
    (box,) = (item.sizes for item in drawing_of(motion_of_model(system, 0.01)).solids if item.kind == "box")
    axes = np.column_stack([box["x"], box["y"], np.cross(box["x"], box["y"])])
    again = axes @ np.diag(m / 12 * (box["sides"] @ box["sides"] - box["sides"] ** 2)) @ axes.T
    assert np.allclose(again, I_CM, rtol=1e-9, atol=1e-12)


def test_no_two_bodies_of_the_plane_lie_at_one_height() -> None:
    drawing = drawing_of(motion_of_model(mbfmu.load("n_four_bar", {"N": 3}), 0.01))
    heights = [drawing.levels[body] for body in drawing.drawn]
    assert len({round(height, 9) for height in heights}) == len(heights)
