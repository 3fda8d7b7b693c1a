"""FMUs and their connections in one .ssp file: what it says, who runs it, and what it refuses."""

import ctypes
import json
import math
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
import pytest
from fmpy.ssp.ssd import read_ssd
from masters import need

import mbfmu
from examples.ssp import CONNECTIONS, wagon
from mbfmu.errors import FmuError, MbfmuError, ModelFileError, UnknownNameError, UsageError
from mbfmu.fmu.ssp import Wire, components, read_coupling, wire, write_ssp

ROOT = Path(__file__).parents[1]
SHOWN = ("cart.rail.s", "cart.hinge.phi", "wagon.track.s", "wagon.tow.f")
STEP = 1e-3


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A cart with a pendulum, and a wagon on a buffer."""
    folder = tmp_path_factory.mktemp("train")
    models = (mbfmu.load("cart_pendulum"), wagon())
    paths = [mbfmu.export(model, folder / f"{model.name}.fmu", step=STEP) for model in models]
    return dict(zip(("cart", "wagon"), paths, strict=True))


@pytest.fixture(scope="module")
def path(train: dict[str, Path]) -> Path:
    """Both as one .ssp file."""
    return write_ssp(train["cart"].with_name("train.ssp"), train, CONNECTIONS, stop=2.0, step=STEP)


def described(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        return archive.read("SystemStructure.ssd").decode("utf-8")


def altered(fmu: Path, target: Path, changes: Iterable[tuple[str, str]]) -> Path:
    """Write an FMU with another modelDescription.xml."""
    with zipfile.ZipFile(fmu) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as copy:
        for name in source.namelist():
            content = source.read(name)
            if name == "modelDescription.xml":
                text = content.decode("utf-8")
                for old, new in changes:
                    assert old in text
                    text = text.replace(old, new)
                content = text.encode("utf-8")
            copy.writestr(name, content)
    return target


def run(master: str, path: Path, names: Iterable[str], count: int) -> Any:
    """Run an .ssp file in a master in a process of its own; return values after each step, shape (count, names)."""
    need(master)
    task = json.dumps([master, str(path), list(names), count])
    done = subprocess.run(
        [sys.executable, __file__, task, str(path.with_suffix(".json"))],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, errors="replace", timeout=100,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    return np.array(json.loads(path.with_suffix(".json").read_text(encoding="utf-8")))


def libcosim(path: str, names: list[str], count: int) -> list[list[float]]:
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimObserver import CosimObserver

    execution = CosimExecution.from_ssp_file(ssp_path=path)  # with the step in the file
    observer = CosimObserver.create_last_value()
    assert execution.add_observer(observer)
    places = []
    for name in names:
        component, _, variable = name.partition(".")
        index = execution.slave_index_from_instance_name(component)
        references = {item.name.decode(): item.reference for item in execution.slave_variables(index)}
        places.append((index, references[variable]))
    rows = []
    for _ in range(count):
        assert execution.step(), execution.status()
        rows.append([observer.last_real_values(index, [reference])[0] for index, reference in places])
    return rows


def ecos(path: str, names: list[str], count: int) -> list[list[float]]:
    wheel = Path(sys.prefix) / "lib" / "libtbb.so.12"  # ecos links it; the wheel tbb brings it where no loader looks
    if wheel.exists():
        ctypes.CDLL(str(wheel), mode=ctypes.RTLD_GLOBAL)
    from ecospy import EcosSimulation

    rows = []
    with EcosSimulation(ssp_path=path, step_size=STEP) as simulation:
        assert simulation.init(parameter_set="set")
        for _ in range(count):
            simulation.step()
            rows.append([simulation.get_real(name.replace(".", "::", 1)) for name in names])
        simulation.terminate()
    return rows


MASTERS: dict[str, Callable[[str, list[str], int], list[list[float]]]] = {"libcosim": libcosim, "ecos": ecos}


# -- what runs it ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_coupling_runs_in_libcosim_as_by_hand_and_comes_to_one_model_with_the_step() -> None:
    need("libcosim")
    script = "import json; from examples import ssp; print(json.dumps(ssp.main()))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["libcosim - FMPy"] < 1e-12
    assert found["coupled - one model, 1 ms"] < 2e-3
    ratio = found["coupled - one model, 2 ms"] / found["coupled - one model, 1 ms"]
    assert ratio == pytest.approx(2.0, abs=0.1)  # values one step old: first order


def test_libcosim_and_ecos_see_the_same_motion(path: Path) -> None:
    first, second = (run(master, path, SHOWN, 500) for master in MASTERS)
    assert np.ptp(first, axis=0).min() > 1e-3
    np.testing.assert_allclose(second, first, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("master", MASTERS)
def test_a_change_of_unit_is_a_factor_masters_apply(master: str, tmp_path: Path) -> None:
    """An arm at rest without gravity tells its angle to one that takes its torque in degrees."""
    arm = mbfmu.load("two_link", {"world.g": 0.0, "shoulder.phi": 0.5})
    still = mbfmu.export(arm, tmp_path / "still.fmu", step=STEP)
    deg = f'<Unit name="deg"><BaseUnit rad="1" factor="{math.pi / 180!r}" /></Unit>'
    degrees = altered(
        mbfmu.export(mbfmu.load("two_link"), tmp_path / "arm.fmu", step=STEP),
        tmp_path / "degrees.fmu",
        [
            ("<UnitDefinitions>", f"<UnitDefinitions>{deg}"),
            ('<Real declaredType="Torque" nominal="100.0" start="0.0" />', '<Real unit="deg" start="0.0" />'),
        ],
    )  # fmt: skip
    link = ("still.shoulder.phi", "degrees.shoulder.tau")
    path = write_ssp(tmp_path / "units.ssp", {"still": still, "degrees": degrees}, [link], step=STEP)
    assert 'suppressUnitConversion="true"' in described(path)
    found = run(master, path, link, 3)
    assert found[-1, 0] == 0.5
    assert found[-1, 1] == pytest.approx(math.degrees(0.5), rel=1e-15)


@pytest.mark.parametrize("master", MASTERS)
def test_values_in_the_file_act_as_those_in_the_fmus(master: str, train: dict[str, Path], tmp_path: Path) -> None:
    """ecos applies the set that it is told by name, which is the system's."""
    values = {"cart.m": 2.0, "cart.d": 3.0, "wagon.buffer.c": 200.0}
    path = write_ssp(tmp_path / "set.ssp", train, CONNECTIONS, step=STEP, parameters=values)
    inside = {
        "cart": mbfmu.export(mbfmu.load("cart_pendulum", {"m": 2.0, "d": 3.0}), tmp_path / "cart.fmu", step=STEP),
        "wagon": mbfmu.export(wagon().with_values({"buffer.c": 200.0}), tmp_path / "wagon.fmu", step=STEP),
    }
    found = run(master, path, SHOWN, 200)
    expected = run(master, write_ssp(tmp_path / "inside.ssp", inside, CONNECTIONS, step=STEP), SHOWN, 200)
    without = run(master, write_ssp(tmp_path / "without.ssp", train, CONNECTIONS, step=STEP), SHOWN, 200)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert np.abs(found - without).max() > 1e-3


