"""Dae + Scheme -> Bundle: the pure functions a kernel is made of.

Each formula becomes, for every stage k, ``guess{k}`` and ``correct{k}``, and a ``result``. All have the arguments
(x, u, du, p, t, h, z), with z the unknowns of all stages one after the other:

    guess{k}   -> first value of the stage's unknowns; the values of a `Let` or a `Call`, which has no ``correct{k}``
    correct{k} -> (the unknowns after one correction, the size of the correction: its 1-norm, so that any NaN shows)
    result     -> value of the formula

Of a stage whose nodes are decoupled, ``correct{k}`` gives the residual, and ``slopes{k}`` and ``renewed{k}`` what it is
linearised to: the correction is that of decoupled.c.

A formula with an error estimate gives it as the second result of ``guess0``, or of ``result`` if it has no stages. What
runs a bundle (formulas.c) repeats ``correct{k}`` until the correction is at round-off.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import casadi as ca

from mbfmu.dae.dae import Dae
from mbfmu.dae.events.impact import STILL, switch_formula
from mbfmu.dae.events.modes import BEGINNING
from mbfmu.dae.formula import Call, Decoupled, Formula, Let, Stage, arguments, solve_linear
from mbfmu.dae.linear_algebra.jacobian import jacobian_of
from mbfmu.dae.linear_algebra.merged import merged, operations
from mbfmu.dae.start import start_formula
from mbfmu.dae.states import measured_places
from mbfmu.kernel.emit.sources import called
from mbfmu.kernel.limits import CLOSE
from mbfmu.model.frame import wrapped
from mbfmu.stepper.projected import projected
from mbfmu.stepper.scheme import CALLED, Scheme, relative_change

LENGTHY = 10_000
"""Number of operations of a function above which formulas and files call it, instead of computing it each together with
the rest: that saves operations, but takes its time to write and to compile."""
TIME_ROUND_OFF = 1e-15
"""Round-off of the time, as a part of it, within which a sampling counts as due."""


@dataclass(frozen=True)
class DecoupledStage:
    """A stage whose nodes are decoupled, see `Decoupled`; its ``correct{k}`` is the Function -> its residual.

    Args:
        stage: number of the stage.
        watched: number of its leading unknowns that decide about convergence.
        matrices: what decouples it.
        slopes: Functions -> the matrices of the linearisation, at the start and at the unknowns.
    """

    stage: int
    watched: int
    matrices: Decoupled
    slopes: tuple[Any, Any]


@dataclass(frozen=True)
class FormulaFunctions:
    """A formula as functions.

    Args:
        sizes: number of unknowns of each stage.
        places: place of the first of these among the unknowns z.
        guess: one Function for each stage.
        correct: one Function for each stage; None for a `Let` and a `Call`.
        result: Function.
        equations: one Function for each stage, with the arguments above -> (residual, its Jacobian in the stage's
            unknowns); None for a `Let`, a `Call` and a stage with a correction of its own.
        slope: Function like the result, whose derivatives are those of the result; None: the result itself.
        rough: numbers of the stages whose passes may end before they are at rest.
        lasting: number of the stage whose values the first stage will have in a step that begins at the result, and
            whose place they take; 0: there is none.
        coordinates: number of the leading entries of the formula's argument that are coordinates, in whose rounding
            errors the unknowns may end.
        decoupled: the stage whose nodes are decoupled; None: there is none.
    """

    sizes: tuple[int, ...]
    places: tuple[int, ...]
    guess: tuple[Any, ...]
    correct: tuple[Any, ...]
    result: Any
    equations: tuple[Any, ...]
    slope: Any = None
    rough: tuple[int, ...] = ()
    lasting: int = 0
    coordinates: int = 0
    decoupled: DecoupledStage | None = None

    @property
    def unknowns(self) -> int:
        """Number of entries of z."""
        return max((offset + size for offset, size in zip(self.places, self.sizes, strict=True)), default=0)

    def functions(self) -> list[Any]:
        """Return all functions."""
        slopes = self.decoupled.slopes if self.decoupled else ()
        return [*self.guess, *filter(None, self.correct), *slopes, self.result]


@dataclass(frozen=True)
class Bundle:
    """All functions of one model with one stepper.

    Args:
        formulas: ``start`` s -> [q; v; z; angles; memory; ticks; residual], ``begin`` [q; v; z; angles; memory; ticks]
            -> x, ``step`` x -> x; with sampled blocks ``sample`` x -> [q; v; z; angles; memory; ticks], with what the
            blocks whose time has come compute; with gaps or frictions ``switch`` x -> the same, after an event, and if
            `short` says so ``short`` x -> the same and the held inputs, for what begins after a short step: x
            is the state before it if `replaced`, else the one after it. Modes stand at the end of the memory.
        outputs: Function (x, u, p, t) -> y: the Dae's outputs, then its bound parameters.
        observed: Function (q, v, z, turned, u, p, t) -> the same, which no part of a kernel calls by its name.
        state_difference: Function (xa, xb, p, t) -> difference of two states, relative to 1 and their size; None for a
            solver of its own, as `moved` then.
        measured: Function (x, p, t) -> those of [q; v; z] whose errors are estimated; None for a solver of its own,
            and where there are none or a motion comes from inputs, whose values belong to one step.
        order: order of the stepper.
        estimate_order: order of the error estimate that comes with a step; 0: there is none.
        nx, ns, nu, np, ny, nqv: sizes of x, s, u, p, y and [q; v; z; angles; memory; ticks].
        until_sampling: Function (x, p, t) -> time until the next sampling, s, 0 if one is due, and the distance from it
            within which it counts as due; None without sampled blocks.
        held: place and number of the entries of x that hold sampled inputs and their time.
        guards: Function (x, u, p, t) -> numbers that are positive as long as the modes hold; None without modes.
        moved: Function (xa, xb, p, t) -> how far a step from xa to xb is from rest, 0 at rest, and how far a
            slip in space turns, 1 at most; None without modes.
        n_scheme: number of the leading entries of x that are the stepper's.
        n_moving: number of the leading entries of x that are coordinates, rates or momenta, and first-order states, in
            a one-step method.
        fallen: place of the entries of x that tell which guards have fallen.
        closed: place and number of the entries of x that tell which gaps are closed; these have the first guards.
        slips: number of slip velocities, which have the next guards.
        short: part of the usual step below which a step is short; 0: none is.
        replaced: whether ``short`` takes the short step too.
        rates: Function (x, u, p, t) -> time derivative of [q; v; z], for a solver of its own (see `exchange`); None
            for a stepper.
        drift: Function (x, u, p, t) -> change of [q; v; z] that leads back onto the constraints, to first order, and
            their largest violation, m, rad, m/s or rad/s; None without constraints, and for a stepper.
    """

    formulas: Mapping[str, FormulaFunctions]
    outputs: Any
    observed: Any
    state_difference: Any
    measured: Any
    order: int
    estimate_order: int
    nx: int
    ns: int
    nu: int
    np: int
    ny: int
    nqv: int
    until_sampling: Any = None
    held: tuple[int, int] = (0, 0)
    guards: Any = None
    moved: Any = None
    n_scheme: int = 0
    n_moving: int = 0
    fallen: int = 0
    closed: tuple[int, int] = (0, 0)
    slips: int = 0
    short: float = 0.0
    replaced: bool = False
    rates: Any = None
    drift: Any = None

    def functions(self) -> list[Any]:
        """Return all functions, each with a name of its own."""
        optional = [
            self.state_difference, self.measured, self.until_sampling, self.guards, self.moved, self.rates, self.drift,
        ]  # fmt: skip
        result = [self.outputs, *filter(None, optional)]
        for item in self.formulas.values():
            result += item.functions()
        return result


def without_steps(bundle: Bundle) -> Bundle:
    """Return a bundle for starts and outputs alone: its steps change nothing."""
    step = bundle.formulas["step"].result
    inputs = [ca.SX.sym(f"i{k}", step.sparsity_in(k)) for k in range(step.n_in())]
    result = ca.Function(step.name(), inputs, [inputs[0][: step.numel_out(0)]])
    still = FormulaFunctions((), (), (), (), result, ())
    return replace(bundle, formulas={**bundle.formulas, "step": still}, estimate_order=0)


def compose(dae: Dae, scheme: Scheme) -> Bundle:
    """Return the bundle of equations and a scheme made for them.

    The bundle's state is the scheme's state, followed by the angles counted over full turns, by the time at which held
    inputs last changed and their values then, by what sampled blocks remember and by the numbers of their next
    sampling instants, and by the step chosen last, which the functions do not read.
    """
    # The formulas: of the start, of the first state x, and of a step with its full turns counted
    start = start_formula(dae)
    begin, step = scheme.begin, scheme.step
    n_scheme = step.x.numel()
    formulas = {
        "start": _functions("start", start),
        "begin": _functions("begin", _with_first_angles(dae, begin)),
        "step": replace(_functions("step", _with_counted_angles(dae, scheme)), coordinates=dae.n),
    }
    # Outputs y(x), and the difference of two states
    stepping = [*formulas["step"].functions(), *formulas["begin"].functions()]
    observed = _observed(dae, stepping)
    outputs, state_difference = _outputs(dae, scheme, observed), _state_difference(dae, scheme)
    measured = _measured(dae, scheme) if measured_places(dae) and not dae.n_held else None
    n_x = n_scheme + dae.n_angles
    # Held inputs and memory follow the scheme's state; formulas hand them on
    until = None
    guards = moved = None
    if dae.n_held + dae.n_memory:
        formulas = {name: _keeping(dae, scheme, name, item) for name, item in formulas.items()}
        outputs = with_kept(dae, outputs, (0,), 2, scheme)
        state_difference = with_kept(dae, state_difference, (0, 1), 2)
        measured = measured and with_kept(dae, measured, (0,), 1)
    # Formulas at samplings and events
    if dae.sampling:
        formulas["sample"], until = _sample(dae, scheme)
    if dae.switching:
        formulas["switch"] = _of_whole(dae, scheme, _functions("switch", switch_formula(dae)), False)
        if scheme.short:
            formulas["short"] = _of_whole(dae, scheme, _functions("short", _short(dae, scheme)), True)
        guards = with_kept(dae, guards_of(dae, scheme, stepping), (0,), 2)
        moved = with_kept(dae, _moved(dae, scheme), (0, 1), 2)
    # All functions with the sizes of what they take
    return Bundle(
        formulas=formulas,
        outputs=outputs,
        observed=observed,
        state_difference=state_difference,
        measured=measured,
        order=scheme.order,
        estimate_order=scheme.estimate_order,
        nx=n_x + dae.n_held + dae.n_memory + dae.n_c + 1,
        ns=start.x.numel(),
        nu=len(dae.inputs),
        np=len(dae.parameters),
        ny=outputs.numel_out(0),
        nqv=2 * dae.n + dae.n_z + dae.n_angles + dae.n_memory + dae.n_c,
        until_sampling=until,
        held=(n_x, dae.n_held),
        guards=guards,
        moved=moved,
        n_scheme=n_scheme,
        n_moving=2 * dae.n + dae.n_z,
        fallen=n_x + dae.n_held + dae.n_memory - 2 - (guards.numel_out(0) if guards else 0),
        closed=(n_x + dae.n_held + dae.n_w + dae.n_d, len(dae.switching.switches.gaps)) if dae.switching else (0, 0),
        slips=len(dae.switching.switches.frictions) if dae.switching else 0,
        short=scheme.short if dae.switching else 0.0,
        replaced=scheme.replaced,
    )


def _with_first_angles(dae: Dae, begin: Formula) -> Formula:
    counted = type(begin.x).sym("counted", dae.n_angles)
    return Formula(ca.vertcat(begin.x, counted), begin.arguments, begin.stages, ca.vertcat(begin.result, counted))


def _with_counted_angles(dae: Dae, scheme: Scheme) -> Formula:
    step, symbols = scheme.step, scheme.step.arguments
    if not dae.n_angles:
        return step
    turned = type(step.x).sym("turned", dae.n_angles)
    q1, _, _ = scheme.read(step.result, symbols.p, symbols.t + symbols.h)
    change = wrapped(dae.angles(q1, symbols.p, symbols.t + symbols.h) - turned)  # by less than half a turn in a step
    return replace(step, x=ca.vertcat(step.x, turned), result=ca.vertcat(step.result, turned + change))


def _state_difference(dae: Dae, scheme: Scheme) -> Any:
    n_scheme, lengthy = scheme.step.x.numel(), operations(scheme.read) > CALLED
    kind = ca.MX if lengthy else ca.SX
    xa, xb = (kind.sym(name, n_scheme + dae.n_angles) for name in ("xa", "xb"))
    p, t = kind.sym("p", scheme.step.arguments.p.numel()), kind.sym("t")
    a, b = (ca.vertcat(*scheme.read(x[:n_scheme], p, t)) for x in (xa, xb))
    change = relative_change(dae)(a - b, b)
    return (ca.Function if lengthy else merged)("state_difference", [xa, xb, p, t], [change])


def _measured(dae: Dae, scheme: Scheme) -> Any:
    """Return the Function of `Bundle.measured`."""
    n_scheme, lengthy = scheme.step.x.numel(), operations(scheme.read) > CALLED
    kind = ca.MX if lengthy else ca.SX
    x = kind.sym("x", n_scheme + dae.n_angles)
    p, t = kind.sym("p", scheme.step.arguments.p.numel()), kind.sym("t")
    values = ca.densify(ca.vertcat(*scheme.read(x[:n_scheme], p, t))[list(measured_places(dae))])
    return (ca.Function if lengthy else merged)("measured", [x, p, t], [values])


def _observed(dae: Dae, stepping: list[Any]) -> Any:
    """Return the Function (q, v, z, turned, u, p, t) -> y of `Bundle.observed`.

    It may call the accelerations that begin and step call.

    Args:
        dae: the equations.
        stepping: the functions of ``begin`` and ``step``.
    """
    acceleration, shared = _acceleration(dae, stepping)
    kind = ca.MX if shared else ca.SX
    sizes = {"q": dae.n, "v": dae.n, "z": dae.n_z, "turned": dae.n_angles, "u": len(dae.inputs), "p": dae.n_p, "t": 1}
    q, v, z, turned, u, p, t = inputs = [kind.sym(*item) for item in sizes.items()]
    a, lambda_ = acceleration(q, v, z, u, p, t)
    output = dae.output
    if shared:
        symbols = output.sx_in()
        output = merged("output", symbols, output.call(symbols))
    y = ca.vertcat(output(q, v, z, turned, a, lambda_, u, p, t), dae.bound_values(p))
    return (ca.Function if shared else merged)("observed", inputs, [ca.densify(y)])


def _acceleration(dae: Dae, stepping: list[Any]) -> tuple[Callable[..., Any], bool]:
    """Return (q, v, z, u, p, t) -> (a, lambda_), and whether it is one that the functions of a step call too."""
    shared = None
    if operations(dae.acceleration) > LENGTHY:
        shared = next((item for item in called(stepping) if item.name() == dae.acceleration.name()), None)
    if shared is None or shared.n_in() == dae.acceleration.n_in():
        return shared or dae.acceleration, shared is not None
    return lambda q, v, _, u, p, t: shared(q, v, u, p, t), True


def _outputs(dae: Dae, scheme: Scheme, observed: Any) -> Any:
    """Return the Function of `Bundle.outputs`, which calls `observed` if that is long, for its tangents to do so too.

    Args:
        dae: the equations.
        scheme: the stepper.
        observed: the Function of `Bundle.observed`.
    """
    is_called = operations(observed) > CALLED
    kind = ca.MX if is_called else ca.SX
    sizes = (scheme.step.x.numel() + dae.n_angles, len(dae.inputs), dae.n_p, 1)
    x, u, p, t = (kind.sym(*item) for item in zip(("x", "u", "p", "t"), sizes, strict=True))
    scheme_x, turned = _cut(x, scheme.step.x.numel(), dae.n_angles)
    y = observed(*scheme.read(scheme_x, p, t), turned, u, p, t)
    return (ca.Function if is_called else merged)("outputs", [x, u, p, t], [y])


def _keeping(dae: Dae, scheme: Scheme, name: str, functions: FormulaFunctions) -> FormulaFunctions:
    """Return a formula's functions with held inputs and memory as part of the state instead of the parameters.

    Redundant rows follow the motion from step end to step end.
    """
    kept, n_scheme = dae.n_memory + dae.n_c, scheme.step.x.numel()
    tail = {"start": 0, "begin": kept, "step": dae.n_held + kept}[name]

    def keeping(function: Any, result: bool) -> Any:
        first = function.sparsity_in(0).numel()
        x, u, du, p, t, h, z = _arguments(dae, first + tail, function)
        held = ca.vertcat(t, u[list(dae.sampled)]) if dae.sampled else ca.MX(0, 1)
        scheme_x, before, memory, ticks = _cut(x, first, tail - kept if name != "start" else 0, dae.n_memory, dae.n_c)
        if dae.sampled and name == "step":
            held = held_inputs(dae, before, u, t)
        if name == "start":
            memory, ticks = _begun(dae, p, t)
        whole = ca.vertcat(p, held, memory)
        results = function.call([scheme_x, u, du, whole, t, h, z])
        if result and dae.constraints.follow:
            end = t + h if name == "step" else t
            q = results[0][: dae.n] if name == "start" else scheme.read(_cut(results[0], n_scheme)[0], whole, end)[0]
            memory = dae.followed(q, whole, end)[len(dae.parameters) + dae.n_held :]
        if result and name == "start":
            state, residual = _cut(results[0], results[0].numel() - 1, 1)
            results[0] = ca.vertcat(state, memory, ticks, residual)
        elif result:
            results[0] = ca.vertcat(results[0], held, memory, ticks)
        return ca.Function(function.name(), [x, u, du, p, t, h, z], [ca.densify(item) for item in results])

    return _each(functions, keeping)


def _arguments(dae: Dae, size: int, function: Any) -> list[Any]:
    """Return MX symbols for (x, u, du, p, t, h, z), for x of a size and the unknowns z of a formula's function."""
    sizes = (size, len(dae.inputs), len(dae.inputs), len(dae.parameters), 1, 1, function.sparsity_in(6).numel())
    return [ca.MX.sym(*item) for item in zip(("x", "u", "du", "p", "t", "h", "z"), sizes, strict=True)]


