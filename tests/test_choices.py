"""The choice that a master makes at the start: which start values are met, and which are guesses."""

import math
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
from fmpy.fmi1 import FMICallException
from interpreted import Interpreted
from masters import Instance, Unpacked, refused

import mbfmu
from mbfmu import cli
from mbfmu.errors import MbfmuError, UnknownNameError, UsageError
from mbfmu.kernel import compose, vector
from mbfmu.kernel.emit.sources import called
from mbfmu.kernel.runtime import OK
from mbfmu.model import Body, Gear, Revolute, System, World, connect
from mbfmu.prepared.prepare import prepare
from mbfmu.stepper import make_scheme

BACKENDS = ("python", "native")
CRANK, SLIDER, PIN = "start.fixed.crank.phi", "start.fixed.slider.s", "start.fixed.pin.phi"
BY_SLIDER = {"slider.s": 2.4, SLIDER: 1.0, CRANK: 0.0}
STEP = 0.01


@cache
def crank(backend: str) -> Unpacked:
    """The slider-crank, which starts by `crank.phi`, and which a master may start by the slider or by the pin."""
    folder = Path(mkdtemp(prefix="mbfmu-choices-"))
    path = mbfmu.export(
        "slider_crank", folder / "crank.fmu", choose=("crank.phi", "slider.s", "pin.phi"), backend=backend, step=STEP
    )
    return Unpacked(path, folder / "crank")


def started(backend: str, values: Mapping[str, float]) -> dict[str, float]:
    """All outputs at the start that a master chose."""
    with Instance(crank(backend)) as slave:
        slave.start(values)
        return dict(zip(slave.shown, slave.get(), strict=True))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("side", [1, -1])
def test_a_master_gives_one_start_value_in_place_of_another(backend: str, side: int) -> None:
    found = started(backend, {**BY_SLIDER, "crank.phi": side * math.pi / 4})
    s = 2.4
    assert found["slider.s"] == pytest.approx(s, abs=1e-12)
    assert found["crank.phi"] == pytest.approx(side * math.acos((1 + s**2 - 4) / (2 * s)), abs=1e-12)
    assert found["constraint.position"] < 1e-13


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_motion_is_that_of_the_model_with_these_start_values(backend: str) -> None:
    model = mbfmu.load("slider_crank", {"slider.s": 2.4}, free=["crank.phi"])
    expected = mbfmu.simulate(model, 10 * STEP, step=STEP, output_interval=STEP)
    names = ["crank.phi", "slider.s", "slider.v", "pin.phi", "energy.total"]
    with Instance(crank(backend)) as slave:
        rows = [slave.start(BY_SLIDER).get(names), *slave.run(0, 10, STEP, names)]
    np.testing.assert_allclose(rows, np.column_stack([expected[name] for name in names]), rtol=0, atol=1e-10)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_master_that_chooses_nothing_starts_as_the_model_does(backend: str) -> None:
    plain = mbfmu.simulate("slider_crank", STEP, step=STEP, output_interval=STEP)
    found = started(backend, {})
    for name in ("crank.phi", "slider.s", "pin.phi", "rod.phi", "energy.total"):
        assert found[name] == pytest.approx(plain[name][0], abs=1e-11), name
    moved = started(backend, {"crank.phi": 0.3})
    assert moved["crank.phi"] == pytest.approx(0.3, abs=1e-13)


@pytest.mark.parametrize("backend", BACKENDS)
def test_start_values_that_are_all_free_are_the_guesses_of_the_model(backend: str) -> None:
    near = {"crank.phi": 0.7, "slider.s": 2.5, "pin.phi": 0.3}
    model = mbfmu.load("slider_crank", {name: f"guess({value})" for name, value in near.items()})
    expected = mbfmu.simulate(model, STEP, step=STEP, output_interval=STEP)
    found = started(backend, {**near, CRANK: 0.0})
    assert found["constraint.position"] < 1e-13
    for name in (*near, "rod.phi"):
        assert found[name] == pytest.approx(expected[name][0], abs=1e-11), name


