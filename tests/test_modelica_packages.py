"""Packages of FMUs for Modelica: what rumoca makes of them, and what their C functions make of an FMU.

rumoca compiles and simulates the package, but calls no external functions in C. So the block of an FMU for model
exchange is tested by halves: its equations in rumoca, with functions in Modelica in place of those in C, and those in C
by a program that calls them as the equations do.
"""

import ctypes
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import extra, thorough
from scipy.integrate import solve_ivp
from struck import ball
from test_modelica import COUPLED, LIBRARY, TWIN, made, motion, simulated  # noqa: F401 - a fixture

import mbfmu
from examples.ssp import wagon
from mbfmu.errors import FmuError, UsageError
from mbfmu.fmi.reading import FmuVariable, OuterFmu, Terminal, parse_fmu
from mbfmu.fmu.modelica import write_modelica
from mbfmu.fmu.modelica.axes import flanges
from mbfmu.fmu.modelica.package import content

rumoca = extra("rumoca", "modelica")

TOOL = Path(__file__).with_name("modelica_tool.c")
UTILITIES = """
void ModelicaFormatMessage(const char *form, ...);
void ModelicaFormatError(const char *form, ...);
void ModelicaError(const char *text);
"""


def exported(model: Any, folder: Path, **more: Any) -> Path:
    """Write a model as an FMU for model exchange."""
    return mbfmu.export(model, folder / "model.fmu", kind="me", backend="native", platforms=["linux64"], **more)


# -- packages in rumoca ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plant(two_link_fmu: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an arm for model exchange, one by FMI 3.0 and one for co-simulation."""
    folder = tmp_path_factory.mktemp("plant")
    me, me3 = folder / "me", folder / "me3"
    me.mkdir(), me3.mkdir()
    fmus = {"Arm": exported("two_link", me), "Arm3": exported("two_link", me3, fmi="3.0"), "Steps": two_link_fmu}
    return write_modelica(fmus, folder / "Plant")


@pytest.mark.parametrize("name", ["Arm", "Arm3", "Steps"])
def test_an_arm_in_a_folder_of_several_moves_as_the_mechanism(
    name: str,
    plant: Path,
    motion: mbfmu.Result,  # noqa: F811
    tmp_path: Path,
) -> None:
    """With an analytic twin in the FMU's place."""
    twin, coupled = (text.replace("Arm.", f"Plant.{name}.") for text in (TWIN, COUPLED))
    file = tmp_path / "Coupled.mo"
    file.write_text(LIBRARY + twin + coupled, encoding="utf-8")
    config = rumoca.SimConfig(rtol=1e-9, atol=1e-9, dt=0.01)
    model = rumoca.Session(roots=[str(plant)]).load(file, model="Coupled")
    found = model.simulate(2.0, config=config)
    seen = np.interp(motion.time, found.time, found["arm.shoulder.phi"])
    np.testing.assert_allclose(seen, motion["shoulder.phi"], atol=1e-6)


def test_a_folder_lists_its_classes_in_their_order(plant: Path) -> None:
    order = (plant / "package.order").read_text(encoding="utf-8").split()
    whole = (plant / "package.mo").read_text(encoding="utf-8")
    inside = re.findall(r"^  (?:connector|function|package) (\w+)", whole, re.MULTILINE)
    assert order == ["Arm", "Arm3", "Steps", *inside]
    assert inside == ["given", "given_der", "given_der2", "FMI2"]
    for name in order[:3]:
        assert (plant / f"{name}.mo").read_text(encoding="utf-8").startswith(f"within Plant;\npackage {name} ")
    for file in plant.glob("*.mo"):
        assert [item for item in rumoca.validate(str(file)) if item.level == "error"] == []