def _each(functions: FormulaFunctions, changed: Callable[[Any, bool], Any]) -> FormulaFunctions:
    """Return a formula's functions, each changed by a map (function, whether it is the result)."""
    return replace(
        functions,
        guess=tuple(changed(item, False) for item in functions.guess),
        correct=tuple(item and changed(item, False) for item in functions.correct),
        result=changed(functions.result, True),
        equations=tuple(item and changed(item, False) for item in functions.equations),
        slope=functions.slope and changed(functions.slope, True),
        decoupled=functions.decoupled
        and replace(functions.decoupled, slopes=tuple(changed(item, False) for item in functions.decoupled.slopes)),
    )


def held_inputs(dae: Dae, before: Any, u: Any, t: Any) -> Any:
    """Return the held inputs and the time at which they last changed, as they were or, if one has changed, now."""
    if not dae.sampled:
        return before
    old, new = (ca.SX.sym(label, dae.n_held) for label in ("before", "now"))
    latest = ca.Function("latest", [old, new], [ca.if_else(ca.logic_all(old[1:] == new[1:]), old, new)])
    return latest(before, ca.vertcat(t, u[list(dae.sampled)]))


def _cut(x: Any, *sizes: int) -> list[Any]:
    """Return the first entries of a column in pieces of these sizes, each a column too; those beyond are empty."""
    offsets = [0]
    for size in sizes:
        offsets.append(min(offsets[-1] + size, x.numel()))
    *pieces, _ = ca.vertsplit(x, [*offsets, x.numel()])
    return list(pieces)


