"""Drive the two-link FMU from your own program: FMPy, a PD controller, a step back in time.

Run: python examples/closed_loop.py
"""

import math
import shutil
import tempfile
from pathlib import Path

import fmpy
from fmpy.fmi2 import FMU2Slave

import mbfmu

KP, KD = 60.0, 12.0
TARGET = {"shoulder": math.radians(-60), "elbow": math.radians(30)}


def main() -> dict[str, float]:
    """Hold a pose for 5 s; return the final angles (rad), the largest residual, and the difference after rollback."""
    with tempfile.TemporaryDirectory() as folder:
        arm = mbfmu.load("two_link").with_values({"shoulder.phi": -math.pi / 2})
        return drive(mbfmu.export(arm, Path(folder) / "two_link.fmu", stepper="rattle", step=1e-3))


def drive(path: Path) -> dict[str, float]:
    """Run the closed loop on an exported arm."""
    description = fmpy.read_model_description(str(path))
    vr = {variable.name: variable.valueReference for variable in description.modelVariables}
    unzipped = fmpy.extract(str(path))
    arm = FMU2Slave(
        guid=description.guid,
        unzipDirectory=unzipped,
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName="arm",
    )
    arm.instantiate()
    arm.setupExperiment(startTime=0.0)
    arm.enterInitializationMode()
    arm.exitInitializationMode()

    def control() -> None:
        for joint, target in TARGET.items():
            phi, w = arm.getReal([vr[f"{joint}.phi"], vr[f"{joint}.w"]])
            arm.setReal([vr[f"{joint}.tau"]], [KP * (target - phi) - KD * w])

    worst, step = 0.0, 2e-3
    for k in range(2500):
        control()
        arm.doStep(currentCommunicationPoint=k * step, communicationStepSize=step)
        worst = max(worst, *arm.getReal([vr["constraint.position"], vr["constraint.velocity"]]))

    state = arm.getFMUstate()
    shown = [vr["shoulder.phi"], vr["elbow.phi"]]
    arm.doStep(currentCommunicationPoint=5.0, communicationStepSize=step)
    first = arm.getReal(shown)
    arm.setFMUstate(state)
    arm.doStep(currentCommunicationPoint=5.0, communicationStepSize=step)
    again = arm.getReal(shown)
    arm.freeFMUstate(state)
    arm.terminate()
    arm.freeInstance()
    shutil.rmtree(unzipped, ignore_errors=True)
    return {
        "shoulder.phi": again[0],
        "elbow.phi": again[1],
        "residual": worst,
        "rollback": max(abs(a - b) for a, b in zip(first, again, strict=True)),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:14s} {value: .6g}")
