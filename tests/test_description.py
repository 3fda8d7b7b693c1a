"""modelDescription.xml and the archive around it: what a master may rely on before it runs anything."""

import ast
import math
import os
import re
import stat
import subprocess
import sys
import zipfile
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import fmpy
import fmpy.fmi2
import numpy as np
import pytest
from fmpy.validation import validate_fmu
from harness import thorough
from lxml import etree
from masters import Instance, Unpacked
from mechanisms import MECHANISMS, slider_crank, spatial_arm

import mbfmu
from mbfmu.dae import Signal, derive
from mbfmu.errors import FmuError
from mbfmu.fmu.interface import DIAGNOSTIC, INPUT, KINDS, OUTPUT, PARAMETER, SETTING, TIME, interface
from mbfmu.fmu.nominal import nominal_of
from mbfmu.model import Parameter, System
from mbfmu.prepared.prepare import prepare
from mbfmu.prepared.settings import OFTEN

XSD = Path(fmpy.__file__).parent / "schema" / "fmi2" / "fmi2ModelDescription.xsd"
BUILDERS = {"two_link": lambda: mbfmu.load("two_link"), "slider_crank": slider_crank, "spatial_arm": spatial_arm}
# FMI 2.0.3, table on page 49: causality -> variability -> initial; None: the attribute may not be there
LEGAL = {
    "parameter": {"fixed": {"exact"}, "tunable": {"exact"}},
    "calculatedParameter": {"fixed": {"calculated", "approx"}, "tunable": {"calculated", "approx"}},
    "input": {"discrete": {None}, "continuous": {None}},
    "output": {"discrete": {"exact", "approx", "calculated"}, "continuous": {"exact", "approx", "calculated"}},
    "local": {"discrete": {"exact", "approx", "calculated"}, "continuous": {"exact", "approx", "calculated"}},
    "independent": {"continuous": {None}},
}
DEGREE = math.pi / 180


class Case:
    """An exported mechanism and what its archive says."""

    def __init__(self, name: str, folder: Path) -> None:
        self.system: System = BUILDERS[name]()
        self.fmu = mbfmu.export(self.system, folder / f"{name}.fmu")
        self.unpacked = Unpacked(self.fmu, folder / name)
        self.root: Any = etree.parse(str(self.unpacked.folder / "modelDescription.xml")).getroot()
        self.variables: list[Any] = list(self.root.find("ModelVariables"))
        self.types: dict[str, Any] = {item.get("name"): item[0] for item in self.root.find("TypeDefinitions")}
        self.units: dict[str, Any] = {item.get("name"): item for item in self.root.find("UnitDefinitions")}

    def unit(self, variable: Any) -> str:
        """Return the unit of a variable, its own or that of its declared type."""
        real = variable[0]
        found: str = real.get("unit") or self.types[real.get("declaredType")].get("unit")
        return found

    def unknowns(self, section: str) -> dict[str, list[str] | None]:
        """Return the dependencies of the unknowns of a section, by name; None where none are given."""
        found: dict[str, list[str] | None] = {}
        for item in self.root.find(f"ModelStructure/{section}"):
            on = item.get("dependencies")
            name = self.variables[int(item.get("index")) - 1].get("name")
            found[name] = None if on is None else [self.variables[int(k) - 1].get("name") for k in on.split()]
        return found


@pytest.fixture(scope="module", params=BUILDERS)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(request.param, tmp_path_factory.mktemp("described"))


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case("two_link", tmp_path_factory.mktemp("arm"))


def members(fmu: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(fmu) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def guid(system: System, path: Path, **choices: Any) -> str:
    found: str = fmpy.read_model_description(str(mbfmu.export(system, path, **choices))).guid
    return found


# -- schema ---------------------------------------------------------------------------------------------------------


def test_the_description_fits_the_schema(case: Case) -> None:
    etree.XMLSchema(etree.parse(str(XSD))).assertValid(case.root)


def test_fmpy_finds_no_problem(case: Case) -> None:
    assert validate_fmu(str(case.fmu)) == []


@pytest.mark.parametrize("name", thorough(zip(MECHANISMS), lambda name: name == "spatial_pendulum"))
def test_mbfmu_check_finds_no_problem(name: str, tmp_path: Path) -> None:
    assert mbfmu.check(mbfmu.export(MECHANISMS[name](), tmp_path / "some.fmu")) == []


def test_the_flags_say_what_the_binary_can_do(arm: Case) -> None:
    flags = dict(arm.root.find("CoSimulation").attrib)
    assert flags.pop("modelIdentifier") == "two_link"
    assert flags == {
        "needsExecutionTool": "false",
        "canHandleVariableCommunicationStepSize": "true",
        "canInterpolateInputs": "false",
        "canBeInstantiatedOnlyOncePerProcess": "false",
        "canNotUseMemoryManagementFunctions": "true",
        "canGetAndSetFMUstate": "true",
        "canSerializeFMUstate": "true",
    }


def test_a_date_is_missing_or_in_utc_with_a_z(case: Case) -> None:
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", case.root.get("generationDateAndTime", "1980-01-01T00:00:00Z")
    )


