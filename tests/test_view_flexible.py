"""Pages of flexible bodies: their surfaces, frames and joints move as the run says, and their colours are stresses."""

from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from harness import extra
from test_browser import browser, opened, picture
from test_stress import SECTION, reduced_bar
from test_view import data, unpacked

import mbfmu
from mbfmu.errors import UsageError
from mbfmu.model import (
    Beam,
    Body,
    Fixed,
    FixedTranslation,
    ModalBody,
    Revolute,
    System,
    World,
    connect,
)
from mbfmu.prepared.prepare import prepare
from mbfmu.show.viewer import ShownMotion, motion_of_mode, motion_of_model, motion_of_result, page_of, together
from mbfmu.show.viewer.bending import LEFT_OUT, Skin, equivalent
from mbfmu.show.viewer.drawing import drawing_of
from mbfmu.show.viewer.posed import fitted_skins, monomials, with_poses

Browser = extra("playwright.sync_api", "test").Browser

Array = npt.NDArray[np.float64]
__all__ = ["browser"]

BEAM: dict[str, Any] = SECTION | {"E": 2e8, "G": 8e7, "modes": 2, "axial": 1, "rho": 2000.0, "sections": (0.0, 0.5)}
RUN: dict[str, Any] = {"stepper": "generalized_alpha", "step": 2e-3, "output_interval": 1e-2}


def crooked(planar: bool) -> System:
    """Return a soft beam on a hinge, with a bracket at its tip that carries a hinged body."""
    body = Body("load", m=0.2, r_CM=(0.2, 0.0, 0.0), I_11=0.01, I_22=0.01, I_33=0.01)
    n = (0.0, 0.0, 1.0)
    beam = Beam("beam", **BEAM | ({} if planar else {"torsion": 1}))
    row = (Revolute("hinge", n=n), beam, FixedTranslation("bracket", r=(0.1, 0.2, 0.0)), Revolute("end", n=n), body)
    names = ["world", *(item.name for item in row)]
    return System(
        "crooked", planar=planar, components=(World(), *row),
        connections=tuple(connect(f"{a}.frame_b", f"{b}.frame_a") for a, b in pairwise(names)),
    )  # fmt: skip


@cache
def moved(planar: bool) -> ShownMotion:
    """Return the motion of the soft beam."""
    return motion_of_model(crooked(planar), 0.2, **RUN)


def bar(**parts: Any) -> System:
    """Return the reduced bar, clamped and bent; parts: what is left out of its data."""
    data = replace(reduced_bar().data, **parts)
    body = ModalBody("bar", data=data, eta=(0.01, *[0.0] * (len(data.Me) - 1)))
    return System(
        "bar", components=(World(), Fixed("root"), body),
        connections=(connect("world.frame_b", "root.frame_a"), connect("root.frame_b", "bar.frame_a")),
    )  # fmt: skip


def only_skin(motion: ShownMotion) -> Skin:
    (skin,) = drawing_of(motion).skins
    return skin


def points(skin: Skin) -> Array:
    """Return the points of a surface at each time, shape (n_t, v, 3)."""
    return np.asarray(skin.rest + np.tensordot(skin.weights, skin.shapes, 1))


def world(motion: ShownMotion, skin: Skin) -> Array:
    """Return the same in the world frame."""
    number = motion.bodies.index(skin.body)
    found = points(skin)[..., : motion.dim]
    return np.asarray(motion.r[:, None, number] + np.einsum("tij,tvj->tvi", motion.R[:, number], found))


@pytest.mark.parametrize("planar", [True, False])
def test_a_beam_is_drawn_to_where_its_frames_are(planar: bool) -> None:
    motion = moved(planar)
    skin = only_skin(motion)
    bent = points(skin) - skin.rest
    assert np.abs(bent).max() > 0.02
    ends = world(motion, skin)[:, -4:].mean(axis=1)
    wanted = [motion.result[f"beam.frame_b.r_0[{k}]"] for k in range(1, motion.dim + 1)]
    assert ends == pytest.approx(np.array(wanted).T, abs=2 * LEFT_OUT * np.abs(bent).max())
    roots = world(motion, skin)[:, :4].mean(axis=1)
    assert roots == pytest.approx(motion.r[:, motion.bodies.index("beam")], abs=1e-3 * np.abs(bent).max())