def _begun(dae: Dae, p: Any, t: Any) -> tuple[Any, Any]:
    """Return the memory at the start and the number of the first sampling of each clock, for parameters p.

    No mode acts yet; the events are counted from there on.
    """
    kind = type(p)
    modes = ca.DM.zeros(dae.n_modes)
    if dae.switching:
        modes[-2] = BEGINNING
    modes, reflections = kind(modes), kind.zeros(dae.n_w)
    if not dae.sampling:
        return ca.densify(ca.vertcat(reflections, modes)), kind(0, 1)
    whole = ca.vertcat(p, kind.zeros(dae.n_held + dae.n_memory))
    period, offset, near = _timing(dae, whole, t)
    return ca.vertcat(reflections, dae.sampling.first(whole), modes), ca.fmax(0, ca.ceil((t - offset - near) / period))


def _timing(dae: Dae, p: Any, t: Any) -> tuple[Any, Any, Any]:
    """Return each clock's period and offset, and the distance from a sampling within which it counts as due, s."""
    assert dae.sampling is not None
    timing = dae.sampling.timing(p)
    period, offset = timing[0::2], timing[1::2]
    return period, offset, CLOSE * ca.fmin(period, ca.fabs(t)) + TIME_ROUND_OFF * ca.fabs(t)


