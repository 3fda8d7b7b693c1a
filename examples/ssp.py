"""Couple two mechanisms, a cart with a pendulum and a wagon on a spring buffer, in one .ssp file, and run it.

Run: python examples/ssp.py (needs libcosimpy)
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import fmpy
import numpy as np
import numpy.typing as npt
from fmpy.fmi2 import FMU2Slave

import mbfmu
from mbfmu.fmu.ssp import Wire, write_ssp
from mbfmu.model import Body, Model, Prismatic, SpringDamper, System, TranslationalMove, World, connect

STOP = 2.0
SHOWN = ("rail.s", "hinge.phi")
CONNECTIONS = (
    Wire("cart.rail.s", "wagon.tow.s"),
    Wire("cart.rail.v", "wagon.tow.v"),
    Wire("wagon.tow.f", "cart.rail.f", factor=-1.0),  # what moves the hook pulls the cart back
)


def wagon() -> System:
    """Return a wagon on a spring buffer whose other end, the hook, goes where the inputs `tow` say."""
    return System(
        name="wagon",
        planar=True,
        components=(
            World(),
            Prismatic("hitch"),
            Body("hook", m=0.1, I_33=0.01),  # its mass is not felt: it moves without acceleration between exchanges
            TranslationalMove("tow", joint="hitch"),
            Prismatic("track", s=0.5, v=0.0),
            Body("body", m=2.0, I_33=0.01),
            SpringDamper("buffer", c=40.0, s_unstretched=0.5, d=2.0),
        ),
        connections=(
            connect("world.frame_b", "hitch.frame_a"),
            connect("hitch.frame_b", "hook.frame_a"),
            connect("world.frame_b", "track.frame_a"),
            connect("track.frame_b", "body.frame_a"),
            connect("hook.frame_a", "buffer.frame_a"),
            connect("body.frame_a", "buffer.frame_b"),
        ),
    )


def whole(cart: System) -> System:
    """Return both mechanisms as one model: what the coupling comes to as its step goes to zero."""
    return System(
        name="whole",
        planar=True,
        parameters=cart.parameters,
        components=(
            *cart.components,
            Prismatic("track", s=0.5, v=0.0),
            Body("body", m=2.0, I_33=0.01),
            SpringDamper("buffer", c=40.0, s_unstretched=0.5, d=2.0),
        ),
        connections=(
            *cart.connections,
            connect("world.frame_b", "track.frame_a"),
            connect("track.frame_b", "body.frame_a"),
            connect("cart.frame_a", "buffer.frame_a"),
            connect("body.frame_a", "buffer.frame_b"),
        ),
    )


def main() -> dict[str, float]:
    """Run the coupling in libcosim and in FMPy; return what they differ by, and what they differ by from one model."""
    cart = mbfmu.load("cart_pendulum", {"hinge.phi": 0.0})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fmus = {"cart": export(cart, folder), "wagon": export(wagon(), folder)}
        path = write_ssp(folder / "train.ssp", fmus, CONNECTIONS, stop=STOP)
        coupled = {step: run_libcosim(path, step) for step in (2e-3, 1e-3)}
        by_hand = run_fmpy(fmus, 1e-3)
    assert isinstance(cart, System)
    result = mbfmu.simulate(whole(cart), STOP, step=1e-3, output_interval=1e-3)
    one = np.column_stack([result[name] for name in SHOWN])[1:]
    every = {step: one[len(one) // len(rows) - 1 :: len(one) // len(rows)] for step, rows in coupled.items()}
    error = {step: float(np.abs(rows - every[step]).max()) for step, rows in coupled.items()}
    return {
        "cart, m": float(coupled[1e-3][-1, 0]),
        "pendulum, rad": float(coupled[1e-3][-1, 1]),
        "libcosim - FMPy": float(np.abs(coupled[1e-3] - by_hand).max()),
        "coupled - one model, 2 ms": error[2e-3],
        "coupled - one model, 1 ms": error[1e-3],
    }


def export(model: Model, folder: Path) -> Path:
    """Write a mechanism as an FMU that steps once in each communication step."""
    return mbfmu.export(model, folder / f"{model.name}.fmu", stepper="rattle", step=1e-3)


def run_libcosim(path: Path, step: float) -> npt.NDArray[np.float64]:
    """Return the cart's outputs after each communication step, shape (steps, 2), of an .ssp file in libcosim."""
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimLogging import CosimLogLevel, log_output_level
    from libcosimpy.CosimObserver import CosimObserver

    log_output_level(CosimLogLevel.FATAL)  # it takes the variable `time`, which may have no start value, for an error
    execution = CosimExecution.from_ssp_file(ssp_path=str(path), step_size=round(step * 1e9))  # ns
    observer = CosimObserver.create_last_value()
    execution.add_observer(observer)
    cart = execution.slave_index_from_instance_name("cart")
    references = {item.name.decode(): item.reference for item in execution.slave_variables(cart)}
    rows = []
    for _ in range(round(STOP / step)):
        assert execution.step(), execution.status()
        rows.append(list(observer.last_real_values(cart, [references[name] for name in SHOWN])))
    return np.array(rows)


def run_fmpy(fmus: dict[str, Path], step: float) -> npt.NDArray[np.float64]:
    """Do the same by hand: all FMUs step with the values of the last communication point, then exchange them."""
    with instance(fmus["cart"]) as (cart, of_cart), instance(fmus["wagon"]) as (wagon, of_wagon):
        slaves, references = {"cart": cart, "wagon": wagon}, {"cart": of_cart, "wagon": of_wagon}

        def exchange() -> None:
            values = []
            for item in CONNECTIONS:
                name, _, variable = item.start.partition(".")
                values.append(item.scale * slaves[name].getReal([references[name][variable]])[0])
            for item, value in zip(CONNECTIONS, values, strict=True):
                name, _, variable = item.end.partition(".")
                slaves[name].setReal([references[name][variable]], [value])

        for slave in slaves.values():
            slave.setupExperiment(startTime=0.0)
            slave.enterInitializationMode()
        exchange()
        for slave in slaves.values():
            slave.exitInitializationMode()
        rows = []
        for k in range(round(STOP / step)):
            exchange()
            for slave in slaves.values():
                slave.doStep(currentCommunicationPoint=k * step, communicationStepSize=step)
            rows.append(cart.getReal([of_cart[name] for name in SHOWN]))
    return np.array(rows)


@contextmanager
def instance(path: Path) -> Iterator[tuple[FMU2Slave, dict[str, int]]]:
    """Yield an instance of an FMU in FMPy and the value references of its variables."""
    description = fmpy.read_model_description(str(path))
    with tempfile.TemporaryDirectory() as folder:
        slave = FMU2Slave(
            guid=description.guid,
            unzipDirectory=fmpy.extract(str(path), unzipdir=folder),
            modelIdentifier=description.coSimulation.modelIdentifier,
            instanceName=path.stem,
        )
        slave.instantiate()
        yield slave, {item.name: item.valueReference for item in description.modelVariables}
        slave.terminate()
        slave.freeInstance()


if __name__ == "__main__":
    for label, number in main().items():
        print(f"{label:28s} {number: .6g}")
