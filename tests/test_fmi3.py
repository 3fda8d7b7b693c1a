"""FMI 3.0: the numbers of the FMI 2.0 FMU, arrays, derivatives both ways, updates within steps, and its life cycle."""

import ctypes
import math
import re
import subprocess
import zipfile
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu
from harness import thorough
from instances3 import Instance3
from lxml import etree
from masters import Instance, Unpacked, refused
from struck import ball, stick_slip

import mbfmu
from mbfmu.errors import UsageError
from mbfmu.fmu.recipe import read_recipe
from mbfmu.model import Model

H = 1e-2
DISCARD, ERROR = 2, 3
MODELS: dict[str, Model | str] = {
    "ball": ball(),
    "stick_slip": stick_slip(),
    "two_link": "two_link",
    "top": "heavy_top",
    "low_pass": "digital_low_pass",
}
INPUTS = {"two_link": {"shoulder.tau": 7.0, "elbow.tau": -2.0}}
STEPPERS = {"ball": "projected", "stick_slip": "projected", "two_link": "rattle", "top": "rattle"}
PERIOD = "Ts"
"""Parameter with the period of the sampled filter."""
HEADERS = Path(mbfmu.__file__).parent / "fmu" / "native" / "standard"
SCHEMAS = Path(fmpy.__file__).parent / "schema" / "fmi3"


@cache
def path_of(name: str, fmi: str = "3.0") -> Path:
    """Write a model as a native FMU; once a session."""
    path = Path(mkdtemp(prefix="mbfmu-fmi3-")) / f"{name}.fmu"
    return mbfmu.export(
        MODELS[name], path, stepper=STEPPERS.get(name), step=H, backend="native", fmi=fmi,
        platforms=["linux64"],
    )  # fmt: skip


@cache
def unpacked(name: str, fmi: str = "3.0") -> Unpacked:
    """Return it unpacked."""
    path = path_of(name, fmi)
    return Unpacked(path, path.with_suffix(""))


def scalars(fmu: Unpacked) -> list[str]:
    """Return the names of the outputs and local variables of an FMI 2.0 FMU in the order of `Instance3.get`."""
    order = {"Boolean": 0, "Real": 1, "Integer": 2}
    return sorted(fmu.shown, key=lambda name: order[fmu.variables[name].type])


# -- the same bits ---------------------------------------------------------------------------------------------------


def run_of(
    run: Any, shown: list[str] | None, inputs: dict[str, float], first: int = 0, count: int = 40, scale: float = H
) -> list[Any]:
    """Return the rows of steps of changing length."""
    rows, sizes = [], (scale, 2.5 * scale, 0.4 * scale)
    time = sum(sizes[k % 3] for k in range(first))
    for k in range(first, first + count):
        size = sizes[k % 3]
        run.set({name: value * math.cos(k) for name, value in inputs.items()})
        run.step(time, size)
        time += size
        rows.append(list(run.get(shown)))
    return rows


@pytest.mark.parametrize("name", thorough(zip(MODELS), lambda name: name == "ball"))
def test_fmi_2_and_fmi_3_give_the_same_bits(name: str) -> None:
    inputs = INPUTS.get(name, {})
    with Instance(unpacked(name, "2.0")).start() as old, Instance3(unpacked(name)).start() as new:
        assert run_of(new, None, inputs) == run_of(old, scalars(old.fmu), inputs)


@pytest.mark.parametrize("name", ["ball", "stick_slip"])
def test_a_rollback_across_an_event_is_bitwise(name: str) -> None:
    scale = 20 * H if name == "stick_slip" else H
    with Instance3(unpacked(name)).start() as run:
        run_of(run, None, {}, 0, 20, scale)
        state, before = run.save(), run.get(["events.count"])
        first = run_of(run, None, {}, 20, 80, scale), run.save()
        assert run.get(["events.count"]) > before
        run.restore(state)
        assert (run_of(run, None, {}, 20, 80, scale), run.save()) == first


