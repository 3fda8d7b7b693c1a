"""The documentation inside an FMU: the model, its variables, its stepper, and how to use it."""

from collections.abc import Sequence
from html import escape

from mbfmu.dae import Dae
from mbfmu.fmu.interface import Interface, Variable
from mbfmu.fmu.picture import PlaneDrawing, svg
from mbfmu.prepared.prepare import Prepared
from mbfmu.stepper import family_of

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.7rem } h2 { font-size: 1.2rem; margin-top: 2rem; border-bottom: 1px solid #ccc }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem } td, th { text-align: left; padding: 0.2rem 0.6rem;
border-bottom: 1px solid #e5e5e5; vertical-align: top } svg { max-width: 30rem; display: block; margin: 1rem 0 }
code { background: #f3f3f3; padding: 0 0.2rem } td.number { text-align: right; white-space: nowrap }
"""
KINDS = (
    ("Inputs", "input", "what the outside gives; held until the next communication point"),
    ("Outputs", "output", "what the model gives"),
    ("Parameters", "parameter", "tunable ones take effect at the next step; fixed ones before initialisation"),
    ("Calculated parameters", "calculatedParameter", "follow the parameters"),
    ("Further variables", "local", "to look at"),
)
USE = (
    ("FMPy", "<code>fmpy simulate FILE.fmu --stop-time 10</code>, or <code>mbfmu simulate FILE.fmu --stop 10</code>."),
    ("OMSimulator, libcosim, ecos, MasterSim", "import the FMU as a component, or put it into an .ssp "
     "(<code>mbfmu ssp</code>)."),
)  # fmt: skip
PYTHON_HOSTS = (
    ("Native hosts (Simulink, OMSimulator and others that do not run Python)", "the FMU loads the Python it finds as "
     "<code>python3</code> on the PATH (3.10 or later); on Linux start the host with "
     "<code>LD_PRELOAD=libpython3.x.so</code> of that Python. It needs nothing but the standard library where the "
     "compiled kernel fits (64-bit Linux), else the package <code>casadi</code>."),
    ("Where it is unpacked", "pythonfmu cannot be loaded from a path with <code>+ ( ) # @ , &amp; %</code> or letters "
     "outside ASCII: choose another folder."),
)  # fmt: skip
NATIVE_HOSTS = (
    ("Simulink, OMSimulator and all others", "the FMU is compiled C and needs nothing on the target; where there is no "
     "binary for a platform, compile what is in <code>sources/</code> (C99)."),
)  # fmt: skip
DERIVATIVES = (
    ("Derivatives", "of inputs and outputs in time (order 1), and directional derivatives through the last "
     "communication step."),
)  # fmt: skip
ALL_HOSTS = (
    ("Rollback", "the state is complete: get, set and serialise it as the standard says; a step done again gives the "
     "same bits."),
)  # fmt: skip


def documentation(
    prepared: Prepared, interface: Interface, picture: PlaneDrawing | None, native: bool, derivatives: bool
) -> str:
    """Return the HTML page.

    Args:
        prepared: the model with its stepper.
        interface: the variables.
        picture: picture of the mechanism at its start.
        native: whether the FMU is compiled C, not pythonfmu's.
        derivatives: whether it then gives derivatives.
    """
    dae, scheme, family = prepared.dae, prepared.scheme, family_of(prepared.scheme.name)
    kept = ", ".join(sorted(scheme.exact)) or "none"
    method = [
        ("stepper", prepared.stepper),
        ("order", scheme.order),
        ("keeps", family.preserves),
        ("constraint levels exact at the step ends", kept),
        ("needs", family.needs),
        ("source", family.source),
        ("longest step", f"{prepared.step:g} s (parameter solver.step)"),
        ("tolerance", f"{prepared.tolerance:g} (parameter solver.tolerance; 0: a fixed step size)"),
    ]
    if interface.exchange:
        method = [
            ("solver", "the master's own, by model exchange"),
            ("continuous states", len(interface.states)),
            ("event indicators", len(interface.guards)),
            (
                "constraints",
                "above solver.drift, an accepted point asks for an event, which projects the state onto them",
            ),
        ]
    limits = (
        "A step that cannot be done leaves the state as it was and returns Discard, with a message that names the "
        "time, the residual and the remedy."
    )
    hosts = (*NATIVE_HOSTS, *(DERIVATIVES if derivatives else ())) if native else PYTHON_HOSTS
    use = (*USE, *hosts, *ALL_HOSTS)
    title = escape(dae.name)
    return "\n".join(
        [
            "<!DOCTYPE html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style></head><body>',
            f"<h1>{title}</h1><p>{escape(dae.description)}</p>",
            svg(picture, f"{dae.name} at its start") if picture else "",
            "<h2>The equations</h2>",
            _facts(_equations(dae, prepared.coordinates)),
            "<h2>The stepper</h2>",
            _facts(method),
            f"<p>{limits}</p>",
            *_variables(interface),
            "<h2>How to use it</h2><table>",
            *(f"<tr><th>{name}</th><td>{text}</td></tr>" for name, text in use),
            "</table></body></html>",
            "",
        ]
    )


def _equations(dae: Dae, requested: str) -> list[tuple[str, object]]:
    states = [("states", f"{dae.n_z}: {', '.join(item.name for item in dae.states)}")]
    clocks = [item.name for item in dae.sampling.clocks] if dae.sampling else []
    sampled = [("sampled blocks", f"{len(clocks)}: {', '.join(clocks)}")] if clocks else []
    if not dae.n:
        return [*states, *sampled]
    redundant = ", ".join(dict.fromkeys(dae.redundant))
    touching = []
    if dae.switches:
        touching = [("gaps and frictions", ", ".join(dae.switches.touching))]
    dae = dae.unswitched
    return [
        ("degrees of freedom", dae.n - dae.m - dae.k),
        ("coordinates", f"{dae.n}: {', '.join(dae.coordinates)}"),
        *([("coordinates asked for", requested)] if requested else ()),
        *_roles(dae),
        ("constraints", f"{dae.m} holonomic, {dae.k} nonholonomic"),
        ("redundant constraints", f"{len(dae.redundant)} left out ({redundant})" if redundant else "none"),
        *touching,
        *(states if dae.states else ()),
        *sampled,
    ]


def _roles(dae: Dae) -> list[tuple[str, object]]:
    """Return which joints carry coordinates, and which are constraints, with their rows and the reason."""
    carrying = [item.joint for item in dae.about.roles if item.carries]
    others = [f"{item.joint} ({item.rows}: {item.reason})" for item in dae.about.roles if not item.carries]
    rows = (("joints with coordinates", carrying), ("joints by constraints", others))
    return [(title, ", ".join(names)) for title, names in rows if names]


def _facts(rows: Sequence[tuple[str, object]]) -> str:
    cells = (f"<tr><th>{escape(title)}</th><td>{escape(str(value))}</td></tr>" for title, value in rows)
    return "\n".join(["<table>", *cells, "</table>"])


def _variables(interface: Interface) -> list[str]:
    lines: list[str] = []
    for title, causality, text in KINDS:
        items = [item for item in interface.variables if item.causality == causality]
        if items:
            lines += [f"<h2>{title}</h2><p>{text[0].upper()}{text[1:]}.</p><table>"]
            lines += ["<tr><th>name</th><th>unit</th><th>start</th><th>range</th><th>description</th></tr>"]
            lines += [_row(item) for item in items]
            lines.append("</table>")
    return lines


def _row(item: Variable) -> str:
    start = "" if item.start is None else _shown(item, item.start)
    lowest, highest = (f"{bound:g}" for bound in (item.min, item.max))
    bounds = "" if (lowest, highest) == ("-inf", "inf") else f"{lowest} .. {highest}"
    more = item.variability if item.causality == "parameter" else ""
    if item.type != "Real":
        more = f"{item.type}, {more}" if more else item.type
    if item.initial == "approx":
        more = "its start is a guess, which need not be met"
    note = f"{item.description} ({more})" if more else item.description
    return (
        f"<tr><td><code>{escape(item.name)}</code></td><td>{escape(item.unit if item.type == 'Real' else '')}</td>"
        f'<td class="number">{start}</td><td class="number">{bounds}</td><td>{escape(note)}</td></tr>'
    )


def _shown(item: Variable, value: float) -> str:
    return f"{value:g}" if item.type == "Real" else item.shown(value)