def _left(dae: Dae, p: Any, ticks: Any, t: Any) -> tuple[Any, Any]:
    """Return the time until each clock's next sampling, and the distance from it within which it counts as due, s."""
    period, offset, near = _timing(dae, p, t)
    return offset + ticks * period - t, near


def _sampler(dae: Dae, scheme: Scheme) -> Any:
    """Return the Function (x, u, p, ticks, t) -> memory and ticks after the sampling instants that are due.

    x is the scheme's state, p holds the memory, ticks are the numbers of the next sampling instants.
    """
    assert dae.sampling is not None
    x, u, p = ca.SX.sym("x", scheme.step.x.numel()), ca.SX.sym("u", len(dae.inputs)), ca.SX.sym("p", dae.n_p)
    ticks, t = ca.SX.sym("ticks", dae.n_c), ca.SX.sym("t")
    left, near = _left(dae, p, ticks, t)
    due = left <= near
    first = dae.n_p - dae.n_memory
    _, reflections, _, modes = ca.vertsplit(p, [0, first, first + dae.n_w, dae.n_p - dae.n_modes, dae.n_p])
    memory = ca.vertcat(reflections, dae.sampling.update(*scheme.read(x, p, t), u, p, t, due), modes)
    return merged("sampler", [x, u, p, ticks, t], [ca.densify(memory), ticks + due])


