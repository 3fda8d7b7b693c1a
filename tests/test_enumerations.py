"""Integers with names for their values: enumerations in FMI 3.0, and integers in FMI 2.0."""

import zipfile
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from fmpy import fmi2, fmi3, simulate_fmu
from fmpy.validation import validate_fmu
from harness import extra, thorough
from masters import Instance, Unpacked, refused

import mbfmu
from mbfmu.dae import derive
from mbfmu.errors import MbfmuError, ValueRangeError
from mbfmu.fmi.reading import parse_fmu
from mbfmu.fmu.ssp import write_ssp
from mbfmu.model import Block, Defined, Parameter, Port, State
from mbfmu.model.toml import from_toml, schema, to_toml
from mbfmu.model.toml.reader import tomllib
from mbfmu.prepared.prepare import prepare

GEARS = ("neutral", "first", "second", "third")
KINDS = [(kind, fmi) for kind in ("cs", "me", "both") for fmi in ("2.0", "3.0")]
REPRESENTED = {("cs", "2.0"), ("cs", "3.0"), ("me", "3.0")}


def winch(wish: str = "gear", **most: Any) -> Block:
    """A winch with gears up to the one that a parameter allows."""
    acting = f"min({wish}, most)"
    return Block(
        "winch",
        inputs=(Port("tau", "N.m", start=1.0), Port("gear", start=1, type="Integer", items=GEARS)),
        states=(State("w", "(acts*tau - d*w)/J", "rad/s"),),
        defined=(
            Defined("acts", acting, description="gear that acts", output=True, type="Integer", items=GEARS),
            Defined("count", "2*gear", output=True, type="Integer"),
            Defined("w_out", "w", "rad/s", output=True),
        ),
        parameters=(
            Parameter("J", 2.0, "kg.m2"),
            Parameter("d", 0.5, "N.m.s/rad"),
            Parameter("most", **{"value": 2, "type": "Integer", "items": GEARS, **most}),
        ),
    )


@cache
def fmu(kind: str, fmi: str) -> Unpacked:
    """The winch as a native FMU, unpacked; made once a session."""
    folder = Path(mkdtemp(prefix="mbfmu-enumerations-"))
    path = mbfmu.export(winch(), folder / "winch.fmu", kind=kind, fmi=fmi, backend="native", step=0.01)
    return Unpacked(path, folder / "winch")


def described(unpacked: Unpacked) -> ElementTree.Element:
    """Return the description of an FMU."""
    return ElementTree.parse(unpacked.folder / "modelDescription.xml").getroot()


@pytest.mark.parametrize("kind", thorough(zip(["cs", "me", "both"]), lambda kind: kind != "both"))
def test_fmi_3_has_enumerations_with_their_items(kind: str) -> None:
    root = described(fmu(kind, "3.0"))
    (type_,) = root.iterfind("TypeDefinitions/EnumerationType")
    assert [(item.attrib["name"], item.attrib["value"]) for item in type_] == [
        (name, str(value)) for value, name in enumerate(GEARS)
    ]
    found = {node.attrib["name"]: node.attrib for node in root.iterfind("ModelVariables/Enumeration")}
    assert set(found) == {"gear", "acts", "most"}
    for facts in found.values():
        assert (facts["declaredType"], facts["min"], facts["max"]) == (type_.attrib["name"], "0", "3")
    assert (found["gear"]["start"], found["most"]["start"]) == ("1", "2")
    assert [node.attrib["name"] for node in root.iterfind("ModelVariables/Int32")] == ["count"]


def test_fmi_2_keeps_integers_with_the_items_as_bounds_and_in_words() -> None:
    root = described(fmu("cs", "2.0"))
    found = {node.attrib["name"]: node for node in root.iterfind("ModelVariables/ScalarVariable")}
    words = "(0: neutral, 1: first, 2: second, 3: third)"
    assert found["acts"].attrib["description"] == f"gear that acts {words}"
    for name in ("gear", "acts", "most"):
        assert {key: found[name][0].attrib[key] for key in ("min", "max")} == {"min": "0", "max": "3"}
        assert found[name][0].tag == "Integer"
    assert root.find("TypeDefinitions/SimpleType/Enumeration") is None


@pytest.mark.parametrize(("kind", "fmi"), thorough(KINDS, lambda *case: case in REPRESENTED))
def test_no_check_has_a_complaint(kind: str, fmi: str) -> None:
    path = fmu(kind, fmi).folder.with_suffix(".fmu")
    assert mbfmu.check(path) == []
    assert not validate_fmu(str(path))


def test_both_versions_give_the_same_bits() -> None:
    names = ["acts", "count", "w_out"]
    found = []
    for version in ("2.0", "3.0"):
        run = simulate_fmu(str(fmu("cs", version).folder), stop_time=0.5, output_interval=0.1, output=names,
                           start_values={"gear": 3, "tau": 2.0})  # fmt: skip
        found.append([run[name].tolist() for name in names])
    assert found[0] == found[1]
    assert found[0][:2] == [[2] * 6, [6] * 6]
    assert found[0][2][-1] > 0.9


def instance3() -> Any:
    """Return an initialised instance of FMI 3.0, with the value references and the messages."""
    unpacked = fmu("cs", "3.0")
    description = unpacked.description
    slave: Any = fmi3.FMU3Slave(
        guid=description.guid, unzipDirectory=str(unpacked.folder), instanceName="one",
        modelIdentifier=description.coSimulation.modelIdentifier,
    )  # fmt: skip
    said: list[str] = []
    slave.instantiate(loggingOn=True, logMessage=lambda _e, _status, _category, text: said.append(text.decode()))
    slave.enterInitializationMode()
    slave.exitInitializationMode()
    return slave, {item.name: item.valueReference for item in description.modelVariables}, said


