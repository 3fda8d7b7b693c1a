"""The checker: a good FMU has no problems, each fault has its rule, nothing makes the checker raise."""

import struct
import sys
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import fmpy
import hypothesis.strategies as st
import pytest
import pythonfmu
from hypothesis import HealthCheck, example, given, settings

import mbfmu.fmu.check.archive as archive
import mbfmu.fmu.check.dynamic as dynamic
import mbfmu.fmu.check.static as static
from mbfmu.fmu.check import Problem, check
from mbfmu.fmu.check.probe import RULES as DYNAMIC_RULES

Members = dict[str, bytes]

XML = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="Swing" guid="{5c1f}"
    generationDateAndTime="2024-01-01T00:00:00Z" variableNamingConvention="structured">
  <CoSimulation modelIdentifier="swing" canGetAndSetFMUstate="true" canSerializeFMUstate="true"
      canHandleVariableCommunicationStepSize="true" needsExecutionTool="false"></CoSimulation>
  <UnitDefinitions>
    <Unit name="1"/>
    <Unit name="s"><BaseUnit s="1"/></Unit>
    <Unit name="rad"><BaseUnit rad="1"/><DisplayUnit name="deg" factor="57.29577951308232"/></Unit>
    <Unit name="rad/s"><BaseUnit rad="1" s="-1"/></Unit>
  </UnitDefinitions>
  <TypeDefinitions>
    <SimpleType name="Angle"><Real unit="rad" displayUnit="deg" min="-4" max="4"/></SimpleType>
  </TypeDefinitions>
  <LogCategories><Category name="logStatusError"/><Category name="logAll"/></LogCategories>
  <DefaultExperiment startTime="0" stopTime="1" tolerance="1e-6" stepSize="0.01"/>
  <ModelVariables>
    <ScalarVariable name="time" valueReference="0" causality="independent"><Real unit="s"/></ScalarVariable>
    <ScalarVariable name="u[1]" valueReference="1" causality="input">
      <Real unit="1" start="0.5"/></ScalarVariable>
    <ScalarVariable name="joint.phi" valueReference="2" causality="output" initial="exact">
      <Real declaredType="Angle" start="1"/></ScalarVariable>
    <ScalarVariable name="joint.w" valueReference="3" causality="output">
      <Real unit="rad/s" derivative="3"/></ScalarVariable>
    <ScalarVariable name="k" valueReference="4" causality="parameter" variability="tunable">
      <Real unit="1" start="2"/></ScalarVariable>
    <ScalarVariable name="twice_k" valueReference="5" causality="calculatedParameter" variability="tunable">
      <Real unit="1"/></ScalarVariable>
    <ScalarVariable name="count" valueReference="6" causality="output" variability="discrete" initial="exact">
      <Integer start="0"/></ScalarVariable>
  </ModelVariables>
  <ModelStructure>
    <Outputs>
      <Unknown index="3"/>
      <Unknown index="4" dependencies="2 3" dependenciesKind="constant dependent"/>
      <Unknown index="7" dependencies="1" dependenciesKind="dependent"/>
    </Outputs>
    <Derivatives><Unknown index="4"/></Derivatives>
    <InitialUnknowns>
      <Unknown index="4" dependencies="2 3 5" dependenciesKind="constant dependent dependent"/>
      <Unknown index="6" dependencies="5" dependenciesKind="constant"/>
    </InitialUnknowns>
  </ModelStructure>
</fmiModelDescription>
"""

SLAVE = """
import ctypes, math, os, time
from pythonfmu import Fmi2Causality, Fmi2Slave, Integer, Real
from pythonfmu.enums import Fmi2Status

BORN = {}
ALIVE = set()

