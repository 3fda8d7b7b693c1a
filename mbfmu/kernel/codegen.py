"""Bundle -> C sources: the generated functions, the tables of their formulas, and the driver."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import casadi as ca

from mbfmu.dae.linear_algebra.merged import own_operations
from mbfmu.kernel import errors, limits
from mbfmu.kernel.adjoint import Adjoints
from mbfmu.kernel.bundle import LENGTHY, Bundle, DecoupledStage
from mbfmu.kernel.emit.decoupled import decoupled_sizes, decoupled_tables
from mbfmu.kernel.emit.frames import Written
from mbfmu.kernel.emit.sources import (
    LANES,
    SIGNATURE,
    Generated,
    called,
    generated,
    headers,
    kernel_file,
    laned,
    long_parts,
    shared,
    tangents_of,
)  # fmt: skip
from mbfmu.kernel.runtime import CODES, Status
from mbfmu.kernel.tangent import Tangents

ENTRIES = (
    "int mbfmu_initialize(const double *s, const double *u, const double *du, const double *p, double t, double h, "
    "double *x, double *status, double *work);",
    "int mbfmu_outputs(const double *x, const double *u, const double *p, double t, double *y, double *work);",
    "void mbfmu_sizes(long long *sizes);",
    "int mbfmu_initialize_tangent(const double *s, const double *u, const double *du, const double *p, double t, "
    "double h, const double *ss, const double *su, const double *sp, double *sx, double *work);",
    "void mbfmu_outputs_tangent(const double *x, const double *u, const double *p, double t, const double *sx, "
    "const double *su, const double *sp, double *sy, double *work);",
)
"""Declarations of the functions of start.c and derivatives.c, for sources linked with them."""
ALONE = 100_000
"""Smallest number of operations of a function that is compiled beside another one of such a length."""
LINEARISED = 60_000
"""Smallest number of operations of a linearisation that is a table, as it is made once a step."""
SHARED = 300
"""Smallest number of operations of a function that several files of a native FMU call, instead of having it each."""
STEPPING = (
    "int mbfmu_advance(const double *x, const double *u, const double *du, const double *p, double t, double h, "
    "long long n, double *x1, double *status, double *work, double *errors);",
    "int mbfmu_control(const double *x, const double *u, const double *du, const double *p, double t, double H, "
    "double h_max, double tol, long long most, double *x1, double *status, double *work, double *errors);",
    "int mbfmu_communicate(double *const *a);",
    "double mbfmu_error(const double *errors, int n, const double *usual, double *amounts, int *worst, double *when);",
    "double mbfmu_longest(const double *x, const double *u, const double *du, const double *p, double t, double h, "
    "double *work);",
    "long long mbfmu_count(double span, double longest);",
    "int mbfmu_move_tangent(const double *x, const double *u, const double *du, const double *p, double t, "
    "double H, double h_max, double tol, const double *su, const double *sp, double *sx, double *work);",
    "void mbfmu_output_rates(const double *x, const double *u, const double *du, const double *p, double t, "
    "double *dy, double *work);",
)
"""Declarations of the functions of a kernel for steps."""
EXCHANGING = (
    "int mbfmu_rates(const double *x, const double *u, const double *p, double t, double stabilised, double *dx, "
    "double *work);",
    "double mbfmu_drift(const double *x, const double *u, const double *p, double t, double *work);",
    "int mbfmu_accept(const double *x, const double *u, const double *p, double t, double *x1, double *status, "
    "double *work);",
    "int mbfmu_due(const double *x, const double *p, double t, double *work);",
    "void mbfmu_indicators(const double *x, const double *u, const double *p, double t, const double *shift, "
    "double *found, double *work);",
    "int mbfmu_arm(const double *x, const double *u, const double *p, double t, double *shift, double *work);",
    "void mbfmu_rearm(const double *before, const double *x, const double *u, const double *p, double t, "
    "const int *changed, double *shift, double *work);",
    "int mbfmu_update(const double *x, const double *u, const double *p, double t, double *shift, double *x1, "
    "double *next, double *status, double *work);",
    "void mbfmu_rates_tangent(const double *x, const double *u, const double *p, double t, double stabilised, "
    "const double *sx, const double *su, const double *sp, double st, double faster, double *dx, double *work);",
)
"""Declarations of the functions of a kernel for a solver of its own."""
EVENT_ENTRIES = (
    "int mbfmu_stride(double *const *a, double after);",
    "int mbfmu_settle(const double *x, const double *u, const double *du, const double *p, double t, double h, "
    "double *x1, double *status, double *work);",
    "double mbfmu_until(const double *x, const double *p, double t, double *work);",
)
"""The same of those functions that only kernels with sampling instants or events have."""
TIMED_ENTRY = (
    "void mbfmu_outputs_by_time(const double *x, const double *u, const double *p, double t, double st, double *sy, "
    "double *work);"
)
"""Declaration of the function that only kernels have whose outputs depend on the time explicitly."""
SELDOM_RUN = ("start", "begin", "switch")
"""Names of the formulas that run at the start and at events."""
FORMULAS = (
    "step.h", "tangents.c", "lasting.c", "decoupled.c", "formulas.c", "restart.c", "samplings.c", "modes.c", "start.c",
)  # fmt: skip
"""Files of every kernel, in the order in which they build on each other."""
STEPS = (
    "short.c", "steps.c", "doubling.c", "saltation.c", "events.c", "driver.c", "travel.c", "entries.c", "growth.c",
    "estimate.c",
)  # fmt: skip
"""Files of the kernels that take steps, after those."""
CONSTANTS: Mapping[str, float] = {
    **{name: code for code, name in enumerate(CODES)},
    **{f"S_{name.upper()}": entry for entry, name in enumerate(Status._fields)},
    "S_SIZE": len(Status._fields),
    **limits.MACROS,
    **errors.MACROS,
}
"""Codes, entries of a status and limits, by the names of their macros."""


def c_sources(
    bundle: Bundle,
    derived: Adjoints | Tangents | None = None,
    written: Callable[[str, str], None] = lambda *_: None,
    few_calls: bool = False,
) -> dict[str, str]:
    """Return the complete C99 sources of a kernel by file name; the same bundle gives the same text.

    ``step.c`` holds the step and the driver, ``rest.c`` the functions that run rarely. Very long functions are in
    ``step_1.c``, ``rest_1.c`` and so on, which compile at the same time. Of derivatives ``adjoint.c``
    holds the adjoints of a step, ``adjoint_rest.c`` the others, and ``tangent.c`` the tangents.

    Args:
        bundle: the functions.
        derived: the adjoints or the tangents of these functions, for a kernel that gives derivatives of runs.
        written: is called with the name and the text of each file as soon as it is whole, headers first.
        few_calls: whether the kernel is for a few calls, so that it is to compile quickly rather than to run so.
    """
    return _sources_and_work(bundle, derived, written, few_calls=few_calls)[0]


def linked_sources(
    bundle: Bundle, written: Callable[[str, str], None] = lambda *_: None, prefix: str = "", corrections: int = 0
) -> dict[str, str]:
    """Return the sources of a kernel without derivatives, and ``kernel.h`` for those that are linked with it.

    Args:
        bundle: the functions.
        written: see `c_sources`.
        prefix: a C identifier with which external names begin where ``kernel.h`` is included first; empty: none.
        corrections: of each stage of a step; 0: until it is solved.
    """
    sources, work = _sources_and_work(bundle, None, written, corrections)
    sizes = _sizes(bundle)
    room = 2 * (2 * sizes["NZ"] + max(bundle.nx, bundle.nqv + 1)) + sizes["DECOUPLED_ROOM"] + work
    entries = _steady_entries(bundle)
    functions = (item.name() for item in bundle.functions())
    external = (*functions, *map(_named, entries), "mbfmu_room") if prefix else ()
    header = _kernel_header(prefix, external, {**CONSTANTS, **sizes, "WORK_SIZE": room}, entries)
    written("kernel.h", header)
    return {**sources, "kernel.h": header}


def _sources_and_work(
    bundle: Bundle,
    derived: Adjoints | Tangents | None,
    written: Callable[[str, str], None],
    corrections: int = 0,
    few_calls: bool = False,
) -> tuple[dict[str, str], int]:
    """Return the sources of `c_sources` and the size of the work vector of the largest function."""
    # Functions by file: those of a step, the rare ones, and derivatives
    hot, rest = _parted(bundle)
    seldom = {item.__hash__() for item in called(bundle.functions())} if few_calls else _seldom(bundle)
    files: dict[str, list[Any]] = {}
    tables, driver, timed = _tables(bundle, None, corrections), [], {}
    if isinstance(derived, Adjoints):
        files["adjoint.c"] = derived.formulas["step"].functions()
        files["adjoint_rest.c"] = [item for item in derived.functions() if item not in files["adjoint.c"]]
        driver = [_adjoint_tables(derived), kernel_file("gradient.c")]
    elif derived:
        files["tangent.c"] = derived.functions()
        timed = {"TANGENTS": 1, **({"TIMED": 1} if derived.timed else {})}
        seen = (f"MBFMU_EXPORT {entry}" for entry in ENTRIES if "_tangent" in entry)
        tables, driver = _tables(bundle, derived, 0), [*seen, kernel_file("derivatives.c"), kernel_file("follow.c")]
    files["rest.c"] = rest
    # Long functions that several files call
    elsewhere = [function for functions in files.values() for function in functions]
    common = shared(elsewhere, hot, LENGTHY)
    sources: dict[str, str] = {}

    # A file is handed on as soon as it is whole, after the headers that it includes
    def put(texts: Mapping[str, str]) -> None:
        for name, text in texts.items():
            if name not in sources:
                sources[name] = text
                written(name, text)

    def whole(name: str, part: Generated, *texts: str) -> None:
        if not sources.keys() >= set(part.included):
            put(headers(part.included))
        put({name: "\n".join([part.text, *texts])})

    # Very long functions have files of their own
    parts: dict[int, Written] = {}
    optional, rooms = _estimating(bundle), [0]

    def apart(stem: str, functions: Sequence[Any]) -> None:
        long = (item for item in long_parts(functions, ALONE, parts) if item.__hash__() not in seldom)
        for index, function in enumerate(long, 1):
            key, name = function.__hash__(), function.name()
            opened = {key: name if function in functions else f"{stem}{index}_{name}"}
            part = generated([function], external=True, optional=optional, opened=opened, callers=functions)
            parts.update(part.open)
            rooms.append(part.work)
            whole(f"{stem}_{index}.c", part)

    # The step with the driver
    apart("step", hot)
    step = generated(hot, external=False, optional=optional, opened=common, known=parts, seldom=seldom)
    whole(
        "step.c",
        step,
        _declared(elsewhere),
        _definitions({**CONSTANTS, **_sizes(bundle), "SZ_W": "mbfmu_room", **timed}),
        "extern const long long mbfmu_room;",
        tables,
        *map(kernel_file, (*FORMULAS, *STEPS)),
        *driver,
    )
    rooms.append(step.work)
    parts.update(step.open)
    # The other files; the last of rest.c is the size of the work vector that suffices for all
    for name, functions in files.items():
        if name == "rest.c":
            apart("rest", functions)
        left = [item for item in functions if item.__hash__() not in parts]
        other = generated(left, external=True, known=parts, seldom=seldom)
        rooms.append(other.work)
        last = (f"const long long mbfmu_room = {max(rooms)};",) if name == "rest.c" else ()
        whole(name, other, *last)
    return sources, max(rooms)


def many_sources(bundle: Bundle, widths: Sequence[int]) -> dict[str, str]:
    """Return the C99 sources of a kernel for many instances: that for one, and its steps in lanes where they can be.

    Args:
        bundle: the functions.
        widths: numbers of instances at a time, 2, 4 or 8, each with a file of its own.
    """
    sources = c_sources(bundle)
    hot = [*bundle.formulas["step"].functions(), bundle.outputs]
    alone = bundle.until_sampling or bundle.guards or bundle.formulas["step"].decoupled
    chosen = () if alone or not laned(hot) else tuple(widths)
    beside = generated(hot, external=False, optional=_estimating(bundle), included=LANES) if chosen else None
    lanes = {f"LANES_{width}": f"lanes_{width}" if width in chosen else 0 for width in (2, 4, 8)}
    numbers = {**lanes, "SZ_LANES": beside.work if beside else 0}
    sources["step.c"] += "\n".join([_definitions(numbers), kernel_file("block.h"), kernel_file("many.c")])
    if beside is None:
        return sources
    for width in chosen:
        sources[f"lanes_{width}.c"] = "\n".join(
            [
                _definitions({"LANES": width}),
                f"#define BLOCK lanes_{width}",
                beside.text,
                _definitions({**CONSTANTS, **_sizes(bundle)}),
                _tables(bundle, None, 0, ("step",)),
                kernel_file("block.h"),
                kernel_file("lanes.c"),
            ]
        )
    return {**sources, **headers(LANES)}


def native_sources(bundle: Bundle, tangents: Tangents | None, prefix: str, corrections: int = 0) -> dict[str, str]:
    """Return the C99 sources of a kernel, to be linked with the FMI functions.

    ``kernel.h`` holds sizes and declarations for all files; ``tangent.c`` the tangents, which run only on request.
    Every external name begins with a prefix, so that several models can be linked into one program.

    Args:
        bundle: the functions.
        tangents: the tangents of these functions; None: it has none.
        prefix: a C identifier.
        corrections: of each stage of a step; 0: until it is solved.
    """
    # Functions of the step, rare ones and tangents; which tangents by time there are
    hot, rest = _parted(bundle)
    derived = tangents.functions() if tangents else []
    common, of_rest = shared([*rest, *derived], hot, SHARED), shared(derived, rest, SHARED)
    of_rest = {key: f"rest_{name}" for key, name in of_rest.items() if key not in common}
    by_time_names = [item.name() for item in tangents.by_time] if tangents else []
    by_time = (TIMED_ENTRY,) if "by_time_outputs" in by_time_names else ()
    timed: dict[str, float | str] = {"BY_TIME_OUTPUTS": 1} if by_time else {}
    if bundle.rates and tangents:  # 0 stands for a tangent that vanishes
        timed |= {name.upper(): name if name in by_time_names else 0 for name in ("by_time_rates", "by_time_drift")}
        timed["T_DRIFT"] = "t_drift" if tangents.drift else 0
    # Code of each file, and the work vector that suffices for all
    entries = (*(_entries(bundle) if tangents else _steady_entries(bundle)), *by_time)
    seldom = _seldom(bundle, [] if bundle.rates else derived)  # a solver of its own takes tangents at every step
    step = generated(hot, external=False, optional=_estimating(bundle), opened=common, seldom=seldom)
    other = generated(rest, external=True, opened=of_rest, known=step.open, seldom=seldom)
    own = {} if bundle.rates else tangents_of(bundle.functions(), derived)
    tangent = generated(derived, external=True, known={**step.open, **other.open}, seldom=seldom, tangent_of=own)
    working, sizes = _work(step, other, tangent), _sizes(bundle)
    room = 6 * sizes["NZ"] + 5 * max(bundle.nx, bundle.nqv + 1)  # for tangents too
    room += sizes["DECOUPLED_ROOM"] + working["SZ_W"]
    numbers = {**CONSTANTS, **sizes, "WORK_SIZE": room, **({"TANGENTS": 1} if tangents else {}), **timed}
    # The header with all external names, and the files
    loops = (*FORMULAS, *(("exchange.c",) if bundle.rates else STEPS), *(("derivatives.c",) if tangents else ()))
    external = [
        *(item.name() for item in (*rest, *derived)),
        *common.values(),
        *of_rest.values(),
        *map(_named, entries),
    ]
    header = _kernel_header(prefix, external, numbers, entries)
    include = '#include "kernel.h"\n'
    return {
        **headers(tuple(dict.fromkeys(name for part in (step, other, tangent) for name in part.included))),
        "kernel.h": header,
        "step.c": "\n".join(
            [
                include,
                step.text,
                _declared([*rest, *derived]),
                _definitions(working),
                _tables(bundle, tangents, corrections),
                *map(kernel_file, loops),
            ]
        ),
        "rest.c": include + other.text,
        **({"tangent.c": include + tangent.text} if tangents else {}),
    }


def _entries(bundle: Bundle) -> tuple[str, ...]:
    """Return the declarations of the functions of a native kernel."""
    stopping = EVENT_ENTRIES if bundle.until_sampling or bundle.guards else ()
    return (*ENTRIES, *(EXCHANGING if bundle.rates else (*STEPPING, *stopping)))


def _steady_entries(bundle: Bundle) -> tuple[str, ...]:
    """Return those declarations without the functions that give derivatives."""
    derived = ("_tangent", "mbfmu_output_rates")
    return tuple(entry for entry in _entries(bundle) if all(name not in entry for name in derived))


def _kernel_header(
    prefix: str, external: Iterable[str], numbers: Mapping[str, float | str], entries: Iterable[str]
) -> str:
    """Return the C header with sizes and declarations; external names get the prefix."""
    return "\n".join(
        [
            "#ifndef KERNEL_H",
            "#define KERNEL_H",
            "#define MBFMU_EXPORT",
            *(f"#define {name} {prefix}_{name}" for name in external),
            _definitions(numbers),
            *entries,
            "#endif",
            "",
        ]
    )


def clock_source(timing: Any, n_parameters: int) -> str:
    """Return the C99 source of the function clock_timing: the period of each sampled block and its first instant, s.

    Args:
        timing: Function (parameters, and memory that it does not read) -> these, in pairs.
        n_parameters: number of the parameters.
    """
    p = ca.SX.sym("p", n_parameters)
    whole = ca.vertcat(p, ca.SX.zeros(timing.numel_in(0) - n_parameters))
    function = ca.Function("clock_timing", [p], [ca.densify(timing(whole))])
    return '#include "kernel.h"\n#include "arrays.h"\n' + generated([function], external=True).text


def _parted(bundle: Bundle) -> tuple[list[Any], list[Any]]:
    hot = [*bundle.formulas["step"].functions(), *filter(None, [bundle.rates])]
    return hot, [item for item in bundle.functions() if item not in hot]


def _seldom(bundle: Bundle, derived: Sequence[Any] = ()) -> set[int]:
    """Return the hashes of functions that are tables if long: not in steps or for outputs, or very long linearisations.

    Args:
        bundle: the functions.
        derived: more functions that run seldom.
    """
    formulas = (item for name, item in bundle.formulas.items() if name in SELDOM_RUN)
    rare = [*derived, *(function for item in formulas for function in item.functions())]
    stage = _decoupled(bundle)
    once = [*stage.slopes] if stage else []
    often = called([item for item in bundle.functions() if item not in [*rare, *once]])
    tables = {item.__hash__() for item in called(rare)} - {item.__hash__() for item in called(once)}
    tables |= {item.__hash__() for item in called(once) if own_operations(item) >= LINEARISED}
    return tables - {item.__hash__() for item in often}


def _estimating(bundle: Bundle) -> tuple[Any, ...]:
    """Return the function of a step whose second result is the estimated error; empty without an estimate."""
    step = bundle.formulas["step"]
    return (*step.guess, step.result)[:1] if bundle.estimate_order else ()


def _named(declaration: str) -> str:
    return declaration.partition("(")[0].split()[-1]


def _declared(functions: Iterable[Any]) -> str:
    return "\n".join(f"void {function.name()}{SIGNATURE};" for function in functions)


def _definitions(sizes: Mapping[str, float | str]) -> str:
    return "\n".join(f"#define {name} {value}" for name, value in sizes.items())


def _sizes(bundle: Bundle) -> dict[str, float]:
    return {
        "NX": bundle.nx, "NS": bundle.ns, "NU": bundle.nu, "NP": bundle.np, "NY": bundle.ny, "NQV": bundle.nqv,
        "ORDER": bundle.order,
        "N_SCHEME": bundle.n_scheme, "N_MOVING": bundle.n_moving,
        "ESTIMATE_ORDER": bundle.estimate_order,
        "NZ": max(item.unknowns for item in bundle.formulas.values()),
        "STAGES": max(1, *(len(item.sizes) for item in bundle.formulas.values())),
        "HELD_AT": bundle.held[0], "HELD": bundle.held[1],
        "ERRORS": errors.size(bundle.measured.numel_out(0), bundle.nx) if bundle.measured else 0,
        **({"MEASURED": bundle.measured.numel_out(0)} if bundle.measured else {}),
        **({"SAMPLED": 1} if bundle.until_sampling else {}),
        **(_switched(bundle) if bundle.guards else {}),
        "DECOUPLED_ROOM": 0,
        **(decoupled_sizes(step) if (step := _decoupled(bundle)) else {}),
        **({"LASTING": 1} if bundle.formulas["step"].lasting and not bundle.guards else {}),
        **(_exchanging(bundle) if bundle.rates else {}),
    }  # fmt: skip


def _decoupled(bundle: Bundle) -> DecoupledStage | None:
    """Return the stage of a step whose nodes are decoupled."""
    return bundle.formulas["step"].decoupled if "step" in bundle.formulas else None


def _exchanging(bundle: Bundle) -> dict[str, float]:
    """Return the definitions of a kernel for a solver of its own."""
    counting = bundle.nx - 1 > bundle.n_scheme
    closed, gaps = bundle.closed
    modes = {"IMPACTS_AT": closed + gaps, "STICKS_AT": closed + 2 * gaps, "SLIPS": bundle.slips}
    return {
        "EXCHANGE": 1, "COUNTING": int(counting),
        **({"CONSTRAINED": 1} if bundle.drift else {}), **(modes if bundle.guards else {}),
    }  # fmt: skip


def _switched(bundle: Bundle) -> dict[str, float]:
    """Return the definitions of a kernel with gaps or dry friction."""
    guards = bundle.guards.numel_out(0)
    short = {"SHORT": bundle.short, "REPLACED": int(bundle.replaced)} if bundle.short else {}
    closed, gaps = bundle.closed
    return {
        "SWITCHED": 1, "GUARDS": guards, "FALLEN_AT": bundle.fallen, "CLOSED_AT": closed, "GAPS": gaps,
        **short,
    }  # fmt: skip


def _work(*parts: Generated) -> dict[str, int]:
    """Return the number of entries of the work vector that the functions of all files need, as a definition."""
    return {"SZ_W": max(part.work for part in parts)}


def _tables(bundle: Bundle, tangents: Tangents | None, corrections: int, names: Collection[str] = ()) -> str:
    """Return the formulas, all or those of some names, as C tables; without tangents, their places are empty."""
    lines = [
        "struct formula {",
        "    int stages, corrections, coordinates;",
        "    int rough; /* bits of the stages whose passes may end before they are at rest */",
        "    int size[STAGES], place[STAGES];",
        "    function guess[STAGES], correct[STAGES], result;",
        "    function guess_tangent[STAGES], correct_tangent[STAGES], result_tangent;",
        "};",
    ]
    for name, item in bundle.formulas.items():
        if names and name not in names:
            continue
        rough = sum(1 << k for k in item.rough) if name == "switch" else 0
        counts = f"{len(item.sizes)}, {corrections if name == 'step' else 0}, {item.coordinates}, {rough}"
        derived = _functions(tangents.formulas[name]) if tangents and name in tangents.formulas else "{0}, {0}, 0"
        rows = f"{_row(item.sizes)}, {_row(item.places)}, {_functions(item)}, {derived}"
        lines.append(f"static const struct formula FORMULA_{name} = {{{counts}, {rows}}};")
    if stage := _decoupled(bundle):
        lines += decoupled_tables(stage)
    return "\n".join(lines)


def _adjoint_tables(adjoints: Adjoints) -> str:
    """Return the adjoints of the formulas as C tables."""
    lines = ["struct adjoint {", "    function guess[STAGES], correct[STAGES], result;", "};"]
    for name, item in adjoints.formulas.items():
        lines.append(f"static const struct adjoint ADJOINT_{name} = {{{_functions(item)}}};")
    return "\n".join(lines)


def _functions(item: Any) -> str:
    """Return the rows of a table of functions; a 0 stands where there is none."""
    rows = (_row(f.name() if f else 0 for f in each) for each in (item.guess, item.correct))
    return f"{', '.join(rows)}, {item.result.name()}"


def _row(values: Iterable[Any]) -> str:
    return "{" + (", ".join(map(str, values)) or "0") + "}"