# -- what it says ---------------------------------------------------------------------------------------------------


def test_the_structure_is_valid_and_fmpy_reads_what_was_meant(path: Path, train: dict[str, Path]) -> None:
    """read_ssd applies the official schema; units and kinds are compared with FMPy's reading of each FMU."""
    found = read_ssd(str(path))
    assert (found.name, found.version, found.system.name) == ("train", "1.0", "train")
    assert [item.name for item in found.system.elements] == list(train)
    links = [(f"{c.startElement}.{c.startConnector}", f"{c.endElement}.{c.endConnector}")
             for c in found.system.connections]  # fmt: skip
    assert links == [(item.start, item.end) for item in CONNECTIONS]
    units = {item.name: item for item in found.units}
    assert (units["N"].kg, units["N"].m, units["N"].s, units["rad/s"].rad) == (1, 1, -2, 1)
    text = described(path)
    for component in found.system.elements:
        variables = {v.name: v for v in fmpy.read_model_description(str(train[component.name])).modelVariables}
        outputs = {name for name, variable in variables.items() if variable.causality == "output"}
        taken = {item.end.partition(".")[2] for item in CONNECTIONS if item.end.startswith(f"{component.name}.")}
        assert {connector.name for connector in component.connectors} == outputs | taken
        for connector in component.connectors:
            variable = variables[connector.name]
            assert connector.kind == variable.causality
            unit = variable.unit or variable.declaredType.unit
            node = text.split(f'<ssd:Component name="{component.name}"')[1].split(f'name="{connector.name}"')[1]
            assert node.split("<ssc:Real ")[1].startswith(f'unit="{unit}"')


