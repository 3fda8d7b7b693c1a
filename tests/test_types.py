"""Integer and Boolean variables: declared, written, read and set by the functions of their type, wired and run."""

import json
import math
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from xml.etree import ElementTree

import fmpy.fmi2 as fmi2
import numpy as np
import pytest
from harness import extra
from masters import Array, Instance, Unpacked, refused, run_ecos, run_fmpy, run_libcosim, status_of
from native_fmus import Case, built_host
from native_fmus import unpacked as unpacked_case
from test_modelica import made
from test_native_build import SANITIZED
from test_ssp import STEP
from test_ssp import run as run_ssp
from test_toolbox import tool

import mbfmu
from mbfmu.analysis.linearization import linearize
from mbfmu.dae import derive
from mbfmu.errors import MbfmuError, ModelError, UnknownNameError, UsageError, ValueRangeError
from mbfmu.fmi.reading import OuterFmu, parse_fmu
from mbfmu.fmu.modelica.package import package
from mbfmu.fmu.ssp import Wire, write_ssp
from mbfmu.model import Block, Defined, Parameter, Port, State
from mbfmu.model.toml import from_toml, schema, to_toml
from mbfmu.model.toml.reader import tomllib
from mbfmu.show.listing import description

H = 1e-2
DISCARD, ERROR = fmi2.fmi2Discard, fmi2.fmi2Error
BACKENDS = ("python", "native")
DAMPING, INERTIA = 0.5, 2.0


def drive(**changes: Any) -> Block:
    """A shaft of the speed w, J w' = enable u gear - d w, and what it says of its switches."""
    parts: dict[str, Any] = {
        "name": "drive",
        "inputs": (
            Port("u", "N.m", "torque of the motor", start=1.0),
            Port("enable", description="whether the motor turns the shaft", type="Boolean"),
            Port("gear", description="gear", start=1, type="Integer"),
        ),
        "states": (State("w", "(enable*u*gear - d*w)/J", "rad/s"),),
        "defined": (
            Defined("power", "enable*u*gear*w", "W", output=True),
            Defined("on", "enable*ready", "1", "whether torque acts", output=True, type="Boolean"),
            Defined("mode", "10*on + gear", output=True, type="Integer"),
            Defined("off", "1 - on", type="Boolean"),
        ),
        "parameters": (
            Parameter("J", INERTIA, "kg.m2"),
            Parameter("d", DAMPING, "N.m.s/rad"),
            Parameter("ready", True, type="Boolean"),
            Parameter("gears", 5, type="Integer", min=1, max=9),
            Parameter("most", "2*gears", type="Integer"),
        ),
    }
    return Block(**{**parts, **changes})


def speed(time: Any, torque: float, start: float = 0.0) -> Any:
    """The speed after a time with a constant torque."""
    rest = torque / DAMPING
    return rest + (start - rest) * np.exp(-DAMPING / INERTIA * np.asarray(time))


@cache
def packed(backend: str) -> Path:
    """Return the drive as an FMU; made once a session."""
    return mbfmu.export(drive(), Path(mkdtemp(prefix="mbfmu-types-")) / "drive.fmu", step=H, backend=backend)


@cache
def unpacked(backend: str) -> Unpacked:
    """Return the drive as an FMU, unpacked."""
    return Unpacked(packed(backend), packed(backend).parent / backend)


@pytest.fixture(params=BACKENDS)
def fmu(request: pytest.FixtureRequest) -> Unpacked:
    """The drive as an FMU of each back end."""
    return unpacked(request.param)


@pytest.fixture
def native() -> Iterator[Instance]:
    """An initialised native instance."""
    with Instance(unpacked("native")) as slave:
        yield slave.start({"enable": True, "gear": 2})


# -- declarations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: Port("on", "V", type="Boolean"), ValueRangeError, "'on' is of type Boolean, which has no unit"),
        (lambda: Port("n", nominal=10.0, type="Integer"), ValueRangeError, "which has no nominal"),
        (lambda: Port("on", start=2, type="Boolean"), ValueRangeError, r"on = 2 must be true or false \(1 or 0\)"),
        (lambda: Port("n", start=0.5, type="Integer"), ValueRangeError, "n = 0.5 must be a whole number of 32 bits"),
        (lambda: Port("n", start=2**31, type="Integer"), ValueRangeError, "a whole number of 32 bits"),
        (lambda: Port("n", start=True, type="Integer"), ValueRangeError, "give a whole number of 32 bits"),
        (lambda: Port("u", start=True), ValueRangeError, "u = True is not a value: give a number in 1"),
        (lambda: Port("on", type="Bool"), ModelError, "'on': there is no type 'Bool'; did you mean 'Boolean'"),
        (lambda: Parameter("on", True, type="Boolean", max=1.0), ValueRangeError, "which has no max"),
        (lambda: Parameter("n", 1, type="Integer", min=0.5), ValueRangeError, "'n': min = 0.5 must be a whole number"),
        (lambda: Parameter("n", 7, type="Integer", max=5), ValueRangeError, "outside its bounds"),
        (lambda: Defined("on", "u", "N", type="Boolean"), ValueRangeError, "which has no unit"),
        (lambda: Defined("on", "u", type=3), ModelError, "there is no type 3"),
        (lambda: drive().with_values({"ready": 0.5}), ValueRangeError, "ready = 0.5 must be true or false"),
        (lambda: drive().with_values({"gears": 2.5}), ValueRangeError, "gears = 2.5 must be a whole number"),
    ],
)
def test_a_declaration_that_does_not_fit_its_type_is_refused_by_name(
    make: Callable[[], Any], kind: type[MbfmuError], text: str
) -> None:
    with pytest.raises(kind, match=text):
        make()


