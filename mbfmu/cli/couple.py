"""mbfmu couple."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

import mbfmu
from mbfmu.cli.choices import ResultFile, number, pairs, present
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.simulate import error_line, extremes, table
from mbfmu.errors import UsageError

if TYPE_CHECKING:
    from mbfmu.run.couple import CoupledResult
    from mbfmu.run.exchange import Order


def couple(
    _: Tell,
    parts: Annotated[
        list[str],
        typer.Argument(metavar="[NAME=]A.fmu...|COUPLING.toml", help="FMUs, each a component, or a coupling file"),
    ],
    *,
    connect: Annotated[
        list[str] | None,
        typer.Option(
            "--connect", metavar="A.out=B.in[:FACTOR]", help="an output goes to an input, times a factor; repeatable"
        ),
    ] = None,
    end: Annotated[
        float | None, typer.Option("--stop", metavar="T", help="stop time, s; default: the coupling file's")
    ] = None,
    size: Annotated[
        float | None,
        typer.Option("--step", metavar="H", help="communication step, s; default: the coupling file's"),
    ] = None,
    values_of: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A.NAME=VALUE", help="value of a parameter or start value; repeatable"),
    ] = None,
    driven: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="A.NAME=EXPR|FILE.csv",
            help="an input as an expression of time, or from a table; repeatable",
        ),
    ] = None,
    order: Annotated[
        str,
        typer.Option("--order", help="gauss_seidel: one FMU after the other, with new values; jacobi: all at once"),
    ] = "gauss_seidel",
    extrapolation: Annotated[
        int, typer.Option("--extrapolation", help="1: inputs follow lines over a step; 0: they are held")
    ] = 1,
    passes: Annotated[int, typer.Option("--passes", help="number of times that each step is done")] = 1,
    rollback: Annotated[float, typer.Option("--tolerance", help="choose the steps by rollback; 0: equal steps")] = 0.0,
    error: Annotated[
        bool, typer.Option("--error/--no-error", help="estimate the error of the coupling by halves of its steps")
    ] = True,
    output: ResultFile = None,
) -> Report:
    """Run several FMUs together, and estimate the error of their coupling."""
    from mbfmu.base.files import check_outputs
    from mbfmu.fmu.ssp import Coupling, assigned, components, read_coupling, wire

    described = len(parts) == 1 and parts[0].endswith(".toml")
    coupling = read_coupling(parts[0]) if described else Coupling(components(parts))
    stop, step = (coupling.stop if end is None else end), (coupling.step if size is None else size)
    if stop is None or step is None:
        raise UsageError("a coupled run needs --stop T and --step H, s, or a coupling file that has them")
    inputs = pairs(driven)
    check_outputs((output,) if output else (), (*parts, *coupling.components.values(), *inputs.values()))
    values = {name: typed(name, value) for name, value in {**coupling.parameters, **assigned(values_of or ())}.items()}
    order_known: Order = order  # type: ignore[assignment]  # couple itself refuses others
    result = mbfmu.couple(
        coupling.components,
        (*coupling.connections, *map(wire, connect or ())),
        stop,
        step,
        order=order_known,
        extrapolation=extrapolation,
        passes=passes,
        tolerance=rollback,
        values=values,
        inputs=inputs,
        error=error,
    )
    if output:
        result.write(output)
    return Report(
        {
            "components": list(coupling.components),
            "stop": stop,
            "steps": len(result.time) - 1,
            "bonds": bonds(result),
            "notices": result.notices,
            "error": result.error._asdict() if result.error.name else None,
            "variables": {name: extremes(result, name) for name in result.names},
        },
        (*table(result), f"{len(result.time) - 1} communication steps", *error_line(result, chosen=False)),
        present(output),
    )


def typed(name: str, value: Any) -> Any:
    """Return a value of a parameter or start value: of a text the truth value or the number that it stands for."""
    if not isinstance(value, str):
        return value
    truths = {"true": True, "false": False}
    return truths[value.lower()] if value.lower() in truths else number(f"--set {name}", value)


def bonds(result: "CoupledResult") -> list[dict[str, Any]]:
    """Return the connections that carry power, with the energy made and exchanged there until the end, J."""
    return [
        {"connection": str(item.bond), "made": item.made[-1], "exchanged": item.exchanged[-1]} for item in result.bonds
    ]
