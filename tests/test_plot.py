"""Pictures of results: units on every axis, legends that hide nothing, residuals beside round-off."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import mbfmu
from mbfmu.base.result import Result
from mbfmu.errors import UsageError
from mbfmu.show import plot

STOP = 0.3


def drawn(result: Result, monkeypatch: pytest.MonkeyPatch) -> dict[str, Axes]:
    """Return the panels of a picture, laid out, by the first word of their label."""
    figures: list[Figure] = []

    def keep(figure: Figure, path: Path) -> Path:
        figures.append(figure)
        return path

    monkeypatch.setattr(plot, "save", keep)
    plot.plot_result(result, "unused.png", "title")
    figures[0].draw_without_rendering()
    return {axes.get_ylabel().replace("\n", " ").partition(" [")[0]: axes for axes in figures[0].axes}


def legend(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize("name", ["two_link", "crane", "rolling_disk", "quarter_car"])
def test_every_axis_has_a_unit_and_no_legend_covers_a_curve(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    panels = drawn(mbfmu.simulate(mbfmu.load(name), STOP), monkeypatch)
    for axes in panels.values():
        assert axes.get_ylabel().endswith("]")
        assert axes.get_legend().get_window_extent().x0 >= axes.get_window_extent().x1
    assert axes.get_xlabel() == "time [s]"


def test_a_legend_fits_into_its_panel_however_many_curves_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    panels = drawn(mbfmu.simulate(mbfmu.load("chain", {"N": 16}), STOP), monkeypatch)
    assert legend(panels["angle"])[-1] == f"and {16 - plot.MOST} more"
    for axes in panels.values():
        assert axes.get_legend().get_window_extent().height <= axes.get_window_extent().height


def test_curves_that_are_alike_are_one_that_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    panels = drawn(mbfmu.simulate(mbfmu.load("n_four_bar", {"N": 5}), STOP), monkeypatch)
    assert legend(panels["angle"]) == ["a0.phi and 10 alike", "c0.phi and 4 alike"]


def test_what_is_zero_all_the_time_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = mbfmu.load("two_link")
    assert "torque" not in drawn(mbfmu.simulate(arm, STOP), monkeypatch)
    driven = drawn(mbfmu.simulate(arm, STOP, inputs={"elbow.tau": "1"}), monkeypatch)
    assert legend(driven["torque"]) == ["elbow.tau"]


@pytest.mark.parametrize(("stepper", "kept"), [("rattle", True), ("direct", False)])
def test_residuals_stay_in_the_band_of_round_off_where_the_stepper_keeps_constraints(
    stepper: str, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    arm = mbfmu.load("two_link")
    axes = drawn(mbfmu.simulate(arm, 1.0, stepper=stepper, coordinates="absolute"), monkeypatch)["constraint residual"]
    assert axes.get_yscale() == "log"
    assert legend(axes) == ["constraint.position", "constraint.velocity", "round-off"]
    band = axes.patches[0].get_extents().transformed(axes.transData.inverted()).y1
    assert 1e-14 < band < 1e-11
    largest = max(np.nanmax(np.asarray(line.get_ydata(), dtype=float)) for line in axes.lines)
    assert (largest < band) == kept


def test_the_change_of_the_energy_starts_at_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    result = mbfmu.simulate(mbfmu.load("heavy_top"), STOP)
    (line,) = drawn(result, monkeypatch)["energy change"].lines
    assert np.array_equal(line.get_ydata(), result["energy.total"] - result["energy.total"][0])


def test_units_that_no_joint_has_are_drawn_too(monkeypatch: pytest.MonkeyPatch) -> None:
    result = Result(np.array([0.0, 1.0]), ("tank.p",), np.array([[1.0], [2.0]]), {"tank.p": "Pa"})
    (axes,) = drawn(result, monkeypatch).values()
    assert (axes.get_ylabel(), legend(axes)) == ("[Pa]", ["tank.p"])


def test_a_result_that_is_zero_gives_no_picture(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to draw"):
        plot.plot_result(Result(np.array([0.0, 1.0]), ("x",), np.zeros((2, 1)), {"x": "m"}), tmp_path / "out.png")
    assert list(tmp_path.iterdir()) == []


def test_what_is_zero_up_to_round_off_is_left_out_and_a_gap_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    names, values = ("a", "b", "c", "d"), np.array([[1.0, 1e-17, 1e-3, np.nan], [2.0, -1e-17, 0.0, 3.0]])
    (axes,) = drawn(Result(np.array([0.0, 1.0]), names, values, dict.fromkeys(names, "N")), monkeypatch).values()
    assert legend(axes) == ["a", "c", "d"]


def test_what_is_driven_and_measured_is_drawn_first(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = drawn(mbfmu.simulate(mbfmu.load("two_link"), STOP, inputs={"elbow.tau": "1"}), monkeypatch)
    assert list(arm)[:3] == ["torque", "angle", "ang. velocity"]
    car = drawn(mbfmu.simulate(mbfmu.load("quarter_car"), STOP), monkeypatch)
    assert list(car)[:3] == ["force", "position", "velocity"]
    assert legend(car["force"]) == ["tyre.f", "spring.f", "damper.f"]


def test_chosen_variables_are_drawn_alone_all_of_them_in_the_order_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    show = ["damper.power", "constraint.*", "energy.total", "*.f", "spring.?"]
    panels = drawn(mbfmu.simulate(mbfmu.load("quarter_car"), STOP, show=show), monkeypatch)
    assert list(panels) == ["power", "energy", "force", "constraint residual"]
    assert legend(panels["power"]) == ["damper.power"]
    assert legend(panels["force"]) == ["suspension.f", "tyre.f", "spring.f", "damper.f"]
    alike = drawn(mbfmu.simulate(mbfmu.load("n_four_bar", {"N": 5}), STOP, show=["*.phi"]), monkeypatch)
    assert len(legend(alike["angle"])) == 27
    assert len({(line.get_color(), line.get_linestyle()) for line in alike["angle"].lines}) == 27
    for axes in (*panels.values(), *alike.values()):
        assert axes.get_legend().get_window_extent().height <= axes.get_window_extent().height


@pytest.mark.parametrize("name", ["_x", "$cse1 + $cse2", r"$\x{$", r"a\$b", "der(x)"])
def test_names_units_and_titles_are_shown_as_they_are(name: str) -> None:
    result = Result(np.arange(3.0), (name,), np.array([[1.0], [2.0], [3.0]]), {name: name}, chosen=(name,))
    figure = plot.plot_result(result, None, name)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    texts = [*axes.get_legend().get_texts(), axes.yaxis.label, *figure.texts]
    found = [text._preprocess_math(text.get_text()) for text in texts]
    assert [(text.lstrip("\N{ZERO WIDTH SPACE}"), math) for text, math in found] == [
        (name, False), (f"[{name}]", False), (name, False)
    ]  # fmt: skip


def test_a_title_of_a_file_name_that_is_no_text_has_question_marks() -> None:
    result = Result(np.arange(2.0), ("x",), np.array([[1.0], [2.0]]), chosen=("x",))
    figure = plot.plot_result(result, None, "p\udcff")
    figure.draw_without_rendering()
    assert figure.get_suptitle() == "p?"


def test_an_empty_result_is_refused_and_values_without_end_are_gaps(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the result has no points"):
        Result(np.zeros(0), ("x",), np.zeros((0, 1))).plot()
    values = np.array([[1.0, 1.7e308, -1.7e308, np.inf, np.nan, 2.0]]).T
    figure = Result(np.arange(6.0), ("x",), values, chosen=("x",)).plot(tmp_path / "x.png")
    assert list(np.isfinite(figure.axes[0].lines[0].get_ydata())) == [True, *[False] * 4, True]


def test_a_picture_in_a_format_that_needs_tex_is_refused_before_the_run() -> None:
    with pytest.raises(UsageError, match=r"a figure ends in \.png, \.svg or \.pdf"):
        plot.picture_format("run.pgf")
