"""Model -> Prepared: its equations, its stepper and its kernel, ready to run or to pack."""

import math
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from mbfmu.base.described import refuse_wrong, takes
from mbfmu.dae import Dae, derive
from mbfmu.dae.branches import start_notices
from mbfmu.dae.choice import chosen
from mbfmu.dae.energy import with_balance
from mbfmu.dae.events.conflicts import start_conflict
from mbfmu.dae.inverse import inverse_of
from mbfmu.dae.plausible import value_notices
from mbfmu.dae.start import DIGITS, TOLERANCE, are_dependent, gap_error, missed, singularity, start_error
from mbfmu.dae.states import state_places, with_states
from mbfmu.errors import StartError, StepperError, UsageError, ValueRangeError
from mbfmu.kernel import Bundle, Compiled, compose, library, load, vector
from mbfmu.kernel.build.early import Early, early
from mbfmu.kernel.failure import first_broken, too_long
from mbfmu.kernel.limits import CONSISTENT, MAX_CORRECTIONS, MOST_STEPS, ROUND_OFF
from mbfmu.kernel.many import many_library
from mbfmu.kernel.runtime import NOT_FINITE, OK, STARTS_INSIDE
from mbfmu.model import Model
from mbfmu.prepared import start_cache
from mbfmu.prepared.outline import Outline, outline
from mbfmu.prepared.preparation import Preparation
from mbfmu.prepared.settings import RunSettings
from mbfmu.prepared.start_cache import CachedStart, cache_key
from mbfmu.stepper import Scheme, Usual, family_of, make_scheme, named, usual_stepper

Parts = tuple[Dae, Scheme, Bundle, Usual | None]
"""The equations, the stepper, its functions, and why it has that stepper if none was named."""


