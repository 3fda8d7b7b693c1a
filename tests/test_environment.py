"""Environments: Gymnasium finds nothing wrong, and what they do is what simulations do."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from harness import extra

import mbfmu
from mbfmu.errors import UnknownNameError, UsageError

check_env = extra("gymnasium.utils.env_checker", "learning").check_env

Array = npt.NDArray[np.float64]
DT = 0.02


def leaning(rng: np.random.Generator, count: int) -> Mapping[str, Array]:
    """Return starts near the upright pose."""
    return {"hinge.phi": math.pi / 2 + rng.uniform(-0.1, 0.1, count)}


CART: dict[str, Any] = {
    "dt": DT,
    "observe": ("rail.s", "rail.v", "hinge.phi", "hinge.w"),
    "act": {"rail.f": (-20.0, 20.0)},
    "reward": lambda y: 1.0 - (y["hinge.phi"] - math.pi / 2) ** 2,
    "terminated": lambda y: abs(y["hinge.phi"] - math.pi / 2) > 0.5,
    "duration": 1.0,
    "begin": leaning,
}


@pytest.mark.filterwarnings("ignore:.*symmetric and normalized space")  # bounds are those of the inputs
@pytest.mark.filterwarnings("ignore:.*is -?infinity")  # and outputs have none
def test_gymnasium_finds_nothing_wrong() -> None:
    check_env(mbfmu.Environment("cart_pendulum", **CART), skip_render_check=True)


def test_an_episode_is_a_simulation() -> None:
    env = mbfmu.Environment("cart_pendulum", **CART)
    observed, _ = env.reset(seed=3)
    again, _ = env.reset(seed=3)
    assert (observed == again).all()
    run = mbfmu.Simulation("cart_pendulum", values={"hinge.phi": float(observed[2])})
    for force in (3.0, -20.0, 20.0, 0.5):
        run.step({"rail.f": force}, DT)
        observed, reward, terminated, truncated, info = env.step(np.array([force * (1 if abs(force) < 20 else 5)]))
        assert observed.tolist() == [run[name] for name in CART["observe"]]
        assert reward == 1.0 - (run["hinge.phi"] - math.pi / 2) ** 2
        assert [terminated, truncated, info["failed"]] == [False] * 3


@pytest.mark.parametrize("stepper", ["projected", "generalized_alpha"])
def test_a_reset_with_a_seed_forgets_all_that_was(stepper: str) -> None:
    envs = mbfmu.Environments("cart_pendulum", 2, stepper=stepper, tolerance=0.0, **CART)

    def rolled() -> list[bytes]:
        observed, _ = envs.reset(seed=1)
        return [observed.tobytes(), *(envs.step(np.zeros((2, 1)))[0].tobytes() for _ in range(5))]

    first = rolled()
    for _ in range(3):
        envs.step(np.full((2, 1), 20.0))
    assert rolled() == first
    assert envs.simulation.time == pytest.approx(5 * DT)


def test_each_of_many_episodes_ends_and_begins_by_itself() -> None:
    envs = mbfmu.Environments("cart_pendulum", 20, **CART)
    observed, _ = envs.reset(seed=1)
    over, ended = np.zeros(20, dtype=bool), 0
    for _ in range(80):
        before = observed
        actions = np.linspace(-20, 20, 20)[:, None]
        observed, rewards, terminated, truncated, _ = envs.step(actions)
        assert (rewards[over] == 0).all()
        assert (abs(observed[over, 2] - math.pi / 2) <= 0.1).all()
        assert (observed[over, 1] == 0).all()
        assert (terminated == ((abs(observed[:, 2] - math.pi / 2) > 0.5) & ~over)).all()
        assert (observed != before).any(axis=1).all()
        over = terminated | truncated
        ended += int(over.sum())
    assert ended > 20
    assert truncated.sum() + terminated.sum() < 20


def test_an_instance_that_fails_ends_its_episode_and_is_told() -> None:
    act = {"shoulder.tau": (-1e15, 1e15)}
    envs = mbfmu.Environments(
        "two_link", 3, dt=0.01, observe=("elbow.phi",), act=act, reward=lambda y: y["elbow.phi"], stepper="rattle"
    )
    first, _ = envs.reset(seed=0)
    observed, rewards, terminated, _, info = envs.step(np.array([[0.0], [1e14], [1.0]]))
    assert info["failed"].tolist() == terminated.tolist() == [False, True, False]
    assert rewards[1] == 0
    assert observed[1] == first[1]
    assert np.isfinite(observed).all()
    observed, _, terminated, _, info = envs.step(np.zeros((3, 1)))
    assert not terminated.any()
    assert not info["failed"].any()
    assert observed[1] == first[1]


def test_an_action_that_a_new_episode_does_not_see_fails_nothing() -> None:
    act = {"shoulder.tau": (-1e15, 1e15)}
    envs = mbfmu.Environments(
        "two_link", 2, dt=0.01, observe=("elbow.phi",), act=act, reward=lambda y: y["elbow.phi"], duration=0.02
    )
    first, _ = envs.reset(seed=0)
    for _ in range(2):
        _, _, _, truncated, _ = envs.step(np.zeros((2, 1)))
    assert truncated.all()
    observed, _, terminated, _, info = envs.step(np.array([[1e14], [0.0]]))
    assert not terminated.any()
    assert not info["failed"].any()
    assert np.array_equal(observed, first)


def test_a_time_that_is_up_truncates() -> None:
    envs = mbfmu.Environments("cart_pendulum", 2, **{**CART, "duration": 0.1, "terminated": None})
    envs.reset(seed=0)
    found = [envs.step(np.zeros((2, 1)))[3].tolist() for _ in range(11)]
    assert [each[0] for each in found] == [False, False, False, False, True, False, False, False, False, False, True]


def test_instances_restart_as_new_ones_begin() -> None:
    made = {"elbow.tau": np.linspace(0, 1, 5)}
    arms = mbfmu.Simulation("two_link", batch=5, stepper="rattle", values={"l1": np.linspace(0.8, 1.2, 5)}, inputs=made)
    arms.step(np.ones(2), 0.05)
    state = arms.state
    arms.restart([1, 3], {"elbow.phi": np.array([0.3, 0.4]), "m2": 1.5}, {"shoulder.tau": [2.0, 3.0]})
    for number, phi, tau in ((1, 0.3, 2.0), (3, 0.4, 3.0)):
        values = {"l1": np.linspace(0.8, 1.2, 5)[number], "elbow.phi": phi, "m2": 1.5}
        inputs = {"elbow.tau": made["elbow.tau"][number], "shoulder.tau": tau}
        alone = mbfmu.Simulation("two_link", stepper="rattle", values=values, inputs=inputs)
        assert arms.outputs[number].tobytes() == alone.outputs.tobytes()
        assert arms.step(None, 0.01)[number].tobytes() == alone.step(None, 0.01).tobytes()
        arms.restore(state)
        arms.restart(np.array([1, 3]), {"elbow.phi": [0.3, 0.4], "m2": 1.5}, {"shoulder.tau": [2.0, 3.0]})
    assert arms.inputs[[0, 2, 4]].tolist() == [[1.0, 1.0]] * 3
    before = arms.outputs.tobytes()
    arms.restart([])
    assert arms.outputs.tobytes() == before


MISTAKES: tuple[tuple[Any, ...], ...] = (
    ([5], {}), ([-1], {}), ([0.5], {}), ([[0]], {}), ("x", {}),
    ([0], {}, {"elbow.tau": "a"}), ([0], {}, {"elbow.tu": 1.0}), ([0], {}, {"elbow.tau": [1.0, 2.0]}),
    ([0], {"l1": -1.0}), ([0, 1], {"l1": [1.0]}), ([0], {"l9": 1.0}), ([0], {"l1": math.nan}), ([0], {"l1": "a"}),
)  # fmt: skip


@pytest.mark.parametrize("wrong", MISTAKES)
def test_a_restart_with_a_mistake_changes_nothing(wrong: tuple[Any, ...]) -> None:
    arms = mbfmu.Simulation("two_link", batch=2)
    before = arms.state
    with pytest.raises((UsageError, UnknownNameError, mbfmu.errors.ValueRangeError)):
        arms.restart(*wrong)
    assert arms.state == before


def test_mistakes_are_told() -> None:
    for wrong, match in (
        ({"observe": ("rail.x",)}, "no 'rail.x'"),
        ({"act": {"rail.g": (0.0, 1.0)}}, "no 'rail.g'"),
        ({"observe": ()}, "outputs to observe"),
        ({"act": {"rail.f": (1.0, -1.0)}}, "least and a greatest"),
        ({"act": {"rail.f": (-math.inf, 1.0)}}, "least and a greatest"),
        ({"act": {"rail.f": 1.0}}, "least and a greatest"),
        ({"act": ["rail.f"]}, "act = .* must be a dictionary"),
        ({"observe": "rail.s"}, "observe = 'rail.s' must be a list"),
        ({"reward": 1.0}, "reward = 1.0 must be a function"),
        ({"duration": 0.0}, "duration"),
        ({"dt": 0.0}, "dt = 0.0 must be a positive number"),
        ({"dt": math.nan}, "dt = nan must be a positive number"),
    ):
        with pytest.raises((UsageError, UnknownNameError), match=match):
            mbfmu.Environments("cart_pendulum", 2, **{**CART, **wrong})
    envs = mbfmu.Environments("cart_pendulum", 2, **CART)
    envs.reset(seed=0)
    before = envs.simulation.state
    for actions, match in (
        (np.zeros((3, 1)), r"shape \(3, 1\) were given, and they are of shape \(2, 1\)"),
        (np.zeros((2, 3)), r"shape \(2, 3\)"),
        (0.0, r"shape \(\)"),
        ([["a"], ["b"]], r"rail\.f must be finite numbers"),
        (np.full((2, 1), 1j), r"rail\.f must be finite numbers"),
    ):
        with pytest.raises(UsageError, match=match):
            envs.step(actions)
    assert envs.simulation.state == before
    env = mbfmu.Environment("cart_pendulum", **{**CART, "duration": DT})
    env.reset(seed=0)
    env.step(np.zeros(1))
    with pytest.raises(UsageError, match="call reset"):
        env.step(np.zeros(1))


def test_a_reward_or_an_end_that_is_none_for_each_environment_is_told() -> None:
    for name, found in (
        ("reward", np.zeros((2, 1))),
        ("reward", np.zeros(3)),
        ("reward", None),
        ("terminated", np.zeros(3, dtype=bool)),
    ):
        envs = mbfmu.Environments("cart_pendulum", 2, **{**CART, name: lambda _, found=found: found})
        envs.reset(seed=0)
        with pytest.raises(UsageError, match=f"{name}: the function returned .* one number for each environment"):
            envs.step(np.zeros((2, 1)))