def test_both_versions_have_the_same_derivatives() -> None:
    names, inputs = ["elbow.phi", "shoulder.w", "elbow.a"], list(INPUTS["two_link"])
    with Instance(unpacked("two_link", "2.0")).start() as old, Instance3(unpacked("two_link")).start() as new:
        found = []
        for run in (old, new):
            run.set(INPUTS["two_link"])
            run.step(0.0, 3 * H)
            unknown, known = ([run.fmu.references[name] for name in some] for some in (names, inputs))
            rates = run.slave.getOutputDerivatives if run is new else run.slave.getRealOutputDerivatives
            found.append((run.slave.getDirectionalDerivative(unknown, known, [1.0, 0.5]), rates(unknown, [1] * 3)))
        assert list(map(list, found[0])) == list(map(list, found[1]))


# -- arrays ----------------------------------------------------------------------------------------------------------


def test_an_array_carries_the_values_of_its_scalars() -> None:
    old, new = unpacked("top", "2.0"), unpacked("top")
    arrays = [item for item in new.description.modelVariables if item.shape]
    assert {item.name: item.shape for item in arrays}["pivot.Q_rel"] == (4,)
    with Instance(old).start() as one, Instance3(new).start() as other:
        for run in (one, other):
            run.step(0.0, 0.2)
        for item in arrays:
            names = [f"{item.name}[{k + 1}]" for k in range(item.shape[0])]
            assert other.get([item.name]) == list(one.get(names))
            assert [item.valueReference + k for k in range(item.shape[0])] == [old.references[name] for name in names]


def test_variables_of_both_versions_agree_element_by_element() -> None:
    old, new = unpacked("top", "2.0"), unpacked("top")
    flat: list[Any] = []
    for item in new.description.modelVariables:
        starts = (item.start or "").split() or [None] * math.prod(item.shape or (1,))
        flat += [(item.causality, item.variability, item.initial, item.declaredType and item.declaredType.unit, value)
                 for value in starts]  # fmt: skip
    expected = [
        (item.causality, item.variability, item.initial, item.declaredType and item.declaredType.unit, item.start)
        for item in old.description.modelVariables
    ]
    assert flat == expected


def test_an_array_and_its_derivative_are_differentiated_by_element() -> None:
    with Instance3(unpacked("top")) as run:
        run.slave.enterInitializationMode()
        references = [run.fmu.references[name] for name in ("momentum.angular", "top.w_a")]
        units = np.eye(3).tolist()
        columns = [run.slave.getDirectionalDerivative(references[:1], references[1:], unit, 3) for unit in units]
        rows = [run.slave.getAdjointDerivative(references[:1], references[1:], unit, 3) for unit in units]
        assert np.array_equal(np.transpose(columns), rows)
        assert np.abs(columns).max() > 0.1
        run.slave.exitInitializationMode()
        run.step(0.0, H)
        speed, rate = (run.fmu.references[name] for name in ("pivot.w_rel", "pivot.z_rel"))
        values = (ctypes.c_double * 3)()
        run.slave.fmi3GetOutputDerivatives(
            run.slave.component, (ctypes.c_uint32 * 1)(speed), 1, (ctypes.c_int32 * 1)(1), values, 3
        )
        assert list(values) == pytest.approx(run.slave.getFloat64([rate], 3), rel=1e-9)


def test_the_number_of_values_is_that_of_all_elements() -> None:
    with Instance3(unpacked("top")).start() as run:
        reference = run.fmu.references["pivot.Q_rel"]
        assert refused(run.slave.getFloat64, [reference], 3) == ERROR
        assert "4 elements" in run.messages[-1].form
        assert refused(run.slave.getFloat64, [reference + 1], 1) == ERROR
        assert "an element of an array" in run.messages[-1].form


# -- derivatives and dependencies ------------------------------------------------------------------------------------


def test_an_adjoint_derivative_is_the_transpose_of_the_directional_one() -> None:
    with Instance3(unpacked("two_link")).start(INPUTS["two_link"]) as run:
        run.step(0.0, 3 * H)
        unknown = [run.fmu.references[name] for name in ("elbow.phi", "shoulder.w", "elbow.a")]
        known = [run.fmu.references[name] for name in ("shoulder.tau", "elbow.tau", "world.g")]
        forward = [run.slave.getDirectionalDerivative(unknown, known, row) for row in np.eye(3).tolist()]
        seed = [0.3, -2.0, 0.7]
        found = run.slave.getAdjointDerivative(unknown, known, seed)
        assert found == pytest.approx(np.array(forward) @ seed, rel=1e-15)