@dataclass(frozen=True)
class Prepared:
    """A model with its stepper, ready to run or to pack.

    After a warm start the equations are derived when they are first asked for; a run does not ask for them.

    Args:
        derived: gives the equations, the stepper and its functions.
        step: default of solver.step, s.
        tolerance: default of solver.tolerance.
        keys: under which the start cache stores what a run needs, the second for steps that are too long for the
            stepper that is taken if none is named; None: it is not stored.
        cached: what the start cache held; None: nothing.
        chosen_by: who named the stepper, ``user`` or ``model``; empty: it is the usual one.
        portable: whether the kernel runs on other machines of this kind too.
        coordinates: the coordinates asked for; empty: the usual ones.
    """

    derived: Callable[[], Parts]
    step: float
    tolerance: float = 0.0
    keys: tuple[str | None, str | None] = (None, None)
    cached: CachedStart | None = None
    chosen_by: str = ""
    portable: bool = False
    coordinates: str = ""

    @cached_property
    def _parts(self) -> Parts:
        return self.derived()

    @property
    def dae(self) -> Dae:
        """The equations."""
        return self._parts[0]

    @property
    def scheme(self) -> Scheme:
        """The stepper."""
        return self._parts[1]

    @property
    def bundle(self) -> Bundle:
        """Its functions."""
        return self._parts[2]

    @property
    def key(self) -> str | None:
        """The one of the keys that belongs to the stepper."""
        usual = self.outline.usual
        return self.keys[usual is not None and usual.least > 0]

    @cached_property
    def outline(self) -> Outline:
        """Names, defaults and sizes: what a run needs of the model, which a warm start knows."""
        return self.cached.outline if self.cached else outline(self.dae, self.scheme, self._notices(), self._parts[3])

    def _notices(self) -> tuple[str, ...]:
        """Return what a user should know about the stepper and the model's start."""
        dae, always = self.dae, (*self.scheme.notices, *value_notices(self.dae))
        if not dae.n:
            return always
        p, u, s = dae.p_default(), dae.u_default(), dae.s_default()
        extended, n_s = dae.extended(p), len(dae.start.starts)
        start = self.bundle.formulas["start"]

        def corrected(function: Any, z: Any) -> Any:
            unknowns = np.concatenate([z, np.zeros(start.unknowns - len(z))])
            return [np.array(item).ravel() for item in function.call([s, u, 0 * u, p, 0.0, self.step, unknowns])]

        def closed(x: Any) -> Any:
            for _ in range(MAX_CORRECTIONS if len(x) else 0):
                x, size = corrected(start.correct[0], x)
                if not float(size.item()) > ROUND_OFF:
                    break
            q = dae.start.pose(x, s[:n_s], extended, 0.0)
            Phi = np.max(np.abs(np.array(dae.start.closing(q, extended, 0.0))), initial=0.0)
            gap = np.max(missed(dae, q, s[:n_s], extended, 0.0), initial=0.0)
            return x if Phi <= TOLERANCE and gap <= DIGITS else None

        return (*always, *start_notices(dae, closed, s[:n_s], extended))

    @cached_property
    def kernel(self) -> Compiled:
        """The kernel for this machine, optimised."""
        early: Early | None = vars(self).get("_early")
        if early:
            early.finish()
            return early.kernel
        if self.cached:
            with suppress(OSError):  # it went, or is damaged: it is made anew
                return Compiled(str(self.cached.library))
        kernel = load(self.bundle, lambda _: library(self.bundle, self.portable))
        self._store(Path(kernel.path))
        return kernel

    @property
    def early_kernel(self) -> Compiled:
        """The kernel for this machine, of the same bits but slower until it is compiled with optimisation."""
        if self.cached or "kernel" in vars(self):
            return self.kernel
        return self._early.kernel if self._early else self.kernel

    @cached_property
    def _early(self) -> Early | None:
        self.outline  # noqa: B018 - derived here, not in the thread that stores it
        return early(self.bundle, lambda library: self._store(library.path))

    def _store(self, library: Path) -> None:
        if self.key:
            start_cache.store(self.key, CachedStart(self.outline, library))

    @cached_property
    def many(self) -> str | None:
        """The path of the compiled kernel for many instances; None without a compiler.

        Raises:
            BuildError: the compiler fails.
        """
        key = f"{self.key}-many"
        if self.key and (cached := start_cache.load(key)):
            return str(cached.library)
        path = many_library(self.bundle)
        if self.key and path:
            start_cache.store(key, CachedStart(self.outline, Path(path)))
        return path

    @property
    def stepper(self) -> str:
        """The stepper with its options, as a user writes it."""
        return self.outline.stepper

    @property
    def reason(self) -> str:
        """The reason for the stepper."""
        if self.chosen_by:
            return f"named by the {self.chosen_by}"
        return f"by default: {self.outline.usual.reason}" if self.outline.usual else ""

    def too_long(self, x: Any, u: Any, du: Any, p: Any, t: float, step: float | None = None, kernel: Any = None) -> str:
        """Return a sentence if errors grow from a state on, as steps of equal length are too long for the stepper.

        Args:
            x: state.
            u: inputs there.
            du: their rates.
            p: parameters.
            t: time, s.
            step: length of the steps, s (default: that of this model).
            kernel: what takes the steps (default: the kernel for this machine).
        """
        limit, step = self.outline.limit, self.step if step is None else step
        if limit is None or self.tolerance:
            return ""
        longest = (kernel or self.kernel).longest(x, u, du, p, t, step)
        return "" if longest == math.inf else too_long(step, longest, limit, "steps")

    def initial_state(
        self, u: Any = None, s: Any = None, p: Any = None, kernel: Any = None, stepping: bool = True
    ) -> Any:
        """Return the consistent state x at t = 0.

        Args:
            u: inputs at t = 0 (default: their start values).
            s: start values (default: the model's).
            p: parameters (default: the model's).
            kernel: what solves for it (default: the kernel for this machine).
            stepping: whether steps follow, so that a step that is too long is reported.

        With the model's own start values and parameters, a warning tells what a user should know about the start.

        Raises:
            StartError: there is none, or it is a singular position; the message names the joints.
            ValueRangeError: a calculated parameter is outside its bounds.
        """
        by_default = s is None and (p is None or list(p) == self.outline.p_default().tolist())
        s = vector(self.outline.s_default()) if s is None else s
        p = vector(self.outline.p_default()) if p is None else p
        u = vector(self.outline.u_default()) if u is None else u
        kernel = kernel or self.kernel
        x, status = kernel.initialize(s, u, p, 0.0, self.step)
        if self.outline.bounds and (broken := self.broken(kernel.outputs(x, u, p, 0.0))):
            raise ValueRangeError(f"{self.outline.name}: {broken}")
        if status.code == OK:
            if self.outline.gaps and (inside := self.inside(kernel.outputs(x, u, p, 0.0))) is not None:
                raise self._gap_error(x, p, inside)
            if are_dependent(self.outline.jacobian(x, p)) and (singular := self._singularity(x, p)):
                raise StartError(singular)
            bounded = () if self.tolerance or not stepping else self.outline.bounded(self.step)
            for text in (*self.outline.notices, *bounded) if by_default else ():
                warnings.warn(text, stacklevel=2)
            return x
        if status.code == STARTS_INSIDE:
            raise self._gap_error(x, p, int(status.substeps))
        if self.dae.switches and (reason := start_conflict(self.dae, s, p)):
            raise StartError(f"{self.dae.name}: no start: {reason}")
        if status.code == NOT_FINITE and status.correction <= CONSISTENT and all(map(math.isfinite, s)):
            ended = f"no start: perhaps {', or '.join(self.dae.about.ends)}; else " if self.dae.about.ends else ""
            raise StartError(
                f"{self.dae.name}: {ended}the stepper '{self.scheme.name}' cannot make its first history with a step "
                f"of {self.step:g} s; take a smaller step"
            )
        raise start_error(self.dae, list(s), list(self.dae.extended(p)), 0.0)

    def inside(self, y: Any) -> int | None:
        """Return the number of a gap without events that begins below 0, None if there is none; y: outputs."""
        return next((index for index, offset in enumerate(self.outline.gaps) if y[offset] < -CONSISTENT), None)

    def broken(self, y: Any) -> str:
        """Return a message on a calculated parameter that is out of its bounds, if one is; y: outputs."""
        return first_broken(self.outline.bounds, y)

    def _gap_error(self, x: Any, p: Any, index: int) -> StartError:
        q = self.coordinates_of(x, p)
        return StartError(gap_error(self.dae, q, list(self.dae.extended(p)), 0.0, index))

    def _singularity(self, x: Any, p: Any) -> str:
        return singularity(self.mechanism, self.coordinates_of(x, p), list(self.mechanism.extended(p)), 0.0)

    @property
    def mechanism(self) -> Dae:
        """The equations, which have coordinates.

        Raises:
            UsageError: they are those of a block.
        """
        if not self.dae.n:
            raise UsageError(f"'{self.dae.name}' is a block of equations, and this takes a mechanism")
        return self.dae

    def coordinates_of(self, x: Any, p: Any = None, t: float = 0.0) -> Any:
        """Return the coordinates q of a mechanism's state, shape (n,); p: parameters (default: its own), t: s."""
        dae = self.mechanism
        p = dae.extended(dae.p_default() if p is None else p)
        q, _, _ = self.scheme.read(list(x)[: self.scheme.step.x.numel()], p, t)
        return np.array(q).ravel()

    def states_of(self, x: Any) -> tuple[float, ...]:
        """Return the continuous states [q; v; z] of the state x at t = 0, with the model's parameters; see `states`."""
        dae = self.dae
        p = dae.extended(dae.p_default())
        entries = ca.vertcat(*self.scheme.read(list(x)[: self.scheme.step.x.numel()], p, 0.0))
        return tuple(float(entries[index]) for index in state_places(dae))


