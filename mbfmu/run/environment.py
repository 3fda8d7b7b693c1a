"""Environments: a model as Gymnasium has it, for reinforcement learning; one, or many that step together."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mbfmu.base import extras
from mbfmu.base.arguments import checked, numbers
from mbfmu.errors import ResultWarning, UnknownNameError, UsageError, nearest
from mbfmu.run.batch import BatchSimulation
from mbfmu.run.simulation import span_of

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError:
    raise UsageError(f"environments need gymnasium: {extras.command('learning')}") from None

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Seen = Mapping[str, Array]
Begin = Callable[[np.random.Generator, int], Mapping[str, Any]]


class Environments(VectorEnv[Array, Array, Any]):
    """Many environments made from a model, which step together and begin new episodes by themselves.

    `reset` begins all episodes at t = 0. An episode that is over begins again in the next step, whose action it does
    not see (`AutoresetMode.NEXT_STEP`), while the time of the simulation continues. An instance whose step fails ends
    its episode with the last reward 0 and the observation before; ``info["failed"]`` tells which.

    Args:
        model: see `mbfmu.Simulation`.
        num_envs: number of environments, N.
        dt: time between two actions, s.
        observe: names of outputs that are observed.
        act: bounds of the inputs that actions set, by name.
        reward: function of all outputs by name, each of shape (N,), that returns rewards of shape (N,).
        terminated: such a function that returns whether an episode is over; None: none is before its time.
        duration: longest episode, s.
        begin: function of random numbers and a number k of episodes that returns parameters and start values by name,
            numbers or arrays of shape (k,); None: all begin as the model does.
        choices: how instances are made and step: see `mbfmu.Simulation`.

    Raises:
        UsageError, UnknownNameError: an argument is invalid.
        ModelError, StepperError, StartError: the model, the stepper or the start is invalid.
    """

    @checked
    def __init__(
        self,
        model: Any,
        num_envs: int,
        *,
        dt: float,
        observe: Sequence[str],
        act: Mapping[str, Any],
        reward: Callable[[Seen], Any],
        terminated: Callable[[Seen], Any] | None = None,
        duration: float = np.inf,
        begin: Begin | None = None,
        **choices: Any,
    ) -> None:
        self.metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}
        first = begin(np.random.default_rng(0), num_envs) if begin else {}
        choices["values"] = {**(choices.get("values") or {}), **first}
        self.simulation = BatchSimulation(model, batch=num_envs, **choices)
        self.num_envs, self._dt, self._duration = num_envs, span_of(dt, self.simulation._step), duration
        self._reward, self._terminated, self._begin = reward, terminated, begin
        known, inputs = self.simulation.output_names, self.simulation.input_names
        for names, all_names in ((observe, known), (act, inputs)):
            for name in names:
                if name not in all_names:
                    raise UnknownNameError(f"'{self.simulation.name}' has no '{name}'; {nearest(name, all_names)}")
        if not observe or not act:
            raise UsageError("an environment needs outputs to observe and inputs to act on")
        if not duration > 0:
            raise UsageError(f"the duration is {duration} s; it must be positive")
        bounds = [numbers(item) for item in act.values()]
        low, high = (np.array([item[k] if item.shape == (2,) else np.nan for item in bounds]) for k in (0, 1))
        if not (np.isfinite([low, high]).all() and (low < high).all()):
            raise UsageError("act: each input has a least and a greatest value, two finite numbers")
        self._seen = [known.index(name) for name in observe]
        self._acted = tuple(act)
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (len(observe),), np.float64)
        self.single_action_space = gymnasium.spaces.Box(low, high, dtype=np.float64)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._age = np.zeros(num_envs)
        self._over = np.zeros(num_envs, dtype=np.bool_)
        self._last = np.array(self.simulation.outputs[:, self._seen])
        self._new = self.simulation.state

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Return the observations at the beginning of new episodes, shape (N, n_observed)."""
        super().reset(seed=seed, options=options)
        self.simulation.restore(self._new)
        self._restart(np.arange(self.num_envs))
        return self._observed(), {}

    def step(self, actions: Any) -> tuple[Array, Array, Flags, Flags, dict[str, Any]]:
        """Advance by dt; return observations, rewards, which episodes are over, whose time is up, and info.

        Args:
            actions: values of the inputs, shape (N, n_actions); they are clipped to their bounds.

        Raises:
            UsageError: the actions are no numbers, or of another shape, or a function of outputs does not return one
                number for each environment.
        """
        forces = _within(actions, self.action_space)
        run, fresh = self.simulation, self._over
        before = run.failed
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResultWarning)  # info tells
            run.step({name: forces[:, k] for k, name in enumerate(self._acted)}, self._dt)
        failed = run.failed & ~before & ~fresh
        self._age += self._dt
        self._restart(np.flatnonzero(fresh))
        outputs = {name: run[name] for name in run.output_names}
        rewards = np.where(failed | fresh, 0.0, self._of_each("reward", self._reward(outputs)))
        over = np.zeros(self.num_envs, dtype=np.bool_)
        if self._terminated is not None:
            over = self._of_each("terminated", self._terminated(outputs)) != 0
        terminated = np.asarray((over | failed) & ~fresh)
        truncated = np.asarray((self._age >= self._duration * (1 - 1e-9)) & ~terminated & ~fresh)
        self._over = terminated | truncated
        return self._observed(), rewards, terminated, truncated, {"failed": failed}

    def _of_each(self, quantity: str, returned: Any) -> Array:
        """Return the values of a function of outputs, shape (N,).

        Raises:
            UsageError: it is neither a number nor one for each environment.
        """
        values = np.asarray(returned)
        if values.dtype.kind not in "biuf" or values.shape not in ((), (self.num_envs,)):
            raise UsageError(
                f"{quantity}: the function returned a {type(returned).__name__} of the shape {values.shape}; "
                f"there must be one number for each environment, of the shape ({self.num_envs},)"
            )
        return np.broadcast_to(values.astype(np.float64), (self.num_envs,))

    def _restart(self, instances: npt.NDArray[np.intp]) -> None:
        if len(instances):
            values = self._begin(self.np_random, len(instances)) if self._begin else {}
            self.simulation.restart(instances, values)
            self._age[instances] = 0.0
            self._over = self._over.copy()
            self._over[instances] = False

    def _observed(self) -> Array:
        """Return the observations; those of instances that have failed are the last ones."""
        observed = np.array(self.simulation.outputs[:, self._seen])
        lost = self.simulation.failed
        observed[lost] = self._last[lost]
        self._last = observed
        return np.array(observed)