def test_describe_names_the_types() -> None:
    rows = {row["what"]: row["which"] for row in description(drive())["counts"]}
    assert rows["inputs"] == ["u", "enable (Boolean)", "gear (Integer)"]
    assert rows["outputs"] == ["power", "on (Boolean)", "mode (Integer)"]
    assert rows["parameters"] == ["J", "d", "ready (Boolean)", "gears (Integer)"]


TOML = """
name = "swing"
planar = true
connections = [["world.frame_b", "hinge.frame_a"], ["hinge.frame_b", "rod.frame_a"]]
[parameters]
braked = {value = true, type = "Boolean"}
plates = {value = 3, type = "Integer", min = 1}
[components.world]
type = "World"
[components.hinge]
type = "Revolute"
phi = 0.5
w = 0
[components.rod]
type = "Body"
m = 1
r_CM = [1, 0]
I_33 = 0.1
[components.brake]
type = "RotationalDamper"
joint = "hinge"
d = "braked*plates"
"""


def test_a_mechanism_in_toml_has_switches_among_its_parameters() -> None:
    system = from_toml(TOML)
    assert from_toml(to_toml(system)) == system
    assert [(item.value, item.type) for item in system.parameters] == [(True, "Boolean"), (3, "Integer")]
    braked, free = (
        mbfmu.simulate(system, 0.5, step=H, values={"braked": value})["hinge.w"][-1] for value in (True, False)
    )
    same = TOML.replace('"braked*plates"', "3").replace('braked = {value = true, type = "Boolean"}', "")
    assert braked == mbfmu.simulate(from_toml(same), 0.5, step=H)["hinge.w"][-1]
    assert abs(braked) < abs(free)


def test_a_sub_system_gets_its_switches_from_outside() -> None:
    inner = TOML.replace('["world.frame_b", "hinge.frame_a"], ', "").replace('[components.world]\ntype = "World"\n', "")
    outer = """
    name = "outer"
    planar = true
    connections = [["world.frame_b", "left.hinge.frame_a"]]
    [components.world]
    type = "World"
    [components.left]
    values = {braked = false, plates = 7}
    """ + inner.replace('name = "swing"', '[components.left.system]\nname = "swing"').replace(
        "\n[", "\n[components.left.system."
    ).replace("components.left.system.components.left.system]", "components.left.system]")
    system = from_toml(outer)
    extra("jsonschema", "test").validate(tomllib.loads(to_toml(system)), schema())
    assert from_toml(to_toml(system)) == system
    found = {item.name: (item.value, item.type) for item in derive(system).parameters}
    assert found["left.braked"] == (0.0, "Boolean")
    assert found["left.plates"] == (7.0, "Integer")
    with pytest.raises(ValueRangeError, match=r"left\.braked = 2 must be true or false"):
        from_toml(outer.replace("braked = false", "braked = 2"))


def test_a_mechanism_as_an_fmu_has_them_too(tmp_path: Path) -> None:
    system = from_toml(TOML)
    path = mbfmu.export(system, tmp_path / "swing.fmu", step=H, backend="native")
    assert mbfmu.check(path) == []
    for braked in (True, False):
        found, wanted = (linearize(item, values={"braked": braked}) for item in (path, system))
        np.testing.assert_allclose(np.sort(found.eigenvalues), np.sort(wanted.eigenvalues), rtol=1e-9)
        assert np.trace(wanted.A) == pytest.approx(-3 * braked / (0.1 + 1.0 * 1.0**2), rel=1e-12)
    fmu = Unpacked(path, tmp_path / "swing")
    with Instance(fmu) as slave:
        slave.start()
        slave.step(0.0, H)
        slave.set({"braked": False, "plates": 0})
        assert slave.messages[-1].text == "plates = 0: outside its bounds [1, inf]"
        slave.set({"plates": 4})
        slave.step(H, H)
        assert slave.get(["braked", "plates", "brake.d"]) == (False, 4, 0.0)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("value = true", "value = 3", "braked = 3 must be true or false"),
        ('"Boolean"', '"Bool"', "braked.type must be 'Real' or 'Integer' or 'Boolean'"),
        ("value = 3", "value = 3.5", "plates = 3.5 must be a whole number"),
        ("value = 3", "value = true", "plates = True is not a value"),
    ],
)
def test_a_wrong_type_in_toml_is_told_with_its_line(old: str, new: str, text: str) -> None:
    with pytest.raises(MbfmuError, match=rf"line [67]: {text}") as caught:
        from_toml(TOML.replace(old, new))
    assert len(str(caught.value).splitlines()) == 1