def test_the_default_experiment_is_what_export_was_told(two_link: System, tmp_path: Path) -> None:
    fmu = mbfmu.export(two_link, tmp_path / "two_link.fmu", step=1 / 3, stop=0.1 + 0.2)
    experiment = fmpy.read_model_description(str(fmu)).defaultExperiment
    assert (float(experiment.startTime), float(experiment.stopTime), float(experiment.stepSize)) == (
        0,
        0.1 + 0.2,
        1 / 3,
    )


# -- variables ------------------------------------------------------------------------------------------------------


def test_every_variable_has_a_unit_that_is_defined(case: Case) -> None:
    for item in case.variables:
        assert case.unit(item) in case.units, item.get("name")


def test_every_declared_type_is_defined(case: Case) -> None:
    used = {item[0].get("declaredType") for item in case.variables} - {None}
    assert used == set(case.types)


def test_every_variable_is_described(arm: Case) -> None:
    assert [item.get("name") for item in arm.variables if not item.get("description")] == []


def test_causality_variability_and_initial_go_together(case: Case) -> None:
    for item in case.variables:
        assert item.get("initial") in LEGAL[item.get("causality")][item.get("variability")], item.get("name")


def test_start_values_stand_where_the_standard_wants_them_and_nowhere_else(case: Case) -> None:
    for item in case.variables:
        wanted = item.get("causality") in {"input", "parameter"} or item.get("initial") in {"exact", "approx"}
        assert (item[0].get("start") is not None) == wanted, item.get("name")


def test_names_are_unique_and_structured(case: Case) -> None:
    names = [item.get("name") for item in case.variables]
    assert len(set(names)) == len(names)
    assert case.root.get("variableNamingConvention") == "structured"
    assert all(re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\[\d+(,\d+)*\])?", name) for name in names)


@pytest.mark.parametrize("corrections", [0, 3])
def test_the_table_of_variables_fills_every_vector_without_gap_or_overlap(case: Case, corrections: int) -> None:
    this = prepare(case.system, "rattle", {}, 1e-3)
    variables = interface(this, corrections).variables
    assert [item.reference for item in variables] == list(range(len(variables)))
    kernel = this.kernel
    sizes = {TIME: 1, INPUT: kernel.nu, PARAMETER: kernel.np, SETTING: 2 if corrections else 3, OUTPUT: kernel.ny}
    sizes[DIAGNOSTIC] = 1
    for kind in KINDS:
        assert sorted(item.offset for item in variables if item.kind == kind) == list(range(sizes[kind])), kind
    starts = sorted(item.start_offset for item in variables if item.start_offset is not None)
    assert starts == list(range(kernel.ns))


def test_the_table_of_variables_holds_the_defaults_of_every_vector(case: Case) -> None:
    this = prepare(case.system, "rattle", {}, 2e-3, 1e-5)
    variables = interface(this).variables
    expected = {INPUT: this.dae.u_default(), PARAMETER: this.dae.p_default(), SETTING: [2e-3, 1e-5, OFTEN]}
    for kind, values in expected.items():
        assert {item.offset: item.start for item in variables if item.kind == kind} == dict(enumerate(values)), kind
    starts = {item.start_offset: item.start for item in variables if item.start_offset is not None}
    assert starts == dict(enumerate(this.dae.s_default()))


def test_time_is_the_one_independent_variable(case: Case) -> None:
    found = [item for item in case.variables if item.get("causality") == "independent"]
    assert [item.get("name") for item in found] == ["time"]
    assert case.unit(found[0]) == "s"


