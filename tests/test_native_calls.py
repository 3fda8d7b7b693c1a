"""No call, however wrong, breaks a native FMU of FMI 3.0 or one for model exchange, watched by the sanitizers."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from harness import thorough
from masters import Unpacked
from native_fmus import SANITIZED, built_host
from struck import ball

import mbfmu
from mbfmu.model import (
    Block,
    BodyShape,
    Defined,
    Model,
    Port,
    Revolute,
    RotationalEndStop,
    Sampled,
    State,
    Subsystem,
    System,
    World,
    connect,
    wire,
)


def pendulum() -> System:
    """A pendulum that a torque turns between stops, and whose angle a block samples."""
    held = Block("held", inputs=(Port("angle", "rad"),), defined=(Defined("y", "angle", "rad", output=True),))
    return System(
        name="stopped_pendulum",
        planar=True,
        components=(
            World(),
            Revolute("hinge", phi=0.0, w=1.0, actuated=True),
            BodyShape("rod", m=1.0, r=(0.0, -1.0), r_CM=(0.0, -0.5), I_33=0.1),
            RotationalEndStop("stop", joint="hinge", lower=-1e-3, upper=5e-3, e=0.5),
            Subsystem("sensor", Sampled(held, period=3e-3)),
        ),
        connections=(connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "rod.frame_a")),
        wires=(wire("hinge.phi", "sensor.angle"),),
    )


def winch() -> Block:
    """A winch whose gears have names."""
    gears = ("neutral", "first", "second")
    return Block(
        "winch",
        inputs=(Port("tau", "N.m", start=1.0), Port("gear", start=1, type="Integer", items=gears)),
        states=(State("w", "gear*tau - w", "rad/s"),),
        defined=(Defined("acts", "min(gear, 1)", output=True, type="Integer", items=gears),),
    )


MODELS: dict[str, Callable[[], Model]] = {
    "ball": ball, "crank": lambda: mbfmu.load("slider_crank"), "pendulum": pendulum,
    "winch": winch,
}  # fmt: skip
"""A small one with impacts; one with constraints and arrays; one with impacts, samplings and an input; one with
enumerations."""


class Kind(NamedTuple):
    """A version of FMI and what an FMU of it is for."""

    model: str
    fmi: str
    kind: str


QUICK = [Kind("ball", "3.0", "me")]
KINDS = [
    *QUICK,
    Kind("ball", "3.0", "cs"),
    Kind("winch", "3.0", "cs"),
    Kind("winch", "3.0", "me"),
    *(Kind(name, *of) for name in ("crank", "pendulum") for of in (("3.0", "cs"), ("3.0", "me"), ("2.0", "me"))),
]


@pytest.mark.parametrize("case", thorough(zip(KINDS), lambda case: case in QUICK), ids="-".join)
def test_no_call_of_fmi_3_or_for_model_exchange_breaks_an_instance(case: Kind, tmp_path: Path) -> None:
    path = mbfmu.export(
        MODELS[case.model](), tmp_path / "model.fmu", backend="native", fmi=case.fmi, kind=case.kind,
        platforms=["linux64"],
    )  # fmt: skip
    host = built_host(Unpacked(path, tmp_path / "model").folder / "sources", tmp_path, SANITIZED)
    for task in ("life", "illegal", "fuzz 50000 1"):
        done = subprocess.run([host, *task.split()], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