@takes(Preparation)
def prepare(request: Preparation) -> Prepared:
    """Derive a model's equations and compose them with a stepper.

    Raises:
        ModelError, StepperError, UnknownNameError: what was requested cannot be.
        UsageError: the step is not a positive number, or the model has no energy balance.
    """
    # The request in one form
    refuse_wrong(request)
    stepper, options = named(request.stepper, request.options)
    request = replace(
        request,
        stepper=stepper,
        options=options,
        coordinates=None if request.coordinates is None else str(chosen(request.coordinates)),
        formulas=dict(request.formulas or {}),
        choices=tuple(request.choices),
    )
    # What the cache holds for it; without a named stepper, that of a step too long for the usual one too
    keys: tuple[str | None, str | None] = (cache_key(request), None)
    cached = _cached(keys[0], request.equal_step)
    if not (cached or request.named):
        keys = (keys[0], cache_key(request, long=True))
        cached = _cached(keys[1], request.equal_step)
    # Equations are derived now, or if the cache holds the rest, when they are used
    system = deepcopy(request.system) if cached else request.system  # its lists may change before it is derived
    prepared = Prepared(
        partial(_derived, replace(request, system=system), options),
        request.step,
        request.tolerance,
        keys,
        cached,
        "user" if stepper else "model" if system.stepper else "",
        request.portable,
        request.coordinates or "",
    )
    if not cached:
        prepared.dae  # noqa: B018 - what was requested is refused here, not later
    return prepared


