"""The text of a Modelica block that is an FMU for model exchange: its functions are called in C by external objects.

The continuous states are those of the block. Every call gives time, states and inputs, so that the functions are pure;
the number of updates stands among their arguments for what events change beside the states. The FMU updates at state
events, where an event indicator changes its sign, at time events of its own, and every `interval` seconds, as Modelica
has no call at accepted steps, which FMI asks for. What an update does to the states, such as an impact or the way back
onto the constraints, is `reinit`, as Modelica changes states at events alone.
"""

from collections.abc import Iterable, Sequence

from mbfmu.errors import FmuError
from mbfmu.fmi.reading import FmuVariable, OuterFmu
from mbfmu.fmu.modelica.axes import TYPES
from mbfmu.fmu.modelica.language import identifier, row, text_of

HEADER = "mbfmu_exchange.h"
INTERVAL = 0.01
"""Default time between two updates of an FMU that must be called after each accepted step, s."""
INTERNAL = (
    "folder", "interval", "instance", "begun", "states", "indicators", "positive", "after", "next", "updates", "held",
    "driven",
)  # fmt: skip
"""Names that the Modelica block for model exchange declares for its own use."""
POINT = """\
      input Instance instance;
      input Real t "time";
      input Real x[:] "states";
      input Integer references[:] "value references of the inputs";
      input Integer types[size(references, 1)] "their types: 0 Real, 1 Integer, 2 Boolean";
      input Real u[size(references, 1)] "their values";
"""
AT = "instance, t, x, size(x, 1), references, types, u, size(u, 1)"


def _function(name: str, about: str, inputs: str, output: str, call: str) -> str:
    return (
        f"    {name} {text_of(about)}\n{inputs}      output {output};\n"
        f'    external "C" {call}\n      annotation(Include="#include \\"{HEADER}\\"");\n    end {name.split()[-1]};\n'
    )


_UPDATES = '      input Integer updates "number of updates before";\n'
FUNCTIONS = "".join([
    '  package FMI2 "Calls of an FMU for model exchange, in C"\n',
    '    class Instance "An instance of the FMU"\n      extends ExternalObject;\n',
    _function(
        "function constructor", "Load the FMU, and give its parameters values",
        "      input String folder;\n      input String identifier;\n      input String token;\n"
        "      input Integer references[:];\n      input Integer types[size(references, 1)];\n"
        "      input Real values[size(references, 1)];\n",
        "Instance instance",
        "instance = mbfmu_open(folder, identifier, token, references, types, values, size(values, 1))",
    ),
    f'    function destructor "Free it"\n      input Instance instance;\n    external "C" mbfmu_close(instance)\n'
    f'      annotation(Include="#include \\"{HEADER}\\"");\n    end destructor;\n    end Instance;\n',
    _function(
        "impure function start", "Initialise with some inputs; the last value is the time of the first update",
        POINT.replace('      input Real x[:] "states";\n', "")
        + '      input Real interval "longest time to the next update";\n      input Integer n "number of states";\n',
        "Real x[n + 1]",
        "mbfmu_start(instance, t, references, types, u, size(u, 1), interval, x, n)",
    ),
    _function(
        "pure function rates", "The time derivatives of the states", POINT + _UPDATES, "Real dx[size(x, 1)]",
        f"mbfmu_rates({AT}, dx)",
    ),
    _function(
        "pure function indicators", "The event indicators",
        f'{POINT}{_UPDATES}      input Integer n "number of event indicators";\n', "Real z[n]",
        f"mbfmu_indicators({AT}, z, n)",
    ),
    _function(
        "pure function values", "The values of some outputs",
        f"{POINT}{_UPDATES}      input Integer wanted[:] \"value references of the outputs\";\n"
        "      input Integer forms[size(wanted, 1)] \"their types\";\n", "Real y[size(wanted, 1)]",
        f"mbfmu_values({AT}, wanted, forms, y, size(y, 1))",
    ),
    _function(
        "impure function update", "The states after what is due; the last value is the time of the next update",
        f'{POINT}      input Real interval "longest time to the next update";\n', "Real after[size(x, 1) + 1]",
        f"mbfmu_update({AT}, interval, after)",
    ),
    "  end FMI2;\n",
])  # fmt: skip
"""The functions in C, and the external object that they act on."""


def parameters_of(fmu: OuterFmu) -> list[FmuVariable]:
    """Return the parameters of an FMU that the block has too."""
    return [port for port in fmu.ports.values() if port.causality == "parameter" and port.type in TYPES and port.start]


