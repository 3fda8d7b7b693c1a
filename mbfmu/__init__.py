"""mbfmu: multibody mechanisms as FMI 2.0 and 3.0 FMUs with constraint-preserving steppers.

Models
    load                read a model: a name in models/, or a .py, .toml, .urdf or MJCF file
    mbfmu.model         what a model is assembled of: Body, Revolute, Spring, connect, ...
    System              a machine of parts, joints, forces and blocks; Connection: two frames that coincide
    wire                a signal from a joint, sensor or block to an input
    LagrangianSystem    a mechanism given by its energies
    Block               first-order equations, such as a controller or a hydraulic drive
    Sampled             a block that computes at equal intervals

Runs
    simulate            run a model or an FMU; it returns a Result
    Simulation          step a model from Python: a controller in a loop, or thousands of instances together
    Environment         a model for reinforcement learning, as Gymnasium has it; Environments: many together
    Result              the values of variables over time: plot, to_pandas, write
    equilibrium         where a machine stays at rest or moves steadily, and the trim that holds it there
    fit                 parameters and start values from measured outputs
    base_parameters     the inertial parameters that a robot's motion tells, and the motion that tells them best
    optimize            parameters and start values for which an expression of a run is least
    Sensitivity         derivatives of a run: gradients by the adjoint, Jacobians by tangents
    jax_function, torch_function   a run that is differentiated, as a function of JAX and of PyTorch
    inverse             the efforts and reactions of a given motion
    kinematics          positions, rates and accelerations that follow from driven axes alone
    workspace           where a frame gets over a grid of driven axes
    linearize           state-space form and modes, from exact derivatives
    bode                gain and phase over the frequency
    locus               eigenvalues over a parameter, and where one becomes unstable
    modes               frequencies, damping and mode shapes about an equilibrium or a steady motion
    equations           the equations of a model: CasADi Functions, C, SymPy, acados
    sweep               many runs with different values, on many cores
    compare             every stepper with every step, and which one to use
    view                a page that shows the mechanism moving
    report              a page on a run: settings, picture, tables, curves, events, warnings
    plot_result         a picture of a result

FMUs
    export              write a model with its stepper as an FMU
    check               list what is wrong with an FMU
    couple              run several FMUs together; Wire: a connection with a factor
    write_ssp           write several FMUs and their connections as one .ssp file

Steppers
    steppers            the table of steppers: what each preserves and needs, and its options
    Rattle, Projected, Radau, ...    a stepper with its options, where `stepper` is asked for by name

Wherever a model is asked for, its name or its path will do. A mistake raises an error below MbfmuError, of the tree in
`mbfmu.errors`; its text says what is wrong, where, and how to correct it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

if TYPE_CHECKING:
    from mbfmu import errors, model
    from mbfmu.analysis.compare import compare
    from mbfmu.analysis.equations import equations
    from mbfmu.analysis.equilibria import equilibrium
    from mbfmu.analysis.fit import fit
    from mbfmu.analysis.identification import base_parameters
    from mbfmu.analysis.jax_bridge import jax_function
    from mbfmu.analysis.linearization import bode, linearize
    from mbfmu.analysis.modal import locus, modes
    from mbfmu.analysis.motion.inverse import inverse
    from mbfmu.analysis.motion.kinematics import kinematics, workspace
    from mbfmu.analysis.optimize import optimize
    from mbfmu.analysis.sensitivity import Sensitivity
    from mbfmu.analysis.study import sweep
    from mbfmu.analysis.torch_bridge import torch_function
    from mbfmu.base.result import Result
    from mbfmu.checker import check
    from mbfmu.errors import MbfmuError
    from mbfmu.fmu.export import export
    from mbfmu.fmu.ssp import Wire, write_ssp
    from mbfmu.model import Block, Connection, LagrangianSystem, Sampled, System, connect, wire
    from mbfmu.model.library import load
    from mbfmu.run.couple import couple
    from mbfmu.run.environment import Environment, Environments
    from mbfmu.run.simulate import simulate
    from mbfmu.run.simulation import Simulation
    from mbfmu.show.plot import plot_result
    from mbfmu.show.report import report
    from mbfmu.show.viewer import view
    from mbfmu.stepper import steppers
    from mbfmu.stepper.baumgarte import Baumgarte
    from mbfmu.stepper.block_multistep import BlockMultistep
    from mbfmu.stepper.direct import Direct
    from mbfmu.stepper.gauss import Gauss
    from mbfmu.stepper.generalized_alpha import GeneralizedAlpha
    from mbfmu.stepper.lobatto import Lobatto
    from mbfmu.stepper.local import Local
    from mbfmu.stepper.moreau import Moreau
    from mbfmu.stepper.nodal_impulse import NodalImpulse
    from mbfmu.stepper.partition import Partition
    from mbfmu.stepper.projected import Projected
    from mbfmu.stepper.radau import Radau
    from mbfmu.stepper.rattle import Rattle

__all__ = [
    "Baumgarte",
    "Block",
    "BlockMultistep",
    "Connection",
    "Direct",
    "Environment",
    "Environments",
    "Gauss",
    "GeneralizedAlpha",
    "LagrangianSystem",
    "Lobatto",
    "Local",
    "MbfmuError",
    "Moreau",
    "NodalImpulse",
    "Partition",
    "Projected",
    "Radau",
    "Rattle",
    "Result",
    "Sampled",
    "Sensitivity",
    "Simulation",
    "System",
    "Wire",
    "__version__",
    "base_parameters",
    "bode",
    "check",
    "compare",
    "connect",
    "couple",
    "equations",
    "equilibrium",
    "errors",
    "export",
    "fit",
    "inverse",
    "jax_function",
    "kinematics",
    "linearize",
    "load",
    "locus",
    "model",
    "modes",
    "optimize",
    "plot_result",
    "report",
    "simulate",
    "steppers",
    "sweep",
    "torch_function",
    "view",
    "wire",
    "workspace",
    "write_ssp",
]

_HOMES = {
    "checker": ("check",),
    "analysis.compare": ("compare",),
    "run.couple": ("couple",),
    "run.environment": ("Environment", "Environments"),
    "analysis.equations": ("equations",),
    "analysis.equilibria": ("equilibrium",),
    "errors": ("MbfmuError",),
    "analysis.fit": ("fit",),
    "analysis.identification": ("base_parameters",),
    "fmu.export": ("export",),
    "fmu.ssp": ("Wire", "write_ssp"),
    "analysis.motion.inverse": ("inverse",),
    "analysis.jax_bridge": ("jax_function",),
    "analysis.motion.kinematics": ("kinematics", "workspace"),
    "analysis.linearization": ("bode", "linearize"),
    "analysis.modal": ("locus", "modes"),
    "model": ("Block", "Connection", "LagrangianSystem", "Sampled", "System", "connect", "wire"),
    "model.library": ("load",),
    "analysis.optimize": ("optimize",),
    "show.plot": ("plot_result",),
    "show.report": ("report",),
    "base.result": ("Result",),
    "analysis.sensitivity": ("Sensitivity",),
    "run.simulate": ("simulate",),
    "stepper": ("steppers",),
    "stepper.baumgarte": ("Baumgarte",),
    "stepper.block_multistep": ("BlockMultistep",),
    "stepper.direct": ("Direct",),
    "stepper.gauss": ("Gauss",),
    "stepper.generalized_alpha": ("GeneralizedAlpha",),
    "stepper.lobatto": ("Lobatto",),
    "stepper.local": ("Local",),
    "stepper.moreau": ("Moreau",),
    "stepper.nodal_impulse": ("NodalImpulse",),
    "stepper.partition": ("Partition",),
    "stepper.projected": ("Projected",),
    "stepper.radau": ("Radau",),
    "stepper.rattle": ("Rattle",),
    "run.simulation": ("Simulation",),
    "analysis.study": ("sweep",),
    "analysis.torch_bridge": ("torch_function",),
    "show.viewer": ("view",),
}
"""Modules with the public names that they define; `errors` and `model` are public themselves."""


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import mbfmu` is quick."""
    if name in {"errors", "model"}:
        return import_module(f"mbfmu.{name}")
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"mbfmu.{home}"), name)
    raise AttributeError(f"module 'mbfmu' has no attribute '{name}'")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