def test_only_fmus_by_fmi_2_for_model_exchange_are_inside_and_all_have_their_icons(plant: Path) -> None:
    assert {item.name for item in (plant / "Resources" / "Fmus").iterdir()} == {"Arm"}
    assert (plant / "Resources" / "Fmus" / "Arm" / "binaries" / "linux64" / "two_link.so").is_file()
    for name in ("Arm", "Arm3", "Steps"):
        text = (plant / f"{name}.mo").read_text(encoding="utf-8")
        assert ("block Exchange" in text) == (name == "Arm")
        assert (
            f'Bitmap(extent={{{{-95,-95}},{{95,95}}}}, fileName="modelica://Plant/Resources/Images/{name}.png")' in text
        )
        picture = (plant / "Resources" / "Images" / f"{name}.png").read_bytes()
        assert picture.startswith(b"\x89PNG")


@pytest.mark.parametrize("library", [True, False])
def test_several_fmus_in_one_file_are_packages_within_it(library: bool, two_link_fmu: Path, tmp_path: Path) -> None:
    path = write_modelica({"Left": two_link_fmu, "Right": two_link_fmu}, tmp_path / "Both.mo", library=library)
    twin, coupled = (text.replace("Arm.", "Both.Right.") for text in (TWIN, COUPLED))
    found = simulated(path.read_text(encoding="utf-8") + LIBRARY + twin + coupled, "Coupled", 0.1)
    assert found["arm.shoulder.phi"][-1] != 0


STAND_IN = """
  package FMI2 "A ball that falls, of states y and der(y), and bounces with the restitution 0.5"
    function start
      input Real instance; input Real t; input Integer references[:]; input Integer types[:]; input Real u[:];
      input Real interval; input Integer n; output Real x[n + 1];
    algorithm
      x := {1.0, 0.0, t + interval};
    end start;
    function rates
      input Real instance; input Real t; input Real x[:]; input Integer references[:]; input Integer types[:];
      input Real u[:]; input Integer updates; output Real dx[size(x, 1)];
    algorithm
      dx := {x[2], -9.81};
    end rates;
    function indicators
      input Real instance; input Real t; input Real x[:]; input Integer references[:]; input Integer types[:];
      input Real u[:]; input Integer updates; input Integer n; output Real z[n];
    algorithm
      z := {x[1]};
    end indicators;
    function values
      input Real instance; input Real t; input Real x[:]; input Integer references[:]; input Integer types[:];
      input Real u[:]; input Integer updates; input Integer wanted[:]; input Integer forms[:];
      output Real y[size(wanted, 1)];
    algorithm
      for i in 1:size(wanted, 1) loop
        y[i] := x[1];
      end for;
    end values;
    function update
      input Real instance; input Real t; input Real x[:]; input Integer references[:]; input Integer types[:];
      input Real u[:]; input Real interval; output Real after[size(x, 1) + 1];
    algorithm
      after := {x[1], if x[1] < 1e-6 and x[2] < 0 then -0.5*x[2] else x[2], t + interval};
    end update;
  end FMI2;
"""


def test_the_equations_of_an_fmu_for_model_exchange_bounce_as_it_does(tmp_path: Path) -> None:
    fmu = parse_fmu(exported(ball(), tmp_path), kinds=("me",))
    text = "\n".join(content(fmu, True, "modelica://P/Resources/Fmus/Ball"))
    instance = re.search(r"FMI2.Instance instance = FMI2.Instance\(.*?\);", text, re.DOTALL)
    assert instance
    text = text.replace(instance[0], "parameter Real instance = 0;")
    found = simulated(f"package P {STAND_IN} {text} end P; model M P.Exchange fmu; end M; {LIBRARY}", "M", 1.2, 0.001)
    y = found["fmu.states[1]"]
    alone = mbfmu.simulate(ball(), 1.2, stepper="projected", step=1e-3)
    times = np.linspace(0, 1.2, 40)
    assert alone["ground.impacts"][-1] >= 3
    np.testing.assert_allclose(np.interp(times, found.time, y), np.interp(times, alone.time, alone["y"]), atol=1e-4)
    assert found["fmu.updates"][-1] >= 1.2 / 0.01


