"""Samples of studies are spread as they claim, and Sobol' indices are those of closed forms and of derivatives."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import extra
from PIL import Image

import mbfmu
from mbfmu.analysis.equations.derivatives import jacobian
from mbfmu.analysis.study import Row, sobol_indices
from mbfmu.analysis.study.points import points
from mbfmu.analysis.study.sampling import distribution
from mbfmu.errors import UsageError
from mbfmu.show.plot import plot_study

UNIFORM = {"a": "uniform(0,1)", "b": "uniform(2,4)"}


def studied(f: Callable[..., float], distributions: dict[str, str], count: int, label: str = "y") -> tuple[Row, ...]:
    """Return the rows of a function of the values."""
    names, found = points({}, f"saltelli:{count}", distributions, 0)
    return tuple(Row(dict(zip(names, point, strict=True)), {label: f(*point)}) for point in found)


@pytest.mark.parametrize("method", ["sobol", "halton", "lhs"])
def test_even_samples_give_means_that_are_closer_than_those_of_chance(method: str) -> None:
    _, found = points({}, f"{method}:256", UNIFORM, 0)
    a, b = np.array(found).T
    assert 0 <= a.min() < a.max() <= 1 < 2 <= b.min() < b.max() <= 4
    assert abs(a.mean() - 0.5) < 3e-3  # the standard error of independent samples is 0.018
    # one in each of 16 equal parts of a square of 16, of a sequence; of a hypercube in each part of an axis
    assert np.unique(np.floor(16 * a)).size == 16


def test_a_normal_distribution_keeps_its_quantiles_in_even_samples() -> None:
    _, found = points({}, "sobol:1024", {"a": "normal(3,0.5)"}, 1)
    a = np.sort(np.array(found).ravel())
    assert a.mean() == pytest.approx(3, abs=1e-3)
    assert a.std() == pytest.approx(0.5, rel=5e-3)
    assert a[[163, 512, 860]] == pytest.approx([2.5, 3.0, 3.5], abs=0.01)  # 15.9, 50 and 84.1 %


@pytest.mark.parametrize("method", ["sobol", "halton"])
def test_more_of_a_sequence_begin_with_the_same_samples(method: str) -> None:
    few, many = (points({}, f"{method}:{count}", UNIFORM, 3)[1] for count in (16, 64))
    assert many[:16] == few
    assert points({}, f"{method}:16", UNIFORM, 4)[1] != few


def test_indices_of_ishigamis_function_are_those_of_its_closed_form() -> None:
    """Ishigami and Homma (ISUMA 1990): sin x1 + a sin^2 x2 + b x3^4 sin x1 over -pi to pi, with its variances."""
    a, b, pi = 7.0, 0.1, np.pi
    rows = studied(
        lambda x1, x2, x3: float(np.sin(x1) + a * np.sin(x2) ** 2 + b * x3**4 * np.sin(x1)),
        dict.fromkeys(("x1", "x2", "x3"), f"uniform({-pi!r},{pi!r})"),
        1024,
    )
    V_1, V_2, V_13 = 0.5 * (1 + b * pi**4 / 5) ** 2, a**2 / 8, b**2 * pi**8 * (1 / 18 - 1 / 50)
    V = V_1 + V_2 + V_13
    found = sobol_indices(rows)
    assert [item.name for item in found] == ["x1", "x2", "x3"]
    for item, first, total in zip(found, (V_1, V_2, 0.0), (V_1 + V_13, V_2, V_13), strict=True):
        assert item.first == pytest.approx(first / V, abs=0.03)
        assert item.total == pytest.approx(total / V, abs=0.03)
        assert item.first_interval[0] < first / V < item.first_interval[1]
        assert item.total_interval[0] < total / V < item.total_interval[1]


def test_an_interval_holds_the_index_and_narrows_with_the_samples() -> None:
    f = lambda a, b: a + b  # noqa: E731
    narrow, wide = (sobol_indices(studied(f, UNIFORM, count))[1] for count in (1024, 64))
    low, high = narrow.total_interval
    assert low < 0.8 < high  # variances 1/12 and 4/12
    assert high - low < 0.5 * np.subtract(*wide.total_interval[::-1])


def test_base_points_with_a_failed_run_are_left_out() -> None:
    rows = list(studied(lambda a, b: a + b, UNIFORM, 64))
    rows[70] = Row(rows[70].values, {}, "it failed")
    assert sobol_indices(rows)[0].total == pytest.approx(0.2, abs=0.05)


@pytest.mark.further
def test_indices_of_a_crane_are_those_of_the_slopes_of_its_equations() -> None:
    """Where values vary by little, S_i = T_i = (df/dp_i s_i)^2 / V: here df/dp is exact, by the equations."""
    extra("distributed", "sweep")
    spread = {"load": 200.0, "L2": 2.5, "world.g": 9.81}
    reaction = "boom.frame_b.f[2]"
    rows = mbfmu.sweep(
        "crane", 1e-5, step=1e-5, measures={"f": f"last({reaction})"}, sample="saltelli:64", workers=2,
        distributions={name: f"uniform({0.999 * value},{1.001 * value})" for name, value in spread.items()},
    )  # fmt: skip
    equations = mbfmu.equations("crane", parameters=tuple(spread))
    slopes = np.array(jacobian(equations.output(reaction), ("p",))(*equations.start)).ravel()
    parts = (slopes * [*spread.values()]) ** 2
    for item, part in zip(sobol_indices(rows), parts / parts.sum(), strict=True):
        assert item.first == pytest.approx(part, abs=0.03)
        assert item.total == pytest.approx(part, abs=0.03)


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ("sobol:1000", "powers of two only"),
        ("saltelli:1", "powers of two only"),
        ("lhs:0", "at least one sample"),
        ("grid:8", "write N or METHOD:N"),
        ("-3", "write N or METHOD:N"),
        ("sobol", "write N or METHOD:N"),
    ],
)
def test_what_is_no_sample_is_one_message(sample: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        points({}, sample, UNIFORM, 0)


def test_indices_refuse_rows_of_another_study() -> None:
    with pytest.raises(UsageError, match="leave --vary out"):
        points({"c": (1.0, 2.0)}, "saltelli:4", UNIFORM, 0)
    rows = studied(lambda a, b: a + b, UNIFORM, 4)
    for wrong in (rows[:-1], rows[1:] + rows[:1], ()):
        with pytest.raises(UsageError, match="not those of a sample saltelli"):
            sobol_indices(wrong)
    with pytest.raises(UsageError, match="depends on none"):
        sobol_indices(studied(lambda a, b: 1.0, UNIFORM, 4))  # noqa: ARG005
    failed = [Row(row.values, {}, "it failed") for row in rows]
    with pytest.raises(UsageError, match="two at least"):
        sobol_indices(failed)


@pytest.mark.parametrize(
    ("text", "theirs"),
    [
        ("lognormal(2,0.5)", lambda stats: stats.lognorm(0.5, scale=2)),
        ("triangular(1,1.5,4)", lambda stats: stats.triang(0.5 / 3, 1, 3)),
        ("truncated(1,0.5,0.2,1.4)", lambda stats: stats.truncnorm(-1.6, 0.8, 1, 0.5)),
        ("beta(2,3,-1,1)", lambda stats: stats.beta(2, 3, -1, 2)),
        ("weibull(1.5,2)", lambda stats: stats.weibull_min(1.5, scale=2)),
        ("exponential(3)", lambda stats: stats.expon(scale=3)),
    ],
)
def test_distributions_by_name_have_the_quantiles_of_scipy(text: str, theirs: Callable[[Any], Any]) -> None:
    from scipy import stats

    parts = np.linspace(0.01, 0.99, 9)
    assert distribution("a", text).at(parts) == pytest.approx(theirs(stats).ppf(parts), rel=1e-9)


@pytest.mark.parametrize("method", ["", "sobol:", "halton:", "lhs:"])
def test_correlated_values_keep_their_distributions_and_have_the_rank_correlation_of_the_copula(method: str) -> None:
    from scipy import stats

    distributions = {"a": "uniform(0,1)", "b": "exponential(2)", "c": "normal(0,1)"}
    _, found = points({}, f"{method}1024", distributions, 3, {"a,b": 0.8, "c,b": -0.3})
    a, b, c = np.array(found).T
    assert stats.kstest(a, "uniform").pvalue > 1e-3
    assert stats.kstest(b, stats.expon(scale=2).cdf).pvalue > 1e-3
    for x, y, rho in ((a, b, 0.8), (b, c, -0.3), (a, c, 0.0)):
        wanted = 6 / np.pi * np.arcsin(rho / 2)  # Spearman's, of a Gaussian copula
        assert stats.spearmanr(x, y)[0] == pytest.approx(wanted, abs=0.1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gamma(1,2)", "KIND of normal, uniform, lognormal"),
        ("normal(1)", "normal\\(NUMBERS\\) of mean,sd with sd > 0"),
        ("triangular(1,0,2)", "a <= mode <= b"),
        ("lognormal(-1,1)", "median > 0"),
        ("uniform(0,inf)", "a < b"),
    ],
)
def test_a_distribution_that_is_none_says_what_it_takes(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        distribution("a", text)


@pytest.mark.parametrize(
    ("sample", "correlations", "message"),
    [
        ("8", {"a,d": 0.5}, "two values that have distributions"),
        ("8", {"a,a": 0.5}, "between -1 and 1 of two values"),
        ("8", {"a,b": 1.0}, "between -1 and 1 of two values"),
        ("8", {"a,b": 0.9, "b,c": 0.9, "a,c": -0.9}, "contradict each other"),
        ("saltelli:8", {"a,b": 0.5}, "independent values"),
    ],
)
def test_correlations_that_no_values_have_are_refused(
    sample: str, correlations: dict[str, float], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        points({}, sample, dict.fromkeys("abc", "normal(0,1)"), 0, correlations)


def test_a_picture_has_a_histogram_and_the_indices_of_each_measure(tmp_path: Path) -> None:
    rows = studied(lambda a, b: a + 2 * b, {"a": "uniform(0,1)", "b": "uniform(0,1)"}, 16)
    both, alone = plot_study(rows, sobol_indices(rows), tmp_path / "both.png"), plot_study(rows, (), tmp_path / "a.png")
    with Image.open(both) as wide, Image.open(alone) as narrow:
        assert wide.width == 2 * narrow.width