def test_an_explicit_factor_of_1_carries_a_unit_that_masters_are_not_to_change(
    train: dict[str, Path], tmp_path: Path
) -> None:
    one = Wire("cart.rail.v", "wagon.tow.s", 1.0)
    with pytest.raises(UsageError, match="a factor may carry the units"):
        write_ssp(tmp_path / "none.ssp", train, [replace(one, factor=None)])
    text = described(write_ssp(tmp_path / "one.ssp", train, [one]))
    (line,) = re.findall(r"<ssd:Connection [^>]*>\s*<ssc:LinearTransformation[^>]*>", text)
    assert 'suppressUnitConversion="true"' in line
    assert 'factor="1.0"' in line


def test_a_factor_is_a_linear_transformation(path: Path) -> None:
    assert described(path).count('<ssc:LinearTransformation factor="-1.0" />') == 1


def test_the_same_input_gives_the_same_bytes_with_the_fmus_as_they_are(path: Path, train: dict[str, Path]) -> None:
    again = write_ssp(path.with_name("train2.ssp"), train, CONNECTIONS, system="train", stop=2.0, step=STEP)
    assert again.read_bytes() == path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["SystemStructure.ssd", "resources/cart.fmu", "resources/wagon.fmu"]
        assert all(archive.read(f"resources/{name}.fmu") == file.read_bytes() for name, file in train.items())


def test_two_components_may_be_one_fmu_packed_once(train: dict[str, Path], tmp_path: Path) -> None:
    links = [("left.rail.s", "right.tow.s"), ("left.rail.s", "middle.tow.s")]
    fmus = {"left": train["cart"], "middle": train["wagon"], "right": train["wagon"]}
    path = write_ssp(tmp_path / "three.ssp", fmus, links, step=STEP)
    with zipfile.ZipFile(path) as archive:
        assert len(archive.namelist()) == 3
    found = run("libcosim", path, ("middle.track.s", "right.track.s"), 300)
    assert found[-1, 0] == found[-1, 1] != found[0, 0]


def test_an_outer_tool_without_units_fits_any(train: dict[str, Path], tmp_path: Path) -> None:
    bare = altered(
        train["wagon"], tmp_path / "bare.fmu", [(f' declaredType="{item}"', "") for item in ("Length", "Time")]
    )
    path = write_ssp(tmp_path / "bare.ssp", {"cart": train["cart"], "bare": bare}, [("cart.hinge.phi", "bare.tow.s")])
    assert "<ssc:Real />" in described(path)