def test_dependencies_are_those_of_the_model_description_in_either_phase() -> None:
    for name in ("two_link", "top"):
        fmu = unpacked(name)
        structure = fmu.description

        def told(run: Instance3, unknowns: Any) -> None:
            for item in unknowns:
                found = run.dependencies(item.variable.name)
                assert {other for _, other, _ in found} == {other.name for other in item.dependencies or ()}

        with Instance3(fmu) as run:
            told(run, (item for item in structure.initialUnknowns if item.variable.type != "Clock"))
            run.start()
            told(run, structure.outputs)
            assert run.dependencies("time") == set()


def test_before_the_start_an_output_depends_on_start_values_and_parameters() -> None:
    with Instance3(unpacked("two_link")) as run:
        found = {other for _, other, _ in run.dependencies("elbow.a")}
        assert {"l1", "shoulder.tau", "shoulder.phi"} <= found
        assert "solver.step" not in found


# -- updates within a step --------------------------------------------------------------------------------------------


def test_an_update_that_sets_nothing_changes_no_bit() -> None:
    calls: list[tuple[float, bool, bool]] = []

    def update(time: float, wanted: bool, allowed: bool, finished: bool, early: bool, *_: Any) -> None:
        assert allowed
        assert finished
        assert not early
        calls.append((time, wanted, finished))

    inputs = INPUTS["two_link"]
    with (
        Instance3(unpacked("two_link")).start() as plain,
        Instance3(unpacked("two_link"), update=update).start() as run,
    ):
        assert run_of(run, None, inputs, 0, 9) == run_of(plain, None, inputs, 0, 9)
        references = [run.fmu.references[name] for name in ("elbow.phi", "shoulder.tau")]
        slopes = [each.slave.getDirectionalDerivative(references[:1], references[1:], [1.0]) for each in (plain, run)]
        assert slopes[0] == slopes[1]
    assert [wanted for _, wanted, _ in calls[:6]] == [True, False, True, True, True, False]  # 1 and 3 steps
    assert calls[5][0] == pytest.approx(3.5 * H)


def test_an_input_set_in_updates_acts_from_there_on() -> None:
    def torque(time: float) -> float:
        return 3 * math.sin(5 * time)

    def update(time: float, wanted: bool, *_: Any) -> None:
        if wanted:
            run.set({"shoulder.tau": torque(time)})

    with Instance3(unpacked("two_link"), update=update).start() as run:
        run.step(0.0, 8 * H)
        found = run.get()
    with Instance3(unpacked("two_link")).start() as fine:
        for k in range(8):
            fine.set({"shoulder.tau": torque(k * 8 * H / 8)})
            fine.step(k * 8 * H / 8, 8 * H / 8)
        assert found == pytest.approx(fine.get(), rel=1e-12, abs=1e-12)


def test_a_master_may_end_a_step_in_an_update() -> None:
    def update(_time: float, _w: bool, _a: bool, _f: bool, early: bool, wanted: Any, until: Any) -> None:
        wanted[0], until[0] = early, 2.5 * H

    with Instance3(unpacked("two_link"), early=True, update=update).start() as run:
        *_, early, last = run.step(0.0, 8 * H)
        assert early
        assert last == pytest.approx(2.5 * H, rel=1e-15)
        assert run.get(["time"]) == [last]


def test_only_inputs_are_set_in_an_update_and_no_step_is_made() -> None:
    codes: list[int] = []

    def update(*_: Any) -> None:
        codes.append(refused(run.set, {"world.g": 1.6}))
        codes.append(refused(run.slave.doStep, 0.0, H))

    with Instance3(unpacked("two_link"), update=update).start() as run:
        run.step(0.0, H)
        assert set(codes) == {ERROR}
        assert any("only inputs" in item.form for item in run.messages)
        assert any("in an intermediate update" in item.form for item in run.messages)
        assert run.get(["world.g"]) != [1.6]


# -- calls ------------------------------------------------------------------------------------------------------------


def declared() -> list[str]:
    """Return the names of all functions of the standard."""
    text = (HEADERS / "fmi3Functions.h").read_text()
    return sorted(set(re.findall(r"^FMI3_Export fmi3\w+TYPE\s+(fmi3\w+);", text, re.MULTILINE)))