class Swing(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.t, self.u, self.phi, self.w, self.k, self.count, self.hidden = 0.0, 0.5, 1.0, 0.0, 2.0, 0, 0.1
        BORN[self.instance_name] = BORN.get(self.instance_name, 0) + 1
        ALIVE.add(self.instance_name)
        # born
        for name in ("t", "u", "phi", "w", "k", "twice_k"):
            self.register_variable(Real(name, causality=Fmi2Causality.local))
        self.register_variable(Integer("count", causality=Fmi2Causality.local))

    @property
    def twice_k(self):
        return 2.0 * self.k

    def enter_initialization_mode(self):
        pass  # initialise

    def terminate(self):
        ALIVE.discard(self.instance_name)

    def do_step(self, t, h):
        # before
        if not h > 0.0:
            self.log(f"step size {h}", Fmi2Status.error)
            return False  # size
        if not math.isfinite(self.u):
            return False  # input
        self.hidden += 0.1 * h
        self.w += h * (self.u - self.k * math.sin(self.phi) - self.hidden * self.w)
        self.phi += h * self.w
        self.t, self.count = t + h, self.count + 1
        # after
        return True

    def _get_fmu_state(self):
        return [self.t, self.u, self.phi, self.w, self.k, self.count, self.hidden]

    def _set_fmu_state(self, state):
        self.t, self.u, self.phi, self.w, self.k, self.count, self.hidden = state

    @staticmethod
    def _fmu_state_to_bytes(state):
        return repr(state).encode()

    @staticmethod
    def _fmu_state_from_bytes(state):
        return eval(state.decode())
"""

FOREIGN = "darwin64" if sys.platform != "darwin" else "win64"
ENDINGS = {"darwin64": ".dylib", "win64": ".dll"}
SCRIPT = "resources/slave_0123abcd.py"
DESCRIPTION = "modelDescription.xml"


def swing() -> Members:
    """Members of a good FMU for a platform that is not this one, so it is not run."""
    return {
        DESCRIPTION: XML.encode(),
        f"binaries/{FOREIGN}/swing{ENDINGS[FOREIGN]}": b"no library",
        "resources/slavemodule.txt": b"slave_0123abcd",
        SCRIPT: SLAVE.encode(),
    }


def runnable(slave: str = SLAVE, xml: str = XML) -> Members:
    """Members of a good FMU for this platform."""
    package = Path(pythonfmu.__file__).parent
    suffix = fmpy.sharedLibraryExtension
    (library,) = (package / "resources" / "binaries" / fmpy.platform).glob(f"*{suffix}")
    return {
        **swing(),
        DESCRIPTION: xml.encode(),
        SCRIPT: slave.encode(),
        f"binaries/{fmpy.platform}/swing{suffix}": library.read_bytes(),
        **{f"resources/pythonfmu/{file.name}": file.read_bytes() for file in package.glob("*.py")},
    }


def pack(members: Members, path: Path, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression, compresslevel=1) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def swap(members: Members, name: str, old: str, new: str) -> Members:
    text = members[name].decode()
    assert text.count(old) == 1, old
    return {**members, name: text.replace(old, new).encode()}


def rules(problems: Iterable[Problem]) -> set[str]:
    return {problem.rule for problem in problems}


needs_library = pytest.mark.skipif(
    not (Path(pythonfmu.__file__).parent / "resources" / "binaries" / fmpy.platform).is_dir(),
    reason="pythonfmu has no library for this platform",
)


def test_a_good_fmu_for_another_platform_has_no_problems(tmp_path: Path) -> None:
    assert check(pack(swing(), tmp_path / "swing.fmu")) == []


@needs_library
def test_a_good_fmu_that_runs_has_no_problems(tmp_path: Path) -> None:
    assert check(str(pack(runnable(), tmp_path / "swing.fmu"))) == []


EXPERIMENT = '<DefaultExperiment startTime="0" stopTime="1" tolerance="1e-6" stepSize="0.01"/>'
TIME = '<ScalarVariable name="t" valueReference="7" causality="independent"><Real unit="s"/></ScalarVariable>'
CONSTANT = (
    '<ScalarVariable name="{}" valueReference="{}" causality="local" variability="constant">'
    '<Real unit="1" start="{}"/></ScalarVariable>'
)
END = "</ModelVariables>"

EDITS = [
    ("xml-encoding", 'encoding="UTF-8"', 'encoding="ISO-8859-1"'),
    ("xml-encoding", 'encoding="UTF-8"', ""),
    ("xml", "<UnitDefinitions>", "<UnitDefinitions"),
    ("fmi-version", 'fmiVersion="2.0"', 'fmiVersion="3.0"'),
    ("fmi-version", 'fmiVersion="2.0"', 'fmiVersion="1.0"'),
    ("fmi-version", 'fmiVersion="2.0"', ""),
    ("schema", 'guid="{5c1f}"', ""),
    ("schema", 'start="0.5"', 'start="half"'),
    ("schema", "<UnitDefinitions>", "<UnitDefinitions/><UnitDefinitions>"),
    ("guid", "{5c1f}", " "),
    ("generation-date", "00:00:00Z", "00:00:00+00:00"),
    ("generation-date", "00:00:00Z", "00:00:00"),
    ("state-flags", 'canGetAndSetFMUstate="true"', ""),
    ("source-files", "</CoSim", '<SourceFiles><File name="a.c"/></SourceFiles></CoSim'),
    ("default-experiment", EXPERIMENT, ""),
    ("default-experiment", 'stopTime="1"', ""),
    ("default-experiment", 'stopTime="1"', 'stopTime="0"'),
    ("default-experiment", 'stopTime="1"', 'stopTime="INF"'),
    ("default-experiment", 'tolerance="1e-6"', 'tolerance="0"'),
    ("default-experiment", 'stepSize="0.01"', 'stepSize="-0.01"'),
    ("log-category", '"logAll"', '"everything"'),
    ("log-category", '"logAll"', '"logStatusError"'),
    ("variable-name", '"joint.phi"', '"joint phi"'),
    ("variable-name", '"u[1]"', '"u[i]"'),
    ("variable-name", '"k"', '"2k"'),
    ("variable-name", '"k"', '"schräg"'),
    ("name-unique", '"twice_k"', '"k"'),
    ("name-unique", '"twice_k"', '"Angle"'),
    ("name-unique", '<Unit name="1"/>', '<Unit name="1"/><Unit name="s"/>'),
    ("alias", 'name="k" valueReference="4"', 'name="k" valueReference="1"'),
    ("alias", 'name="joint.w" valueReference="3"', 'name="joint.w" valueReference="2"'),
    ("alias", END, CONSTANT.format("c", 9, 1) + CONSTANT.format("d", 9, 2) + END),
    ("alias", END, CONSTANT.format("c", 4, 2) + END),
    ("independent", END, TIME + END),
    ("independent", '<Real unit="s"/></ScalarVariable>', "<Integer/></ScalarVariable>"),
    ("combination", 'variability="discrete"', 'variability="fixed"'),
    ("combination", 'causality="input"', 'causality="input" initial="exact"'),
    ("combination", 'causality="parameter"', 'causality="parameter" initial="calculated"'),
    ("continuous-type", 'variability="discrete" initial="exact"', 'initial="exact"'),
    ("start-missing", 'unit="1" start="0.5"', 'unit="1"'),
    ("start-missing", 'declaredType="Angle" start="1"', 'declaredType="Angle"'),
    ("start-missing", 'unit="1" start="2"', 'unit="1"'),
    ("start-forbidden", 'unit="rad/s" derivative', 'unit="rad/s" start="0" derivative'),
    ("start-forbidden", '<Real unit="s"/>', '<Real unit="s" start="0"/>'),
    ("start-finite", 'start="0.5"', 'start="NaN"'),
    ("start-finite", 'start="0.5"', 'start="INF"'),
    ("start-range", 'start="1"', 'start="5"'),
    ("start-range", 'start="0.5"', 'start="0.5" max="0.25"'),
    ("start-range", '<Integer start="0"/>', '<Integer start="0" min="2" max="1"/>'),
    ("unit-undefined", 'unit="rad/s" derivative', 'unit="rpm" derivative'),
    ("unit-undefined", 'unit="1" start="0.5"', 'unit="1" displayUnit="%" start="0.5"'),
    ("unit-missing", 'unit="rad/s" derivative', "derivative"),
    ("declared-type", 'declaredType="Angle"', 'unit="rad" declaredType="Winkel"'),
    ("declared-type", '<Integer start="0"/>', '<Integer start="0" declaredType="Angle"/>'),
    ("outputs", '<Unknown index="3"/>', ""),
    ("outputs", '<Unknown index="3"/>', '<Unknown index="3"/><Unknown index="3"/>'),
    ("outputs", '<Unknown index="3"/>', '<Unknown index="3"/><Unknown index="5"/>'),
    ("outputs", '<Unknown index="3"/>', '<Unknown index="3"/><Unknown index="8"/>'),
    ("derivatives", 'start="2"', 'start="2" derivative="8"'),
    ("derivatives", "<Derivatives>", '<Derivatives><Unknown index="2"/>'),
    ("initial-unknowns", '<Unknown index="6" dependencies="5" dependenciesKind="constant"/>', ""),
    ("initial-unknowns", '<Unknown index="6"', '<Unknown index="7"/><Unknown index="6"'),
    ("initial-unknowns", "<InitialUnknowns>", '<InitialUnknowns><Unknown index="6"/>'),
    ("dependencies", 'dependencies="1"', 'dependencies="9"'),
    ("dependencies", 'dependencies="1"', 'dependencies="5"'),
    ("dependencies", 'dependencies="1"', ""),
    ("dependencies", '"1" dependenciesKind="dependent"', '"1" dependenciesKind="constant dependent"'),
    ("dependencies", 'dependencies="2 3 5"', 'dependencies="3 2 5"'),
    ("dependencies", 'dependencies="5"', 'dependencies="4"'),
    ("execution-tool", 'needsExecutionTool="false"', 'needsExecutionTool="1"'),
    ("interpolate-inputs", 'needsExecutionTool="false"', 'canInterpolateInputs="true"'),
]


@pytest.mark.parametrize(("rule", "old", "new"), EDITS)
def test_each_fault_in_the_description_breaks_its_own_rule(tmp_path: Path, rule: str, old: str, new: str) -> None:
    assert rules(check(pack(swap(swing(), DESCRIPTION, old, new), tmp_path / "x.fmu"))) == {rule}


def without(name: str) -> Callable[[Members], Members]:
    return lambda members: {key: value for key, value in members.items() if key != name}


def plus(name: str, content: bytes = b"") -> Callable[[Members], Members]:
    return lambda members: {**members, name: content}


CAPABILITY = 'canHandleVariableCommunicationStepSize="true"'
MODEL_EXCHANGE = XML.replace("CoSimulation", "ModelExchange").replace(CAPABILITY, "")

PACKINGS: list[tuple[str, Callable[[Members], Members]]] = [
    ("description-missing", without(DESCRIPTION)),
    ("zip-path", plus("/etc/passwd")),
    ("zip-path", plus("../outside.txt")),
    ("zip-path", plus("resources/../../outside.txt")),
    ("zip-path", plus("C:/outside.txt")),
    ("zip-path", plus("resources\\file.txt")),
    ("co-simulation", plus(DESCRIPTION, MODEL_EXCHANGE.encode())),
    ("model-identifier", lambda m: swap(m, DESCRIPTION, '"swing"', '"my swing"')),
    ("platform-binary", plus("binaries/linux32/other.so")),
    ("platform-binary", plus("binaries/win32/swing.so")),
    ("platform-binary", without(f"binaries/{FOREIGN}/swing{ENDINGS[FOREIGN]}")),
    ("module-name", plus("resources/model.py")),
    ("module-name", plus("resources/tools/__init__.py")),
    ("slave-script", without(SCRIPT)),
    ("slave-script", plus("resources/slavemodule.txt", b"slave_0123abcd\r\n")),
    ("slave-script", plus("resources/slavemodule.txt", b"../slave")),
    ("slave-script", lambda m: swap(m, SCRIPT, "Swing(Fmi2Slave)", "Swing")),
]


@pytest.mark.parametrize(("rule", "change"), PACKINGS)
def test_each_fault_in_the_archive_breaks_its_own_rule(
    tmp_path: Path, rule: str, change: Callable[[Members], Members]
) -> None:
    problems = check(pack(change(swing()), tmp_path / "x.fmu"))
    assert rules(problems) - ({"platform-binary"} if rule == "model-identifier" else set()) == {rule}


DISTURBED = "self.phi += 1e-9 * (len(ALIVE) - 1)"

DYNAMIC: list[tuple[str, str, str]] = [
    ("instantiate", "# born", "raise ValueError('stillborn')"),
    ("initialise", "pass  # initialise", "raise ValueError('no start')"),
    ("step", "# before", "return False"),
    ("output-finite", "# after", "self.w = math.inf"),
    ("state", "self.hidden]", "0.1]"),
    ("state", "return [self.t", "raise ValueError\n        return [self.t"),
    ("serialized-state", "repr(state)", "repr([round(x, 9) for x in state])"),
    ("variable-step", "# before", "if 0 < h < 0.01: return False"),
    ("instances", "# after", DISTURBED),
    ("reset", "# born", "self.phi += BORN[self.instance_name]"),
    ("zero-step", "# before", "if h == 0.0: self.w = math.nan; return True"),
    ("negative-step", "if not h > 0.0:", "if h == 0.0:"),
    ("nan-input", "if not math.isfinite(self.u):", "if False:"),
    ("fatal", "return False  # input", "raise ValueError('NaN')"),
    ("crash", "return False  # size", "ctypes.string_at(0)"),
    ("crash", "# before", "os._exit(0)"),
    ("timeout", "# before", "time.sleep(100)"),
]


@needs_library
@pytest.mark.parametrize(("rule", "old", "new"), DYNAMIC)
def test_each_fault_of_a_running_fmu_breaks_its_own_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str, old: str, new: str
) -> None:
    if rule == "timeout":
        monkeypatch.setattr(dynamic, "TIMEOUT", 3.0)
    members = swap(runnable(), SCRIPT, old, new)
    problems = check(pack(members, tmp_path / "x.fmu"))
    # an exception in the slave reaches the master with a NULL category, a fault of its own
    assert rules(problems) - {"log-category-null"} == {rule}


@needs_library
def test_an_exception_that_leaves_the_slave_is_reported_with_what_the_fmu_said(tmp_path: Path) -> None:
    members = swap(runnable(), SCRIPT, "# before", "raise ValueError('torn cable')")
    problems = check(pack(members, tmp_path / "x.fmu"))
    assert rules(problems) == {"step", "log-category-null"}
    assert all("torn cable" in problem.message for problem in problems)


@needs_library
def test_a_crash_names_its_signal_and_the_rule_that_met_it(tmp_path: Path) -> None:
    members = swap(runnable(), SCRIPT, "return False  # size", "ctypes.string_at(0)")
    (problem,) = check(pack(members, tmp_path / "x.fmu"))
    assert "zero-step" in problem.message
    assert sys.platform == "win32" or "SIGSEGV" in problem.message


@needs_library
def test_a_library_that_cannot_be_loaded_is_a_problem(tmp_path: Path) -> None:
    library = f"binaries/{fmpy.platform}/swing{fmpy.sharedLibraryExtension}"
    problems = check(pack({**runnable(), library: b"no library"}, tmp_path / "x.fmu"))
    assert rules(problems) == {"instantiate"}


@needs_library
def test_an_archive_that_cannot_be_unpacked_is_a_problem(tmp_path: Path) -> None:
    members = {**runnable(), "resources/a": b"", "resources/a/b": b"", f"resources/{'c' * 1000}": b""}
    assert rules(check(pack(members, tmp_path / "x.fmu"))) == {"zip-path"}


@needs_library
def test_what_the_fmu_prints_does_not_get_into_the_result(tmp_path: Path) -> None:
    members = swap(runnable(), SCRIPT, "# before", "print('noise'); os.write(1, b'{\"rule\": 1}\\n')")
    assert check(pack(members, tmp_path / "x.fmu")) == []


@needs_library
def test_an_fmu_that_allows_one_instance_is_not_asked_for_two(tmp_path: Path) -> None:
    once = 'needsExecutionTool="false" canBeInstantiatedOnlyOncePerProcess="true"'
    members = swap(runnable(), DESCRIPTION, 'needsExecutionTool="false"', once)
    assert check(pack(swap(members, SCRIPT, "# after", DISTURBED), tmp_path / "x.fmu")) == []


def test_every_rule_has_a_fault_that_breaks_it() -> None:
    tried = {rule for rule, *_ in (*EDITS, *PACKINGS, *DYNAMIC)}
    names = {rule.__name__.replace("_", "-") for rule in static.RULES}
    names |= {rule.__name__.replace("_", "-") for rule, _ in DYNAMIC_RULES}
    assert names <= tried


def test_a_problem_reads_as_place_rule_and_message() -> None:
    assert str(Problem("start-missing", "why", 12)) == "modelDescription.xml:12: start-missing: why"
    assert str(Problem("zip", "why")) == "zip: why"


def test_a_problem_in_the_description_has_its_line(tmp_path: Path) -> None:
    members = swap(swing(), DESCRIPTION, 'unit="1" start="0.5"', 'unit="1"')
    (problem,) = check(pack(members, tmp_path / "x.fmu"))
    line = members[DESCRIPTION].decode().splitlines()[(problem.line or 0) - 1]
    assert 'name="u[1]"' in line


def test_what_fmpy_alone_finds_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "RULES", ())
    members = swap(swing(), DESCRIPTION, 'unit="1" start="0.5"', 'unit="1"')
    (problem,) = check(pack(members, tmp_path / "x.fmu"))
    assert problem.rule == "fmpy"
    assert problem.line is not None


def test_names_too_many_for_fmpy_are_still_checked(tmp_path: Path) -> None:
    long = "a" * 2 * static.FMPY_CHARACTERS
    good, bad = (swap(swing(), DESCRIPTION, '"twice_k"', f'"{name}"') for name in (long, f"{long}[]"))
    assert check(pack(good, tmp_path / "good.fmu")) == []
    assert rules(check(pack(bad, tmp_path / "bad.fmu"))) == {"variable-name"}


def test_a_failure_of_fmpy_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise KeyError("unit")

    monkeypatch.setattr(static, "read_model_description", fails)
    assert [p.rule for p in check(pack(swing(), tmp_path / "x.fmu"))] == ["fmpy"]


NAMES = ["a", "_a1", "a.b_2.c", "a[1]", "a[1,23].b", "der(a.b)", "der(a,2)", "'#1 (x)'", "'a\\'b'[2].c"]
NO_NAMES = ["", "1a", "a..b", ".a", "a.", "a[]", "a[1", "a[-1]", "der(a", "der(a,b)", "a b", "'", "''", "ä"]


@pytest.mark.parametrize("name", NAMES)
def test_the_grammar_of_structured_names_accepts(name: str) -> None:
    assert static._NAME.fullmatch(name)


@pytest.mark.parametrize("name", NO_NAMES)
def test_the_grammar_of_structured_names_refuses(name: str) -> None:
    assert not static._NAME.fullmatch(name)


def test_an_fmu_of_sources_alone_is_good(tmp_path: Path) -> None:
    members = without(f"binaries/{FOREIGN}/swing{ENDINGS[FOREIGN]}")(swing())
    listed = '<SourceFiles><File name="swing.c"/></SourceFiles></CoSim'
    members = swap(members, DESCRIPTION, "</CoSim", listed)
    assert check(pack({**members, "sources/swing.c": b""}, tmp_path / "x.fmu")) == []


def test_the_traps_of_pythonfmu_are_none_for_a_native_fmu(tmp_path: Path) -> None:
    members = without("resources/slavemodule.txt")(swing())
    members = swap(members, DESCRIPTION, 'needsExecutionTool="false"', 'canInterpolateInputs="true"')
    assert check(pack({**members, "resources/model.py": b""}, tmp_path / "x.fmu")) == []


def test_a_stored_archive_is_a_problem_only_when_large(tmp_path: Path) -> None:
    small = pack(swing(), tmp_path / "small.fmu", zipfile.ZIP_STORED)
    large = pack({**swing(), "resources/table": bytes(70_000)}, tmp_path / "large.fmu", zipfile.ZIP_STORED)
    assert (rules(check(small)), rules(check(large))) == (set(), {"zip-stored"})


def test_a_zip_bomb_is_refused_by_its_declared_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = pack({**swing(), "resources/bomb": bytes(2_000_000)}, tmp_path / "x.fmu")
    monkeypatch.setattr(archive, "MEMBER_LIMIT", 1_000_000)
    assert rules(check(bomb)) == {"zip-size"}
    monkeypatch.setattr(archive, "MEMBER_LIMIT", 10_000_000)
    monkeypatch.setattr(archive, "TOTAL_LIMIT", 1_000_000)
    assert rules(check(bomb)) == {"zip-size"}
    monkeypatch.setattr(archive, "TOTAL_LIMIT", 10_000_000)
    assert check(bomb) == []
    monkeypatch.setattr(archive, "DESCRIPTION_LIMIT", 1_000)
    assert rules(check(bomb)) == {"zip-size"}


def test_a_member_larger_than_it_declares_is_refused(tmp_path: Path) -> None:
    path = pack({**swing(), "resources/bomb": bytes(2_000_000)}, tmp_path / "x.fmu")
    path.write_bytes(path.read_bytes().replace(struct.pack("<I", 2_000_000), struct.pack("<I", 1_000)))
    assert rules(check(path)) == {"zip"}


def test_a_symbolic_link_in_the_archive_is_refused(tmp_path: Path) -> None:
    path = pack(swing(), tmp_path / "x.fmu")
    link = zipfile.ZipInfo("resources/link")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "a") as file:
        file.writestr(link, "/etc/passwd")
    assert rules(check(path)) == {"zip-path"}


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    path = pack(swing(), tmp_path / "x.fmu")
    with zipfile.ZipFile(path, "a") as file:
        file.writestr(SCRIPT, "other")
    assert rules(check(path)) == {"zip-path"}


ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 20 if n else "lol" * 20}">' for n in range(9))


@pytest.mark.parametrize(
    "subset",
    [
        '<!ENTITY e8 "{5c1f}">',
        '<!ENTITY e8 SYSTEM "file:///etc/passwd">',
        '<!ENTITY % far SYSTEM "http://localhost:1/x.dtd"> %far; <!ENTITY e8 "x">',
        ENTITIES,
    ],
)
@pytest.mark.parametrize("place", ['guid="{5c1f}"', '<Unit name="1"/>'])
def test_entities_are_refused_and_not_expanded(tmp_path: Path, subset: str, place: str) -> None:
    head, body = XML.split("\n", 1)
    body = body.replace(place, 'guid="&e8;"' if "guid" in place else "<Unit>&e8;</Unit>")
    xml = f"{head}<!DOCTYPE fmiModelDescription [{subset}]>\n{body}"
    problems = check(pack({**swing(), DESCRIPTION: xml.encode()}, tmp_path / "x.fmu"))
    assert rules(problems) <= {"xml", "xml-doctype"}
    assert problems


def test_attributes_of_the_schema_language_do_no_harm(tmp_path: Path) -> None:
    name = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="a.xsd"'
    members = swap(swing(), DESCRIPTION, "<DefaultExperiment", f"<DefaultExperiment {name}")
    assert check(pack(members, tmp_path / "x.fmu")) == []


@pytest.mark.parametrize("path", ["missing.fmu", "", "folder", "nul\0l.fmu", "x" * 5000])
def test_a_path_without_a_file_is_a_problem(tmp_path: Path, path: str) -> None:
    (tmp_path / "folder").mkdir()
    assert [problem.rule for problem in check(f"{tmp_path}/{path}")] == ["file"]


def test_an_encrypted_member_is_a_problem(tmp_path: Path) -> None:
    path = pack(swing(), tmp_path / "x.fmu")
    data = bytearray(path.read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + flags] |= 1
    path.write_bytes(data)
    assert rules(check(path)) == {"zip"}


@pytest.fixture(scope="session")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return pack(swing(), tmp_path_factory.mktemp("good") / "swing.fmu").read_bytes()


@pytest.fixture(scope="session")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("victim") / "x.fmu"


quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@quick
@given(st.binary(max_size=300))
@example(b"PK\x05\x06" + bytes(18))
def test_random_bytes_are_a_problem_and_no_exception(victim: Path, data: bytes) -> None:
    victim.write_bytes(data)
    assert check(victim)


@quick
@given(st.data())
def test_a_truncated_archive_is_a_problem_and_no_exception(victim: Path, good: bytes, data: st.DataObject) -> None:
    victim.write_bytes(good[: data.draw(st.integers(0, len(good) - 1))])
    assert check(victim)


@quick
@given(st.data())
def test_damaged_bytes_raise_no_exception(victim: Path, good: bytes, data: st.DataObject) -> None:
    damaged = bytearray(good)
    for place in data.draw(st.lists(st.integers(0, len(good) - 1), min_size=1, max_size=5)):
        damaged[place] = data.draw(st.integers(0, 255))
    victim.write_bytes(damaged)
    assert all(isinstance(problem, Problem) for problem in check(victim))


@quick
@given(st.data())
def test_a_description_with_a_value_changed_raises_no_exception(victim: Path, data: st.DataObject) -> None:
    parts = XML.split('"')
    place = 2 * data.draw(st.integers(1, len(parts) // 2 - 1)) + 1
    parts[place] = data.draw(st.sampled_from(["", " ", "0", "-1", "1 1", "NaN", "4294967295", "exact", "x", "true"]))
    pack({**swing(), DESCRIPTION: '"'.join(parts).encode()}, victim)
    assert all(isinstance(problem, Problem) for problem in check(victim))
