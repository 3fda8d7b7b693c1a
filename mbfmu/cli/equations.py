"""mbfmu equations."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

import mbfmu
from mbfmu.cli import complete
from mbfmu.cli.choices import names, pairs
from mbfmu.cli.console import Report, Tell
from mbfmu.cli.sources import PlacedSource, check_files

if TYPE_CHECKING:
    from mbfmu.analysis.equations import ModelEquations


def equations(
    tell: Tell,
    *,
    source: PlacedSource,
    functions: Annotated[
        list[str] | None, typer.Option("--function", metavar="NAME,...", help="functions to write; default: all")
    ] = None,
    jacobian: Annotated[
        list[str] | None,
        typer.Option(
            "--jacobian", metavar="NAME=ARG,...", help="slopes of a function in some arguments, as acceleration=q,v,u"
        ),
    ] = None,
    hessian: Annotated[
        list[str] | None,
        typer.Option("--hessian", metavar="NAME=ARG,...", help="second derivatives of weights times a function"),
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            metavar="NAME,...",
            help="parameters that stay arguments; the others become numbers; default: all",
            autocompletion=complete.values,
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FOLDER", help="new folder of C99")] = None,
) -> Report:
    """Show the functions of a model's equations with their sizes, or write them as C with an example."""
    check_files(source)
    tell("equations", 0.0)
    model = mbfmu.equations(
        source.load(), coordinates=source.coordinates, parameters=names(parameters) if parameters else None
    )
    slopes, seconds = ({name: names([text]) for name, text in pairs(item).items()} for item in (jacobian, hessian))
    chosen = names(functions) or list(model.available)
    shown = {name: model.function(name) for name in chosen}
    wrote = model.to_c(output, chosen, jacobians=slopes, hessians=seconds) if output else ()
    data = {
        "model": model.dae.name,
        "sizes": model.sizes,
        "names": model.names,
        "functions": {
            name: {
                "arguments": {function.name_in(k): function.size_in(k) for k in range(function.n_in())},
                "results": {function.name_out(k): function.size_out(k) for k in range(function.n_out())},
                "operations": function.n_instructions(),
            }
            for name, function in shown.items()
        },
    }
    return Report(data, tuple(_shown(model, chosen)), wrote)


def _shown(model: "ModelEquations", functions: list[str]) -> list[RenderableType]:
    sizes = ", ".join(f"{name} {size}" for name, size in model.sizes.items())
    table = Table(title=escape(f"{model.dae.name}: {sizes}"), title_justify="left")
    for heading in ("function", "arguments", "results"):
        table.add_column(heading)
    table.add_column("operations", justify="right")
    for name in functions:
        function = model.function(name)
        taken = (function.name_in(k) for k in range(function.n_in()))
        results = (
            f"{function.name_out(k)} {function.size1_out(k)} x {function.size2_out(k)}" for k in range(function.n_out())
        )
        table.add_row(name, ", ".join(taken), ", ".join(results), str(function.n_instructions()))
    return [table]