# -- the functions in C ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tool(plant: Path) -> Any:
    """The functions in C, compiled without a warning."""
    folder = plant.parent
    (folder / "ModelicaUtilities.h").write_text(UTILITIES, encoding="utf-8")
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-g", "-shared", "-fPIC"]
    places = [f"-I{folder}", f"-I{plant / 'Resources' / 'Include'}"]
    subprocess.run([*command, *places, str(TOOL), "-o", str(folder / "tool.so"), "-lm"], check=True)
    return ctypes.CDLL(str(folder / "tool.so"))


class Called:
    """The block of an FMU, as a tool evaluates it.

    Args:
        tool: the functions in C.
        fmu: the FMU.
        folder: the folder with the FMU unpacked.
        parameters: values of parameters by name.
    """

    def __init__(self, tool: Any, fmu: OuterFmu, folder: Path, parameters: Mapping[str, float] | None = None) -> None:
        assert fmu.exchange
        self.tool, self.fmu, self.about = tool, fmu, fmu.exchange
        self.instance = ctypes.c_void_p()
        given = [fmu.ports[name] for name in parameters or {}]
        values = self.reals((parameters or {}).values())
        where = (str(folder).encode(), fmu.kinds["me"].encode(), fmu.token.encode())
        self.call(
            "open_fmu", *where, *self.named(given), values, ctypes.c_size_t(len(given)), ctypes.byref(self.instance)
        )

    def __enter__(self) -> "Called":
        return self

    def __exit__(self, *_: object) -> None:
        self.tool.close_fmu(self.instance)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function, which raises with the message that the tool would show."""
        if getattr(self.tool, name)(*arguments):
            raise RuntimeError((ctypes.c_char * 4000).in_dll(self.tool, "told").value.decode())

    @staticmethod
    def reals(values: Any) -> Any:
        """Return an array of C."""
        listed = [float(value) for value in values]
        return (ctypes.c_double * max(len(listed), 1))(*listed)

    @staticmethod
    def named(ports: Sequence[FmuVariable]) -> tuple[Any, Any]:
        """Return the arrays of references and types."""
        whole = ctypes.c_int * max(len(ports), 1)
        types = ("Real", "Integer", "Boolean")
        return whole(*(port.reference for port in ports)), whole(*(types.index(port.type) for port in ports))

    def point(self, t: float, x: Sequence[float], u: Mapping[str, float]) -> tuple[Any, ...]:
        """Return the arguments that say where."""
        ports = [self.fmu.ports[name] for name in u]
        sizes = ctypes.c_size_t(len(x)), ctypes.c_size_t(len(ports))
        at = self.instance, ctypes.c_double(t), self.reals(x), sizes[0]
        return (*at, *self.named(ports), self.reals(u.values()), sizes[1])

    def start(
        self, interval: float = 0.01, t: float = 0.0, u: Mapping[str, float] | None = None
    ) -> tuple[list[float], float]:
        """Return the first states with some inputs, and the time of the first update."""
        x, n = self.reals([0.0] * (self.about.states + 1)), ctypes.c_size_t(self.about.states)
        ports = [self.fmu.ports[name] for name in u or {}]
        given = (*self.named(ports), self.reals((u or {}).values()), ctypes.c_size_t(len(ports)))
        self.call("start", self.instance, ctypes.c_double(t), *given, ctypes.c_double(interval), x, n)
        return list(x)[:-1], x[self.about.states]

    def rates(self, t: float, x: Sequence[float], u: Mapping[str, float]) -> list[float]:
        """Return the time derivatives of the states."""
        dx = self.reals([0.0] * len(x))
        self.call("rates", *self.point(t, x, u), dx)
        return list(dx)

    def indicators(self, t: float, x: Sequence[float], u: Mapping[str, float]) -> list[float]:
        """Return the event indicators."""
        z = self.reals([0.0] * self.about.indicators)
        self.call("indicators", *self.point(t, x, u), z, ctypes.c_size_t(self.about.indicators))
        return list(z)

    def values(self, t: float, x: Sequence[float], u: Mapping[str, float], names: Sequence[str]) -> list[float]:
        """Return the values of some outputs."""
        y = self.reals([0.0] * len(names))
        wanted = self.named([self.fmu.ports[name] for name in names])
        self.call("values", *self.point(t, x, u), *wanted, y, ctypes.c_size_t(len(names)))
        return list(y)

    def update(
        self, t: float, x: Sequence[float], u: Mapping[str, float], interval: float = 0.01
    ) -> tuple[list[float], float]:
        """Return the states after an event, and the time of the next update."""
        after = self.reals([0.0] * (len(x) + 1))
        self.call("update", *self.point(t, x, u), ctypes.c_double(interval), after)
        return list(after)[:-1], after[len(x)]

    def run(
        self,
        end: float,
        names: Sequence[str],
        u: Callable[[float], Mapping[str, float]] = lambda _: {},
        interval: float = 0.01,
    ) -> list[float]:
        """Integrate the equations of the block to an end; return the values of some outputs there."""
        x, until = self.start(interval)
        t = 0.0

        def crossing(number: int) -> Any:
            def value(t: float, x: Any) -> float:
                return self.indicators(t, x, u(t))[number]

            value.terminal, value.direction = True, -1  # type: ignore[attr-defined]
            return value

        guards = [crossing(number) for number in range(self.about.indicators)]
        while t < end:
            found = solve_ivp(
                lambda t, x: self.rates(t, x, u(t)), (t, min(end, until)), x, "DOP853", events=guards, rtol=1e-9,
                atol=1e-9,
            )  # fmt: skip
            assert found.success, found.message
            t, x = float(found.t[-1]), list(found.y[:, -1])
            if found.status == 1 or t >= until:
                x, until = self.update(t, x, u(t), interval)
        return self.values(t, x, u(t), names)


@pytest.fixture
def opened(tool: Any, tmp_path: Path) -> Callable[..., Called]:
    """A function that exports a model and opens it as a package of Modelica has it."""

    def open_it(model: Any, parameters: Mapping[str, float] | None = None) -> Called:
        file = exported(model, tmp_path)
        package = write_modelica({"One": file}, tmp_path / "Package")
        return Called(tool, parse_fmu(file, kinds=("me",)), package / "Resources" / "Fmus" / "One", parameters)

    return open_it


@pytest.mark.parametrize(
    ("model", "shown", "stop"),
    thorough([
        ("slider_crank", ["crank.phi", "slider.s"], 0.5),
        (ball(), ["y", "der(y)"], 1.2),
        ("sampled_pid_two_link", ["a", "elbow.phi"], 0.2),
    ], represents=lambda model, *_: not isinstance(model, str)),
    ids=["slider_crank", "ball", "sampled_pid_two_link"],
)  # fmt: skip
def test_the_functions_in_c_move_a_model_as_its_stepper(
    model: Any, shown: list[str], stop: float, opened: Callable[..., Called]
) -> None:
    with opened(model) as block:
        found = block.run(stop, shown)
    alone = mbfmu.simulate(model, stop, stepper="projected", options={"order": 9}, step=1e-3)
    assert found == pytest.approx([alone[name][-1] for name in shown], abs=1e-6)


def test_inputs_and_parameters_reach_the_fmu(opened: Callable[..., Called]) -> None:
    shown, torque = ["shoulder.phi", "elbow.w", "elbow.a"], "5*sin(3*time)"
    with opened("two_link", {"m2": 3.0}) as block:
        found = block.run(0.5, shown, lambda t: {"shoulder.tau": 5 * np.sin(3 * t), "elbow.tau": 1.0})
    heavy = mbfmu.load("two_link", {"m2": 3.0})
    inputs = {"shoulder.tau": torque, "elbow.tau": 1.0}
    alone = mbfmu.simulate(heavy, 0.5, stepper="projected", options={"order": 9}, step=1e-3, inputs=inputs)
    assert found == pytest.approx([alone[name][-1] for name in shown], abs=1e-6)


def test_a_call_depends_on_its_arguments_alone(opened: Callable[..., Called]) -> None:
    """In any order, and after a new start."""
    with opened("two_link") as block:
        x, _ = block.start()
        there, here = [item + 0.1 for item in x], {"shoulder.tau": 2.0, "elbow.tau": 0.0}
        first = block.rates(0.5, there, here), block.values(0.5, there, {}, ["elbow.phi"])
        block.rates(0.0, x, {"shoulder.tau": -1.0, "elbow.tau": 3.0})
        assert (block.rates(0.5, there, here), block.values(0.5, there, {}, ["elbow.phi"])) == first
        block.update(0.5, there, here)
        assert block.start()[0] == x
        assert block.rates(0.5, there, here) == first[0]


def test_a_state_beside_the_constraints_is_brought_back_at_an_update(opened: Callable[..., Called]) -> None:
    with opened("slider_crank") as block:
        x, until = block.start()
        assert until == 0.01
        beside = [item + 1e-3 for item in x]
        assert block.values(0.0, beside, {}, ["constraint.position"])[0] > 1e-4
        back, until = block.update(0.005, beside, {})
        assert block.values(0.005, back, {}, ["constraint.position"])[0] < 1e-13
        assert until == 0.015


def test_a_moved_axis_starts_where_its_flange_is(opened: Callable[..., Called]) -> None:
    with opened(wagon()) as block:
        inputs = {"tow.s": 0.2, "tow.v": -1.0, "tow.a": 0.0}
        (axis,) = flanges(block.fmu).values()
        text = "\n".join(content(block.fmu, True, "modelica://P/Fmus/W"))
        assert ", {0, 0}, {tow_s, tow_v}, interval," in text
        x, _ = block.start(u={name: inputs[name] for name in axis.motion[:2]})
        shown = ["track.s", "tow.f", "constraint.position", "constraint.velocity"]
        found = block.values(0.0, x, inputs, shown)
        alone = mbfmu.simulate(wagon(), 0.01, inputs=inputs)
        assert found[:2] == pytest.approx([alone[name][0] for name in shown[:2]], abs=1e-9)
        assert max(found[2:]) < 1e-12


def test_a_failure_ends_in_the_message_of_the_fmu(opened: Callable[..., Called], tmp_path: Path, tool: Any) -> None:
    with opened("two_link") as block:
        x, _ = block.start()
        with pytest.raises(RuntimeError, match=r"two_link: to set the states failed: .*not finite"):
            block.rates(0.0, [float("nan")] * len(x), {})
        assert block.rates(0.0, x, {})
        with pytest.raises(RuntimeError, match=r"two_link: .*two_link\.so' cannot be loaded"):
            Called(tool, block.fmu, tmp_path / "nowhere")


# -- what the FMU says ----------------------------------------------------------------------------------------------


def test_a_terminal_names_the_flange() -> None:
    fmu = made([
        ("j.phi", "output", "rad", None), ("j.w", "output", "rad/s", "j.phi"), ("j.a", "output", "rad/s2", "j.w"),
        ("j.tau", "input", "N.m", None), ("turn", "output", "rad", None), ("rate", "output", "rad/s", "turn"),
        ("acc", "output", "rad/s2", "rate"), ("push", "input", "N.m", None),
    ])  # fmt: skip
    kind = "Modelica.Mechanics.Rotational.Interfaces.Flange_b"
    terminals = (
        Terminal("shaft", kind, {"phi": "turn", "tau": "push"}),
        Terminal("no_flange", kind, {"phi": "turn", "tau": "rate"}),
        Terminal("other", "Modelica.Electrical.Analog.Interfaces.Pin", {"v": "turn"}),
    )
    told = OuterFmu(fmu.model, "", b"", fmu.ports, {}, terminals=terminals)
    found = flanges(told)
    assert list(found) == ["shaft", "j"]
    assert found["shaft"].motion == ("turn", "rate", "acc")
    assert list(flanges(fmu)) == ["j"]


def test_both_versions_of_fmi_have_the_same_flanges(plant: Path) -> None:
    found = [
        flanges(parse_fmu(plant.parent / folder / "model.fmu", (fmi,), ("me",)))
        for folder, fmi in (("me", "2.0"), ("me3", "3.0"))
    ]
    assert list(found[0]) == ["shoulder", "elbow"]
    assert found[0] == found[1]


def test_a_vector_of_fmi_3_is_a_vector_of_connectors() -> None:
    fmu = made([("j.phi", "output", "rad", None), ("j.w", "output", "rad/s", "j.phi"),
                ("j.a", "output", "rad/s2", "j.w"), ("j.tau", "input", "N.m", None)])  # fmt: skip
    vector = FmuVariable("load.f", "Real", "input", "N", "", None, shape=(3,))
    text = "\n".join(content(OuterFmu("arm", "", b"", {**fmu.ports, "load.f": vector}, {}), True))
    assert text.count('Modelica.Blocks.Interfaces.RealInput load_f[3](each unit="N")') == 2
    assert "connect(load_f, fmu.load_f);" in text


def test_the_command_line_writes_a_folder_as_the_call_does(two_link_fmu: Path, tmp_path: Path) -> None:
    parts = [f"Left={two_link_fmu}", f"Right={two_link_fmu}"]
    command = [sys.executable, "-m", "mbfmu", "modelica", *parts, "-o", str(tmp_path / "one" / "Both")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    again = write_modelica({"Left": two_link_fmu, "Right": two_link_fmu}, tmp_path / "two" / "Both")
    names = [path.relative_to(again) for path in again.rglob("*") if path.is_file()]
    assert len(names) == 6
    for name in names:
        assert (tmp_path / "one" / "Both" / name).read_bytes() == (again / name).read_bytes()


# -- what is refused ------------------------------------------------------------------------------------------------


def test_names_that_no_package_can_have_are_refused(two_link_fmu: Path, tmp_path: Path) -> None:
    for names, text in (
        (["my arm"], "'my arm' is not a name for a Modelica package"),
        (["Arm", "arm"], "the package 'arm' and 'Arm' are alike: give it another by NAME=PATH"),
        (["Given"], "the package 'Given' and the package's own 'given' are alike"),
        (["Arm", "Other"], "a package of several FMUs needs a name"),
    ):
        target = None if len(names) == 2 and "Other" in names else tmp_path / "P"
        with pytest.raises(UsageError, match=re.escape(text)):
            write_modelica(dict.fromkeys(names, two_link_fmu), target)
    (tmp_path / "There").mkdir()
    (tmp_path / "There" / "mine").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="is there already"):
        write_modelica({"Arm": two_link_fmu}, tmp_path / "There")
    assert not (tmp_path / "P").exists()


def test_a_parameter_with_a_name_of_the_block_is_refused(opened: Callable[..., Called]) -> None:
    with opened("two_link") as block:
        taken = FmuVariable("interval", "Real", "parameter", "", "", None, start="1")
        fmu = replace(block.fmu, ports={**block.fmu.ports, "interval": taken})
        with pytest.raises(FmuError, match="the model's own 'interval' and 'interval' are both 'interval'"):
            content(fmu, True, "modelica://P/Fmus/A")
        assert content(fmu, True)  # without the block nothing takes the name


def test_an_fmu_with_nothing_to_add_is_refused(tmp_path: Path) -> None:
    path = mbfmu.export(ball(), tmp_path / "ball.fmu")
    with pytest.raises(FmuError, match="no axis for a flange"):
        write_modelica({"Ball": path}, tmp_path / "P")
    assert not (tmp_path / "P").exists()