def test_every_function_of_the_standard_is_there() -> None:
    fmu = unpacked("two_link")
    library = ctypes.CDLL(str(next(fmu.folder.glob("binaries/x86_64-linux/*.so"))))
    names = declared()
    assert len(names) > 70
    assert [name for name in names if not hasattr(library, name)] == []


def test_no_other_name_is_exported() -> None:
    binary = next(unpacked("two_link").folder.glob("binaries/x86_64-linux/*.so"))
    shown = subprocess.run(["nm", "-D", "--defined-only", str(binary)], capture_output=True, text=True, check=True)
    names = {line.split()[-1] for line in shown.stdout.splitlines()}
    assert names == set(declared())


OUT_OF_PLACE: dict[str, Any] = {
    "a step before the initialisation": (None, lambda run: run.slave.doStep(0.0, H), "before the initialisation"),
    "twice initialised": ("start", lambda run: run.slave.enterInitializationMode(), "fmi3EnterInitializationMode"),
    "step mode from step mode": ("start", lambda run: run.slave.enterStepMode(), "fmi3EnterStepMode"),
    "no event mode": ("start", lambda run: run.slave.enterEventMode(), "eventModeUsed"),
    "no event to settle": ("start", lambda run: run.slave.updateDiscreteStates(), "fmi3UpdateDiscreteStates"),
    "configuration": (None, lambda run: run.slave.enterConfigurationMode(), "fmi3EnterConfigurationMode"),
    "exchange": ("start", lambda run: run.slave.fmi3SetTime(run.slave.component, 0.0), "fmi3SetTime"),
    "another type": ("start", lambda run: run.slave.getInt32([0]), "use fmi3GetFloat64"),
    "a type there is none of": ("start", lambda run: run.slave.setFloat32([1], [0.0]), "use fmi3SetFloat64"),
    "no variable": ("start", lambda run: run.slave.getFloat64([10**6]), "no such variable"),
    "no clock": ("start", lambda run: run.slave.getClock([1]), "fmi3GetClock"),
    "a state of another FMU": ("start", lambda run: run.restore(run.save()[:-8]), "damaged"),
}  # fmt: skip


@pytest.mark.parametrize("case", OUT_OF_PLACE)
def test_a_call_out_of_place_is_refused_by_name(case: str) -> None:
    begun, call, words = OUT_OF_PLACE[case]
    with Instance3(unpacked("two_link")) as run:
        if begun:
            run.start()
        assert refused(call, run) == ERROR
        assert words in run.messages[-1].form
        if not begun:
            run.start()
        run.step(0.0, H)


def test_an_instance_of_another_kind_or_token_is_not_made() -> None:
    with Instance3(unpacked("two_link")) as run:
        library, token = run.slave, unpacked("two_link").description.guid.encode()
        log = run.slave.logMessage
        assert not library.fmi3InstantiateModelExchange(b"one", token, b"", False, True, None, log)
        assert "not for model exchange" in run.messages[-1].form
        with pytest.raises(Exception, match="instantiate"):
            Instance3(unpacked("two_link"), events=True)
        none = fmpy.fmi3.fmi3IntermediateUpdateCallback()
        arguments = (b"", False, True, False, False, None, 0, None, log, none)
        assert not library.fmi3InstantiateCoSimulation(b"one", b"{wrong}", *arguments)
        assert "the instantiation token is {wrong}" in run.messages[-1].form


def test_a_value_that_may_not_be_set_keeps_the_old_one() -> None:
    with Instance3(unpacked("two_link")).start() as run:
        run.set({"world.g": math.nan})
        assert "world.g = nan" in run.messages[-1].form
        assert run.get(["world.g"]) == [9.8]
        assert refused(run.step, 0.0, H) == DISCARD
        run.set({"world.g": 9.0})
        run.step(0.0, H)


def test_categories_of_messages_are_turned_on_and_off_one_by_one() -> None:
    def told(on: bool, *categories: str) -> int:
        before = len(run.messages)
        run.slave.setDebugLogging(on, categories)
        refused(run.slave.getFloat64, [10**6])
        return len(run.messages) - before

    with Instance3(unpacked("two_link")).start() as run:
        assert told(False, "logStatusDiscard", "logAll") == 1
        assert told(False, "logStatusError") == 0
        assert told(True, "logStatusWarning") == 0
        assert told(True, "logStatusError") == 1
        assert told(False) == 0
        assert told(True) == 1


