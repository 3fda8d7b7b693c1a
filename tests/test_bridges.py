"""Bridges: in JAX and in PyTorch a run has the outputs and the gradient that it has alone."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import mbfmu
from mbfmu import Sensitivity
from mbfmu.errors import UsageError

WEIGHTS = np.random.default_rng(1).normal(size=(4, 2))


@pytest.fixture(scope="module")
def smooth() -> Sensitivity:
    """Return a run with a free torque over time."""
    return Sensitivity(
        "two_link", 0.3, ["l1", "m2"], outputs=["shoulder.phi", "elbow.w"], output_interval=0.1, step=0.01,
        knots={"elbow.tau": 3}, inputs={"elbow.tau": 2.0},
    )  # fmt: skip


@pytest.fixture(scope="module")
def bouncing() -> Sensitivity:
    """Return a run with impacts, whose gradient is that of tangents."""
    return Sensitivity("bouncing_ball", 1.2, ["e", "y"], outputs=["y", "v"], output_interval=0.4)


@pytest.fixture(params=["smooth", "bouncing"])
def run(request: pytest.FixtureRequest) -> Any:
    """Return each of the runs."""
    return request.getfixturevalue(request.param)


# -- JAX --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def jax() -> Any:
    """Return JAX, in double precision."""
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax


def test_jax_gives_the_outputs_and_the_gradient_of_the_run(run: Sensitivity, jax: Any) -> None:
    function = mbfmu.jax_function(run)
    outputs, back = jax.vjp(function, run.values)
    assert np.array_equal(outputs, run.outputs())
    assert np.array_equal(back(jax.numpy.asarray(WEIGHTS))[0], run.gradient(WEIGHTS).values)


@pytest.mark.usefixtures("jax")
def test_jax_checks_its_gradients_by_differences(run: Sensitivity) -> None:
    from jax.test_util import check_grads

    check_grads(mbfmu.jax_function(run), (run.values,), order=1, modes=["rev"], eps=1e-5, atol=1e-6, rtol=1e-6)


def test_jax_compiles_and_batches_it(run: Sensitivity, jax: Any) -> None:
    function = mbfmu.jax_function(run)

    def loss(values: Any) -> Any:
        return (function(values) ** 2 * WEIGHTS).sum() + values[0]

    many = run.values * np.linspace(0.9, 1.0, 3)[:, None]
    found, slopes = jax.jit(jax.vmap(jax.value_and_grad(loss)))(many)
    for values, value, slope in zip(many, found, slopes, strict=True):
        outputs = run.outputs(values)
        wanted = run.gradient(2 * outputs * WEIGHTS, values).values + np.eye(len(values))[0]
        assert value == pytest.approx((outputs**2 * WEIGHTS).sum() + values[0], rel=1e-12)
        assert slope == pytest.approx(wanted, rel=1e-12)


def test_jax_gives_the_jacobian_row_by_row(bouncing: Sensitivity, jax: Any) -> None:
    found = jax.jacrev(mbfmu.jax_function(bouncing))(bouncing.values)
    assert found == pytest.approx(bouncing.jacobian()[1], rel=1e-12)


def test_jax_in_single_precision_gets_rounded_numbers() -> None:
    script = (
        "import jax, mbfmu\n"
        "run = mbfmu.Sensitivity('two_link', 0.1, ['l1'], outputs=['elbow.w'], output_interval=0.1, step=0.01)\n"
        "found, slope = jax.value_and_grad(lambda x: mbfmu.jax_function(run)(x).sum())(jax.numpy.array(run.values))\n"
        "print(found.dtype, slope.dtype, abs(float(found) - run.outputs().sum()) < 1e-6)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["float32", "float32", "True"]


@pytest.mark.usefixtures("jax")
def test_jax_is_told_of_another_shape_and_of_failures(smooth: Sensitivity) -> None:
    function = mbfmu.jax_function(smooth)
    with pytest.raises(UsageError, match=r"values of shape \(2,\): there must be 5, of l1, m2, elbow.tau@0"):
        function(np.ones(2))
    with pytest.raises(Exception, match="m2 = -1 must be between"):
        function(np.array([1.0, -1.0, 0.0, 0.0, 0.0])).block_until_ready()


# -- PyTorch ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def torch() -> Any:
    """Return PyTorch, where it is installed: it is large."""
    return pytest.importorskip("torch")


def test_pytorch_gives_the_outputs_and_the_gradient_of_the_run(run: Sensitivity, torch: Any) -> None:
    values = torch.tensor(run.values, requires_grad=True)
    outputs = mbfmu.torch_function(run)(values)
    outputs.backward(torch.tensor(WEIGHTS))
    assert np.array_equal(outputs.detach().numpy(), run.outputs())
    assert np.array_equal(values.grad.numpy(), run.gradient(WEIGHTS).values)


def test_pytorch_checks_its_gradients_by_differences(run: Sensitivity, torch: Any) -> None:
    values = torch.tensor(run.values, requires_grad=True)
    assert torch.autograd.gradcheck(mbfmu.torch_function(run), (values,), eps=1e-5, atol=1e-6, rtol=1e-6)


def test_pytorch_takes_batches_and_single_precision(run: Sensitivity, torch: Any) -> None:
    many = run.values * np.linspace(0.9, 1.0, 6).reshape(2, 3, 1)
    values = torch.tensor(many, dtype=torch.float32, requires_grad=True)
    outputs = mbfmu.torch_function(run)(values)
    assert outputs.dtype == torch.float32
    assert outputs.shape == (2, 3, 4, 2)
    (outputs * torch.tensor(WEIGHTS, dtype=torch.float32)).sum().backward()
    for instance, slope in zip(many.reshape(6, -1), values.grad.reshape(6, -1), strict=True):
        assert slope.numpy() == pytest.approx(run.gradient(WEIGHTS, instance).values, rel=1e-4, abs=1e-4)


def test_pytorch_without_gradients_records_nothing(smooth: Sensitivity, torch: Any) -> None:
    with torch.no_grad():
        outputs = mbfmu.torch_function(smooth)(torch.tensor(smooth.values))
    assert not outputs.requires_grad
    assert np.array_equal(outputs.numpy(), smooth.outputs())


def test_pytorch_is_told_of_another_shape(smooth: Sensitivity, torch: Any) -> None:
    with pytest.raises(UsageError, match=r"values of shape \(2,\): the last must be 5, of l1"):
        mbfmu.torch_function(smooth)(torch.ones(2))


def test_what_is_not_installed_is_named(smooth: Sensitivity, monkeypatch: pytest.MonkeyPatch) -> None:
    for library, made in (("jax", mbfmu.jax_function), ("torch", mbfmu.torch_function)):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(UsageError, match=rf"pip install .*\[{library}\]"):
            made(smooth)
