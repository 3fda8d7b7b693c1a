"""The demo: export the two-link arm, check it, and let a controller drive the FMU through FMPy."""

import math
import shutil
import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from mbfmu.checker import check
from mbfmu.errors import FmuError
from mbfmu.fmu.export import export
from mbfmu.model.library import load
from mbfmu.plot import FLOOR, save
from mbfmu.result import Result

STOP = 10.0
STEP = 1e-3
STEPPER = "rattle"
KP = np.array([900.0, 300.0])
"""Proportional gains of shoulder and elbow, N.m/rad."""
KD = np.array([120.0, 40.0])
"""Derivative gains of shoulder and elbow, N.m.s/rad."""
SHOWN = (
    "shoulder.tau", "elbow.tau", "shoulder.phi", "elbow.phi", "shoulder.w", "elbow.w", "energy.total",
    "constraint.position", "constraint.velocity",
)  # fmt: skip

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Demo:
    """The results of the demo.

    Args:
        fmu: path of the FMU.
        csv: path of the run's values, with references.
        png: path of the picture.
        problems: problems that the check reported; empty if there are none.
        rows: rows of the table: quantity and value.
    """

    fmu: Path
    csv: Path
    png: Path
    problems: tuple[str, ...]
    rows: tuple[tuple[str, str], ...]


def trajectory(t: float) -> tuple[Array, Array]:
    """Return reference joint angles (rad) and rates (rad/s), shapes (2,): from hanging at rest up, and to and fro."""
    blend = min(t / 2.0, 1.0)
    s, s_dot = blend**3 * (10 - 15 * blend + 6 * blend**2), 15 * blend**2 * (1 - blend) ** 2 * (t < 2.0)
    up, swing = np.array([1.9, -0.9]), np.array([0.5, 0.8])
    rate = np.array([1.1, 1.7])
    wave, wave_dot = np.sin(rate * t), rate * np.cos(rate * t)
    phi = np.array([-math.pi / 2, 0.0]) + s * (up + swing * wave)
    return phi, s_dot * (up + swing * wave) + s * swing * wave_dot


def gravity_torque(phi: Array, l: tuple[float, float], m: tuple[float, float], g: float) -> Array:  # noqa: E741
    """Return the joint torques (N.m) that hold the arm at angles `phi` (rad) against gravity."""
    elbow = m[1] * g * l[1] / 2 * math.cos(phi[0] + phi[1])
    return np.array([(m[0] / 2 + m[1]) * g * l[0] * math.cos(phi[0]) + elbow, elbow])


def run_demo(folder: Path, progress: Callable[[str, float], None]) -> Demo:
    """Export an FMU, check it, run it and draw the result.

    Args:
        folder: folder for the files, which is made if needed.
        progress: called with the current task and the fraction of it that is done.

    Raises:
        FmuError: the FMU did not run.
    """
    progress("export", 0.0)
    fmu = export(load("two_link"), folder / "two_link.fmu", stepper=STEPPER, step=STEP, stop=STOP)
    progress("check", 0.0)
    problems = tuple(str(problem) for problem in check(fmu))
    result, wanted, per_step = _closed_loop(fmu, lambda fraction: progress("closed loop", fraction))
    error = np.degrees(np.column_stack([result["shoulder.phi"], result["elbow.phi"]]) - wanted)
    torque = np.column_stack([result["shoulder.tau"], result["elbow.tau"]])
    turned = np.diff(np.column_stack([result["shoulder.phi"], result["elbow.phi"]]), axis=0)
    work = np.concatenate([[0.0], np.cumsum(np.sum(torque[1:] * turned, axis=1))])
    energy = result["energy.total"]
    balance = energy - energy[0] - work
    rows = (
        ("tracking error, rms / max", f"{np.sqrt(np.mean(error**2)):.3f} / {np.max(np.abs(error)):.3f} deg"),
        ("constraint.position, max", f"{np.max(result['constraint.position']):.1e} m"),
        ("constraint.velocity, max", f"{np.max(result['constraint.velocity']):.1e} m/s"),
        ("energy balance, max error", f"{np.max(np.abs(balance)):.1e} J of {np.ptp(energy):.1f} J exchanged"),
        ("FMU step through FMPy", f"{per_step:.1f} us (set inputs, step, get outputs)"),
    )
    full = Result(
        result.time,
        (*result.names, "reference.shoulder.phi", "reference.elbow.phi", "energy.balance"),
        np.column_stack([result.values, wanted, balance]),
    )
    return Demo(
        fmu,
        full.write_csv(folder / "two_link.csv"),
        _picture(full, wanted, error, balance, folder / "two_link.png"),
        problems,
        rows,
    )