def test_a_step_that_is_not_possible_is_discarded_before_any_update() -> None:
    calls: list[float] = []
    with Instance3(unpacked("two_link"), update=lambda time, *_: calls.append(time)).start() as run:
        for time, size in ((0.0, 0.0), (0.0, -H), (0.0, math.nan), (1.0, H)):
            assert refused(run.step, time, size) == DISCARD
        assert calls == []
        run.step(0.0, H)
        assert calls == [0.0, pytest.approx(H)]


def test_a_step_past_the_stop_time_that_a_master_has_set_is_an_error_before_any_update() -> None:
    calls: list[float] = []
    with Instance3(unpacked("two_link"), update=lambda time, *_: calls.append(time)) as run:
        run.slave.enterInitializationMode(startTime=0.0, stopTime=30 * H)
        run.slave.exitInitializationMode()
        assert refused(run.step, 0.0, 31 * H) == ERROR
        assert calls == []
        assert "past t = 0.3 s, the stop time" in run.messages[-1].text
        time = 0.0
        for _ in range(30):  # whose sum passes the stop time by round-off
            run.step(time, H)
            time += H
        assert time > 30 * H
        assert refused(run.step, time, H) == ERROR


def test_start_values_are_read_before_the_initialisation() -> None:
    with Instance3(unpacked("two_link")) as run:
        run.set({"shoulder.phi": 0.25})
        assert run.get(["shoulder.phi"]) == [0.25]


# -- the archive -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_fmpy_has_no_complaint(name: str) -> None:
    assert validate_fmu(str(path_of(name))) == []


def test_every_document_is_valid_by_its_schema() -> None:
    with zipfile.ZipFile(path_of("two_link")) as archive:
        for member, schema in (
            ("modelDescription.xml", "fmi3ModelDescription.xsd"),
            ("sources/buildDescription.xml", "fmi3BuildDescription.xsd"),
            ("terminalsAndIcons/terminalsAndIcons.xml", "fmi3TerminalsAndIcons.xsd"),
        ):
            etree.XMLSchema(file=str(SCHEMAS / schema)).assertValid(etree.fromstring(archive.read(member)))