def _within(actions: Any, space: Any) -> Array:
    """Return actions as numbers within the bounds of their space.

    Raises:
        UsageError: they are of another shape.
    """
    values = numbers(actions)
    if values.shape != space.shape:
        raise UsageError(f"step: actions of the shape {values.shape} were given, and they are of shape {space.shape}")
    return np.clip(values, space.low, space.high)


class Environment(gymnasium.Env[Array, Array]):
    """An environment made from a model; its arguments are those of `Environments`, without their number.

    Functions of outputs get arrays of shape (1,), so that both take the same ones.
    """

    def __init__(self, model: Any, **arguments: Any) -> None:
        self._one = Environments(model, 1, **arguments)
        self.observation_space = self._one.single_observation_space
        self.action_space = self._one.single_action_space

    @property
    def simulation(self) -> BatchSimulation:
        """The simulation, of one instance."""
        return self._one.simulation

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Return the observation at the beginning of a new episode, shape (n_observed,)."""
        super().reset(seed=seed, options=options)
        observed, info = self._one.reset(seed=seed, options=options)
        return observed[0], info

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Advance by dt; return observation, reward, whether it is over, whether its time is up, and info.

        Args:
            action: values of the inputs, shape (n_actions,).

        Raises:
            UsageError: the episode is over, or the action is no numbers, or of another shape.
        """
        if self._one._over[0]:
            raise UsageError("the episode is over: call reset")
        observed, reward, terminated, truncated, info = self._one.step(_within(action, self.action_space)[None])
        return (
            observed[0],
            float(reward[0]),
            bool(terminated[0]),
            bool(truncated[0]),
            {"failed": bool(info["failed"][0])},
        )
