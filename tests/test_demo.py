"""The demo's controller: set-points that can be followed, and forces that hold the crane."""

import numpy as np
import numpy.typing as npt
import pytest

import mbfmu
from mbfmu.show import demo

Array = npt.NDArray[np.float64]


def at_start(force: Array, **pose: float) -> mbfmu.Result:
    """Return the crane at rest in a pose, given as `boom`, `jib` (rad) and `load` (kg), under forces (N)."""
    values = {"boom.phi": pose["boom"], "jib.phi": pose["jib"], "load": pose["load"]}
    inputs = {f"{axis}.f": repr(value) for axis, value in zip(demo.AXES, force.tolist(), strict=True)}
    return mbfmu.simulate(mbfmu.load("crane", values), 1e-3, step=1e-3, inputs=inputs)


@pytest.mark.parametrize("pose", [{"boom": 0.5, "jib": -1.0, "load": 200.0}, {"boom": 0.9, "jib": -1.4, "load": 500.0}])
def test_the_forces_that_hold_the_crane_are_those_of_virtual_work(pose: dict[str, float]) -> None:
    def acceleration(force: Array) -> Array:
        run = at_start(force, **pose)
        return np.array([run[f"{axis}.a"][0] for axis in demo.AXES])

    hold = demo.holding_forces(acceleration)
    assert abs(hold).min() > 5e3
    for moved in ("boom", "jib"):  # f ds = dV, as one of the two joints turns
        runs = [at_start(np.zeros(2), **{**pose, moved: pose[moved] + turn}) for turn in (-1e-4, 1e-4)]
        ds = np.array([np.diff([run[f"{axis}.s"][0] for run in runs])[0] for axis in demo.AXES])
        dv = np.diff([run["energy.potential"][0] for run in runs])[0]
        assert hold @ ds == pytest.approx(dv, rel=1e-6)


def test_the_set_points_start_at_rest_where_the_crane_is_and_their_rates_are_their_derivatives() -> None:
    start, h = np.array([0.4, 0.55]), 1e-5
    first, rest = demo.set_points(0.0, start)
    np.testing.assert_array_equal(first, start)
    np.testing.assert_array_equal(rest, 0)
    for t in np.linspace(0.1, demo.STOP, 34):
        before, after = (demo.set_points(float(t) + step, start)[0] for step in (-h, h))
        np.testing.assert_allclose((after - before) / (2 * h), demo.set_points(float(t), start)[1], atol=1e-8)
    later = demo.set_points(demo.BLEND + demo.PERIOD, start)[0]
    np.testing.assert_allclose(later, demo.set_points(demo.BLEND, start)[0], atol=1e-15)
    assert np.all((later >= demo.LOW) & (later <= demo.HIGH))