def test_they_are_read_and_set_by_the_functions_of_int64() -> None:
    slave, at, said = instance3()
    assert slave.getInt64([at["gear"], at["acts"], at["most"]]) == [1, 1, 2]
    slave.setInt64([at["gear"], at["most"]], [3, 3])
    assert slave.getInt64([at["acts"]]) == [3]
    for call in (
        lambda: slave.getInt32([at["gear"]]),
        lambda: slave.setFloat64([at["gear"]], [1.0]),
        lambda: slave.getBoolean([at["acts"]]),
    ):
        refused(call)
        assert "is of type Enumeration: use fmi3" in said[-1]
        assert "Int64" in said[-1]
    refused(lambda: slave.getInt64([at["count"]]))
    assert "count is of type Int32: use fmi3GetInt32" in said[-1]
    slave.freeInstance()


def test_a_value_that_is_no_item_is_refused_and_the_old_one_stays() -> None:
    slave, at, said = instance3()
    for value in (4, -1, 2**40):
        slave.setInt64([at["gear"]], [value])
        assert "outside its bounds [0, 3]" in said[-1]
        assert slave.getInt64([at["gear"]]) == [1]
    slave.setInt64([at["gear"]], [2])
    slave.doStep(currentCommunicationPoint=0.0, communicationStepSize=0.01)
    slave.freeInstance()
    for backend in ("python", "native"):
        folder = Path(mkdtemp(prefix="mbfmu-enumerations-"))
        path = mbfmu.export(winch(), folder / "winch.fmu", backend=backend, step=0.01)
        with Instance(Unpacked(path, folder / "winch")).start() as run:
            run.set({"gear": 4})
            assert "outside its bounds [0, 3]" in run.messages[-1].text
            assert refused(lambda run=run: run.step(0.0, 0.01)) == fmi2.fmi2Discard


def keep(said: list[str], *facts: Any) -> None:
    """Note a message of an FMU."""
    said.append(str(facts[-1]))


def test_a_value_that_an_expression_gives_is_read_as_the_nearest_item(tmp_path: Path) -> None:
    path = mbfmu.export(winch("3*gear", value=3), tmp_path / "w.fmu", backend="native", fmi="3.0", step=0.01)
    high = mbfmu.export(winch("-2*gear"), tmp_path / "v.fmu", backend="native", fmi="3.0", step=0.01)
    for file, expected in ((path, 3), (high, 0)):
        said: list[str] = []
        log = partial(keep, said)
        run = simulate_fmu(str(file), stop_time=0.1, output=["acts"], debug_logging=True, logger=log)
        assert set(run["acts"]) == {expected}
        told = [text for text in said if "is not a value of type Enumeration" in text]
        assert len(told) == (expected == 0)


def test_a_warm_start_knows_the_items() -> None:
    for _ in range(2):
        prepared = prepare(winch(), None, None, 0.01)
        prepared.kernel  # noqa: B018 - it is made, or found
        (gear,) = (item for item in prepared.outline.inputs if item.name == "gear")
        assert gear.items == GEARS
    assert prepared.cached


def test_a_mechanism_in_toml_has_modes_among_its_parameters() -> None:
    text = to_toml(winch())
    assert 'items = ["neutral", "first", "second", "third"]' in text
    extra("jsonschema", "test").validate(tomllib.loads(text), schema())
    assert [item.items for item in derive(from_toml(text)).inputs] == [(), GEARS]


def test_enumerations_of_two_fmus_are_wired(tmp_path: Path) -> None:
    path = fmu("cs", "3.0").folder.with_suffix(".fmu")
    assert parse_fmu(path, ("3.0",)).ports["acts"].items == tuple((name, k) for k, name in enumerate(GEARS))
    wired = write_ssp(tmp_path / "two.ssp", {"a": path, "b": path}, [("a.acts", "b.gear")], version="2.0",
                      parameters={"b.most": "third"})  # fmt: skip
    with zipfile.ZipFile(wired) as archive:
        assert (
            'startConnector="acts" endElement="b" endConnector="gear"' in archive.read("SystemStructure.ssd").decode()
        )
        assert 'value="third"' in archive.read("resources/b.ssv").decode()


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Port("x", items=("a", "b")), "of type Real, which has no items"),
        (lambda: Port("x", type="Boolean", items=("a", "b")), "of type Boolean, which has no items"),
        (lambda: Port("x", type="Integer", items=["a", "b"]), "must be a tuple of names"),  # type: ignore[arg-type]
        (lambda: Port("x", type="Integer", items="ab"), "must be a tuple of names"),  # type: ignore[arg-type]
        (lambda: Port("x", type="Integer", items=("a", " ")), "' ' is not a name"),
        (lambda: Port("x", type="Integer", items=("a", 1)), "1 is not a name"),  # type: ignore[arg-type]
        (lambda: Defined("x", "1", type="Integer", items=("a", "a")), "two have the same name"),
        (lambda: Port("x", type="Integer", start=2, items=("a", "b")), r"= 2 must be one of 0 \(a\), 1 \(b\)"),
        (lambda: Parameter("x", -1, type="Integer", items=("a", "b")), r"= -1 must be one of 0 \(a\), 1 \(b\)"),
        (lambda: winch().with_values({"most": 4}), "= 4 must be one of"),
    ],
)
def test_a_declaration_that_does_not_fit_is_refused(make: Any, told: str) -> None:
    with pytest.raises(MbfmuError, match=told) as error:
        make()
    assert isinstance(error.value, ValueRangeError)


def test_a_model_without_items_has_none_of_it() -> None:
    plain = winch(value=2, items=())
    assert derive(plain).parameters[-1].items == ()
    np.testing.assert_equal([item.items for item in derive(mbfmu.load("two_link")).inputs], [(), ()])