# -- modelDescription.xml -------------------------------------------------------------------------------------------


def test_the_description_has_what_the_standard_asks_of_each_type(fmu: Unpacked) -> None:
    root = ElementTree.parse(fmu.folder / "modelDescription.xml").getroot()
    found = {}
    for item in root.iterfind("ModelVariables/ScalarVariable"):
        kind = item[0]
        if kind.tag != "Real":
            found[item.get("name")] = (
                kind.tag, item.get("causality"), item.get("variability"), item.get("initial"), dict(kind.attrib),
            )  # fmt: skip
    assert found == {
        "enable": ("Boolean", "input", "discrete", None, {"start": "false"}),
        "gear": ("Integer", "input", "discrete", None, {"start": "1"}),
        "ready": ("Boolean", "parameter", "tunable", "exact", {"start": "true"}),
        "gears": ("Integer", "parameter", "tunable", "exact", {"start": "5", "min": "1", "max": "9"}),
        "most": ("Integer", "calculatedParameter", "tunable", "calculated", {}),
        "on": ("Boolean", "output", "discrete", "calculated", {}),
        "off": ("Boolean", "local", "discrete", "calculated", {}),
        "mode": ("Integer", "output", "discrete", "calculated", {}),
    }
    assert {item.get("name") for item in root.iterfind("UnitDefinitions/Unit")} >= {"N.m", "rad/s", "1"}


def test_the_structure_says_on_which_switches_an_output_depends(fmu: Unpacked) -> None:
    names = list(fmu.variables)
    root = ElementTree.parse(fmu.folder / "modelDescription.xml").getroot()
    on = {
        names[int(item.attrib["index"]) - 1]: {names[int(k) - 1] for k in item.attrib["dependencies"].split()}
        for item in root.iterfind("ModelStructure/Outputs/Unknown")
    }
    assert on == {"power": {"u", "enable", "gear"}, "on": {"enable"}, "mode": {"enable", "gear"}}


@pytest.mark.parametrize("backend", BACKENDS)
def test_our_check_and_a_foreign_one_find_nothing_wrong(backend: str, tmp_path: Path) -> None:
    assert mbfmu.check(packed(backend)) == []
    said = tool("fmutool", "-input", str(packed(backend)), "-check", cwd=tmp_path)
    assert "compliant with FMI-2.0" in said
    assert "No semantic error" in said


def test_the_page_inside_shows_types_and_truth_values(fmu: Unpacked) -> None:
    page = (fmu.folder / "documentation" / "index.html").read_text(encoding="utf-8")
    (row,) = (line for line in page.splitlines() if "<code>ready</code>" in line)
    assert "<td></td>" in row
    assert ">true</td>" in row
    assert "(Boolean, tunable)" in row


def test_an_fmu_of_real_variables_has_no_trace_of_types() -> None:
    arm = unpacked_case(Case("two_link", "rattle"))
    assert "type" not in (arm.folder / "sources" / "variables.h").read_text()
    assert "WHOLE" not in (arm.folder / "sources" / "model.h").read_text()


# -- values ---------------------------------------------------------------------------------------------------------

SHOWN = ("w", "power", "on", "mode", "off", "most")


def switched_run(fmu: Unpacked) -> tuple[list[tuple[float, ...]], list[str]]:
    """Run with changing switches."""
    with Instance(fmu) as slave:
        slave.start({"enable": True, "gear": 3, "gears": 4})
        rows = [slave.get(SHOWN)]
        for k in range(30):
            slave.set({"enable": k % 3 != 0, "gear": k % 5 - 1, "u": 0.1 * k, "ready": k < 20})
            slave.step(k * H, H)
            rows.append(slave.get((*SHOWN, "enable", "gear", "ready", "gears", "u")))
        return rows, [item.text for item in slave.messages]


