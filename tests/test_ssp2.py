"""Values of parameters in an .ssp file, and its version 2.0: FMI 3.0, arrays, enumerations, model exchange."""

import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import fmpy
import pytest
from harness import extra
from lxml import etree

import mbfmu
from examples.ssp import CONNECTIONS, wagon
from mbfmu.errors import FmuError, MbfmuError, ModelFileError, UnknownNameError, UsageError, ValueRangeError
from mbfmu.fmi.reading import TYPES3, FmuVariable
from mbfmu.fmu.parameter_set import Value, parameter_set
from mbfmu.fmu.ssp import assigned, read_coupling, write_ssp

pyssp_standard = extra("pyssp_standard", "test")

SCHEMAS = {
    "1.0": Path(fmpy.__file__).with_name("ssp") / "schema",
    "2.0": Path(pyssp_standard.__file__).with_name("resources") / "ssp2",
}
"""Folders of the schemas of the standard."""
KINDS = {".ssd": "Description", ".ssv": "ParameterValues"}
SSC = "{http://ssp-standard.org/SSP1/SystemStructureCommon}"
SSV = "{http://ssp-standard.org/SSP1/SystemStructureParameterValues}"
OMS = "{https://raw.githubusercontent.com/OpenModelica/OMSimulator/master/schema/oms.xsd}"
SSD = "{http://ssp-standard.org/SSP1/SystemStructureDescription}"