def test_a_file_says_what_the_call_says(path: Path, train: dict[str, Path]) -> None:
    text = (
        f'system = "train"\nstop = 2\nstep = {STEP}\nconnections = [\n"cart.rail.s = wagon.tow.s",\n'
        '"cart.rail.v=wagon.tow.v",\n"wagon.tow.f = cart.rail.f : -1",\n]\n'
        "[components]\n" + "".join(f'{name} = "{file.name}"\n' for name, file in train.items())
    )
    file = path.with_name("train.toml")
    file.write_text(text, encoding="utf-8")
    found = read_coupling(file)
    assert found.connections == CONNECTIONS
    again = write_ssp(
        path.with_name("train3.ssp"), found.components, found.connections,
        system=found.system, stop=found.stop, step=found.step,
    )  # fmt: skip
    assert again.read_bytes() == path.read_bytes()


def test_the_file_in_the_guide_is_a_coupling(train: dict[str, Path], tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "ssp.md").read_text(encoding="utf-8")
    (tmp_path / "train.toml").write_text(guide.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    found = read_coupling(tmp_path / "train.toml")
    assert found.connections == CONNECTIONS
    assert {Path(file).name for file in found.components.values()} == {file.name for file in train.values()}


def test_the_command_line_says_what_the_call_says(path: Path, train: dict[str, Path], tmp_path: Path) -> None:
    links = [f"--connect={item.start}={item.end}" for item in CONNECTIONS[:2]]
    parts = [f"cart={train['cart']}", str(train["wagon"])]
    command = [sys.executable, "-m", "mbfmu", "ssp", *parts, *links, "--connect=wagon.tow.f=cart.rail.f:-1"]
    options = ["--stop", "2", "--step", str(STEP), "-o", str(tmp_path / "train.ssp")]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "train.ssp" in done.stdout
    assert (tmp_path / "train.ssp").read_bytes() == path.read_bytes()


# -- what it refuses ------------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[Any, type[MbfmuError], str]] = {
    "component": ([("kart.rail.s", "wagon.tow.s")], UnknownNameError, r"no component 'kart'; did you mean 'cart'\?"),
    "variable": ([("cart.rail.s", "wagon.tow.x")], UnknownNameError, r"no variable 'tow.x'; did you mean 'tow.\w'\?"),
    "no variable": ([("cart", "wagon.tow.s")], UnknownNameError, r"'cart' has no variable ''"),
    "input to input": ([("cart.rail.f", "wagon.tow.s")], UsageError, r"'cart.rail.f' is of causality input"),
    "local": ([("cart.cart.v_0[1]", "wagon.tow.v")], UsageError, r"is of causality local; only outputs"),
    "output to output": ([("cart.rail.s", "wagon.track.s")], UsageError, r"causality output; only inputs"),
    "unit": ([("cart.rail.s", "wagon.tow.v")], UsageError, r"'m' \(m\) cannot go to 'm/s' \(m\.s-1\)"),
    "twice": (
        [("cart.rail.s", "wagon.tow.s"), ("wagon.track.s", "wagon.tow.s")],
        UsageError,
        r"'wagon.tow.s' is connected to 'cart.rail.s' already",
    ),
    "factor": ([Wire("cart.rail.s", "wagon.tow.s", math.nan)], UsageError, r"the factor is nan"),
    "zero": ([Wire("cart.rail.s", "wagon.tow.s", 0.0)], UsageError, r"other than zero"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_connection_that_cannot_be_is_refused(case: str, train: dict[str, Path], tmp_path: Path) -> None:
    links, error, text = REFUSED[case]
    with pytest.raises(error, match=text):
        write_ssp(tmp_path / "x.ssp", train, links)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["a.x", "a.x=b", "a=b.y", "=", "a.x=b.y:z", "a.x=:1"])
def test_a_connection_in_other_words_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="connection"):
        wire(text)


def test_names_of_components_are_words_and_differ_by_more_than_capitals(train: dict[str, Path], tmp_path: Path) -> None:
    cart = train["cart"]
    for names, text in (
        (["my cart"], "give it one by NAME=PATH"),
        (["cart", "Cart"], "differ by capitals"),
        ([], "one"),
    ):
        with pytest.raises(UsageError, match=text):
            write_ssp(tmp_path / "x.ssp", dict.fromkeys(names, cart))
    with pytest.raises(UsageError, match=r"both 'a/arm.fmu' and 'b/arm.fmu' are named 'arm'"):
        components(["a/arm.fmu", "b/arm.fmu"])