def test_angles_rates_and_accelerations_are_shown_in_degrees(arm: Case) -> None:
    shown = {"rad": "deg", "rad/s": "deg/s", "rad/s2": "deg/s2"}
    seen = set()
    for item in arm.variables:
        unit = arm.unit(item)
        if unit in shown:
            assert arm.types[item[0].get("declaredType")].get("displayUnit") == shown[unit]
            label = next(node for node in arm.units[unit].findall("DisplayUnit") if node.get("name") == shown[unit])
            assert float(label.get("factor")) * DEGREE == pytest.approx(1.0, rel=1e-15)
            seen.add(unit)
    assert seen == set(shown)


def test_a_joule_is_made_of_si_base_units(arm: Case) -> None:
    assert dict(arm.units["J"].find("BaseUnit").attrib) == {"kg": "1", "m": "2", "s": "-2"}


def test_nominal_values_follow_from_mass_length_and_gravity(two_link: System, tmp_path: Path) -> None:
    """By their dimensions: with 100 times the mass forces are 100 times larger, with 100 times the length times 10."""

    def nominal(**values: float) -> dict[str, float]:
        path = mbfmu.export(two_link.with_values(values), tmp_path / "arm.fmu")
        found = fmpy.read_model_description(path).modelVariables
        return {item.name: float(item.nominal or 1) for item in found}

    plain, heavy = nominal(m1=1.0, m2=1.0), nominal(m1=100.0, m2=100.0)
    long = nominal(m1=1.0, m2=1.0, l1=100.0, l2=100.0)
    ratios = {name: (heavy[name] / value, long[name] / value) for name, value in plain.items()}
    assert ratios["shoulder.tau"] == pytest.approx((100, 100))
    assert ratios["shoulder.phi"] == (1, 1)
    assert ratios["shoulder.w"] == pytest.approx((1, 0.1))
    assert ratios["shoulder.a"] == pytest.approx((1, 0.01))
    assert ratios["energy.total"] == pytest.approx((100, 100))
    assert (plain["world.g"], plain["solver.step"]) == pytest.approx((10, 1e-3))


@pytest.mark.parametrize("values", [{"g": 1e-300}, {"g": 1e300}, {"m": 1e300}, {"L": 1e300}], ids=str)
def test_nominal_values_are_numbers_however_large_the_mechanism_is(values: dict[str, float]) -> None:
    found = nominal_of(derive(mbfmu.load("pendulum", values)))
    for unit in ("N", "N.m", "rad/s2", "J", "kg.m2", "W"):
        assert 0 < found(Signal("item", unit, "")) < math.inf


def test_no_two_variables_share_a_value_reference(case: Case) -> None:
    references = [item.get("valueReference") for item in case.variables]
    assert len(set(references)) == len(references)


def test_start_values_keep_all_their_digits(two_link: System, tmp_path: Path) -> None:
    awkward = {"l1": 0.1 + 0.2, "m1": 1 / 3, "world.g": math.nextafter(9.8, 10), "shoulder.phi": -2 / 3}
    unpacked = Unpacked(mbfmu.export(two_link.with_values(awkward), tmp_path / "two_link.fmu"), tmp_path / "open")
    assert {name: float(unpacked.variables[name].start) for name in awkward} == awkward
    with Instance(unpacked) as slave:
        assert slave.start().get(awkward) == tuple(awkward.values())


# -- structure ------------------------------------------------------------------------------------------------------


def test_positions_and_rates_depend_on_no_input_and_accelerations_on_both(arm: Case) -> None:
    found = arm.unknowns("Outputs")
    inputs = ["shoulder.tau", "elbow.tau"]
    for joint in ("shoulder", "elbow"):
        assert found[f"{joint}.phi"] == []
        assert found[f"{joint}.w"] == []
        assert found[f"{joint}.a"] == inputs
    assert found["energy.total"] == []


def test_the_outputs_of_the_structure_are_all_outputs(case: Case) -> None:
    assert list(case.unknowns("Outputs")) == case.unpacked.names("output")


