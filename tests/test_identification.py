"""Inertial parameters that a robot's motion tells: their number, their combinations, and the best motion."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import mbfmu
from mbfmu.analysis.identification import BaseParameters
from mbfmu.errors import UnknownNameError, UsageError
from mbfmu.model import BodyShape, FixedTranslation, Revolute, Spring, System, World, connect

LINKS = (
    (0.0, 0.0, 0.333), (0.0, -1.0, 0.0), (0.0, 1.0, 0.316), (0.0825, 1.0, 0.0), (-0.0825, -1.0, 0.384),
    (0.0, 1.0, 0.0), (0.088, 1.0, 0.0),
)  # fmt: skip
"""Denavit and Hartenberg's parameters after Craig of the Franka Emika Panda: a (m), alpha (right angles), d (m)."""
BOUNDS: Any = ({"shoulder.phi": (-1.5, 1.5), "elbow.phi": (-2.0, 2.0)}, {"shoulder.phi": 2.0, "elbow.phi": 3.0})


def seven_axes(up: tuple[float, float, float] = (0, 0, 1)) -> System:
    """Return an arm with the axes of the Panda, in whose zero pose all frames are parallel."""
    turned, at = np.eye(3), np.zeros(3)
    axes, origins = [], []
    for a, right_angles, d in LINKS:
        turn = np.array([[1, 0, 0], [0, 0, -right_angles], [0, right_angles, 0]]) if right_angles else np.eye(3)
        at, turned = at + turned @ [a, 0, 0], turned @ turn
        at = at + turned @ [0, 0, d]
        axes.append(tuple(turned[:, 2]))
        origins.append(at)
    components: list[Any] = [World(g=9.81, n=tuple(-x for x in up)), FixedTranslation("base", r=tuple(origins[0]))]
    connections = [connect("world.frame_b", "base.frame_a")]
    last = "base"
    for k, axis in enumerate(axes):
        r = origins[k + 1] - origins[k] if k < 6 else np.array([0, 0, -0.107])
        components += [
            Revolute(f"joint{k + 1}", n=axis, phi=0.1, w=0.0, actuated=True),
            BodyShape(
                f"link{k + 1}", m=3.0 - 0.3 * k, r=tuple(r), r_CM=(0.02, 0.01 * k, 0.03), I_11=0.03, I_22=0.04,
                I_33=0.05, I_21=0.002, I_31=0.001, I_32=-0.003,
            ),
        ]  # fmt: skip
        connections += [connect(f"{last}.frame_b", f"joint{k + 1}.frame_a")]
        connections += [connect(f"joint{k + 1}.frame_b", f"link{k + 1}.frame_a")]
        last = f"link{k + 1}"
    return System(name="seven_axes", description="", components=tuple(components), connections=tuple(connections))


@cache
def two_link() -> BaseParameters:
    return mbfmu.base_parameters("two_link")


def test_a_panda_has_the_published_number_of_base_parameters() -> None:
    # 43, without friction: Gaz, Cognetti, Oliva, Robuffo Giordano and De Luca, Dynamic identification of the Franka
    # Emika Panda robot with retrieval of feasible parameters, IEEE Robotics and Automation Letters 4(4), 2019
    found = mbfmu.base_parameters(seven_axes())
    assert found.rank == 43
    assert found.singular[43] < 1e-12 * found.singular[42]
    # theirs too, about parallel axes: the first link by its axis alone, the distance 0.316 m of the elbow
    assert found.combinations[0] == "link1.J_33 + link2.J_33"
    assert "link2.h[3] + 0.316 link3.m + link3.h[3]" in found.combinations[2]
    assert "link1.m" in found.unidentifiable


def test_two_more_are_told_by_an_arm_whose_first_axis_is_horizontal() -> None:
    # gravity along the first axis has no moment about it, which hides the first moments of its body across it
    assert mbfmu.base_parameters(seven_axes((0, 1, 0))).rank == 45


def test_base_parameters_of_two_links_are_those_of_the_textbook() -> None:
    found = two_link()
    assert found.combinations == (
        "link1.h[1] + link2.m", "link1.h[2]", "link1.J_33 + link2.m", "link2.h[1]", "link2.h[2]", "link2.J_33",
    )  # fmt: skip
    assert found.units == ("kg.m", "kg.m", "kg.m2", "kg.m", "kg.m", "kg.m2")
    # m_1 = m_2 = 1 kg, l_1 = 1 m, l_2 = 2 m, slender rods: the values by hand
    assert found.values == pytest.approx([0.5 + 1.0, 0.0, 1 / 3 + 1.0, 1.0, 0.0, 4 / 3], abs=1e-12)