def exchange_block(
    fmu: OuterFmu, ports: Sequence[FmuVariable], motions: Iterable[str], home: str, library: bool
) -> list[str]:
    """Return the lines of the block.

    Args:
        fmu: the FMU, by FMI 2.0 for model exchange.
        ports: its inputs and outputs that have connectors.
        motions: names of the inputs that the states start from, coordinates and rates of moved axes.
        home: URI of the folder with the unpacked FMU.
        library: whether there is the Modelica Standard Library, which finds the folder of an URI.

    Raises:
        FmuError: the FMU is not for model exchange.
    """
    about = fmu.exchange
    if about is None:
        raise FmuError(f"{fmu.model}: it is not for model exchange")
    # outputs by direct feedthrough: those without it make no algebraic loop
    inputs = [port for port in ports if port.causality == "input"]
    outputs = [port for port in ports if port.causality == "output"]
    first = [fmu.ports[name] for name in motions]
    held = [port for port in outputs if port.inputs == frozenset()]
    driven = [port for port in outputs if port.inputs != frozenset()]
    default = f" = Modelica.Utilities.Files.loadResource({text_of(home)})" if library else ""
    parameters = parameters_of(fmu)
    # arguments of the calls in C: with the inputs, without them, and with those of the start
    point = f"instance, time, states, {_references(inputs)}, {_types(inputs)}, {_reals(inputs)}"
    still = f"instance, time, states, {_references([])}, {_types([])}, {_reals([])}"
    first_inputs = f"instance, time, {_references(first)}, {_types(first)}, {_reals(first)}"
    states, indicators = about.states, about.indicators
    interval = INTERVAL if about.completes else 0.0
    # an event: the time of the next update, or an indicator that changes its sign
    events = ["time >= pre(next)", *(f"change(positive[{i}])" for i in range(1, indicators + 1))]
    return [
        '  block Exchange "The FMU for model exchange: equations that call its functions in C"',
        "    extends Fmu;",
        f'    parameter String folder{default} "folder of the unpacked FMU";',
        f'    parameter Real interval(unit="s", min=0) = {interval!r} "longest time between two updates; 0: any time";',
        *(f"    {_parameter(port)}" for port in parameters),
        "  protected",
        f"    FMI2.Instance instance = FMI2.Instance(folder, {text_of(fmu.kinds['me'])}, {text_of(fmu.token)},",
        f"      {_references(parameters)},",
        f"      {_types(parameters)},",
        f"      {_reals(parameters)});",
        f'    parameter Real begun[{states + 1}](each fixed=false) "first states, and the time of the first update";',
        f'    Real states[{states}] "continuous states";',
        f'    Real indicators[{indicators}] "event indicators";',
        f'    Boolean positive[{indicators}] "whether they are above zero";',
        f'    Real held[{len(held)}] "outputs that inputs do not act on directly";',
        f'    Real driven[{len(driven)}] "the other outputs";',
        f'    discrete Real after[{states + 1}] "states after the last update, and the time of the next";',
        '    discrete Real next "time of the next update";',
        '    discrete Integer updates(start=0, fixed=true) "number of updates";',
        "  initial equation",
        f"    begun = FMI2.start({first_inputs}, interval, {states});",
        f"    states = begun[1:{states}];",
        f"    next = begun[{states + 1}];",
        "  equation",
        f"    der(states) = FMI2.rates({point}, pre(updates));",
        f"    indicators = FMI2.indicators({point}, pre(updates), {indicators});",
        f"    for i in 1:{indicators} loop",
        "      positive[i] = indicators[i] > 0;",
        "    end for;",
        f"    held = FMI2.values({still}, pre(updates), {_references(held)}, {_types(held)});",
        f"    driven = FMI2.values({point}, pre(updates), {_references(driven)}, {_types(driven)});",
        *(f"    {identifier(port.name)} = {_whole(port, f'held[{i}]')};" for i, port in enumerate(held, 1)),
        *(f"    {identifier(port.name)} = {_whole(port, f'driven[{i}]')};" for i, port in enumerate(driven, 1)),
        f"    when {{{', '.join(events)}}} then",
        f"      after = FMI2.update({point}, interval);",
        f"      reinit(states, after[1:{states}]);",
        f"      next = after[{states + 1}];",
        "      updates = pre(updates) + 1;",
        "    end when;",
        "  end Exchange;",
    ]


def _parameter(port: FmuVariable) -> str:
    unit = f"(unit={text_of(port.unit)})" if port.unit else ""
    return f"parameter {port.type} {identifier(port.name)}{unit} = {_literal(port)} {text_of(port.description)};"


def _literal(port: FmuVariable) -> str:
    """Return the start value of a parameter as Modelica writes it."""
    text = str(port.start)
    if port.type == "Boolean":
        return "true" if text in {"true", "1"} else "false"
    return repr(float(text)) if port.type == "Real" else str(int(text))


def _references(ports: Iterable[FmuVariable]) -> str:
    return row((str(port.reference) for port in ports), "0")


def _types(ports: Iterable[FmuVariable]) -> str:
    return row((str(TYPES.index(port.type)) for port in ports), "0")


def _reals(ports: Iterable[FmuVariable]) -> str:
    """Return the values of some variables as real numbers."""
    return row(
        (f"if {identifier(port.name)} then 1.0 else 0.0" if port.type == "Boolean" else identifier(port.name)
         for port in ports),
        "0.0",
    )  # fmt: skip


def _whole(port: FmuVariable, value: str) -> str:
    """Return a real number as a value of a variable's type."""
    return {"Real": value, "Integer": f"integer({value} + 0.5)", "Boolean": f"{value} > 0.5"}[port.type]
