"""Drives: one component equals the parts it is made of, and pressures work through areas."""

import math
from dataclasses import replace

import numpy as np
import pytest
from harness import Array
from interpreted import Interpreted

import mbfmu
from mbfmu.dae import derive
from mbfmu.errors import AxisError, ValueRangeError
from mbfmu.kernel import compose, vector
from mbfmu.model import (
    Body,
    BodyShape,
    Component,
    Connection,
    FixedTranslation,
    HydraulicCylinder,
    LinearDrive,
    Parameter,
    Prismatic,
    Revolute,
    Spherical,
    System,
    TranslationalStop,
    Universal,
    World,
    connect,
)
from mbfmu.model.toml import from_toml, to_toml
from mbfmu.stepper import make_scheme

BORE, ROD = 0.08, 0.045
BARREL = {"m_barrel": 40.0, "r_barrel": 0.6, "I_barrel": 4.0}
ROD_OF_DRIVE = {"m_rod": 20.0, "r_rod": 0.5, "I_rod": 2.0}


def end(system: System, inputs: dict[str, float], names: tuple[str, ...], steps: int = 20) -> Array:
    """Return outputs after some steps of 1 ms under constant inputs, interpreted."""
    dae = derive(system, None)
    kernel = Interpreted(compose(dae, make_scheme(dae, "rattle")))
    p, u = vector(dae.p_default()), vector(inputs[item.name] for item in dae.inputs)
    x, status = kernel.initialize(vector(dae.s_default()), u, p, 0.0, 1e-3)
    assert status.code == 0
    x, status = kernel.advance(x, u, vector([0.0] * len(u)), p, 0.0, 1e-3, steps)
    assert status.code == 0
    y = kernel.outputs(x, u, p, steps * 1e-3)
    found = dict(zip((item.name for item in dae.outputs), y, strict=False))
    return np.array([found[name] for name in names])


def without(system: System, *names: str) -> tuple[tuple[Component, ...], tuple[Connection, ...]]:
    """Return what is left of a system without some components."""
    kept = tuple(item for item in system.components if item.name not in names)
    pairs = tuple(pair for pair in system.connections if not {end.split(".")[0] for end in pair} & set(names))
    return kept, pairs  # type: ignore[return-value]


def crane_with(drive: Component) -> System:
    """Return the library's crane with one component in place of the five parts of its lifting cylinder."""
    crane = mbfmu.load("crane")
    assert isinstance(crane, System)
    kept, pairs = without(crane, "lift_foot", "barrel1", "lift", "rod1", "lift_eye")
    ends = (connect("bracket.frame_b", "lift.frame_a"), connect("lift.frame_b", "lug1.frame_b"))
    return replace(crane, components=(*kept, drive), connections=(*pairs, *ends))


SEEN = ("boom.phi", "jib.phi", "lift.s", "lift.v", "tilt.s", "energy.total")


def test_a_drive_in_the_plane_moves_as_the_parts_it_is_made_of() -> None:
    """Measured: equal to 1e-15 of each number."""
    inputs = {"lift.f": 2e4, "tilt.f": 5e3}
    one = end(crane_with(LinearDrive("lift", n=(0, 1), L=1.3, **BARREL, **ROD_OF_DRIVE)), inputs, SEEN)
    parts = mbfmu.load("crane")
    assert isinstance(parts, System)
    assert one == pytest.approx(end(parts, inputs, SEEN), rel=1e-12)


def leg(drive: bool) -> System:
    """Return a plate on a ball joint, held by a leg that is one drive, or made of parts by hand."""
    n, lugs = (0.6, 0.0, 0.8), 1.0
    across, other = (-0.8, 0.0, 0.6), (0.0, -1.0, 0.0)
    tube = {"m": 8.0, "r_CM": (0.3 * n[0], 0.0, 0.3 * n[2])}
    bar = {"m": 3.0, "r_CM": (-0.4 * n[0], 0.0, -0.4 * n[2])}

    def inertia(about: float, round_: float) -> dict[str, float]:
        tensor = about * np.eye(3) + (round_ - about) * np.outer(n, n)
        return {f"I_{i + 1}{j + 1}": float(tensor[i, j]) for i in range(3) for j in range(i + 1)}

    made: tuple[Component, ...] = (
        Universal("foot", n_a=across, n_b=other),
        BodyShape("tube", r=tuple(lugs * x for x in n), **tube, **inertia(0.9, 0.02)),
        Prismatic("slide", n=n, actuated=True),
        Body("bar", **bar, **inertia(0.4, 0.01)),
        Spherical("ball"),
    )
    whole: Component = LinearDrive(
        "slide", n=n, L=lugs, m_barrel=8.0, r_barrel=0.3, I_barrel=0.9, J_barrel=0.02, m_rod=3.0, r_rod=0.4,
        I_rod=0.4, J_rod=0.01,
    )  # fmt: skip
    inner = (
        connect("world.frame_b", "foot.frame_a"),
        connect("foot.frame_b", "tube.frame_a"),
        connect("tube.frame_b", "slide.frame_a"),
        connect("slide.frame_b", "bar.frame_a"),
        connect("bar.frame_a", "ball.frame_a"),
        connect("ball.frame_b", "lug.frame_b"),
    )
    outer = (connect("world.frame_b", "slide.frame_a"), connect("slide.frame_b", "lug.frame_b"))
    return System(
        name="leg",
        components=(
            World(g=9.81, n=(0, 0, -1)),
            FixedTranslation("post", r=(0.0, 0.0, 0.9)),
            Spherical("pivot", Q_rel=(1.0, 0.0, 0.0, 0.0), w_rel=(0.3, -0.2, 0.1)),
            Body("plate", m=20.0, r_CM=(0.3, 0.1, 0.0), I_11=1.0, I_22=2.0, I_33=3.0),
            FixedTranslation("lug", r=(0.7, 0.1, 0.0)),
            *((whole,) if drive else made),
        ),
        connections=(
            connect("world.frame_b", "post.frame_a"),
            connect("post.frame_b", "pivot.frame_a"),
            connect("pivot.frame_b", "plate.frame_a"),
            connect("plate.frame_a", "lug.frame_a"),
            *(outer if drive else inner),
        ),
    )


