"""A run as a function of PyTorch, with its gradient."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mbfmu.analysis.sensitivity import Sensitivity
from mbfmu.base import extras
from mbfmu.base.arguments import checked
from mbfmu.errors import UsageError


@checked
def torch_function(run: Sensitivity) -> Callable[[Any], Any]:
    """Return a run as a function of PyTorch: free values, shape (..., n_free), to outputs, (..., n_t, n_outputs).

    Gradients go back through it (`Sensitivity.pullback`): each run that needs one is recorded on its way, so that a
    gradient takes no second run. Instances go one after the other; there are no derivatives of derivatives. Outputs
    have the precision and the device of the values, and are computed in double precision on the host.

    Args:
        run: the run, whose `free` and `output_names` name the entries.

    Raises:
        UsageError: PyTorch is not installed.
    """
    try:
        import torch
        from torch.autograd.function import once_differentiable
    except ImportError:
        raise UsageError(f"functions of PyTorch need it: {extras.command('torch')}") from None

    class Run(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, values: Any) -> Any:
            instances = values.detach().cpu().to(torch.float64).reshape(-1, len(run.free)).numpy()
            if ctx.needs_input_grad[0]:
                each_run = [run.pullback(item) for item in instances]
                ctx.back, outputs = [back for _, back in each_run], [item for item, _ in each_run]
            else:
                outputs = [run.outputs(item) for item in instances]
            whole = np.reshape(outputs, (*values.shape[:-1], len(run.time), len(run.output_names)))
            return torch.from_numpy(whole).to(values)

        @staticmethod
        @once_differentiable  # type: ignore[untyped-decorator]
        def backward(ctx: Any, weights: Any) -> Any:
            each = weights.detach().cpu().to(torch.float64).reshape(-1, *weights.shape[-2:]).numpy()
            each_run = [back(item).values for back, item in zip(ctx.back, each, strict=True)]
            return torch.from_numpy(np.reshape(each_run, (*weights.shape[:-2], len(run.free)))).to(weights)

    def of(values: Any) -> Any:
        values = torch.as_tensor(values)
        if not values.ndim or values.shape[-1] != len(run.free):
            names = ", ".join(run.free)
            raise UsageError(f"values of shape {tuple(values.shape)}: the last must be {len(run.free)}, of {names}")
        return Run.apply(values if values.is_floating_point() else values.to(torch.float64))

    return of