def test_both_back_ends_give_the_same_numbers_of_all_types() -> None:
    (native, silence), (python, quiet) = (switched_run(unpacked(backend)) for backend in ("native", "python"))
    assert silence == quiet == []
    assert [row[2:] for row in native] == [row[2:] for row in python]
    np.testing.assert_allclose([row[:2] for row in native], [row[:2] for row in python], rtol=1e-12, atol=1e-12)
    w = 0.0
    for k, row in enumerate(native[1:]):
        on, ready = k % 3 != 0, k < 20
        w = float(speed(H, on * 0.1 * k * (k % 5 - 1), w))
        assert row[0] == pytest.approx(w, abs=1e-9)
        assert row[2:6] == (on and ready, 10 * (on and ready) + k % 5 - 1, not (on and ready), 8)


WRONG_TYPE = {
    "Real": ("enable", "gear", "on", "mode", "ready", "most"),
    "Integer": ("u", "enable", "w", "on", "time", "solver.step"),
    "Boolean": ("u", "gear", "w", "mode", "time", "J"),
}


@pytest.mark.parametrize("kind", WRONG_TYPE)
def test_the_function_of_another_type_is_refused_by_name_and_changes_nothing(kind: str, native: Instance) -> None:
    right = {"Real": "u", "Integer": "gear", "Boolean": "enable"}[kind]
    before = native.save()
    for name in WRONG_TYPE[kind]:
        references = [native.fmu.references[right], native.fmu.references[name]]
        own = native.fmu.variables[name].type
        for call in (
            lambda references=references: getattr(native.slave, f"get{kind}")(references),
            lambda references=references: getattr(native.slave, f"set{kind}")(references, [0, 0]),
        ):
            assert refused(call) == ERROR
            told = f"drive: {name} is of type {own}, not {kind}: use the functions of its type"
            assert native.messages[-1].text == told
    assert native.save() == before


@pytest.mark.parametrize("kind", WRONG_TYPE)
def test_pythonfmu_refuses_the_function_of_another_type_too(kind: str) -> None:
    for what in ("get", "set"):
        with Instance(unpacked("python")) as slave:
            slave.start()
            given = ([0],) if what == "set" else ()
            for name in WRONG_TYPE[kind][:1]:
                call = getattr(slave.slave, f"{what}{kind}")
                assert refused(call, [slave.fmu.references[name]], *given) >= ERROR
            assert f"is of type {slave.fmu.variables[name].type}, not {kind}" in slave.messages[-1].text


def test_texts_are_refused(native: Instance) -> None:
    assert refused(native.slave.getString, [native.fmu.references["gear"]]) == ERROR
    assert native.messages[-1].text == "drive: no variable is of type String"


MISTAKES: dict[str, Any] = {
    "out of bounds": lambda slave: slave.set({"gears": 10}),
    "far out of bounds": lambda slave: slave.set({"gears": -(2**31)}),
    "computed": lambda slave: slave.set({"mode": 3, "on": True}),
    "a bound parameter": lambda slave: slave.set({"most": 3}),
    "a real one beside": lambda slave: slave.set({"u": math.nan, "gears": 0}),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_value_that_may_not_be_set_is_told_in_the_same_words_and_stops_steps(mistake: str) -> None:
    told = []
    for backend in BACKENDS:
        with Instance(unpacked(backend)) as slave:
            before = slave.start({"gear": 2}).get()
            status_of(MISTAKES[mistake], slave)
            assert slave.get() == before
            assert refused(slave.step, 0.0, H) == DISCARD
            told.append([item.text for item in slave.messages])
    assert told[0] == told[1]
    assert told[0]


def test_a_good_value_lets_steps_go_on(fmu: Unpacked) -> None:
    with Instance(fmu) as slave:
        slave.start()
        status_of(slave.set, {"gears": 10})
        assert slave.messages[-1].text.endswith("gears = 10: outside its bounds [1, 9]")
        assert refused(slave.step, 0.0, H) == DISCARD
        slave.set({"gears": 9})
        slave.step(0.0, H)
        assert slave.get(["gears", "most"]) == (9, 18)


def test_a_truth_value_is_true_or_false(native: Instance) -> None:
    assert native.slave.fmi2SetBoolean is not None
    native.slave.setBoolean([native.fmu.references["enable"]], [7])
    assert native.messages[-1].text == "enable = 7: neither true (1) nor false (0)"
    assert native.get(["enable"]) == (True,)
    assert refused(native.step, 0.0, H) == DISCARD


@cache
def crooked(backend: str) -> Unpacked:
    """Return a block whose whole-number outputs are not whole, as an FMU."""
    block = Block(
        "crooked",
        inputs=(Port("x"),),
        defined=(
            Defined("n", "x", output=True, type="Integer"),
            Defined("on", "x", output=True, type="Boolean"),
        ),
    )
    folder = Path(mkdtemp(prefix="mbfmu-types-"))
    return Unpacked(mbfmu.export(block, folder / "crooked.fmu", step=H, backend=backend), folder / "crooked")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("x", "n", "on", "told"),
    [
        (1.0, 1, True, ""),
        (0.0, 0, False, ""),
        (1 + 1e-10, 1, True, ""),
        (-1e-10, 0, False, ""),
        (1e6 + 1e-5, 10**6, True, "on = 1000000.00001 is no value of type Boolean, and true is given"),
        (0.3, 0, False, "n = 0.3 is no value of type Integer, and 0 is given"),
        (2.5, 2, True, "n = 2.5 is no value of type Integer, and 2 is given"),
        (-7.0, -7, False, "on = -7.0 is no value of type Boolean, and false is given"),
        (1e20, 2**31 - 1, True, "n = 1e+20 is no value of type Integer, and 2147483647 is given"),
        (-1e20, -(2**31), False, "n = -1e+20 is no value of type Integer, and -2147483648 is given"),
    ],
)
def test_a_value_got_is_the_nearest_of_its_type_and_what_is_more_than_round_off_is_told_once(
    x: float, n: int, on: bool, told: str, backend: str
) -> None:
    with Instance(crooked(backend)) as slave:
        slave.start({"x": x})
        for _ in range(3):
            assert slave.get(["n", "on"]) == (n, on)
        found = [(item.status, item.category, item.text) for item in slave.messages]
    said = f"crooked: {told}; mend its expression (said once, at t = 0 s)"
    assert found == ([(fmi2.fmi2Warning, "logStatusWarning", said)] if told else [])