@pytest.mark.parametrize("backend", BACKENDS)
def test_start_values_that_contradict_each_other_are_refused_though_they_can_be_chosen(backend: str) -> None:
    with Instance(crank(backend)) as slave:
        slave.enter({"slider.s": 2.4, SLIDER: 1.0})
        refused(slave.slave.exitInitializationMode)
        assert "start values contradict the constraints" in slave.messages[-1].text


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_choice_ends_with_the_initialisation(backend: str) -> None:
    with Instance(crank(backend)) as slave:
        slave.start(BY_SLIDER)
        assert slave.get([SLIDER, CRANK]) == (1.0, 0.0)
        with suppress(FMICallException):  # the native back end warns
            slave.set({CRANK: 1.0})
        assert "only the start depends on it; use reset" in slave.messages[-1].text
        assert slave.get([CRANK]) == (0.0,)


def test_the_description_says_what_can_be_chosen() -> None:
    variables = crank("python").variables
    for name, start in ((CRANK, 1.0), (SLIDER, 0.0), (PIN, 0.0)):
        item = variables[name]
        assert (item.causality, item.variability, item.initial) == ("parameter", "fixed", "exact")
        assert (float(item.start), float(item.min), float(item.max)) == (start, 0.0, 1.0)
    assert {variables[name].initial for name in ("crank.phi", "slider.s", "pin.phi")} == {"approx"}
    assert variables["crank.w"].initial == "exact"
    assert [item.name for item in crank("python").description.modelVariables] == [
        item.name for item in crank("native").description.modelVariables
    ]


def test_what_is_not_asked_for_changes_no_function() -> None:
    plain, chosen = (
        prepare(mbfmu.load("slider_crank"), None, None, STEP, choices=asked) for asked in ((), ("crank.phi",))
    )
    starts = [called(item.bundle.formulas["start"].functions()) for item in (plain, chosen)]
    counts = [sum(function.n_instructions() for function in each) for each in starts]
    assert counts[0] < counts[1]
    for name in ("step", "begin"):
        counts = [
            sum(function.n_instructions() for function in item.bundle.formulas[name].functions())
            for item in (plain, chosen)
        ]
        assert counts[0] == counts[1]
    assert not [item.name for item in plain.dae.parameters if item.name.startswith("start.")]


def test_the_states_of_a_linearization_are_those_whose_start_values_are_met(tmp_path: Path) -> None:
    plain, chosen = (
        mbfmu.export("slider_crank", tmp_path / f"{len(choose)}.fmu", choose=choose, backend="native")
        for choose in ((), ("crank.phi", "slider.s"))
    )
    expected, same, other = (
        mbfmu.linearize(path, values=values) for path, values in ((plain, {}), (chosen, {}), (chosen, BY_SLIDER))
    )
    assert same.states == expected.states == ("crank.phi", "crank.w")
    np.testing.assert_allclose(same.A, expected.A, rtol=1e-9, atol=1e-9)
    assert other.states == ("crank.w", "slider.s")


def geared(ratio: float) -> System:
    """Two wheels on bearings, coupled by a gear."""
    return System(
        name="geared",
        planar=True,
        components=(
            World(g=0.0),
            Revolute("motor", phi=0.2, w=0.0),
            Body("small", m=1.0, I_33=0.1),
            Revolute("load"),
            Body("large", m=1.0, I_33=0.4),
            Gear("gear", joint_a="motor", joint_b="load", ratio=ratio),
        ),
        connections=(
            connect("world.frame_b", "motor.frame_a"),
            connect("motor.frame_b", "small.frame_a"),
            connect("world.frame_b", "load.frame_a"),
            connect("load.frame_b", "large.frame_a"),
        ),
    )


