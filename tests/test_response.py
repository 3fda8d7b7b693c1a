"""Frequency response: equal to SciPy's, and to what a run measures once it has settled."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.signal

import mbfmu
from mbfmu.analysis.linearization import FrequencyResponse, frequency_response
from mbfmu.base.formats import read_columns
from mbfmu.errors import UnknownNameError, UsageError
from mbfmu.model import (
    Block,
    BodyShape,
    Defined,
    Port,
    Revolute,
    RotationalDamper,
    Sampled,
    State,
    Subsystem,
    System,
    World,
    connect,
    wire,
)

LARGE = 1e8
"""Unit of an input for SciPy, which takes a numerator as a difference of polynomials: a small one would be lost."""


def swinging(d: float = 0.4) -> System:
    """A damped rod with a driven hinge; nonlinear."""
    return System(
        "swinging",
        planar=True,
        components=(
            World(g=9.81),
            Revolute("hinge", phi=-math.pi / 2, w=0.0, actuated=True),
            BodyShape("rod", m=1.0, r=(1, 0), r_CM=(0.5, 0), I_33=1 / 12),
            RotationalDamper("damper", joint="hinge", d=d),
        ),
        connections=(connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "rod.frame_a")),
    )


def third_order(K: float) -> Block:
    """K / (s (s + 1) (s + 2))."""
    return Block(
        "loop",
        inputs=(Port("u"),),
        states=(State("a", "u - a"), State("b", "a - 2*b"), State("c", "b")),
        defined=(Defined("y", f"{K}*c", output=True),),
    )


def phasor(t: Any, y: Any, frequency: float) -> complex:
    """Return Y of y = Re(Y exp(i w t)) + mean, by least squares."""
    w = 2 * math.pi * frequency
    rows = np.column_stack([np.cos(w * t), -np.sin(w * t), np.ones_like(t)])
    real, imaginary, _ = np.linalg.lstsq(rows, y, rcond=None)[0]
    return complex(real, imaginary)


@pytest.mark.filterwarnings("ignore:Badly conditioned filter coefficients")  # of its numerator, whose first are 0
def test_the_response_of_a_mechanism_is_that_of_its_matrices_by_scipy() -> None:
    found = mbfmu.bode("quarter_car")
    linear = found.linear
    assert found.outputs == ("hub.s", "suspension.s")
    for column, source in enumerate(found.inputs):
        for output in found.outputs:
            row = linear.outputs.index(output)
            matrices = linear.A, LARGE * linear.B[:, [column]], linear.C[[row]], LARGE * linear.D[[row]][:, [column]]
            expected = scipy.signal.freqresp(matrices, 2 * np.pi * found.frequency)[1] / LARGE
            got = found.pair(output, source)
            assert np.max(np.abs(got - expected)) < 1e-10 * np.max(np.abs(expected))


@pytest.mark.filterwarnings("ignore:Badly conditioned filter coefficients")  # of its numerator, whose first are 0
def test_a_sampled_response_is_that_of_the_z_transform_by_scipy() -> None:
    found = mbfmu.bode("quarter_car", sources=["suspension.f"], outputs=["hub.s"], period=0.02)
    linear = found.linear
    matrices = linear.A, LARGE * linear.B[:, [0]], linear.C, LARGE * linear.D[:, [0]], 0.02
    expected = scipy.signal.dfreqresp(matrices, 2 * np.pi * found.frequency * 0.02)[1] / LARGE
    assert found.frequency[-1] == pytest.approx(25.0)
    assert np.max(np.abs(found.response[:, 0, 0] - expected)) < 1e-10 * np.max(np.abs(expected))


@pytest.mark.parametrize("frequency", [0.4, 3.0])
def test_a_settled_run_swings_with_the_gain_and_phase_of_the_response(frequency: float) -> None:
    """Of a nonlinear rod; its amplitude of 1e-4 leaves terms of 1e-8 beside the linear ones."""
    push, period = 1e-4, 1 / frequency
    expected = mbfmu.bode(swinging(), frequency=[frequency]).pair("hinge.phi", "hinge.tau")[0] * push
    periods = math.ceil(40 * frequency)
    run = mbfmu.simulate(
        swinging(), periods * period, inputs={"hinge.tau": f"{push}*cos({2 * math.pi * frequency!r}*time)"},
        stepper="gauss", step=period / 160, output_interval=period / 40,
    )  # fmt: skip
    last = slice(-41, None)
    found = phasor(run.time[last], run["hinge.phi"][last], frequency)
    assert abs(found - expected) < 1e-6 * abs(expected)


def test_a_settled_run_with_held_inputs_swings_as_the_sampled_response_says() -> None:
    period, frequency, push = 0.05, 2.0, 1e-4
    expected = mbfmu.bode(swinging(), frequency=[frequency], period=period).pair("hinge.phi", "hinge.tau")[0] * push
    run = mbfmu.Simulation(swinging(), stepper="gauss", step=period / 4)
    rows = []
    for n in range(800):
        t = n * period
        rows.append((t, run["hinge.phi"]))
        run.step({"hinge.tau": push * math.cos(2 * math.pi * frequency * t)}, period)
    t, y = np.array(rows[-40:]).T
    assert abs(phasor(t, y, frequency) - expected) < 1e-6 * abs(expected)
    continuous = mbfmu.bode(swinging(), frequency=[frequency]).pair("hinge.phi", "hinge.tau")[0] * push
    assert abs(expected - continuous) > 0.1 * abs(expected)  # the hold delays by half a period


def test_a_loop_closed_by_a_sampled_controller_answers_as_its_run() -> None:
    """A controller that computes every 20 ms moves the rod after a command that oscillates."""
    control = Sampled(
        Block(
            "control",
            inputs=(Port("ref"), Port("phi")),
            defined=(Defined("tau", "20*(ref - phi) - 30*(phi - previous(phi))", "N.m", output=True),),
        ),
        0.02,
    )
    plant = swinging(2.0)
    loop = System(
        "loop",
        (*plant.components, Subsystem("control", control)),
        plant.connections,
        wires=(wire("hinge.phi", "control.phi"), wire("control.tau", "hinge.tau")),
        planar=True,
    )
    values = {"hinge.phi": -math.pi / 2}
    form = mbfmu.linearize(loop, values, inputs={"control.ref": -math.pi / 2})
    frequency, push = 2.5, 1e-5
    G = frequency_response(form, [frequency], ["control.ref"], ["hinge.phi"]).response[0, 0, 0]
    run = mbfmu.Simulation(loop, stepper="gauss", step=0.005, values={**values, "control.ref": -math.pi / 2})
    rows = []
    for n in range(1000):
        t = n * 0.02
        rows.append((t, run["hinge.phi"]))
        run.step({"control.ref": -math.pi / 2 + push * math.cos(2 * math.pi * frequency * t)}, 0.02)
    t, y = np.array(rows[-100:]).T
    assert abs(phasor(t, y, frequency) - G * push) < 1e-6 * abs(G * push)


def test_an_fmu_has_the_response_of_its_model(tmp_path: Path) -> None:
    model = swinging()
    path = mbfmu.export(model, tmp_path / "native.fmu", backend="native", stepper="rattle")
    frequency = [0.1, 0.8, 5.0]
    expected = mbfmu.bode(model, frequency=frequency).pair("hinge.phi", "hinge.tau")
    found = mbfmu.bode(path, outputs=["hinge.phi"], frequency=frequency).pair("hinge.phi", "hinge.tau")
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("K", [1.0, 4.0, 9.0])
def test_margins_are_those_of_the_textbook(K: float) -> None:
    """K/(s (s+1) (s+2)) oscillates in closed loop for K = 6, at the frequency of sqrt(2) rad/s (Routh)."""
    (found,) = mbfmu.bode(third_order(K), frequency=np.geomspace(1e-3, 10, 300).tolist(), outputs=["y"]).margins()
    if K < 6:
        assert found.gain == pytest.approx(6 / K, rel=1e-9)
        assert found.gain_frequency == pytest.approx(math.sqrt(2) / math.tau, rel=1e-9)
    else:
        assert found.gain is None
    w = math.sqrt(max(np.roots([1, 5, 4, -(K**2)]).real))
    assert found.phase_frequency == pytest.approx(w / math.tau, rel=1e-9)
    lag = 90 + math.degrees(math.atan(w) + math.atan(w / 2))
    assert found.phase == pytest.approx(180 - lag, abs=1e-7)
    assert (180 - lag > 0) == (K < 6)


def test_the_margins_of_some_pairs_are_those_among_all() -> None:
    every = {(item.input, item.output): item for item in mbfmu.bode("quarter_car").margins()}
    (some,) = mbfmu.bode("quarter_car", sources=["tyre.z"], outputs=["hub.s"]).margins()
    assert some.phase is not None
    assert some == every["tyre.z", "hub.s"]


def test_a_phase_goes_on_without_jumps() -> None:
    found = mbfmu.bode(third_order(1.0), frequency=np.geomspace(1e-3, 100, 300).tolist(), outputs=["y"])
    phase = found.phase[:, 0, 0]
    assert phase[0] == pytest.approx(-90, abs=1)
    assert phase[-1] == pytest.approx(-270, abs=1)
    assert np.all(np.diff(phase) < 0)


def test_at_an_undamped_frequency_the_gain_is_infinite() -> None:
    block = Block(
        "ring",
        inputs=(Port("u"),),
        states=(State("x", "v"), State("v", "u - x")),
        defined=(Defined("y", "x", output=True),),
    )
    form = mbfmu.linearize(block)
    assert not np.isfinite(frequency_response(form, [1 / math.tau]).gain).all() or (
        frequency_response(form, [1 / math.tau]).gain.max() > 1e14
    )


def two_oscillators() -> Block:
    """An integrator and an oscillator of 1 rad/s beside each other, none of which hears of the other."""
    return Block(
        "beside",
        inputs=(Port("u"), Port("w")),
        states=(State("x", "2*u"), State("a", "b"), State("b", "-a + w"), State("c", "0.5*b - c")),
        defined=(Defined("y", "x", output=True), Defined("z", "a", output=True), Defined("s", "c", output=True)),
    )


def test_what_an_undamped_mode_does_not_reach_keeps_its_response_where_that_resonates() -> None:
    found = mbfmu.bode(two_oscillators(), outputs=["y", "z", "s"], frequency=[0.5 / math.tau, 1 / math.tau, 1.0])
    at = found.response[1]
    np.testing.assert_allclose(at[0], [2 / 1j, 0], rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(at[1:, 0], 0, atol=1e-14)
    assert np.all(np.isinf(at[1:, 1]))
    margins = {(item.input, item.output): item for item in found.margins()}
    assert margins["u", "y"].phase == pytest.approx(90, rel=1e-12)  # its gain is 1 at 2 rad/s
    assert margins["u", "y"].phase_frequency == pytest.approx(2 / math.tau, rel=1e-12)
    assert margins["w", "z"].phase_frequency == pytest.approx(math.sqrt(2) / math.tau, rel=1e-12)


def test_a_gain_that_is_1_at_a_given_frequency_has_its_margin_there() -> None:
    """A gain of 2/w is exactly 1 at the frequency 2 rad/s, in the middle, at the beginning and at the end."""
    ones = 2 / math.tau
    for frequency in ([0.1, ones, 1.0], [ones, 1.0], [0.1, ones]):
        (margin,) = mbfmu.bode(two_oscillators(), sources=["u"], outputs=["y"], frequency=frequency).margins()
        assert (margin.phase_frequency, margin.phase) == (pytest.approx(ones, rel=1e-14), pytest.approx(90, rel=1e-12))


def test_a_sampled_loop_that_oscillates_at_half_the_sampling_frequency_has_a_gain_margin() -> None:
    """K T/(z - 1) with feedback has its pole at 1 - K T, which is -1 for K T = 2."""
    block = Block("loop", inputs=(Port("u"),), states=(State("x", "5*u"),), defined=(Defined("y", "x", output=True),))
    (margin,) = mbfmu.bode(block, period=0.1).margins()
    assert margin.gain == pytest.approx(2 / 0.5, rel=1e-12)
    assert margin.gain_frequency == pytest.approx(5.0, rel=1e-12)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npz"])
def test_a_table_reads_back(ending: str, tmp_path: Path) -> None:
    found = mbfmu.bode("quarter_car", frequency=[0.5, 1.0, 2.0])
    columns = read_columns(found.write(tmp_path / f"bode{ending}"))
    assert [float(item) for item in columns["frequency"]] == [0.5, 1.0, 2.0]
    gains = [float(item) for item in columns["hub.s/suspension.f.gain"]]
    assert gains == np.abs(found.pair("hub.s", "suspension.f")).tolist()
    assert set(columns) == set(found.columns())


def test_what_has_no_response_is_refused() -> None:
    found = mbfmu.bode("quarter_car", frequency=[1.0])
    assert isinstance(found, FrequencyResponse)
    with pytest.raises(UnknownNameError, match=r"no output 'hub\.x'"):
        found.pair("hub.x", "suspension.f")
    with pytest.raises(UnknownNameError, match=r"no input 'suspension\.g'"):
        mbfmu.bode("quarter_car", sources=["suspension.g"])
    with pytest.raises(UsageError, match="has no inputs"):
        mbfmu.bode("heavy_top")
    for wrong in ([0.0], [-1.0, 1.0], [math.nan], []):
        with pytest.raises(UsageError, match="frequencies are positive numbers"):
            mbfmu.bode("quarter_car", frequency=wrong)
    with pytest.raises(UsageError, match="frequencies must rise"):
        mbfmu.bode("quarter_car", frequency=[1.0, 1.0])
    with pytest.raises(UsageError, match="beyond half the sampling frequency, 50 Hz"):
        mbfmu.bode("quarter_car", frequency=[51.0], period=0.01)