def _sample(dae: Dae, scheme: Scheme) -> tuple[FormulaFunctions, Any]:
    """Return the formula that lets sampled blocks compute, and the Function (x, p, t) of the time until they do."""
    sizes = (scheme.step.x.numel(), dae.n_angles, dae.n_held + dae.n_memory, dae.n_c)
    x, p, t, h = ca.MX.sym("x", sum(sizes)), ca.MX.sym("p", len(dae.parameters)), ca.MX.sym("t"), ca.MX.sym("h")
    u, du, none = ca.MX.sym("u", len(dae.inputs)), ca.MX.sym("du", len(dae.inputs)), ca.MX.sym("z", 0)
    scheme_x, angles, kept, ticks = _cut(x, *sizes)
    whole = ca.vertcat(p, kept)
    memory, next_ticks = _sampler(dae, scheme).call([scheme_x, u, whole, ticks, t])
    result = ca.densify(ca.vertcat(*scheme.read(scheme_x, whole, t), angles, memory, next_ticks))
    return (
        FormulaFunctions((), (), (), (), ca.Function("sample_result", [x, u, du, p, t, h, none], [result]), ()),
        _until_sampling(dae, sizes),
    )


def _short(dae: Dae, scheme: Scheme) -> Formula:
    """Return the formula [q; v; z] -> [q; v; z] to begin from: after a step of `projected`, or the same."""
    if scheme.replaced:
        return replace(projected(dae, 8).step, estimate=None)
    x = ca.SX.sym("x", 2 * dae.n + dae.n_z)
    return Formula(x, arguments(len(dae.inputs), dae.n_p, ca.SX), (), x)