def _closed_loop(fmu: Path, progress: Callable[[float], None]) -> tuple[Result, Array, float]:
    """Run PD control with gravity compensation on the FMU; return run, reference angles and microseconds per step."""
    import fmpy
    from fmpy.fmi2 import FMU2Slave

    description = fmpy.read_model_description(str(fmu))
    reference = {item.name: item.valueReference for item in description.modelVariables}
    taus = [reference["shoulder.tau"], reference["elbow.tau"]]
    shown = [reference[name] for name in SHOWN]
    unzipped = fmpy.extract(str(fmu))
    slave: Any = FMU2Slave(
        guid=description.guid,
        unzipDirectory=unzipped,
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName="arm",
    )
    try:
        slave.instantiate()
        slave.setupExperiment(startTime=0.0)
        phi, w = trajectory(0.0)
        slave.setReal([reference["shoulder.phi"], reference["elbow.phi"]], phi.tolist())
        slave.setReal([reference["shoulder.w"], reference["elbow.w"]], w.tolist())
        slave.enterInitializationMode()
        slave.exitInitializationMode()
        names = ("l1", "l2", "m1", "m2", "world.g")
        l1, l2, m1, m2, g = slave.getReal([reference[name] for name in names])
        count = round(STOP / STEP)
        rows, wanted, spent = [slave.getReal(shown)], [phi], 0.0
        for k in range(count):
            target, target_rate = trajectory(k * STEP)
            phi, w = np.array(rows[-1][2:4]), np.array(rows[-1][4:6])
            tau = gravity_torque(phi, (l1, l2), (m1, m2), g) + KP * (target - phi) + KD * (target_rate - w)
            begin = clock.perf_counter()
            slave.setReal(taus, tau.tolist())
            slave.doStep(currentCommunicationPoint=k * STEP, communicationStepSize=STEP)
            rows.append(slave.getReal(shown))
            spent += clock.perf_counter() - begin
            wanted.append(trajectory((k + 1) * STEP)[0])
            if k % 100 == 99:
                progress((k + 1) / count)
        slave.terminate()
        slave.freeInstance()
    except Exception as error:  # noqa: BLE001 - FMPy raises plain Exceptions
        raise FmuError(f"'{fmu}' did not run in FMPy: {error}") from None
    finally:
        shutil.rmtree(unzipped, ignore_errors=True)
    time = np.arange(count + 1, dtype=np.float64) * np.float64(STEP)
    return Result(time, SHOWN, np.array(rows)), np.array(wanted), spent / count * 1e6


def _picture(result: Result, wanted: Array, error: Array, balance: Array, path: Path) -> Path:
    figure = Figure(figsize=(9, 9), layout="constrained")
    figure.suptitle(f"two_link FMU ({STEPPER}, h = {STEP * 1e3:g} ms) in closed loop through FMPy")
    angles, errors, torques, residuals, energies = figure.subplots(5, 1, sharex=True)
    for number, joint in enumerate(("shoulder", "elbow")):
        color = f"C{number}"
        angles.plot(result.time, np.degrees(result[f"{joint}.phi"]), color, label=joint)
        angles.plot(result.time, np.degrees(wanted[:, number]), "k:", linewidth=1)
        errors.plot(result.time, error[:, number], color, label=joint)
        torques.plot(result.time, result[f"{joint}.tau"], color, label=joint)
    for name in ("constraint.position", "constraint.velocity"):
        residuals.semilogy(result.time, np.maximum(result[name], FLOOR), label=name, linewidth=0.8)
    energies.plot(result.time, balance, "C4", label="energy - start - work of the drives")
    labels = (
        "angle [deg]\n(dotted: wanted)",
        "tracking error [deg]",
        "torque [N.m]",
        "residual",
        "balance [J]",
    )
    for axes, label in zip((angles, errors, torques, residuals, energies), labels, strict=True):
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
        axes.margins(x=0)
        axes.legend(loc="best", fontsize="small", ncols=2, framealpha=0.6)
    energies.set_xlabel("time [s]")
    return save(figure, path)
