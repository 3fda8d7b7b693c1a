"""The sampled blocks of the library: each against a plain loop over its difference equations, or a closed form."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbfmu
from mbfmu.errors import ValueRangeError
from mbfmu.model import Sampled

Array = np.ndarray[Any, Any]
TS = 1e-3
"""Period of the blocks, s."""
COUNT = 60
"""Number of samplings."""
NAMES = (
    "digital_pid",
    "digital_current_controller",
    "digital_lead_lag",
    "digital_low_pass",
    "digital_state_observer",
    "quantizer",
    "rate_limiter",
    "sample_and_hold",
    "sample_delay",
)


def signal(seed: int, size: float = 1.0) -> Array:
    """Return random numbers, one for each sampling."""
    return np.random.default_rng(seed).uniform(-size, size, COUNT)


def outputs(name: str, inputs: Mapping[str, Array], values: Mapping[str, Any] | None = None) -> Any:
    """Return the result of a block whose inputs have given values at its samplings."""
    given = {key: (lambda t, row=row: float(row[round(t / TS)])) for key, row in inputs.items()}
    return mbfmu.simulate(
        mbfmu.load(name, dict(values or {})), (COUNT - 1) * TS, step=TS, output_interval=TS, inputs=given
    )


def same(found: Array, wanted: Any) -> None:
    """Hold a result to a list of numbers."""
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * max(1.0, float(np.abs(wanted).max())))


def test_a_digital_pid_is_its_difference_equations_within_its_limits_and_in_manual() -> None:
    r, y, v, manual = signal(1), signal(2, 0.2), signal(3, 0.1), signal(4, 2.0)
    enable = np.where((np.arange(COUNT) > 20) * (np.arange(COUNT) < 35), 0.0, 1.0)
    given = {"K": 2.0, "T_i": 0.02, "T_d": 0.004, "N": 5.0, "T_t": 0.01, "weight": 0.7, "y_min": -1.0, "y_max": 1.5}
    inputs = {"reference": r, "measured": y, "forward": v, "enable": enable, "manual": manual}
    found = outputs("digital_pid", inputs, given)
    K, T_i, T_d, N, T_t, b, low, high = given.values()
    integral = derivative = 0.0
    wanted, limited = [], 0
    for n in range(COUNT):
        if n:
            derivative = T_d / (T_d + N * TS) * derivative - K * T_d * N / (T_d + N * TS) * (y[n] - y[n - 1])
        raw = K * (b * r[n] - y[n]) + integral + derivative + v[n]
        out = min(high, max(low, raw if enable[n] else manual[n]))
        limited += out != raw
        integral += K * TS / T_i * (r[n] - y[n]) + TS / T_t * (out - raw)
        wanted.append(out)
    same(found["y"], wanted)
    assert 15 < limited < COUNT


def test_a_digital_pid_leaves_its_limit_in_its_tracking_time_and_comes_back_from_manual_without_a_jump() -> None:
    n = np.arange(COUNT)
    error = np.where(n < 30, 1.0, -0.2)
    given = {"K": 1.0, "T_i": 0.005, "T_d": 0.0, "T_t": TS, "y_max": 1.5}
    found = outputs("digital_pid", {"reference": error, "measured": 0 * error}, given)
    assert found["y"][29] == 1.5
    same(found["integral"][30:32], [0.7, 0.66])  # 1.5 - 1 + 1/5, then 0.2/5 less: not the 6 that 30 periods make
    inputs = {"reference": 0.1 + 0 * error, "measured": 0 * error, "enable": (n >= 30) * 1.0, "manual": 0.8 + 0 * error}
    back = outputs("digital_pid", inputs, given)
    assert back["y"][29] == 0.8
    assert back["y"][30] - back["y"][29] == pytest.approx(0.1 * TS / 0.005, abs=1e-12)


def test_a_sample_and_hold_takes_its_input_at_samplings_unless_it_holds() -> None:
    u, hold = signal(5), (signal(6) > 0) * 1.0
    found, last, wanted = outputs("sample_and_hold", {"u": u, "hold": hold}), 0.0, []
    for value, held in zip(u, hold, strict=True):
        last = last if held else value
        wanted.append(last)
    assert list(found["y"]) == wanted


def test_between_samplings_a_sample_and_hold_does_not_move() -> None:
    given = {"u": lambda t: t}
    found = mbfmu.simulate("sample_and_hold", 0.0102, step=3e-4, output_interval=3e-4, inputs=given)
    np.testing.assert_allclose(found["y"], 1e-3 * np.floor(found.time / 1e-3 + 1e-9), atol=4e-4)
    assert len(set(np.round(found["y"], 12))) == 11  # one value for each of eleven samplings


@pytest.mark.parametrize("N", [1, 2, 7])
def test_a_delay_gives_what_it_got_that_many_samplings_before(N: int) -> None:
    u = signal(7)
    found = outputs("sample_delay", {"u": u}, {"N": N})
    assert list(found["y"]) == [0.0] * N + list(u[:-N])


def test_a_delay_begins_with_the_start_values_of_its_samples() -> None:
    found = outputs("sample_delay", {"u": signal(8)}, {"N": 3, "x_0": 1.0, "x_1": 2.0, "x_2": 3.0})
    assert list(found["y"][:3]) == [3.0, 2.0, 1.0]


def test_a_delay_of_no_sample_is_refused() -> None:
    with pytest.raises(ValueRangeError, match="N = 0 must be at least 1"):
        mbfmu.load("sample_delay", {"N": 0})


@pytest.mark.parametrize("nearest", [0, 1])
def test_a_quantizer_gives_multiples_of_its_step_within_its_limits(nearest: int) -> None:
    u = signal(9, 3.0)
    found = outputs("quantizer", {"u": u}, {"q": 0.25, "nearest": nearest, "y_min": -2.0, "y_max": 1.75})
    steps = [math.floor(4 * value + 0.5) if nearest else math.floor(4 * value) for value in u]
    assert list(found["y"]) == [min(max(step, -8), 7) / 4 for step in steps]


def test_a_rate_limiter_is_a_ramp_after_a_jump_that_ends_at_the_input() -> None:
    u = np.where(np.arange(COUNT) < 40, 0.0105, -0.002)
    found = outputs("rate_limiter", {"u": u}, {"rising": 0.5, "falling": 2.0})
    up = np.minimum(0.5 * TS * np.arange(1, 41), 0.0105)
    down = np.maximum(0.0105 - 2.0 * TS * np.arange(1, 21), -0.002)
    same(found["y"], [*up, *down])


def test_a_digital_low_pass_follows_a_step_as_a_lag_does() -> None:
    found = outputs("digital_low_pass", {"u": np.ones(COUNT)}, {"T": 0.012})
    same(found["y"], 1 - np.exp(-(np.arange(COUNT) + 1) * TS / 0.012))


def test_a_digital_low_pass_is_its_difference_equation() -> None:
    u, last, wanted = signal(10), 0.0, []
    found = outputs("digital_low_pass", {"u": u}, {"T": 0.004})
    for value in u:
        last += (1 - math.exp(-TS / 0.004)) * (value - last)
        wanted.append(last)
    same(found["y"], wanted)


def test_the_response_of_a_digital_lead_is_that_of_the_lead_at_tustins_frequency() -> None:
    K, T_1, T_2, w = 2.0, 0.02, 0.002, 2 * math.pi / (20 * TS)
    u = np.cos(w * TS * np.arange(COUNT))
    found = outputs("digital_lead_lag", {"u": u}, {"K": K, "T_1": T_1, "T_2": T_2})
    late = 1j * 2 / TS * math.tan(w * TS / 2)
    gain = K * (1 + T_1 * late) / (1 + T_2 * late)
    z = np.exp(1j * w * TS * np.arange(COUNT))[40:]  # what was at the start has fallen to 0.6^40
    np.testing.assert_allclose(found["y"][40:], (gain * z).real, atol=1e-7 * abs(gain))


def test_an_observer_is_its_difference_equations() -> None:
    tau, phi, J, w_o = signal(11, 0.1), signal(12), 3e-5, 500.0
    found = outputs("digital_state_observer", {"tau": tau, "phi": phi})
    theta = math.exp(-w_o * TS)
    gains = np.array([1 - theta**3, 1.5 * (1 - theta) ** 2 * (1 + theta) / TS, -J * (1 - theta) ** 3 / TS**2])
    step = np.array([[1, TS, -(TS**2) / (2 * J)], [0, 1, -TS / J], [0, 0, 1]])
    x, wanted = np.zeros(3), []
    for n in range(COUNT):
        if n:
            x = step @ x + np.array([TS**2 / (2 * J), TS / J, 0]) * tau[n - 1]
        x = x + gains * (phi[n] - x[0])
        wanted.append(x)
    for k, name in enumerate(("phi_hat", "w_hat", "load_hat")):
        np.testing.assert_allclose(found[name], np.array(wanted)[:, k], rtol=1e-10, err_msg=name)
    error = np.poly((np.eye(3) - np.outer(gains, [1, 0, 0])) @ step)
    np.testing.assert_allclose(error, np.poly([theta] * 3), atol=1e-12)  # all poles of the error are there


def test_an_observer_finds_the_velocity_and_the_constant_load_of_an_axis() -> None:
    J, tau, load = 3e-5, 0.02, 0.05
    time = TS * np.arange(COUNT)
    phi = (tau - load) / (2 * J) * time**2 + 3.0 * time
    found = outputs("digital_state_observer", {"tau": tau + 0 * time, "phi": phi}, {"w_o": 1500.0})
    assert found["load_hat"][-1] == pytest.approx(load, rel=1e-9)
    assert found["w_hat"][-1] == pytest.approx((tau - load) / J * time[-1] + 3.0, rel=1e-9)


def test_a_digital_current_controller_is_its_difference_equations_within_the_limit_of_its_voltage() -> None:
    i_d_ref, i_q_ref, i_d, i_q, w = signal(13), signal(14, 60.0), signal(15), signal(16, 10.0), signal(17, 300.0)
    inputs = {"i_d_ref": i_d_ref, "i_q_ref": i_q_ref, "i_d": i_d, "i_q": i_q, "w": w}
    found = outputs("digital_current_controller", inputs, {"Ts": TS, "w_c": 400.0, "u_max": 12.0})
    p, R, L_d, L_q, psi, w_c, u_max = 4.0, 0.12, 2.0e-4, 2.4e-4, 0.0105, 400.0, 12.0
    x, wanted, limited = np.zeros(2), [], 0
    for n in range(COUNT):
        error = np.array([i_d_ref[n] - i_d[n], i_q_ref[n] - i_q[n]])
        turning = p * w[n] * np.array([-L_q * i_q[n], L_d * i_d[n] + psi])
        raw = w_c * np.array([L_d, L_q]) * error + x + turning
        length = float(np.hypot(*raw))
        u = raw * (u_max / length if length > u_max else 1.0)
        limited += length > u_max
        x = x + w_c * TS * (R * error + u - raw)
        wanted.append(u)
    same(found["u_d"], np.array(wanted)[:, 0])
    same(found["u_q"], np.array(wanted)[:, 1])
    assert 5 < limited < COUNT - 5


@pytest.mark.parametrize("backend", ["native", "python"])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "digital_pid" else pytest.mark.further) for name in NAMES]
)
def test_a_sampled_block_exports_passes_the_check_and_gives_the_numbers_of_a_simulation(
    name: str, backend: str, tmp_path: Path
) -> None:
    more = {"platforms": ["linux64"]} if backend == "native" else {}
    assert isinstance(mbfmu.load(name), Sampled)
    path = mbfmu.export(name, tmp_path / f"{name}.fmu", step=TS, backend=backend, **more)
    assert mbfmu.check(path) == []
    input_, shown = {
        "digital_pid": ("measured", "y"),
        "digital_current_controller": ("i_q_ref", "u_q"),
        "digital_state_observer": ("phi", "phi_hat"),
    }.get(name, ("u", "y"))
    inputs = {input_: 0.7}
    wanted = mbfmu.simulate(name, 0.02, step=TS, output_interval=TS, inputs=inputs)[shown]
    np.testing.assert_allclose(mbfmu.simulate(path, 0.02, step=TS, inputs=inputs)[shown], wanted, rtol=1e-12)
    assert wanted[-1] != 0