@pytest.mark.parametrize("planar", [True, False])
def test_joints_at_the_frames_of_a_flexible_body_stay_together(planar: bool) -> None:
    motion = moved(planar)
    assert motion.geometry.owners == {"beam.frame_b": "beam"}
    (end,) = (item for item in motion.geometry.joints if item.name == "end")
    assert (end.near, end.far) == ("beam.frame_b", "load")
    held = [item for item in drawing_of(motion).solids if item.body == "beam.frame_b" and item.kind == "tube"]
    assert any(np.linalg.norm(item.sizes["to"][:2] - end.start[:2]) < 1e-12 for item in held)  # the bracket
    gap = motion.track(end.far, end.end) - motion.track(end.near, end.start)
    assert np.abs(gap).max() < 1e-12


def test_a_recorded_run_bends_the_bodies_as_the_model_does_and_without_shape_coordinates_not(tmp_path: Path) -> None:
    model, motion = crooked(True), moved(True)
    path = motion.result.write(tmp_path / "run.csv")
    again = motion_of_result(mbfmu.show.viewer.read_result(path), "run.csv", model=model)
    assert points(only_skin(again)) == pytest.approx(points(only_skin(motion)), abs=1e-12)
    run = motion.result
    some = [k for k, name in enumerate(run.names) if ".eta" not in name]
    poor = mbfmu.base.result.Result(run.time, tuple(run.names[k] for k in some), run.values[:, some], run.units)
    with pytest.warns(UserWarning, match=r"'run.csv' lacks 'beam.eta\[1\]': 'beam' is shown undeformed|opens by"):
        still = motion_of_result(poor, "run.csv", model=model)
    assert not only_skin(still).weights.size


def test_colours_of_a_beam_are_the_stresses_of_its_sections() -> None:
    motion = moved(False)
    skin = only_skin(motion)
    stress = np.tensordot(skin.loads, skin.stresses, 1)
    assert skin.largest == pytest.approx(equivalent(stress).max(), rel=1e-3)
    for section, station in ((1, 0), (2, 12)):
        wanted = [motion.result[f"beam.section_{section}.sigma[{fibre}]"] for fibre in (1, 2, 3, 4)]
        drawn = stress[:, 4 * station : 4 * station + 4, 0]
        assert drawn == pytest.approx(np.array(wanted).T, abs=2 * LEFT_OUT * skin.largest)


def test_colours_of_a_body_from_finite_elements_are_those_of_its_points() -> None:
    motion = motion_of_model(bar(), 2e-3, stepper="radau", step=1e-4)
    skin = only_skin(motion)
    names = [name for name in motion.result.names if name.startswith("bar.root_") and name.endswith("sigma_v")]
    stresses = reduced_bar().data.stresses
    assert stresses is not None
    found = equivalent(np.tensordot(skin.loads, skin.stresses, 1))
    compared = 0
    for name in names:
        place = stresses.r[stresses.names.index(name.split(".")[1])]
        corner = np.flatnonzero(np.linalg.norm(skin.rest - place, axis=1) < 1e-6)
        for number in corner:
            compared += 1
            assert found[:, number] == pytest.approx(motion.result[name], abs=1e-3 * skin.largest)
    assert compared == 4  # the corners of the root


def test_a_body_without_a_surface_is_bars_to_its_frames() -> None:
    motion = motion_of_model(bar(surface=None), 1e-3)
    drawing = drawing_of(motion)
    assert not drawing.skins
    assert [(item.near, item.far) for item in drawing.struts] == [("bar", "bar.tip")]


def test_a_mode_of_a_clamped_beam_bends_it() -> None:
    motion, _ = motion_of_mode(mbfmu.load("cantilever"), 1)
    skin = only_skin(motion)
    reach = np.abs(points(skin) - skin.rest).max()
    assert reach == pytest.approx(0.08 * motion.size, rel=0.05)


def test_flexible_bodies_of_several_mechanisms_move_in_one_picture() -> None:
    motion = moved(True)
    both = together({"one": motion, "two": motion})
    skins = drawing_of(both).skins
    assert [skin.body for skin in skins] == ["one.beam", "two.beam"]
    assert points(skins[1])[..., :2] == pytest.approx(points(only_skin(motion))[..., :2])
    bodies = data(page_of(both, "both"))["bodies"]
    assert {body["name"]: body["group"] for body in bodies}["one.beam.frame_b"] == "one"