def prepare_run(
    system: Model, settings: RunSettings, formulas: Mapping[str, str] | None = None, balance: bool = False
) -> Prepared:
    """Return a model prepared for a run; errors as for `prepare`.

    Args:
        system: the model.
        settings: those of the run.
        formulas: inputs that are expressions of ``time`` in the equations, by name.
        balance: whether `energy.balance` is an output.
    """
    return prepare(
        system,
        settings.stepper,
        settings.options,
        settings.longest,
        settings.tolerance or 0.0,
        settings.coordinates,
        formulas,
        balance,
    )


def check_steps(run: str, span: float, step: float, most: float = MOST_STEPS) -> None:
    """Raise an error if a span of time takes more steps than are taken at once, as they would not end.

    Args:
        run: the span in words, with its length.
        span: its length, s.
        step: longest step of the stepper, s.
        most: largest number of steps.

    Raises:
        UsageError: it takes too many steps.
    """
    if span / step > most:
        count = f"{span / step:.3g} steps of {step:g} s"
        raise UsageError(
            f"{run} needs {count}, and at most {most:.3g} are taken at once: take longer steps or a shorter span"
        )


def _cached(key: str | None, step: float) -> CachedStart | None:
    """Return what the start cache holds under a key, if the stepper is the one that is taken for a step, s."""
    cached = start_cache.load(key) if key else None
    usual = cached.outline.usual if cached else None
    return cached if usual is None or usual.suits(step) else None


def _derived(request: Preparation, options: Mapping[str, Any]) -> Parts:
    """Return the parts of a model; options: of its stepper."""
    requested = request.named
    by_step = family_of(requested).contacts if requested else False if request.inverse else None
    dae = derive(request.system, request.coordinates, request.formulas, request.choices, by_step)
    if request.energy_balance:
        dae = with_balance(dae)
    if request.inverse:
        dae = inverse_of(dae)
    if request.states:
        dae = with_states(dae, request.indicators)
    usual = None if requested else usual_stepper(dae, request.equal_step)
    stepper = usual.name if usual else requested
    scheme = make_scheme(dae, stepper, {**usual.options, **options} if usual else options)
    if request.tolerance and scheme.multistep:
        raise StepperError(
            f"stepper '{stepper}' is a multistep method here and cannot choose its steps by a tolerance: leave the "
            "tolerance out, or take a one-step method such as 'projected'"
        )
    return dae, scheme, compose(dae, scheme), usual