def test_a_reset_brings_the_start_values_back(fmu: Unpacked) -> None:
    with Instance(fmu) as slave:
        first = slave.start().get(("enable", "gear", "ready", "gears", *SHOWN))
        slave.set({"enable": True, "gear": 4, "ready": False, "gears": 3})
        slave.step(0.0, H)
        slave.slave.reset()
        assert slave.start().get(("enable", "gear", "ready", "gears", *SHOWN)) == first


def test_a_serialised_state_takes_the_switches_with_it(fmu: Unpacked) -> None:
    with Instance(fmu) as one, Instance(fmu) as other:
        one.start().set({"enable": True, "gear": 4, "ready": False, "gears": 3})
        one.step(0.0, H)
        data, there = one.save(), one.get()
        first = one.run(1, 5, H)
        one.set({"enable": False, "gear": -1})
        other.restore(data)
        assert other.get() == there
        assert other.get(["enable", "gear", "ready", "gears"]) == (True, 4, False, 3)
        assert other.run(1, 5, H) == first


# -- derivatives ----------------------------------------------------------------------------------------------------


def test_only_real_variables_have_derivatives(native: Instance) -> None:
    native.step(0.0, H)
    at = native.fmu.references
    for unknown, known, told in (
        ("mode", "u", "mode is of type Integer, and only real outputs have derivatives"),
        ("w", "enable", "nothing can be differentiated by enable, which is of type Boolean"),
        ("w", "gears", "nothing can be differentiated by gears, which is of type Integer"),
    ):
        assert refused(native.slave.getDirectionalDerivative, [at[unknown]], [at[known]], [1.0]) == ERROR
        assert native.messages[-1].text == f"drive: {told}"
    assert refused(native.slave.setRealInputDerivatives, [at["gear"]], [1], [1.0]) == ERROR
    assert native.messages[-1].text == "drive: gear is of type Integer, and only real inputs change at a rate"
    assert refused(native.slave.getRealOutputDerivatives, [at["on"]], [1]) == ERROR
    (slope,) = native.slave.getDirectionalDerivative([at["w"]], [at["u"]], [1.0])
    assert slope == pytest.approx(speed(H, 2.0), rel=1e-9)


@pytest.mark.parametrize("enable", [True, False])
def test_a_linear_form_is_that_of_the_switches_as_they_stand(enable: bool) -> None:
    found = linearize(drive(), inputs={"enable": enable, "gear": 3})
    assert found.inputs == ("u",)
    assert found.outputs == ("power",)
    np.testing.assert_allclose(found.B, [[3 * enable / INERTIA]])
    np.testing.assert_allclose(found.A, [[-DAMPING / INERTIA]])
    with pytest.raises(UsageError, match="'mode' of drive is of type Integer: leave it out"):
        linearize(drive(), outputs=["mode"])


# -- runs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["model", *BACKENDS])
@pytest.mark.parametrize("enable", [True, 1, "true", "1", lambda _: 1.0])
def test_a_switch_is_given_as_true_or_false_or_a_number(where: str, enable: Any) -> None:
    model: Any = drive() if where == "model" else packed(where)
    found = mbfmu.simulate(model, 1.0, step=H, inputs={"enable": enable, "gear": "2"})
    np.testing.assert_allclose(found["w"], speed(found.time, 2.0), atol=1e-9)
    assert set(found["on"]) == {1.0}
    assert set(found["mode"]) == {12.0}