@pytest.fixture(scope="module")
def fmus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A cart by FMI 3.0 for co-simulation and a wagon by FMI 2.0 for model exchange."""
    folder = tmp_path_factory.mktemp("fmus")
    cart = mbfmu.export("cart_pendulum", folder / "cart.fmu", backend="native", fmi="3.0")
    return {"cart": cart, "wagon": mbfmu.export(wagon(), folder / "wagon.fmu", backend="native", kind="me")}


def problems(content: bytes, kind: str, version: str) -> list[str]:
    """Return what the schema of the standard has to say."""
    schema = etree.XMLSchema(etree.parse(str(SCHEMAS[version] / f"SystemStructure{kind}.xsd")))
    schema.validate(etree.fromstring(content))
    return [str(item) for item in schema.error_log]


def inside(path: Path, name: str) -> ElementTree.Element:
    """Return a document in an .ssp file, which is valid by its schema."""
    with zipfile.ZipFile(path) as archive:
        content = archive.read(name)
    root = ElementTree.fromstring(content)
    assert problems(content, KINDS[Path(name).suffix], root.attrib["version"]) == []
    return root


def test_a_version_2_file_has_the_types_of_fmi_3_and_model_exchange(fmus: dict[str, Path], tmp_path: Path) -> None:
    path = write_ssp(tmp_path / "train.ssp", fmus, CONNECTIONS, version="2.0", parameters={"cart.l": 0.9})
    root = inside(path, "SystemStructure.ssd")
    assert root.attrib["version"] == "2.0"
    parts = {part.attrib["name"]: part for part in root.iter(f"{SSD}Component")}
    assert [part.attrib["implementation"] for part in parts.values()] == ["CoSimulation", "ModelExchange"]
    shown = {name: {node[0].tag for node in part.iter(f"{SSD}Connector")} for name, part in parts.items()}
    assert shown == {"cart": {f"{SSC}Float64"}, "wagon": {f"{SSC}Real"}}
    assert [item.attrib["source"] for item in root.iter(f"{SSD}ParameterBinding")] == ["resources/cart.ssv"]
    (value,) = inside(path, "resources/cart.ssv").iter(f"{SSV}Float64")
    assert value.attrib == {"value": "0.9", "unit": "m"}


def test_a_system_names_the_method_by_which_omsimulator_runs_it(fmus: dict[str, Path], tmp_path: Path) -> None:
    """By its schema: co-simulation in fixed steps, or a solver where all is for model exchange."""
    found = {}
    for name, parts, step in (("mixed", fmus, 2e-3), ("solved", {"wagon": fmus["wagon"]}, None)):
        root = inside(write_ssp(tmp_path / f"{name}.ssp", parts, step=step, version="2.0"), "SystemStructure.ssd")
        (note,) = root.findall(f"{SSD}System/{SSD}Annotations/{SSC}Annotation[@type='org.openmodelica']")
        (method,) = note.findall(f"{OMS}Annotations/{OMS}SimulationInformation/*")
        found[name] = method.tag.removeprefix(OMS), method.attrib["description"], method.attrib
    assert found["mixed"][:2] == ("FixedStepMaster", "oms-ma")
    assert found["mixed"][2]["stepSize"] == "0.002"
    assert found["solved"][:2] == ("VariableStepSolver", "cvode")
    assert found["solved"][2]["maximumStepSize"] == "0.001"


def test_a_version_1_file_has_sets_too_and_without_values_the_bytes_of_before(tmp_path: Path) -> None:
    fmu = mbfmu.export("two_link", tmp_path / "arm.fmu")
    path = write_ssp(tmp_path / "a.ssp", {"arm": fmu}, parameters={"arm.m1": 3, "arm.l2": "1.5"})
    assert inside(path, "SystemStructure.ssd").attrib["version"] == "1.0"
    found = inside(path, "resources/arm.ssv")
    values = {item.attrib["name"]: item[0].attrib for item in found.iter(f"{SSV}Parameter")}
    assert values == {"m1": {"value": "3.0", "unit": "kg"}, "l2": {"value": "1.5", "unit": "m"}}
    assert found.attrib["name"] == "a"
    plain = write_ssp(tmp_path / "b.ssp", {"arm": fmu})
    with zipfile.ZipFile(plain) as archive:
        assert archive.namelist() == ["SystemStructure.ssd", "resources/arm.fmu"]
        assert b"ParameterBinding" not in archive.read("SystemStructure.ssd")


def port(own: str, **more: object) -> FmuVariable:
    """Return a parameter of a type."""
    facts = {"start": "0", "own": own, "type": TYPES3.get(own, own), **more}
    return FmuVariable("x", str(facts.pop("type")), "parameter", "", "", None, **facts)  # type: ignore[arg-type]


MODES = (("open", 1), ("closed", 5))


@pytest.mark.parametrize(
    ("variable", "value", "text"),
    [
        (port("Real"), 2, "2.0"),
        (port("Float32", shape=(2, 2)), [1, 2.5, 3, 4], "1.0 2.5 3.0 4.0"),
        (port("Float64", shape=(3,)), "1, 2,3", "1.0 2.0 3.0"),
        (port("Integer"), -(2**31), "-2147483648"),
        (port("UInt8"), "255", "255"),
        (port("Int64"), 2.0**40, "1099511627776"),
        (port("Boolean"), True, "true"),
        (port("Boolean"), "False", "false"),
        (port("Boolean"), 1, "true"),
        (port("String"), "<a & b>", "<a & b>"),
        (port("Enumeration", type="Enumeration", items=MODES, declared="Mode"), "closed", "closed"),
        (port("Enumeration", type="Enumeration", items=MODES, declared="Mode"), 5, "closed"),
    ],
    ids=lambda item: item.own if isinstance(item, FmuVariable) else None,
)
def test_a_value_of_each_type_is_valid_by_the_schema(variable: FmuVariable, value: Value, text: str) -> None:
    content = parameter_set("s", "2.0", {"a.x": (variable, value)}, {})
    assert problems(content, "ParameterValues", "2.0") == []
    if variable.own in {"Real", "Integer", "Boolean", "String", "Enumeration"}:
        assert problems(parameter_set("s", "1.0", {"a.x": (variable, value)}, {}), "ParameterValues", "1.0") == []
    (node,) = ElementTree.fromstring(content).iter(f"{SSV}{variable.own}")
    assert node.attrib["value"] == text


@pytest.mark.parametrize(
    ("variable", "value", "error", "told"),
    [
        (port("Real"), float("nan"), ValueRangeError, r"'a.x' = nan: a finite number is needed"),
        (port("Real"), "two", ValueRangeError, "a finite number is needed"),
        (port("Real"), True, ValueRangeError, "a finite number is needed"),
        (port("Real"), [1.0, 2.0], ValueRangeError, r"is one value, and \[1.0, 2.0\] are several"),
        (port("Int8"), 128, ValueRangeError, "a whole number of type Int8 is needed"),
        (port("UInt16"), -1, ValueRangeError, "a whole number of type UInt16"),
        (port("Integer"), 0.5, ValueRangeError, "a whole number of type Integer"),
        (port("Boolean"), "yes", ValueRangeError, "true or false is needed"),
        (port("Float64", shape=(3,)), [1.0, 2.0], ValueRangeError, "has 3 elements, and 2 are given"),
        (port("Enumeration", type="Enumeration", items=MODES), "clsed", ValueRangeError, "did you mean 'closed'"),
        (port("Real", start=None), 1.0, UsageError, "no start value that may be set"),
        (port("Real", constant=True), 1.0, UsageError, "no start value that may be set"),
        (port("Binary", type="Binary"), "00", UsageError, "no start value that may be set"),
    ],
)
def test_a_value_that_is_none_is_refused(
    variable: FmuVariable, value: Value, error: type[MbfmuError], told: str
) -> None:
    with pytest.raises(error, match=told):
        parameter_set("s", "2.0", {"a.x": (variable, value)}, {})


def test_arrays_and_enumerations_are_connected_as_a_whole(fmus: dict[str, Path], tmp_path: Path) -> None:
    """Of an FMU that is written by hand."""
    types = "".join(f'<Item name="{name}" value="{value}" />' for name, value in MODES)
    body = f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="hand" instantiationToken="{{0}}">
  <CoSimulation modelIdentifier="hand" />
  <TypeDefinitions><EnumerationType name="Mode">{types}</EnumerationType></TypeDefinitions>
  <ModelVariables>
    <Float64 name="time" valueReference="0" causality="independent" variability="continuous" />
    <Float64 name="r" valueReference="1" causality="output"><Dimension start="3" /></Float64>
    <Float64 name="f" valueReference="2" causality="input" start="0 0 0"><Dimension start="3" /></Float64>
    <Float64 name="g" valueReference="3" causality="input" start="0 0"><Dimension start="2" /></Float64>
    <Enumeration name="is" valueReference="4" declaredType="Mode" causality="output" />
    <Enumeration name="be" valueReference="5" declaredType="Mode" causality="input" start="1" />
    <Clock name="tick" valueReference="6" causality="input" intervalVariability="triggered" />
  </ModelVariables>
  <ModelStructure><Output valueReference="1" /><Output valueReference="4" /></ModelStructure>
</fmiModelDescription>"""
    with zipfile.ZipFile(tmp_path / "hand.fmu", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", body)
    parts = {"a": tmp_path / "hand.fmu", "b": tmp_path / "hand.fmu", "cart": fmus["cart"]}
    path = write_ssp(tmp_path / "h.ssp", parts, [("a.r", "b.f"), ("a.is", "b.be")], version="2.0",
                     parameters={"b.f": [1, 2, 3], "a.be": "closed"})  # fmt: skip
    root = inside(path, "SystemStructure.ssd")
    connectors = {node.attrib["name"]: node for node in root.iter(f"{SSD}Connector")}
    assert "tick" not in connectors
    assert [item.attrib["size"] for item in connectors["f"].iter(f"{SSC}Dimension")] == ["3"]
    named = [item for item in root.iter(f"{SSC}Enumeration") if item.findall(f"{SSC}Item")]
    assert [item.attrib["name"] for item in named] == ["Mode"]
    assert connectors["is"][0].attrib == {"name": "Mode"}
    (force,) = inside(path, "resources/b.ssv").iter(f"{SSV}Float64")
    assert force.attrib["value"] == "1.0 2.0 3.0"
    inside(path, "resources/a.ssv")
    with pytest.raises(UsageError, match=r"the shape \[3\] cannot go to the shape \[2\]"):
        write_ssp(tmp_path / "h.ssp", parts, [("a.r", "b.g")], version="2.0")
    with pytest.raises(UsageError, match="a value of type Real cannot go to type Enumeration"):
        write_ssp(tmp_path / "h.ssp", parts, [("a.r", "b.be")], version="2.0")


def test_version_1_refuses_the_rest_and_names_version_2(fmus: dict[str, Path], tmp_path: Path) -> None:
    for name, told in (("cart", "not FMI 3.0"), ("wagon", "not model exchange")):
        with pytest.raises(FmuError, match=f"{told}; SSP 2.0 takes others, if the master knows it: --ssp 2.0"):
            write_ssp(tmp_path / "x.ssp", {name: fmus[name]})
    with pytest.raises(UsageError, match=r"there is no SSP version '3\.0' here"):
        write_ssp(tmp_path / "x.ssp", fmus, version="3.0")
    with pytest.raises(UnknownNameError, match="'cart' has no variable 'q'"):
        write_ssp(tmp_path / "x.ssp", fmus, version="2.0", parameters={"cart.q": 1.0})
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_and_a_file_say_what_the_call_says(fmus: dict[str, Path], tmp_path: Path) -> None:
    values = {"cart.l": 0.9, "wagon.buffer.c": 50.0}
    path = write_ssp(tmp_path / "train.ssp", fmus, CONNECTIONS, version="2.0", parameters=values)
    links = [f"--connect={item.start}={item.end}:{item.scale}" for item in CONNECTIONS]
    parts = [f"{name}={file}" for name, file in fmus.items()]
    command = [sys.executable, "-m", "mbfmu", "ssp", *parts, *links, "--ssp", "2.0", "--system", "train"]
    given = [word for name, value in values.items() for word in ("--set", f"{name}={value}")]
    done = subprocess.run(
        [*command, *given, "-o", str(tmp_path / "b.ssp")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "b.ssp").read_bytes() == path.read_bytes()
    lines = ['version = "2.0"', "[parameters]", *(f'"{name}" = {value}' for name, value in values.items())]
    (tmp_path / "c.toml").write_text("\n".join(lines), encoding="utf-8")
    found = read_coupling(tmp_path / "c.toml")
    assert (found.version, dict(found.parameters)) == ("2.0", values)
    for text, told in (("parameters = 3", "is not a dict"), ("parameters.cart.l = 0.9", 'quoted: "cart.l" = VALUE')):
        (tmp_path / "c.toml").write_text(text, encoding="utf-8")
        with pytest.raises(ModelFileError, match=told):
            read_coupling(tmp_path / "c.toml")
    for texts, told in ((["cart.l"], "is not A.NAME=VALUE"), (["l=1"], "is not A"), (["a.l=1", "a.l=2"], "two values")):
        with pytest.raises(UsageError, match=told):
            assigned(texts)