def _of_whole(dae: Dae, scheme: Scheme, inner: FormulaFunctions, short: bool) -> FormulaFunctions:
    """Return functions of the whole state, from those of a formula of [q; v; z].

    Args:
        dae: the equations.
        scheme: the stepper.
        inner: the functions of ``switch``, whose result ends in the modes, or of ``short``.
        short: whether they are those of ``short``.
    """
    stepping = short and scheme.replaced  # such a step counts angles and holds inputs as others do
    sizes = (scheme.step.x.numel(), dae.n_angles, dae.n_held, dae.n_memory, dae.n_c)

    def whole(function: Any, result: bool) -> Any:
        x, u, du, p, t, h, z = _arguments(dae, sum(sizes), function)
        scheme_x, angles, held, memory, ticks = _cut(x, *sizes)
        if stepping:
            held = held_inputs(dae, held, u, t)
        every = ca.vertcat(p, held, memory)
        results = function.call([ca.vertcat(*scheme.read(scheme_x, every, t)), u, du, every, t, h, z])
        if result and short:
            change = wrapped(dae.angles(results[0][: dae.n], every, t + h) - angles) if stepping else 0
            results[0] = ca.vertcat(results[0], angles + change, memory, ticks, held)
        elif result:
            state, modes = _cut(results[0], 2 * dae.n + dae.n_z, dae.n_modes)
            (kept,) = _cut(memory, dae.n_w + dae.n_d)
            results[0] = ca.vertcat(state, angles, kept, modes, ticks)
        return ca.Function(function.name(), [x, u, du, p, t, h, z], [ca.densify(item) for item in results])

    return _each(inner, whole)


def guards_of(dae: Dae, scheme: Scheme, stepping: list[Any]) -> Any:
    """Return the Function (x, u, p, t) of `Bundle.guards`, with modes at the end of p.

    It may call the accelerations that some functions of a step call.
    """
    assert dae.switching is not None
    acceleration, shared = _acceleration(dae, stepping)
    kind, n_scheme = ca.MX if shared else ca.SX, scheme.step.x.numel()
    x, u = kind.sym("x", n_scheme + dae.n_angles), kind.sym("u", len(dae.inputs))
    p, t = kind.sym("p", dae.n_p), kind.sym("t")
    q, v, z = scheme.read(x[:n_scheme], p, t)
    guards = dae.switching.guards(q, v, z, *acceleration(q, v, z, u, p, t), u, p, t)
    return (ca.Function if shared else merged)("guards", [x, u, p, t], [ca.densify(guards)])