def test_a_drive_in_space_moves_as_the_parts_it_is_made_of() -> None:
    seen = ("slide.s", "slide.v", "energy.total", *(f"pivot.Q_rel[{k}]" for k in range(1, 5)))
    one, parts = (end(leg(drive), {"slide.f": 150.0}, seen) for drive in (True, False))
    assert one == pytest.approx(parts, rel=1e-10, abs=1e-12)


def test_pressures_push_with_their_areas() -> None:
    """f = A_a p_a - A_b p_b, beside a force of seals that is an input where it is asked for."""
    p_a, p_b, seals = 5e6, 2e6, -300.0
    f = math.pi / 4 * (BORE**2 * p_a - (BORE**2 - ROD**2) * p_b)
    size = {"n": (0, 1), "L": 1.3, **BARREL, **ROD_OF_DRIVE}
    drive = crane_with(LinearDrive("lift", **size))
    cylinder = crane_with(HydraulicCylinder("lift", D=BORE, d=ROD, **size))
    sealed = crane_with(HydraulicCylinder("lift", D=BORE, d=ROD, actuated=True, **size))
    pressures = {"lift.p_a": p_a, "lift.p_b": p_b, "tilt.f": 5e3}
    plain = end(cylinder, pressures, SEEN)
    assert plain == pytest.approx(end(drive, {"lift.f": f, "tilt.f": 5e3}, SEEN), rel=1e-12)
    rubbing = end(sealed, {**pressures, "lift.f": seals}, SEEN)
    assert rubbing == pytest.approx(end(drive, {"lift.f": f + seals, "tilt.f": 5e3}, SEEN), rel=1e-12)


def test_the_quantities_of_a_drive_are_parameters_by_its_name_and_may_be_expressions() -> None:
    drive = LinearDrive("lift", n=(0, 1), L="closed", m_barrel="2*light", **{**ROD_OF_DRIVE, "m_rod": "light"})
    crane = crane_with(drive)
    crane = replace(
        crane, parameters=(*crane.parameters, Parameter("closed", 1.3, "m"), Parameter("light", 20.0, "kg"))
    )
    inputs = {"lift.f": 2e4, "tilt.f": 5e3}
    plain = crane_with(LinearDrive("lift", n=(0, 1), L=1.3, m_barrel=40.0, **ROD_OF_DRIVE))
    assert end(crane, inputs, SEEN) == pytest.approx(end(plain, inputs, SEEN), rel=1e-12)
    names = [item.name for item in derive(plain, None).parameters]
    assert {"lift.L", "lift.m_barrel", "lift.I_rod"} <= set(names)
    assert not any(name.startswith(("lift.barrel", "lift.rod.")) for name in names)
    heavier = plain.with_values({"lift.m_barrel": 60.0})
    assert end(heavier, inputs, SEEN)[0] != pytest.approx(end(plain, inputs, SEEN)[0], rel=1e-9)


def test_a_stroke_that_is_given_closes_the_loop() -> None:
    kept = replace(crane_with(LinearDrive("lift", n=(0, 1), L=1.3, s=0.45)), stepper="")
    freed = replace(kept, components=tuple(_free(item) for item in kept.components))
    assert end(freed, {"lift.f": 0.0, "tilt.f": 0.0}, ("lift.s",), steps=0) == pytest.approx(0.45, abs=1e-12)


def _free(item: Component) -> Component:
    return replace(item, phi=None) if isinstance(item, Revolute) and item.name == "boom" else item


def test_forces_act_on_the_stroke_of_a_drive() -> None:
    free = crane_with(LinearDrive("lift", n=(0, 1), L=1.3))
    stop = TranslationalStop("end", joint="lift", lower=0.0, upper=0.3, c=1e5, d=0.0)
    stopped = replace(free, components=(*free.components, stop))
    inputs = {"lift.f": 0.0, "tilt.f": 0.0}
    pushed = end(stopped, inputs, ("lift.v",)) - end(free, inputs, ("lift.v",))
    assert pushed < -1e-3


def test_a_drive_in_toml_is_the_same_drive() -> None:
    crane = crane_with(HydraulicCylinder("lift", n=(0.0, 1.0), L=1.3, D=BORE, d=ROD))
    assert from_toml(to_toml(crane)) == crane


def test_a_drive_out_of_the_plane_or_without_mass_is_refused_by_name() -> None:
    with pytest.raises(AxisError, match=r"lift\.n .* leaves the plane"):
        derive(crane_with(LinearDrive("lift", n=(0, 0, 1))), None)
    with pytest.raises(ValueRangeError, match=r"lift\.m_rod = 0"):
        LinearDrive("lift", m_rod=0.0)