@pytest.mark.parametrize("where", ["model", *BACKENDS])
@pytest.mark.parametrize("given", ["table", "function", "expression"])
def test_a_switch_that_changes_acts_from_its_time_on(where: str, given: str, tmp_path: Path) -> None:
    table = tmp_path / "gears.csv"
    table.write_text("time,gear,enable\n0,1,1\n0.5,3,1\n", encoding="utf-8")
    gears: dict[str, Any] = {
        "table": str(table), "function": lambda time: 1 if time < 0.5 - 1e-9 else 3,
        "expression": "2 + max(-1, min(1, 1e6*(time - 0.499995)))",
    }  # fmt: skip
    model: Any = drive() if where == "model" else packed(where)
    found = mbfmu.simulate(model, 1.0, step=H, inputs={"enable": True, "gear": gears[given]})
    half = found.time < 0.5 - 1e-9
    expected = np.where(half, speed(found.time, 1.0), speed(found.time - 0.5, 3.0, float(speed(0.5, 1.0))))
    np.testing.assert_allclose(found["w"], expected, atol=1e-9)
    assert set(found["gear"][half]) == {1.0}
    assert set(found["gear"][~half]) == {3.0}


def test_a_value_between_two_is_rounded_and_any_but_zero_is_true() -> None:
    for model in (drive(), packed("native")):
        found = mbfmu.simulate(model, 0.1, step=H, inputs={"enable": 0.3, "gear": 1.6})  # type: ignore[arg-type]
        assert found["mode"][-1] == 12.0


WHOLE = [1e12, -(2.0**31) - 1, "1e12*time", lambda time: 1e12 * (time > 0.01)]
"""Inputs that have whole numbers of more than 32 bits."""


@pytest.mark.parametrize("given", WHOLE)
@pytest.mark.parametrize("where", ["model", *BACKENDS, "coupled"])
def test_a_whole_number_of_more_than_32_bits_is_refused_by_name(where: str, given: Any) -> None:
    """FMI 2.0 has no others, and another number, of the last 32 bits, would go into the FMU."""

    def run() -> None:
        if where == "coupled":
            mbfmu.couple({"a": packed("native")}, (), 0.1, H, inputs={"a.gear": given})
        else:
            mbfmu.simulate(drive() if where == "model" else packed(where), 0.1, inputs={"gear": given})

    with pytest.raises(UsageError, match=r"input (a\.)?gear = .* must be a whole number of 32 bits"):
        run()


def test_the_largest_whole_numbers_of_32_bits_are_taken() -> None:
    for gear in (-(2**31), 2**31 - 1):
        run = mbfmu.simulate(packed("native"), H, values={"u": 0.0}, inputs={"gear": gear})
        assert run["gear"][-1] == gear


@pytest.mark.parametrize(
    ("values", "text"),
    [({"gear": 1e12}, "gear = .* beyond its type Integer"), ({"enable": 2}, "enable = 2: it must be true or false")],
)
def test_a_start_value_that_an_fmu_has_not_by_its_type_is_refused_by_name(values: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        mbfmu.simulate(packed("native"), 0.1, values=values)
    with pytest.raises(UsageError, match=text):
        mbfmu.couple({"a": packed("native")}, (), 0.1, H, values={f"a.{name}": item for name, item in values.items()})


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mbfmu", *arguments], cwd=cwd, capture_output=True, text=True, timeout=100, check=False
    )


@pytest.mark.slow
def test_the_command_line_takes_true_and_false(tmp_path: Path) -> None:
    more = ("--set", "ready=false", "--set", "gears=3", "--input", "enable=true", "--json")
    done = command("simulate", str(packed("native")), "--stop", "0.1", *more, cwd=tmp_path)
    found = json.loads(done.stdout)["variables"]
    assert (found["mode"]["last"], found["on"]["last"], found["enable"]["last"]) == (1.0, 0.0, 1.0)
    (tmp_path / "swing.toml").write_text(TOML, encoding="utf-8")
    done = command("simulate", "swing.toml", "--stop", "0.1", "--set", "braked=false", "--json", cwd=tmp_path)
    wanted = mbfmu.simulate(from_toml(TOML), 0.1, values={"braked": False})["hinge.w"][-1]
    assert json.loads(done.stdout)["variables"]["hinge.w"]["last"] == wanted
    wrong = command("simulate", str(packed("native")), "--stop", "0.1", "--set", "gears=2.5", cwd=tmp_path)
    assert "gears = '2.5': it must be a whole number" in wrong.stderr
    assert len(wrong.stderr.splitlines()) == 1