def test_the_page_holds_the_surface_and_few_numbers_for_each_picture() -> None:
    motion = moved(False)
    content, skin = data(page_of(motion, "crooked", deformation=3.0)), only_skin(motion)
    assert content["deformation"] == 3.0
    (item,) = content["skins"]
    count = len(skin.shapes)
    assert count <= 12
    weights = unpacked(item["weights"]).reshape(-1, count)
    shapes = unpacked(item["shapes"]).reshape(count, -1, 3)
    assert len(weights) == len(motion.result.time)
    assert np.tensordot(weights, shapes, 1) + skin.rest == pytest.approx(points(skin), abs=1e-5)
    owners = {body["name"]: body["owner"] for body in content["bodies"]}
    assert owners["beam.frame_b"] == [body["name"] for body in content["bodies"]].index("beam")


def test_shape_coordinates_that_are_not_finite_are_refused_by_name() -> None:
    motion = moved(True)
    run = motion.result
    values = run.values.copy()
    values[1, run.names.index("beam.eta[2]")] = np.nan
    with pytest.raises(UsageError, match=r"'run\.csv' has shape coordinates of 'beam' that are not finite"):
        motion_of_result(
            mbfmu.base.result.Result(run.time, run.names, values, run.units), "run.csv", model=crooked(True)
        )


@pytest.mark.parametrize("factor", [-1.0, float("nan"), float("inf")])
def test_a_factor_that_is_none_is_refused_before_the_run(factor: float) -> None:
    with pytest.raises(UsageError, match="factor of the deformation"):
        mbfmu.view("cantilever", 1e6, deformation=factor)


def test_a_browser_draws_stresses_with_their_scale_and_exaggerates_the_shape(browser: Browser, tmp_path: Path) -> None:
    path = page_of(moved(False), "crooked").write(tmp_path / "page.html")
    faults: list[str] = []
    for page in opened(browser, path, faults):
        assert page.is_visible("#scale")
        assert "MPa" in page.inner_text("#scale")
        assert page.input_value("#colours") == "stress"
        coloured = picture(page, "#scene")
        page.fill("#factor", "4")
        page.keyboard.press("Tab")
        bent = picture(page, "#scene")
        page.select_option("#colours", "body")
        assert not page.is_visible("#scale")
        plain = picture(page, "#scene")
        assert np.abs(bent - coloured).max(axis=2).mean() > 1
        assert np.abs(plain - bent).max(axis=2).mean() > 1
    assert faults == []


@pytest.mark.parametrize("planar", [True, False])
def test_outputs_for_a_picture_are_the_poses_of_frames_and_of_what_moves_without_a_mass(planar: bool) -> None:
    motion = moved(planar)
    plain = prepare(crooked(planar), None, None, 1e-3, 0.0, "joint").dae
    dae = with_poses(plain)
    names = [item.name for item in dae.outputs]
    assert names[: len(plain.outputs)] == [item.name for item in plain.outputs]
    assert len(names) > len(plain.outputs)
    p, zeros = dae.extended(dae.p_default()), [np.zeros(count) for count in (dae.n, dae.n_z, dae.n, dae.m + dae.k)]
    for k in (0, -1):
        q = np.array([motion.result[name][k] for name in dae.coordinates])
        v, z, a, lambda_ = zeros
        y = np.array(dae.output(q, v, z, dae.angles(q, p, 0.0), a, lambda_, dae.u_default(), p, 0.0)).ravel()
        for body in {name.partition(".picture")[0] for name in names if ".picture" in name}:
            index, dim = motion.bodies.index(body), motion.dim
            r = [y[names.index(f"{body}.picture.r[{i}]")] for i in range(1, dim + 1)]
            R = [y[names.index(f"{body}.picture.R[{i}]")] for i in range(1, dim * dim + 1)]
            assert np.allclose(r, motion.r[k, index], atol=1e-12)
            assert np.allclose(np.reshape(R, (dim, dim)).T, motion.R[k, index], atol=1e-12)


@pytest.mark.parametrize("planar", [True, False])
def test_a_surface_by_polynomials_of_the_coordinates_bends_as_the_run_does(planar: bool) -> None:
    motion = moved(planar)
    (exact,) = drawing_of(motion).skins
    fit = fitted_skins(motion)["beam"]
    weights = monomials(motion.eta["beam"]) @ fit.weights
    expected, bent = (np.tensordot(*item, 1) for item in ((exact.weights, exact.shapes), (weights, fit.skin.shapes)))
    assert np.abs(expected).max() > 1e-3
    assert np.abs(bent - expected).max() < 1e-3 * np.abs(expected).max()
