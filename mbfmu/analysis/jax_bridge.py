"""A run as a function of JAX, with its gradient."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from mbfmu.analysis.sensitivity import Sensitivity
from mbfmu.base import extras
from mbfmu.base.arguments import checked
from mbfmu.errors import UsageError


@checked
def jax_function(run: Sensitivity) -> Callable[[Any], Any]:
    """Return a run as a function of JAX: free values, shape (n_free,), to outputs, shape (n_t, n_outputs).

    `jax.grad`, `jax.vjp` and `jax.jacrev` take it, and it may stand in what `jax.jit` and `jax.vmap` take: the run and
    its gradient (`Sensitivity.pullback`) are called back on the host, one instance after the other. There are no
    derivatives of derivatives, and none forward. Numbers are of double precision inside; outside they are if JAX is
    told so (``jax_enable_x64``).

    Args:
        run: the run, whose `free` and `output_names` name the entries.

    Raises:
        UsageError: JAX is not installed.
    """
    try:
        import jax
    except ImportError:
        raise UsageError(f"functions of JAX need it: {extras.command('jax')}") from None

    one_at_a_time = threading.Lock()  # a kernel has one room to work in, and JAX calls from several threads
    shape, n = (len(run.time), len(run.output_names)), len(run.free)

    def like(shape: tuple[int, ...]) -> Any:
        return jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(np.float64))

    def outputs(values: Any) -> Any:
        with one_at_a_time:
            return run.outputs(np.asarray(values, dtype=np.float64)).astype(like(()).dtype)

    def gradient(values: Any, weights: Any) -> Any:
        with one_at_a_time:
            _, back = run.pullback(np.asarray(values, dtype=np.float64))
            return back(np.asarray(weights, dtype=np.float64)).values.astype(like(()).dtype)

    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def function(values: Any) -> Any:
        return jax.pure_callback(outputs, like(shape), values, vmap_method="sequential")

    def forward(values: Any) -> tuple[Any, Any]:
        return function(values), values

    def backward(values: Any, weights: Any) -> tuple[Any]:
        gradients = jax.pure_callback(gradient, like((n,)), values, weights, vmap_method="sequential")
        return (gradients.astype(values.dtype),)

    function.defvjp(forward, backward)

    def of(values: Any) -> Any:
        values = jax.numpy.asarray(values)
        if values.shape != (n,):
            raise UsageError(
                f"values of shape {values.shape}: there must be {n}, of {', '.join(run.free)}; take jax.vmap"
            )
        return function(values)

    return of