def test_an_output_changes_with_an_input_without_a_step_where_the_structure_says_so(case: Case) -> None:
    declared = {(name, source) for name, on in case.unknowns("Outputs").items() for source in on or ()}
    inputs, outputs = case.unpacked.names("input"), case.unpacked.names("output")
    seen = set()
    with Instance(case.unpacked) as slave:
        slave.start().run(0, 37, 1e-3)  # away from the special configuration at the start
        for source in inputs:
            before = slave.get(outputs)
            slave.set({source: 3.0})
            seen |= {(name, source) for name, a, b in zip(outputs, before, slave.get(outputs), strict=True) if a != b}
            slave.set({source: 0.0})
            assert slave.get(outputs) == before
    assert seen == declared


def test_the_initial_unknowns_are_all_calculated_outputs_and_parameters(case: Case) -> None:
    wanted = [
        item.get("name")
        for item in case.variables
        if item.get("initial") in {"calculated", "approx"}
        and item.get("causality") in {"output", "calculatedParameter"}
    ]
    assert list(case.unknowns("InitialUnknowns")) == wanted


def test_calculated_parameters_change_with_the_parameters_they_depend_on_and_no_others(arm: Case) -> None:
    declared = {(n, on) for n in arm.unpacked.names("calculatedParameter") for on in arm.unknowns("InitialUnknowns")[n]}
    bound = arm.unpacked.names("calculatedParameter")
    seen = set()
    with Instance(arm.unpacked) as slave:
        before = slave.get(bound)
        for source in arm.unpacked.names("parameter"):
            start = float(arm.unpacked.variables[source].start)
            slave.set({source: 1.25 * start})
            seen |= {(name, source) for name, a, b in zip(bound, before, slave.get(bound), strict=True) if a != b}
            slave.set({source: start})
    assert seen == declared


def test_a_derivative_is_the_slope_of_the_variable_it_names(case: Case) -> None:
    pairs = [
        (k, int(item[0].get("derivative")) - 1) for k, item in enumerate(case.variables) if item[0].get("derivative")
    ]
    names = [item.get("name") for item in case.variables]
    rates, places = [names[k] for k, _ in pairs], [names[k] for _, k in pairs]
    assert {"two_link": "shoulder.w", "slider_crank": "slider.v", "spatial_arm": "j2.v"}[case.system.name] in rates
    h = 1e-4
    with Instance(case.unpacked) as slave:
        slave.start(dict.fromkeys(case.unpacked.names("input"), 0.7))
        slave.run(0, 50, h)
        before = np.array(slave.get(places))
        slave.step(50 * h, h)
        rate = np.array(slave.get(rates))
        slave.step(51 * h, h)
        slope = (np.array(slave.get(places)) - before) / (2 * h)
    np.testing.assert_allclose(slope, rate, rtol=1e-5, atol=1e-5)


def test_joint_rates_and_accelerations_are_declared_as_derivatives(arm: Case) -> None:
    names = [item.get("name") for item in arm.variables]
    found = {
        n: names[int(v[0].get("derivative")) - 1]
        for n, v in zip(names, arm.variables, strict=True)
        if v[0].get("derivative")
    }
    for joint in ("shoulder", "elbow"):
        assert found[f"{joint}.w"] == f"{joint}.phi"
        assert found[f"{joint}.a"] == f"{joint}.w"


# -- archive --------------------------------------------------------------------------------------------------------


def test_the_archive_is_compressed(arm: Case) -> None:
    with zipfile.ZipFile(arm.fmu) as archive:
        assert {item.compress_type for item in archive.infolist()} == {zipfile.ZIP_DEFLATED}
        assert sum(item.compress_size for item in archive.infolist()) < 0.6 * sum(
            i.file_size for i in archive.infolist()
        )


def test_the_names_in_the_archive_stay_inside_it(arm: Case) -> None:
    with zipfile.ZipFile(arm.fmu) as archive:
        names = archive.namelist()
        assert all(stat.S_IFMT(item.external_attr >> 16) in {0, stat.S_IFREG} for item in archive.infolist())
    assert len(set(names)) == len(names)
    for name in names:
        assert re.fullmatch(r"[\w.-]+(/[\w.-]+)*", name, re.ASCII)
        assert not name.startswith("/")
        assert ".." not in name.split("/")


def test_the_description_comes_first_and_the_binaries_are_named_after_it(arm: Case) -> None:
    with zipfile.ZipFile(arm.fmu) as archive:
        names = archive.namelist()
    assert names[0] == "modelDescription.xml"
    assert {n for n in names if n.startswith("binaries/")} == {
        f"binaries/{fmpy.platform}/two_link{fmpy.sharedLibraryExtension}"
    }