def test_a_simulation_takes_switches_and_refuses_what_is_none() -> None:
    sim = mbfmu.Simulation(drive(), step=H, inputs={"enable": True})
    for _ in range(10):
        sim.step({"gear": 2, "enable": 1}, H)
    assert sim["w"] == pytest.approx(speed(0.1, 2.0), abs=1e-9)
    assert sim["mode"] == 12.0
    before = sim.state
    for wrong, told in (
        ({"enable": 0.5}, r"input enable = 0.5 must be true or false \(1 or 0\)"),
        ({"gear": 1.5}, "input gear = 1.5 must be a whole number of 32 bits"),
        ([1.0, 1.0, 2.5], "input gear = 2.5 must be a whole number"),
    ):
        with pytest.raises(UsageError, match=told):
            sim.step(wrong, H)
    assert sim.state == before


@pytest.mark.parametrize("where", ["model", "native"])
def test_a_sweep_varies_a_switch(where: str) -> None:
    model: Any = drive() if where == "model" else packed(where)
    rows = mbfmu.sweep(
        model,
        0.5,
        measures={"on": "last(on)"},
        vary={"ready": [False, True, 0.5]},
        step=H,
        inputs={"enable": True},
        workers=1,
    )
    assert [row.measures.get("on") for row in rows] == [0.0, 1.0, None]
    assert rows[2].failure.startswith("ready = 0.5")


MASTERS = {"fmpy": run_fmpy, "libcosim": run_libcosim, "ecos": run_ecos}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("run", MASTERS.values(), ids=MASTERS)
def test_a_master_sets_and_reads_all_types(run: Callable[..., Array], backend: str) -> None:
    values = {"enable": True, "gear": 3, "u": 2.0, "gears": 4}
    names = ("w", "on", "mode", "enable", "gear", "gears", "off")
    found = run(packed(backend), values, names, stop=0.2, step=H)
    np.testing.assert_allclose(found[:, 0], speed(H * np.arange(1, 21), 6.0), atol=1e-9)
    assert np.all(found[:, 1:] == [1, 13, 1, 3, 4, 0])


# -- wires ----------------------------------------------------------------------------------------------------------


@cache
def timer() -> Path:
    """Return a block that counts time in steps of 0.1 s, roughly, as an FMU: its switch is off, then on."""
    block = Block(
        "timer",
        states=(State("x", "1"),),
        defined=(
            Defined("on", "max(0, min(1, 1e9*(x - 0.2499)))", output=True, type="Boolean"),
            Defined("gear", "1 + on", output=True, type="Integer"),
            Defined("level", "on", output=True),
        ),
    )
    return mbfmu.export(block, Path(mkdtemp(prefix="mbfmu-types-")) / "timer.fmu", step=H, backend="native")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("how", [{}, {"order": "jacobi", "extrapolation": 0}, {"passes": 2}, {"tolerance": 1e-3}])
def test_a_switch_of_one_fmu_acts_in_another_from_the_next_communication_point_on(
    backend: str, how: dict[str, Any]
) -> None:
    fmus = {"timer": timer(), "drive": packed(backend)}
    wires = [("timer.on", "drive.enable"), ("timer.gear", "drive.gear")]
    more = {"values": {"drive.ready": True, "drive.gears": 3}, "inputs": {"drive.u": 1.0}}
    found = mbfmu.couple(fmus, wires, 0.5, H, **more, **how)
    assert set(found["timer.on"][found.time < 0.245]) == {0.0}
    assert set(found["timer.on"][found.time > 0.255]) == {1.0}
    late = found.time[found["timer.on"] > 0][0]
    expected = np.where(found.time < late, 0.0, speed(np.maximum(found.time - late, 0.0), 2.0))
    power = np.where(found.time > late, 2.0 * expected, 0.0)
    np.testing.assert_allclose(found["drive.power"], power, atol=1e-8)


def test_a_wire_between_two_types_is_refused_by_name(tmp_path: Path) -> None:
    fmus = {"timer": timer(), "drive": packed("native")}
    for start, end, told in (
        ("timer.level", "drive.enable", "timer.level=drive.enable: a value of type Real cannot go to type Boolean"),
        ("timer.on", "drive.u", "timer.on=drive.u: a value of type Boolean cannot go to type Real"),
        ("timer.on", "drive.gear", "timer.on=drive.gear: a value of type Boolean cannot go to type Integer"),
    ):
        with pytest.raises(UsageError, match=told):
            mbfmu.couple(fmus, [(start, end)], 0.1, H)
        with pytest.raises(UsageError, match=told):
            write_ssp(tmp_path / "x.ssp", fmus, [(start, end)])
    for write in (
        lambda wires: mbfmu.couple(fmus, wires, 0.1, H),
        lambda wires: write_ssp(tmp_path / "x.ssp", fmus, wires),
    ):
        with pytest.raises(UsageError, match="a factor goes with real numbers, not with type Boolean"):
            write([Wire("timer.on", "drive.enable", -1.0)])
    with pytest.raises(UsageError, match=r"gears = 2\.5: it must be a whole number"):
        mbfmu.couple(fmus, [], 0.1, H, values={"drive.gears": 2.5})
    with pytest.raises(UnknownNameError, match="no variable 'engage' whose value is a number"):
        mbfmu.couple(fmus, [("timer.on", "drive.engage")], 0.1, H)