def _moved(dae: Dae, scheme: Scheme) -> Any:
    """Return the Function (xa, xb, p, t) of `Bundle.moved`, with modes at the end of p.

    A step is at rest if it begins at rest and all its changes are round-off.
    """
    assert dae.switching is not None
    n_scheme = scheme.step.x.numel()
    xa, xb = (ca.SX.sym(name, n_scheme + dae.n_angles) for name in ("xa", "xb"))
    p, t = ca.SX.sym("p", dae.n_p), ca.SX.sym("t")
    (q, v, z), (q1, v1, z1) = (scheme.read(x[:n_scheme], p, t) for x in (xa, xb))
    size = ca.vertcat(1 + ca.fabs(q), ca.SX.ones(dae.n), ca.DM(dae.nominal_states) + ca.fabs(z))
    change = ca.mmax(ca.densify(ca.fabs(ca.vertcat(q1 - q, v1, z1 - z)) / size))
    moved = ca.if_else(ca.logic_and(ca.mmax(ca.densify(ca.fabs(v))) == 0, change <= STILL), 0, 1)
    turned = dae.switching.turned(q, v, q1, v1, p, t)
    return merged("moved", [xa, xb, p, t], [moved, turned])


def _until_sampling(dae: Dae, sizes: tuple[int, ...]) -> Any:
    """Return the Function of `Bundle.until_sampling`; sizes: of the parts of x, the last one that of the ticks."""
    x, p, t = ca.SX.sym("x", sum(sizes)), ca.SX.sym("p", len(dae.parameters)), ca.SX.sym("t")
    _, _, kept, ticks = _cut(x, *sizes)
    left, near = _left(dae, ca.vertcat(p, kept), ticks, t)
    until = ca.mmin(ca.if_else(left <= near, 0, left))
    return merged("until_sampling", [x, p, t], [until, ca.mmin(near)])


def with_kept(dae: Dae, function: Any, states: tuple[int, ...], parameters: int, scheme: Scheme | None = None) -> Any:
    """Return a function of states that end in held inputs and memory, and of parameters without them.

    Args:
        dae: the equations.
        function: function of shorter states and of parameters that end in held inputs and memory.
        states: positions of its arguments that are states.
        parameters: position of its argument p.
        scheme: the stepper, for a function (x, u, ..., p, t) that is to see what sampled blocks compute at this
            instant if their time has come; None: it sees what they computed before.
    """
    # Longer states and shorter parameters as inputs
    more, kept = dae.n_held + dae.n_memory, dae.n_held + dae.n_memory + dae.n_c
    sizes = [function.sparsity_in(k).numel() for k in range(function.n_in())]
    inputs = [
        ca.MX.sym(f"i{k}", size + (kept if k in states else -more if k == parameters else 0))
        for k, size in enumerate(sizes)
    ]
    # Held inputs and memory go from the last state to the end of p
    inner = list(inputs)
    for k in states:
        inner[k], held, memory, ticks = _cut(inputs[k], sizes[k], dae.n_held, dae.n_memory, dae.n_c)
    inner[parameters] = ca.vertcat(inputs[parameters], held, memory)
    # At a sampling the memory is what the blocks compute now
    if scheme and dae.sampling:
        (x,) = _cut(inner[states[-1]], scheme.step.x.numel())
        memory, _ = _sampler(dae, scheme).call([x, inputs[1], inner[parameters], ticks, inputs[-1]])
        inner[parameters] = ca.vertcat(inputs[parameters], held, memory)
    results = [ca.densify(item) for item in function.call(inner)]  # a call of constants gives zeros without an entry
    return ca.Function(function.name(), inputs, results)