def test_the_packed_python_parses_and_imports_nothing_but_the_standard_library_and_its_own(arm: Case) -> None:
    content = members(arm.fmu)
    scripts = {Path(name).stem: data for name, data in content.items() if re.fullmatch(r"resources/\w+\.py", name)}
    assert content["resources/slavemodule.txt"].decode() in scripts
    allowed = {*sys.stdlib_module_names, "pythonfmu", *scripts}
    for data in scripts.values():
        for node in ast.walk(ast.parse(data)):
            if isinstance(node, ast.Import):
                used = {item.name.split(".")[0] for item in node.names}
                assert used <= allowed
            elif isinstance(node, ast.ImportFrom):
                assert str(node.module).split(".")[0] in allowed


EXPORT = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
import mbfmu
from mechanisms import slider_crank
mbfmu.export(mbfmu.load("two_link"), Path({folder!r}) / "a.fmu", stepper="gauss", options={{"stages": 2}})
mbfmu.export(slider_crank(), Path({folder!r}) / "b.fmu")
"""


@pytest.mark.slow
def test_two_processes_write_the_same_bytes(tmp_path: Path) -> None:
    """With other hash seeds, other compiler caches and other folders."""
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        environment = {**os.environ, "PYTHONHASHSEED": seed, "XDG_CACHE_HOME": str(folder / "cache")}
        script = EXPORT.format(path=[str(Path(__file__).parent)], folder=str(folder))
        subprocess.run(
            [sys.executable, "-W", "error", "-c", script], env=environment, cwd=folder, check=True, timeout=100
        )
    for name in ("a.fmu", "b.fmu"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_the_guid_changes_with_model_stepper_options_and_step(two_link: System, tmp_path: Path) -> None:
    path = tmp_path / "two_link.fmu"
    longer = tuple(replace(item, value=1.1) if item.name == "l1" else item for item in two_link.parameters)
    found = {
        "as it is": guid(two_link, path),
        "parameter": guid(replace(two_link, parameters=longer), path),
        "one parameter more": guid(replace(two_link, parameters=(*two_link.parameters, Parameter("spare", 1.0))), path),
        "start value": guid(two_link.with_values({"shoulder.phi": 0.1}), path),
        "bound": guid(replace(two_link, parameters=tuple(replace(p, max=9.0) for p in two_link.parameters)), path),
        "name": guid(replace(two_link, name="other"), path),
        "stepper": guid(two_link, path, stepper="gauss"),
        "option": guid(two_link, path, stepper="gauss", options={"stages": 2}),
        "step": guid(two_link, path, step=2e-3),
        "stop": guid(two_link, path, stop=11.0),
    }
    for (a, one), (b, other) in permutations(found.items(), 2):
        assert one != other, (a, b)
    assert guid(two_link, path) == found["as it is"]


def test_the_guid_does_not_change_with_the_path(two_link: System, tmp_path: Path) -> None:
    assert guid(two_link, tmp_path / "a.fmu") == guid(two_link, tmp_path / "deeper" / "b.fmu")
    assert (tmp_path / "a.fmu").read_bytes() == (tmp_path / "deeper" / "b.fmu").read_bytes()


@pytest.mark.parametrize("name", thorough(zip(["a" * 3000, "é", "two links", ""]), lambda name: name == "é"))
def test_a_model_of_any_name_gives_an_fmu_in_order(name: str, two_link: System, tmp_path: Path) -> None:
    assert mbfmu.check(mbfmu.export(replace(two_link, name=name), tmp_path / "x.fmu", step=1e-3)) == []


@pytest.mark.parametrize("backend", ["python", "native"])
def test_a_text_that_no_xml_file_can_hold_is_refused_and_nothing_is_written(
    backend: str, two_link: System, tmp_path: Path
) -> None:
    first, *others = two_link.parameters
    for wrong in ("\0", "\x1b", "\ud800"):
        text = f"a{wrong}b"
        told = replace(two_link, parameters=(replace(first, description=text), *others))
        for model in (replace(two_link, name=text), replace(two_link, description=text), told):
            with pytest.raises(
                FmuError, match=re.escape(f"has the character {wrong!r}, which an XML file cannot hold")
            ):
                mbfmu.export(model, tmp_path / "x.fmu", step=1e-3, backend=backend)
    assert not list(tmp_path.iterdir())