def test_a_driven_joint_has_a_terminal_and_the_model_an_icon() -> None:
    fmu = unpacked("two_link")
    root = etree.parse(str(fmu.folder / "terminalsAndIcons" / "terminalsAndIcons.xml"))
    found = {
        node.get("name"): {item.get("memberName"): item.get("variableName") for item in node}
        for node in root.iter("Terminal")
    }
    members = ("phi", "w", "a", "tau")
    assert found == {joint: {member: f"{joint}.{member}" for member in members} for joint in ("shoulder", "elbow")}
    assert {name for joint in found.values() for name in joint.values()} <= fmu.variables.keys()
    assert (fmu.folder / "terminalsAndIcons" / "icon.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["ball", "two_link"])
def test_fmpy_simulates_it_as_fmi_2(name: str) -> None:
    names = ["y", "events.count"] if name == "ball" else ["shoulder.phi", "elbow.w"]
    found = [
        fmpy.simulate_fmu(str(path_of(name, fmi)), stop_time=1.0, output_interval=H, output=names)
        for fmi in ("2.0", "3.0")
    ]
    for label in names:
        assert list(found[0][label]) == list(found[1][label])


@pytest.mark.slow
def test_its_sources_compile_elsewhere_to_the_same_bits(tmp_path: Path) -> None:
    fmu = unpacked("two_link")
    files = [str(item) for item in sorted((fmu.folder / "sources").glob("*.c"))]
    built = tmp_path / "two_link.so"
    subprocess.run(
        ["gcc", "-std=c99", "-Wall", "-Wextra", "-Wno-unused", "-Werror", "-O1", "-ffp-contract=off", "-fPIC",
         "-shared", "-fvisibility=hidden", *files, "-lm", "-o", str(built)], check=True,
    )  # fmt: skip
    other = Unpacked(path_of("two_link"), tmp_path / "other")
    next(other.folder.glob("binaries/*/*.so")).write_bytes(built.read_bytes())
    with Instance3(fmu).start(INPUTS["two_link"]) as one, Instance3(other).start(INPUTS["two_link"]) as two:
        assert run_of(one, None, {}) == run_of(two, None, {})


@pytest.mark.slow
def test_several_can_be_linked_into_one_program(tmp_path: Path) -> None:
    objects = []
    for name in ("ball", "low_pass"):
        for source in sorted((unpacked(name).folder / "sources").glob("*.c")):
            objects.append(tmp_path / f"{name}-{source.stem}.o")
            flags = ["-std=c99", "-ffp-contract=off", f"-DFMI3_FUNCTION_PREFIX={name}_", "-c"]
            subprocess.run(["gcc", *flags, str(source), "-o", str(objects[-1])], check=True)
    subprocess.run(["ld", "-r", *map(str, objects), "-o", str(tmp_path / "both.o")], check=True)


def test_the_python_back_end_has_fmi_2_alone(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"FMI 3\.0 needs the native back end"):
        mbfmu.export(ball(), tmp_path / "ball.fmu", fmi="3.0")
    with pytest.raises(UsageError, match=r"no FMI version '1\.0'"):
        mbfmu.export(ball(), tmp_path / "ball.fmu", fmi="1.0")
    assert list(tmp_path.iterdir()) == []


def test_a_recipe_may_ask_for_fmi_3(tmp_path: Path) -> None:
    recipe = tmp_path / "ball.toml"
    recipe.write_text('model = "bouncing_ball"\nfmi = "3.0"\n')
    assert read_recipe(recipe).choices()["fmi"] == "3.0"


def test_without_arrays_variables_are_the_scalars_of_fmi_2_with_the_same_bits(tmp_path: Path) -> None:
    path = mbfmu.export(
        MODELS["top"], tmp_path / "top.fmu", stepper="rattle", step=H, backend="native", fmi="3.0", scalars=True,
        platforms=["linux64"],
    )  # fmt: skip
    flat, old = Unpacked(path, tmp_path / "top"), unpacked("top", "2.0")
    assert validate_fmu(str(path)) == []
    assert not any(item.shape for item in flat.description.modelVariables)
    assert flat.references == old.references
    with Instance(old).start() as one, Instance3(flat).start() as other, Instance3(unpacked("top")).start() as arrays:
        assert run_of(other, None, {}) == run_of(one, scalars(old), {})
        run_of(arrays, None, {})
        assert arrays.save() == other.save()
    sampled = mbfmu.export(
        MODELS["low_pass"], tmp_path / "low_pass.fmu", backend="native", step=H, fmi="3.0", scalars=True,
        platforms=["linux64"],
    )  # fmt: skip
    assert validate_fmu(str(sampled)) == []
    without, clocked = Unpacked(sampled, tmp_path / "low_pass"), unpacked("low_pass")
    assert "Clock" not in {item.type for item in without.description.modelVariables}
    with Instance3(without, events=True, early=True) as one, Instance3(clocked, events=True, early=True) as other:
        for run in (one, other):
            run.start()
        assert run_with_events(one, 3 * H, 20 * H) == run_with_events(other, 3 * H, 20 * H)
        assert one.get(["y"]) == other.get(["y"])
    with pytest.raises(UsageError, match=r"FMI 2\.0 has no arrays to leave out"):
        mbfmu.export(ball(), tmp_path / "ball.fmu", backend="native", scalars=True)


# -- events and samplings ----------------------------------------------------------------------------------------------


def run_with_events(run: Instance3, size: float, stop: float, settled: Any = None) -> list[float]:
    """Step through events up to a time; return the times of the events."""
    time, found = 0.0, []
    run.settle()
    while time < stop:
        needed, _, early, time = run.step(time, min(size, stop - time))
        assert needed or not early
        if needed:
            found.append(time)
            run.slave.enterEventMode()
            if settled:
                settled(run)
            run.settle()
    return found


def ticks(run: Instance3, name: str) -> bool:
    """fmi3GetClock."""
    return bool(run.slave.getClock([run.fmu.references[name]])[0])


def test_a_step_ends_at_an_event_which_acts_in_event_mode() -> None:
    fall = math.sqrt(2 / 9.81)
    with Instance3(unpacked("ball"), events=True, early=True).start() as run:
        run.settle()
        assert run.step(0.0, 0.4) == (False, False, False, 0.4)
        assert not ticks(run, "events.clock")
        needed, _, early, time = run.step(0.4, 0.4)
        assert needed
        assert early
        assert time == pytest.approx(fall, rel=1e-12)
        assert run.get(["der(y)"]) == pytest.approx([-9.81 * fall], rel=1e-9)
        assert run.get(["events.count"]) == [0]
        assert refused(run.step, time, 0.1) == ERROR
        assert "an event waits there" in run.messages[-1].form
        run.slave.enterEventMode()
        assert ticks(run, "events.clock")
        assert refused(run.slave.enterStepMode) == ERROR
        run.slave.updateDiscreteStates()
        assert not ticks(run, "events.clock")
        assert run.get(["der(y)"]) == pytest.approx([9.81 * fall / 2], rel=1e-9)
        assert run.get(["events.time", "time"]) == [time, time]
        run.slave.enterStepMode()
        run.step(time, 0.1)


@pytest.mark.parametrize("name", ["ball", "stick_slip"])
def test_events_that_a_master_handles_give_the_motion_of_those_within_steps(name: str) -> None:
    size, stop = (0.05, 1.6) if name == "ball" else (0.3, 18.0)
    times: list[list[float]] = []
    with Instance3(unpacked(name), events=True, early=True).start() as run:
        found = run_with_events(run, size, stop, lambda run: times.append(run.get(["time"])))
        assert [row[0] for row in times] == found
        assert len(found) >= 2
        with Instance3(unpacked(name)).start() as plain:
            for k in range(round(stop / size)):
                plain.step(k * size, size)
            assert run.get() == pytest.approx(plain.get(), rel=1e-7, abs=1e-7)


def test_a_state_saved_where_an_event_waits_goes_on_with_the_same_bits() -> None:
    with Instance3(unpacked("ball"), events=True, early=True).start() as run:
        run.settle()
        *_, time = run.step(0.0, 1.0)
        state, found = run.save(), []
        for _ in range(2):
            run.restore(state)
            run.slave.enterEventMode()
            run.settle()
            run.step(time, 0.1)
            found.append((run.get(), run.save()))
        assert found[0] == found[1]
    with Instance3(unpacked("ball"), events=True, early=True) as other:
        other.restore(state)
        other.slave.enterEventMode()
        other.settle()
        other.step(time, 0.1)
        assert (other.get(), other.save()) == found[0]


def test_a_state_saved_after_an_event_is_restored() -> None:
    with Instance3(unpacked("ball"), events=True, early=True).start() as run:
        run.settle()
        run.step(0.0, 1.0)
        run.slave.enterEventMode()
        run.settle()
        state = run.save()
        run.restore(state)
        assert run.save() == state


def test_a_step_with_updates_stops_at_the_event_of_one_without() -> None:
    calls: list[float] = []
    times = []
    for update in (None, lambda time, *_: calls.append(time)):
        with Instance3(unpacked("ball"), events=True, early=True, update=update).start() as run:
            run.settle()
            times.append(run.step(0.0, 1.0))
    assert times[0] == (True, False, True, pytest.approx(times[1][3], rel=1e-12))
    assert times[1][:3] == (True, False, True)
    assert calls == sorted(calls)
    assert len(calls) == 1 + math.ceil(times[1][3] / H)
    assert calls[-1] == times[1][3]


def test_a_step_with_updates_stops_at_each_sampling_though_inner_steps_end_there() -> None:
    rows = []
    for update in (None, lambda *_: None):
        with Instance3(unpacked("low_pass"), events=True, early=True, update=update).start({PERIOD: 2 * H}) as run:
            rows.append(run_with_events(run, 20 * H, 20 * H))
    assert rows[0] == pytest.approx(rows[1], rel=1e-12)
    assert rows[1] == pytest.approx([2 * H * k for k in range(1, 11)], rel=1e-12)


def test_a_model_without_events_declares_nothing_of_them() -> None:
    texts = [(unpacked(name).folder / "sources" / "kernel.h").read_text() for name in ("two_link", "ball")]
    assert ["mbfmu_stride" in text for text in texts] == [False, True]
    assert unpacked("two_link").description.coSimulation.hasEventMode is False


def test_without_event_mode_or_early_return_events_act_within_the_step() -> None:
    for events, early in ((False, True), (False, False), (True, False)):
        with Instance3(unpacked("ball"), events=events, early=early).start() as run:
            if events:
                run.settle()
            assert run.step(0.0, 0.6) == (False, False, False, 0.6)
            assert run.get(["events.count"]) == [1]


def test_a_derivative_across_an_event_is_not_told() -> None:
    with Instance3(unpacked("ball"), events=True, early=True).start() as run:
        run.settle()
        *_, time = run.step(0.0, 1.0)
        run.slave.enterEventMode()
        run.settle()
        pair = [run.fmu.references["y"]], [run.fmu.references["g"]]
        assert refused(run.slave.getDirectionalDerivative, *pair, [1.0]) == DISCARD
        run.step(time, 0.1)
        assert run.slave.getDirectionalDerivative(*pair, [1.0]) == pytest.approx([-0.005], rel=1e-9)


def test_the_clock_of_a_sampled_block_has_its_instants() -> None:
    with Instance3(unpacked("low_pass"), events=True, early=True) as run:
        clock = next(name for name, item in run.fmu.variables.items() if item.type == "Clock")
        assert run.fmu.variables[clock].intervalVariability == "fixed"
        run.set({PERIOD: 0.02})
        run.slave.enterInitializationMode(startTime=0.005)
        reference = (ctypes.c_uint32 * 1)(run.fmu.references[clock])
        interval, qualifier, shift = (ctypes.c_double * 1)(), (ctypes.c_int * 1)(), (ctypes.c_double * 1)()
        run.slave.fmi3GetIntervalDecimal(run.slave.component, reference, 1, interval, qualifier)
        run.slave.fmi3GetShiftDecimal(run.slave.component, reference, 1, shift)
        assert (interval[0], qualifier[0]) == (0.02, 2)
        assert shift[0] == pytest.approx(0.015, rel=1e-12)
        run.slave.exitInitializationMode()
        active = (ctypes.c_bool * 1)(True)
        assert refused(run.slave.fmi3SetClock, run.slave.component, reference, 1, active) == ERROR
        assert "its next tick is at t = 0.02 s" in run.messages[-1].form
        assert run.settle() == (True, 0.02)
        assert run.step(0.005, 0.1) == (True, False, True, 0.02)
        run.slave.enterEventMode()
        run.slave.fmi3SetClock(run.slave.component, reference, 1, active)
        assert ticks(run, clock)
        assert run.settle() == (True, 0.04)


def test_samplings_that_a_master_handles_have_the_bits_of_those_within_steps() -> None:
    def wave(time: float) -> float:
        return math.sin(30 * time)

    rows: list[list[list[float]]] = []
    for events in (False, True):
        with Instance3(unpacked("low_pass"), events=events, early=events).start({PERIOD: 0.005}) as run:
            source = run.fmu.names("input")[0]
            shown: list[list[float]] = []
            if events:
                run.settle()
            for k in range(40):
                time = k * 0.005
                run.set({source: wave(time)})
                needed, _, _, last = run.step(time, 0.005)
                assert last == pytest.approx(time + 0.005, rel=1e-12)
                if needed:
                    run.slave.enterEventMode()
                    run.set({source: wave((k + 1) * 0.005)})
                    run.settle()
                run.set({source: wave((k + 1) * 0.005)})
                shown.append(run.get())
            rows.append(shown)
    assert rows[0] == rows[1]


def test_fmpy_simulates_with_event_mode() -> None:
    names = ["y", "events.count"]
    plain, handled = (
        fmpy.simulate_fmu(
            str(path_of("ball")), stop_time=1.0, output_interval=0.05, output=names,
            early_return_allowed=events, use_event_mode=events,
        )
        for events in (False, True)
    )  # fmt: skip
    at = np.isin(handled["time"], plain["time"])
    shown = [dict(zip(run["time"], run["y"], strict=True)) for run in (plain, handled)]
    assert [shown[1][time] for time in plain["time"]] == pytest.approx(list(shown[0].values()), abs=1e-9)
    assert not at.all()
    assert handled["events.count"][-1] == plain["events.count"][-1] > 0