def test_a_unit_that_two_fmus_read_differently_is_refused(train: dict[str, Path], tmp_path: Path) -> None:
    base = '<BaseUnit m="1" />'
    other = altered(train["wagon"], tmp_path / "wagon.fmu", [(base, '<BaseUnit m="1" factor="0.001" />')])
    with pytest.raises(FmuError, match=r"'m' \(0\.001 m\) is 'm' \(m\) elsewhere"):
        write_ssp(tmp_path / "x.ssp", {**train, "wagon": other}, CONNECTIONS)
    assert described(write_ssp(tmp_path / "x.ssp", {**train, "wagon": other})).count('<ssc:Unit name="m">') == 1


def test_other_types_do_not_mix_and_enumerations_stay_out(train: dict[str, Path], tmp_path: Path) -> None:
    real = '<Real declaredType="Length" start="0.0" />'
    whole = altered(train["wagon"], tmp_path / "whole.fmu", [(real, '<Integer start="0" />')])
    with pytest.raises(UsageError, match="a value of type Real cannot go to type Integer"):
        write_ssp(tmp_path / "x.ssp", {"cart": train["cart"], "wagon": whole}, [("cart.rail.s", "wagon.tow.s")])


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ([('fmiVersion="2.0"', 'fmiVersion="3.0"')], "not FMI 3.0"),
        ([("<CoSimulation ", "<ModelExchange ")], "not model exchange"),
        ([("<fmiModelDescription", '<!DOCTYPE a [<!ENTITY b "c">]><fmiModelDescription')], "document type"),
        ([("</fmiModelDescription>", "")], "not well-formed XML"),
        ([('<BaseUnit m="1" />', '<BaseUnit m="x" />')], "cannot be read"),
        ([('<BaseUnit m="1" />', '<BaseUnit m="1" factor="0" />')], "cannot be read"),
        ([(' name="rail.f"', "")], "cannot be read"),
    ],
    ids=["fmi3", "exchange", "entity", "xml", "exponent", "factor", "nameless"],
)
def test_what_is_no_co_simulation_fmu_is_refused(
    changes: list[tuple[str, str]], text: str, train: dict[str, Path], tmp_path: Path
) -> None:
    bad = altered(train["cart"], tmp_path / "bad.fmu", changes)
    with pytest.raises(FmuError, match=text):
        write_ssp(tmp_path / "x.ssp", {"bad": bad})
    assert not (tmp_path / "x.ssp").exists()


def test_a_file_that_is_not_there_or_no_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "junk.fmu").write_text("junk", encoding="utf-8")
    for name in ("missing.fmu", "junk.fmu"):
        with pytest.raises(FmuError, match=name):
            write_ssp(tmp_path / "x.ssp", {"a": tmp_path / name})


def test_times_and_the_ending_are_checked(train: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"must end in \.ssp"):
        write_ssp(tmp_path / "x.zip", train)
    with pytest.raises(UsageError, match="the stop time is -1"):
        write_ssp(tmp_path / "x.ssp", train, stop=-1.0)
    with pytest.raises(UsageError, match="the communication step is inf"):
        write_ssp(tmp_path / "x.ssp", train, step=math.inf)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("components = [", "cannot read"),
        ('componets = {a = "a.fmu"}', "did you mean 'components'"),
        ("stop = true", "stop = True is not a float"),
        ("components = {a = 1}", "the path of an FMU"),
        ("connections = [1]", "a connection is written"),
    ],
)
def test_a_file_with_a_mistake_is_refused(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ModelFileError, match=told):
        read_coupling(tmp_path / "x.toml")


if __name__ == "__main__":
    chosen, *call = json.loads(sys.argv[1])
    Path(sys.argv[2]).write_text(json.dumps(MASTERS[chosen](*call)), encoding="utf-8")