def _functions(name: str, formula: Formula) -> FormulaFunctions:
    # Unknowns stage after stage; those of a lasting last stage stand where the next step has those of the first
    symbols = formula.arguments
    empty = type(symbols.h)(0, 1)
    lasting = len(formula.stages) - 1 if formula.lasting else 0
    blocks = [stage.unknowns for k, stage in enumerate(formula.stages) if not lasting or k != lasting]
    sizes = tuple(stage.unknowns.numel() for stage in formula.stages)
    ends = list(accumulate((block.numel() for block in blocks), initial=0))
    offsets = tuple([*ends[:lasting], 0, *ends[lasting:-1]] if lasting else ends[:-1])
    inputs = [formula.x, symbols.u, symbols.du, symbols.p, symbols.t, symbols.h, ca.vertcat(empty, *blocks)]

    # Functions of (x, u, du, p, t, h, unknowns)
    def function(label: str, result: Any, watched: Any = None) -> Any:
        """Return the function of a result and, if `watched` is given, of the 1-norm of that."""
        results = [ca.densify(item) for item in (result, watched) if item is not None]
        return merged(f"{name}_{label}", inputs, [*results[:1], *map(ca.norm_1, results[1:])])

    def estimated(label: str, result: Any) -> Any:
        """Return the function of a result and, if the formula has an error estimate, of that."""
        results = [ca.densify(item) for item in (result, formula.estimate) if item is not None]
        return merged(f"{name}_{label}", inputs, results)

    # For each stage: its guess, and a correction that is stated or that of Newton, with its 1-norm
    guesses: list[Any] = []
    corrections: list[Any] = []
    solved: list[Any] = []
    decoupled = None
    for index, (stage, offset, size) in enumerate(zip(formula.stages, offsets, sizes, strict=True)):
        if isinstance(stage, Call):
            guesses.append(_calling(f"{name}_guess{index}", inputs, stage))
        else:
            guesses.append((function if index else estimated)(f"guess{index}", stage.guess))
        if isinstance(stage, Let | Call):
            solved.append(None)
            corrections.append(None)
        elif stage.corrected is not None:
            assert stage.change is not None
            solved.append(None)
            correction = [ca.densify(stage.corrected), ca.densify(stage.change)]
            corrections.append(merged(f"{name}_correct{index}", inputs, correction))
        elif stage.correction is not None:
            solved.append(None)
            watched = stage.correction[: stage.watched]
            corrections.append(function(f"correct{index}", stage.unknowns + stage.correction, watched))
        elif stage.decoupled:
            parts = stage.decoupled
            solved.append(merged(f"{name}_equations{index}", inputs, [stage.residual, parts.jacobian]))
            corrections.append(function(f"correct{index}", stage.residual))
            each = (("slopes", parts.slopes), ("renewed", parts.renewed))
            slopes = tuple(
                merged(f"{name}_{label}{index}", inputs, list(map(ca.densify, item))) for label, item in each
            )
            decoupled = DecoupledStage(index, stage.watched or size, parts, (slopes[0], slopes[1]))
        else:
            matrix = jacobian_of(stage.residual, stage.unknowns)
            if stage.soft:
                matrix += stage.soft * ca.SX.eye(size)
            equations = merged(f"{name}_equations{index}", inputs, [stage.residual, matrix])
            solved.append(equations)
            corrections.append(_newton(f"{name}_correct{index}", equations, slice(offset, offset + size), stage))
        # The result sees the last stage in place of the first
        if lasting and index == lasting:
            inputs = [*inputs[:-1], ca.vertcat(stage.unknowns, *blocks[1:])]
    # The result, and its derivative with respect to what is solved for
    result = (function if formula.stages else estimated)("result", formula.result)
    slope = None if formula.slope is None else function("result", formula.slope)
    rough = tuple(k for k, stage in enumerate(formula.stages) if isinstance(stage, Stage) and stage.rough)
    functions = tuple(guesses), tuple(corrections), result, tuple(solved), slope
    return FormulaFunctions(sizes, offsets, *functions, rough, lasting, decoupled=decoupled)


def _calling(name: str, inputs: list[Any], stage: Call) -> Any:
    """Return the Function (...) -> the results of a call, one after the other."""
    supplied = merged(f"{name}_given", inputs, [ca.densify(item) for item in stage.given])
    called = [ca.MX.sym(f"i{k}", item.sparsity()) for k, item in enumerate(inputs)]
    results = stage.function.call(supplied.call(called))
    return ca.Function(name, called, [ca.vertcat(*results)])


def _newton(name: str, equations: Any, where: slice, stage: Stage) -> Any:
    """Return one Newton correction as a Function: (..., z) -> (unknowns of the stage, size of the correction)."""
    inputs = [ca.MX.sym(f"i{k}", equations.sparsity_in(k)) for k in range(equations.n_in())]
    residual, jacobian = equations(*inputs)
    d = -solve_linear(jacobian, ca.densify(residual))
    return ca.Function(name, inputs, [inputs[-1][where] + d, ca.norm_1(ca.densify(d[: stage.watched]))])
