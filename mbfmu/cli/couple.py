"""mbfmu couple."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

import mbfmu
from mbfmu.cli.choices import ResultFile, number, pairs, present
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.expansion import OptionGroup
from mbfmu.cli.simulate import error_line, extremes, table
from mbfmu.errors import UsageError

if TYPE_CHECKING:
    from mbfmu.fmu.ssp import Coupling
    from mbfmu.run.couple import CoupledResult
    from mbfmu.run.exchange import Order


@dataclass(frozen=True, kw_only=True)
class CouplingSource(OptionGroup):
    """FMUs, the connections between them, and their values."""

    parts: Annotated[
        list[str],
        typer.Argument(metavar="[NAME=]A.fmu...|COUPLING.toml", help="FMUs, each a component, or a coupling file"),
    ]
    connect: Annotated[
        list[str] | None,
        typer.Option(
            "--connect", metavar="A.out=B.in[:FACTOR]", help="an output goes to an input, times a factor; repeatable"
        ),
    ] = None
    values: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A.NAME=VALUE", help="value of a parameter or start value; repeatable"),
    ] = None
    driven: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="A.NAME=EXPR|FILE.csv",
            help="an input as an expression of time, or from a table; repeatable",
        ),
    ] = None

    def read(self) -> "Coupling":
        """Return the coupling: the components with the parameters and connections of a file and of the options."""
        from mbfmu.fmu.ssp import Coupling, assigned, components, read_coupling, wire

        described = len(self.parts) == 1 and self.parts[0].endswith(".toml")
        coupling = read_coupling(self.parts[0]) if described else Coupling(components(self.parts))
        return replace(
            coupling,
            connections=(*coupling.connections, *map(wire, self.connect or ())),
            parameters={**coupling.parameters, **assigned(self.values or ())},
        )


@dataclass(frozen=True, kw_only=True)
class ExchangeOptions(OptionGroup):
    """The way in which FMUs exchange values in a step."""

    PANEL: ClassVar[str] = "Exchange of values"

    order: Annotated[
        str,
        typer.Option("--order", help="gauss_seidel: one FMU after the other, with new values; jacobi: all at once"),
    ] = "gauss_seidel"
    extrapolation: Annotated[
        int, typer.Option("--extrapolation", help="1: inputs follow lines over a step; 0: they are held")
    ] = 1
    passes: Annotated[int, typer.Option("--passes", help="number of times that each step is done")] = 1
    tolerance: Annotated[
        float, typer.Option("--tolerance", help="choose the steps by rollback; 0: a fixed step size")
    ] = 0.0


def couple(
    _: Tell,
    *,
    source: CouplingSource,
    end: Annotated[
        float | None, typer.Option("--stop", metavar="T", help="stop time, s; default: the coupling file's")
    ] = None,
    size: Annotated[
        float | None,
        typer.Option("--step", metavar="H", help="communication step, s; default: the coupling file's"),
    ] = None,
    exchange: ExchangeOptions,
    error: Annotated[
        bool, typer.Option("--error/--no-error", help="estimate the error of the coupling by halves of its steps")
    ] = True,
    output: ResultFile = None,
) -> Report:
    """Run several FMUs together, and estimate the error of their coupling."""
    from mbfmu.base.files import check_outputs

    coupling = source.read()
    stop, step = (coupling.stop if end is None else end), (coupling.step if size is None else size)
    if stop is None or step is None:
        raise UsageError("a coupled run needs --stop T and --step H, s, or a coupling file that has them")
    inputs = pairs(source.driven)
    check_outputs((output,) if output else (), (*source.parts, *coupling.components.values(), *inputs.values()))
    order: Order = exchange.order  # type: ignore[assignment]  # couple itself refuses others
    result = mbfmu.couple(
        coupling.components,
        coupling.connections,
        stop,
        step,
        order=order,
        extrapolation=exchange.extrapolation,
        passes=exchange.passes,
        tolerance=exchange.tolerance,
        values={name: typed(name, value) for name, value in coupling.parameters.items()},
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
