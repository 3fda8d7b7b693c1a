"""The command line: one file for each command, and a table of them; other modules do their work.

console.py    output of commands: results, JSON, notices, errors, progress
choices.py    arguments and options that several commands share
run_options.py  the settings of a run as options, made of their descriptions
sources.py    the model or FMU of a command with its values, and the files that are tried before work begins
expansion.py  arguments that stand for several options
robot.py      options of commands that read a robot's description
complete.py   completion by a shell
tables.py     the tables of list and describe; check_report.py: what check prints
machine.py    output of --version

A command is a function (tell, the user's arguments) -> Report; `console.command` makes it one for Typer, and shows an
argument that is made of several options, such as the settings of a run, as these.
"""

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from mbfmu.cli import (
    bode,
    cache,
    check,
    compare,
    compat,
    console,
    couple,
    demo,
    describe,
    equations,
    equilibrium,
    export,
    fit,
    inverse,
    kinematics,
    linearize,
    list_,
    live,
    locus,
    machine,
    modelica,
    modes,
    optimize,
    reduce,
    report,
    simulate,
    ssp,
    sweep,
    view,
)
from mbfmu.errors import MbfmuError

COMMANDS: dict[str, Callable[..., console.Report]] = {
    "demo": demo.demo,
    "list": list_.list_,
    "describe": describe.describe,
    "export": export.export,
    "simulate": simulate.simulate,
    "compare": compare.compare,
    "sweep": sweep.sweep,
    "view": view.view,
    "live": live.live,
    "report": report.report,
    "fit": fit.fit,
    "optimize": optimize.optimize,
    "equations": equations.equations,
    "equilibrium": equilibrium.equilibrium,
    "inverse": inverse.inverse,
    "kinematics": kinematics.kinematics,
    "linearize": linearize.linearize,
    "modes": modes.modes,
    "bode": bode.bode,
    "locus": locus.locus,
    "check": check.check,
    "compat": compat.compat,
    "couple": couple.couple,
    "ssp": ssp.ssp,
    "modelica": modelica.modelica,
    "reduce": reduce.reduce,
    "cache": cache.cache,
}
"""The table of commands."""
EXAMPLES: dict[str, str] = {
    "demo": "",
    "list": "steppers",
    "describe": "two_link",
    "export": "two_link --backend native -o two_link.fmu",
    "simulate": 'two_link --stop 2 --input shoulder.tau="2*sin(3*time)" -o run.csv',
    "compare": "two_link --stop 2 --steppers rattle,projected",
    "sweep": 'two_link --vary l1=0.5:1.5:11 --stop 2 --measure "top=max(elbow.phi)" -o sweep.csv',
    "view": "slider_crank --stop 5 -o moving.html",
    "live": "crane -o crane.html",
    "report": "two_link --stop 2 --display deg -o report.html",
    "fit": "two_link --data run.csv --free l1,m2,elbow.phi -o fitted.toml",
    "optimize": 'two_link --stop 2 --free l1 --bounds l1=0.5:2 --minimize "max(elbow.phi)"',
    "equations": "two_link -o two_link_c",
    "equilibrium": "cart_pendulum --hold rail.s=0",
    "inverse": 'slider_crank --motion "crank.phi=6*time" --stop 1',
    "kinematics": 'slider_crank --motion "crank.phi=6*time" --stop 1',
    "linearize": "cart_pendulum -o plant.npz",
    "modes": "quarter_car",
    "bode": "quarter_car --at equilibrium --from tyre.z --to hub.s --plot bode.png",
    "locus": "bicycle --parameter v=0:10:11",
    "check": "two_link.fmu",
    "compat": "two_link.fmu -o cross_check",
    "couple": "left=a.fmu right=b.fmu --connect left.y=right.u --stop 2 --step 1e-3",
    "ssp": "left=a.fmu right=b.fmu --connect left.y=right.u -o both.ssp",
    "modelica": "two_link.fmu -o Arm.mo",
    "reduce": "bar.inp --interface root --interface tip --E 2.1e11 --nu 0.3 --rho 7850 -o bar.npz",
    "cache": "--clear",
}
"""Arguments of each command that show it at work."""

PANELS: dict[str, str] = {
    "Models": "demo list describe view live equations reduce",
    "Runs": "simulate report compare sweep couple",
    "Analyses": "equilibrium kinematics inverse modes linearize bode locus fit optimize",
    "FMUs": "export check compat ssp modelica",
    "This installation": "cache",
}
"""Names of the commands, separated by blanks, by the title of their panel in the help."""

app = typer.Typer(
    name="mbfmu",
    cls=console.CommandGroup,
    help="Multibody mechanisms as FMI 2.0 and 3.0 FMUs with constraint-preserving steppers.",
    pretty_exceptions_enable=False,
)
for title, group in PANELS.items():
    for name in group.split():
        epilog = f"Example: mbfmu {name} {EXAMPLES[name]}".rstrip()
        show = app.command(name, cls=console.Command, epilog=epilog, rich_help_panel=title)
        show(console.command(COMMANDS[name]))


@app.callback(invoke_without_command=True)
def common(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="show versions, compiler and extras, and stop")] = False,
) -> None:
    """Multibody mechanisms as FMI 2.0 and 3.0 FMUs with constraint-preserving steppers."""
    with console.printing():
        for line in machine.lines() if version else ():
            console.out.print(line, markup=False, soft_wrap=True, highlight=False)
        if not version and context.invoked_subcommand is None:
            console.out.print(context.get_help(), markup=False, highlight=False)
    if version:
        raise typer.Exit


def main() -> None:
    """Run the command line; a user's mistake ends in one clear line and exit status 1."""
    try:
        status = app(prog_name="mbfmu", standalone_mode=False)
    except MbfmuError as error:
        console.complain(str(error))
        sys.exit(1)
    except KeyboardInterrupt:
        console.complain("interrupted")
        sys.exit(console.INTERRUPTED)
    except Exception as error:
        if not hasattr(error, "format_message"):  # Typer's own errors, from any copy of Click
            raise
        if "--json" in sys.argv:
            console.print_failure(error.format_message())
        console.complain(f"{error.format_message()} (see mbfmu --help)")
        sys.exit(2)
    sys.exit(status if isinstance(status, int) else 0)