def test_efforts_of_inverse_dynamics_are_the_regressor_times_the_base_parameters() -> None:
    found = mbfmu.base_parameters(seven_axes())
    names = found.regressor.coordinates
    motion = {name: f"{0.3 + 0.1 * k}*sin({k + 1}*time)" for k, name in enumerate(names)}
    run = mbfmu.inverse(seven_axes(), motion, 1.0, output_interval=0.1)
    q, v, a = (np.array([run[f"joint{k + 1}.{what}"] for k in range(7)]).T for what in ("phi", "w", "a"))
    efforts = np.array([run[f"joint{k + 1}.tau"] for k in range(7)]).T
    assert (found.rows(q, v, a) @ found.values).reshape(-1, 7) == pytest.approx(efforts, abs=1e-11)


def test_springs_are_no_part_of_the_regressor() -> None:
    model = mbfmu.load("two_link")
    ends = connect("spring.frame_a", "link1.frame_b"), connect("spring.frame_b", "link2.frame_b")
    sprung = replace(
        model, components=(*model.components, Spring("spring", c=3.0)), connections=(*model.connections, *ends)
    )
    found = mbfmu.base_parameters(sprung)
    assert found.combinations == two_link().combinations
    assert found.values == pytest.approx(two_link().values, abs=1e-12)


def test_an_excitation_keeps_its_bounds_at_all_times_and_tells_more_than_the_motion_before() -> None:
    found = two_link().excitation(4.0, *BOUNDS, {"elbow.phi": 20.0}, harmonics=3)
    assert found.log_det > found.log_det_begun + 2
    q, v, a = found.at(np.linspace(0.0, 4.0, 2001))
    for k, name in enumerate(("shoulder.phi", "elbow.phi")):
        assert BOUNDS[0][name][0] <= q[:, k].min() <= q[:, k].max() <= BOUNDS[0][name][1]
        assert abs(v[:, k]).max() <= BOUNDS[1][name]
    assert abs(a[:, 1]).max() <= 20.0
    assert v[0] == pytest.approx(0.0, abs=1e-12)
    assert a[0] == pytest.approx(0.0, abs=1e-12)
    # by another route: log det at the samples, and no better motion beside it
    samples = found.at(np.arange(30) * 4.0 / 30)
    Y = two_link().rows(*samples)
    assert np.linalg.slogdet(Y.T @ Y)[1] == pytest.approx(found.log_det, rel=1e-9)


def test_parameters_are_told_from_noisy_efforts_as_well_as_their_covariance_says() -> None:
    base = two_link()
    found = base.excitation(4.0, *BOUNDS, harmonics=3)
    run = mbfmu.inverse("two_link", found.motion, 4.0, output_interval=0.01)
    q, v, a = (np.array([run[f"{joint}.{what}"] for joint in ("shoulder", "elbow")]).T for what in ("phi", "w", "a"))
    assert q == pytest.approx(found.at(run.time)[0], abs=1e-12)
    efforts = np.array([run["shoulder.tau"], run["elbow.tau"]]).T
    Y, noise = base.rows(q, v, a), 0.1
    measured = efforts.ravel() + noise * np.random.default_rng(0).normal(size=efforts.size)
    estimated = np.linalg.lstsq(Y, measured, rcond=None)[0]
    errors = noise * np.sqrt(np.diag(np.linalg.inv(Y.T @ Y)))
    assert np.all(errors < 0.02)
    assert np.all(abs(estimated - base.values) < 4 * errors)


def test_what_has_no_base_parameters_is_refused() -> None:
    with pytest.raises(UsageError, match="has constraints"):
        mbfmu.base_parameters("slider_crank")
    with pytest.raises(UsageError, match="is not a system"):
        mbfmu.base_parameters("dc_motor")
    with pytest.raises(UsageError, match="gaps or dry friction"):
        mbfmu.base_parameters("slider_crank_friction")
    with pytest.raises(UsageError, match="not \\(n_t, 2\\)"):
        two_link().rows([1.0], [1.0], [1.0])


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"positions": {"shoulder.phi": (0, 1)}}, UsageError, "'elbow.phi' has no bounds"),
        ({"positions": {**BOUNDS[0], "q": (0, 1)}}, UnknownNameError, "no coordinate 'q'"),
        ({"positions": {**BOUNDS[0], "elbow.phi": (1, 0)}}, UsageError, "positions of 'elbow.phi'"),
        ({"rates": {**BOUNDS[1], "elbow.phi": 0.0}}, UsageError, "rate and acceleration of 'elbow.phi'"),
        ({"harmonics": 2}, UsageError, "it takes three"),
        ({"duration": 0.0}, UsageError, "duration"),
    ],
)
def test_wrong_bounds_of_an_excitation_are_named(changes: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        two_link().excitation(**{"duration": 4.0, "positions": BOUNDS[0], "rates": BOUNDS[1], **changes})
