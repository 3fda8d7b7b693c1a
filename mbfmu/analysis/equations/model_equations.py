"""ModelEquations: the equations of a model with what is made of them: frames, runs, C, models of other tools."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

from mbfmu.analysis.equations.acados import acados_fields, acados_model, semi_explicit
from mbfmu.analysis.equations.c_export import Table, c_files
from mbfmu.analysis.equations.derivatives import hessian, jacobian
from mbfmu.analysis.equations.frames import frame_jacobian, pose
from mbfmu.analysis.equations.functions import FUNCTIONS, EquationFunctions
from mbfmu.analysis.equations.integration import integrated
from mbfmu.analysis.equations.symbolic import symbol_name, sympy_matrices
from mbfmu.base.arguments import checked
from mbfmu.base.files import write_folder
from mbfmu.base.result import Result
from mbfmu.dae import derive
from mbfmu.errors import UnknownNameError, nearest
from mbfmu.model import Model
from mbfmu.model.library import load
from mbfmu.prepared.settings import InputValue
from mbfmu.run.inputs import courses

Array = npt.NDArray[np.float64]
Function = ca.Function
SX = ca.SX


@dataclass(frozen=True, repr=False)
class ModelEquations(EquationFunctions):
    """The equations of a model as CasADi Functions with named arguments, see `mbfmu.equations`.

    Sampled blocks are maps: what they remember stands in p, and `sampling` gives it after an instant at which some
    compute. Gaps and friction are equations of their modes, which stand in p too: they hold as long as `guards` are
    positive. Rows of closed gaps and sticking friction keep their index, by a slack coordinate at the end of q.

    Args:
        model: the model.
        coordinates: the coordinates requested.
        parameters: names of the parameters that are arguments.
        dae: the equations inside, see `Dae`.
        source: file or name of the model and values that differ, if it was read; it is read again where the equations
            are unpickled, because classes of its own stand in its file alone.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the model or its source, from which the same equations are derived again."""
        return _again, (self.source or self.model, self.coordinates, self.parameters)

    @checked
    def pose(self, frame: str) -> Function:
        """Return the Function (q, p, t) -> position r, m, and rotation matrix R of a frame, seen from the world.

        Args:
            frame: a part, for its frame_a; a frame of a rigid part that is a shape, as ``link2.frame_b``; or a sensor
                that shows its position and orientation.

        Raises:
            UnknownNameError: there is no such frame.
        """
        return self._function("pose", "qpt", **pose(self, frame))

    @checked
    def frame_jacobian(self, frame: str) -> Function:
        """Return the Function (q, p, t) -> J_r and J_w: a frame's velocity is J_r v, its angular velocity J_w v.

        Both are resolved in the world frame, without what given motions add. J_w of a planar system is a row.

        Args:
            frame: see `pose`.

        Raises:
            UnknownNameError: there is no such frame.
        """
        return self._function("frame_jacobian", "qpt", **frame_jacobian(self, frame))

    # runs and exports

    @checked
    def simulate(self, stop: float, step: float = 1e-3, *, inputs: Mapping[str, InputValue] | None = None) -> Result:
        """Compute a run of `residual` by the Radau IIA method of order 5, to check the equations against another.

        Args:
            stop: end, s.
            step: length of the steps, s.
            inputs: inputs over time by name: numbers, expressions of ``time``, tables or functions.

        Returns:
            All outputs, but the calculated parameters.

        Raises:
            UsageError: the equations have events or sampling instants, which a run handles: `mbfmu.simulate`.
            StepError: Newton's method does not converge.
        """
        return integrated(self, stop, step, courses(inputs))

    @checked
    def to_c(
        self,
        folder: str | os.PathLike[str],
        functions: Sequence[str] | None = None,
        *,
        jacobians: Mapping[str, Sequence[str]] | None = None,
        hessians: Mapping[str, Sequence[str]] | None = None,
    ) -> tuple[Path, ...]:
        """Write functions as C99 with sizes, patterns, names, defaults and an example; return the paths of the files.

        Args:
            folder: folder to make.
            functions: names of functions, such as ``mass``; None: all that the model has.
            jacobians: names of functions, and for each the arguments in which its results are differentiated, such as
                ``{"acceleration": ("q", "v", "u")}``. The function is ``acceleration_jacobian``.
            hessians: the same for second derivatives of ``weights^T results``; the function is ``rhs_hessian``.

        Raises:
            UnknownNameError: there is no such function or argument.
            UsageError: the model lacks a function, or the folder holds something already.
            KernelError: a function has an operation for which there is no C code.
        """
        written = [self.function(name) for name in (self.available if functions is None else functions)]
        written += [jacobian(self.function(name), of) for name, of in (jacobians or {}).items()]
        written += [hessian(self.function(name), of) for name, of in (hessians or {}).items()]
        units = {name: tuple(item.unit for item in self.quantities[name]) for name in "qvzup"}
        values = {name: tuple(getattr(self.start, name).tolist()) for name in units}
        units["x"], values["x"] = ((*each["q"], *each["v"], *each["z"]) for each in (units, values))
        tables = {name: Table(self.names[name], units[name], values[name]) for name in units}
        return write_folder(Path(folder), c_files(self.dae.name, written, tables))

    @checked
    def to_acados(self, name: str) -> Any:
        """Return an `AcadosModel` with the implicit form, and the explicit one where there are no constraints.

        Its state is x = [q; v; z], its algebraic variables z are the multipliers.

        Args:
            name: name of the model in acados.

        Raises:
            UsageError: the Python interface of acados is not installed, or the name is no identifier.
        """
        return acados_model(self, name)

    @checked
    def acados_fields(self, name: str) -> dict[str, Any]:
        """Return what `to_acados` sets by name: symbols, ``f_impl_expr`` and, without constraints, ``f_expl_expr``.

        Args:
            name: name of the model in acados.

        Raises:
            UsageError: the name is no identifier.
        """
        return acados_fields(self, name)

    def to_casadi(self) -> dict[str, Any]:
        """Return the problem that `casadi.integrator` takes: symbols x, u, p and t, and ``ode``.

        With constraints it is semi-explicit: z = [a; lambda] are unknowns of ``alg``, so that nothing is solved for.
        In `casadi.Opti` the functions themselves are called, such as ``rhs(x, u, p, t)``.
        """
        return semi_explicit(self)

    @checked
    def to_sympy(self, functions: Sequence[str] = ("mass", "force")) -> dict[str, Any]:
        """Return functions of small systems as matrices of SymPy by name, which `sympy.latex` prints.

        A symbol has the name of its quantity with the last part first, ``phi_shoulder`` for ``shoulder.phi``, and
        ``phidot_shoulder`` for its rate.

        Args:
            functions: names of functions with one result.

        Raises:
            UnknownNameError: the model has no such function.
            UsageError: SymPy is not installed, or a function is too long or has an operation that is no formula.
        """
        names = {**self.names, "t": ("t",), "xdot": tuple(f"der({name})" for name in self.names["x"])}
        labels = {key: tuple(map(symbol_name, each)) for key, each in names.items()}
        return {name: sympy_matrices(self.function(name), labels)[0] for name in functions}

    @property
    def available(self) -> tuple[str, ...]:
        """Names of the functions that the model has."""
        dae, lacking = self.dae, set[str]()
        if not dae.n:
            lacking |= {"mass", "force", "acceleration", "kinetic", "potential"}
        if self.is_ode:
            lacking |= {"constraints", "constraint_jacobian", "constraint_rate", "gamma", "multipliers"}
        absent = {"flow": not dae.n_z, "power": not dae.n or dae.energies.power is None}
        absent |= {"sampling": not dae.sampling, "guards": not dae.switching}
        lacking |= {name for name, without in absent.items() if without}
        return tuple(name for name in FUNCTIONS if name not in lacking)

    @checked
    def function(self, name: str) -> Function:
        """Return a function by its name.

        Args:
            name: one of those that are `available`.

        Raises:
            UnknownNameError: the model has no such function.
        """
        if name not in self.available:
            raise UnknownNameError(f"'{self.dae.name}' has no function '{name}'; {nearest(name, self.available)}")
        function: Function = getattr(self, name)
        return function


def _again(
    origin: Model | tuple[str, Mapping[str, Any]], coordinates: str | None, parameters: tuple[str, ...]
) -> ModelEquations:
    source, model = (origin, load(*origin)) if isinstance(origin, tuple) else (None, origin)
    return ModelEquations(model, coordinates, parameters, derive(model, coordinates, by_step=False), source)