def test_an_ssp_file_has_connectors_of_all_types(tmp_path: Path) -> None:
    wires = [("timer.on", "drive.enable"), ("timer.gear", "drive.gear")]
    path = write_ssp(tmp_path / "x.ssp", {"timer": timer(), "drive": packed("native")}, wires, step=H)
    with zipfile.ZipFile(path) as archive:
        text = archive.read("SystemStructure.ssd").decode()
    root = ElementTree.fromstring(text)
    ssd = "{http://ssp-standard.org/SSP1/SystemStructureDescription}"
    kinds = {
        (part.get("name"), item.get("name")): item[0].tag.partition("}")[2]
        for part in root.iter(f"{ssd}Component")
        for item in part.iter(f"{ssd}Connector")
    }
    assert kinds["timer", "on"] == kinds["drive", "enable"] == "Boolean"
    assert kinds["timer", "gear"] == kinds["drive", "gear"] == "Integer"


@pytest.mark.parametrize(("master", "step"), [("libcosim", H), ("ecos", STEP)])
def test_a_master_wires_switches_as_an_ssp_file_says(master: str, step: float, tmp_path: Path) -> None:
    wires = [("timer.on", "drive.enable"), ("timer.gear", "drive.gear")]
    path = write_ssp(tmp_path / "x.ssp", {"timer": timer(), "drive": packed("native")}, wires, step=H)
    found = run_ssp(master, path, ("drive.w",), round(0.4 / step))
    assert found[-1, 0] == pytest.approx(speed(0.4 - 0.25, 2.0), abs=1e-8)


def test_an_fmu_in_a_container_has_its_switches(tmp_path: Path) -> None:
    (tmp_path / "box.json").write_text(json.dumps({"fmu": ["drive.fmu"], "step_size": H}), encoding="utf-8")
    (tmp_path / "drive.fmu").write_bytes(packed("native").read_bytes())
    tool("fmucontainer", "-container", "box.json", "-fmu-directory", ".", cwd=tmp_path)
    values, names = {"enable": True, "gear": 3, "u": 2.0}, ("power", "on", "mode")
    inside = run_fmpy(tmp_path / "box.fmu", values, names, stop=0.1, step=H)
    outside = run_fmpy(packed("native"), values, names, stop=0.1, step=H)
    assert set(inside[:, 2]) == {13.0}
    np.testing.assert_allclose(inside, outside, rtol=1e-12)


@pytest.mark.parametrize("library", [True, False])
def test_a_modelica_model_has_connectors_of_all_types(library: bool) -> None:
    axis = made([
        ("j.phi", "output", "rad", None), ("j.w", "output", "rad/s", "j.phi"), ("j.a", "output", "rad/s2", "j.w"),
        ("j.tau", "input", "N.m", None),
    ])  # fmt: skip
    switches = {name: port for name, port in parse_fmu(packed("native")).ports.items() if port.type != "Real"}
    text = package(OuterFmu("arm", "", b"", {**axis.ports, **switches}, {}), "Arm", library)
    start = "Modelica.Blocks.Interfaces." if library else ""
    for line in (f"{start}BooleanInput enable", f"{start}IntegerInput gear", f"{start}BooleanOutput on"):
        assert text.count(f"{line} ") == 2
    assert "connect(enable, fmu.enable);" in text
    assert "connect(fmu.mode, mode);" in text
    assert ("connector BooleanInput = input Boolean" in text) is not library


# -- safety ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C host with the sources of a drive that is switched on, watched by the sanitizers."""
    torque, _, gear = drive().inputs
    moving = drive(inputs=(torque, Port("enable", start=True, type="Boolean"), gear))
    folder = tmp_path_factory.mktemp("host")
    fmu = Unpacked(mbfmu.export(moving, folder / "drive.fmu", step=H, backend="native"), folder / "drive")
    return built_host(fmu.folder / "sources", folder, SANITIZED)


@pytest.mark.parametrize("task", [("life",), ("illegal",), ("fuzz", "50000", "1")], ids=lambda task: task[0])
def test_no_call_breaks_an_instance_with_switches(host: Path, task: tuple[str, ...]) -> None:
    done = subprocess.run([host, *task], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