def test_a_coupling_is_started_from_either_side(tmp_path: Path) -> None:
    path = mbfmu.export(geared(-3.0), tmp_path / "geared.fmu", choose=("motor.phi", "load.phi"))
    values = {"load.phi": 0.5, "start.fixed.load.phi": 1.0, "start.fixed.motor.phi": 0.0}
    run = mbfmu.simulate(path, STEP, values=values)
    assert (run["load.phi"][0], run["motor.phi"][0]) == pytest.approx((0.5, -1.5), abs=1e-12)


def test_a_platform_starts_by_the_lengths_of_its_legs() -> None:
    """The pose that gives the lengths is found again, orientation included."""
    place = [f"platform.r_0[{k}]" for k in (1, 2, 3)]
    legs = [f"leg{k}.s" for k in range(1, 7)]
    model = mbfmu.load("stewart").with_values({**dict.fromkeys(legs, "guess(0)")})
    dae = prepare(model, "direct", None, STEP, choices=(*legs, *place, "platform.Q")).dae
    kernel = Interpreted(compose(dae, make_scheme(dae, "direct")))
    starts, parameters = [item.name for item in dae.starts], [item.name for item in dae.parameters]

    def pose(values: Mapping[str, float]) -> dict[str, float]:
        s, p, u = dae.s_default(), dae.p_default(), vector(dae.u_default())
        for name, value in values.items():
            vector_, names = (p, parameters) if name in parameters else (s, starts)
            vector_[names.index(name)] = value
        x, status = kernel.initialize(vector(s), u, vector(p), 0.0, STEP)
        assert status.code == OK, status
        y = kernel.outputs(x, u, vector(p), 0.0)
        return dict(zip((item.name for item in dae.outputs), y, strict=False))

    turned = {"platform.Q[1]": 0.99, "platform.Q[2]": 0.06, "platform.Q[3]": -0.03, "platform.Q[4]": 0.08}
    wanted = pose({**dict(zip(place, (0.03, -0.05, 2.04), strict=True)), **turned})
    free = {f"start.fixed.{name}": 0.0 for name in (*place, "platform.Q")}
    found = pose({**free, **{f"start.fixed.{leg}": 1.0 for leg in legs}, **{leg: wanted[leg] for leg in legs}})
    for name in (*place, *turned, *legs):
        assert found[name] == pytest.approx(wanted[name], abs=1e-10), name


@pytest.mark.parametrize(
    ("model", "choose", "error", "said"),
    [
        ("slider_crank", ("crank.w",), UnknownNameError, "'crank.w' is not a coordinate .* did you mean 'crank.phi'"),
        ("slider_crank", ("crnk.phi",), UnknownNameError, "did you mean 'crank.phi'"),
        ("slider_crank", ("l1",), UnknownNameError, "'l1' is not a coordinate"),
        ("two_link", ("shoulder.phi",), UsageError, "no closed loop and no coupling"),
        ("pid", ("integral",), UsageError, "has no joints"),
    ],
)
def test_what_cannot_be_chosen_is_refused_by_name(
    model: str, choose: tuple[str, ...], error: type[MbfmuError], said: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=said):
        mbfmu.export(model, tmp_path / "none.fmu", choose=choose)
    assert not list(tmp_path.iterdir())


def test_the_command_offers_the_choice_and_a_run_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "crank.fmu"
    export = f"export slider_crank --choose crank.phi --choose slider.s -o {path}"
    assert status(export, monkeypatch) == 0
    run = mbfmu.simulate(path, STEP, values=BY_SLIDER)
    assert run["slider.s"][0] == pytest.approx(2.4, abs=1e-12)
    capsys.readouterr()
    assert status(f"simulate {path} --stop 0.1 --free crank.phi", monkeypatch) == 1
    assert "--set start.fixed.crank.phi=0" in " ".join(capsys.readouterr().err.split())


def status(line: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return the exit status of a command."""
    monkeypatch.setattr("sys.argv", ["mbfmu", *line.split()])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    code = ended.value.code
    assert isinstance(code, int)
    return code
