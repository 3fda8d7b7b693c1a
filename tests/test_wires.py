"""Wires: what they carry, what they cannot, and a machine as a whole against two other routes to its motion."""

import math
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import cache_key
from scipy.integrate import solve_ivp
from test_drives import BARREL, ROD_OF_DRIVE, crane_with

import mbfmu
from mbfmu.dae import derive
from mbfmu.errors import MbfmuError, ModelError, NameInUseError, UnknownNameError, UsageError, ValueRangeError
from mbfmu.fmu.interface import interface
from mbfmu.model import (
    Block,
    Body,
    BodyShape,
    Component,
    Defined,
    HydraulicCylinder,
    LinearDrive,
    Parameter,
    Port,
    Prismatic,
    Revolute,
    RotationalLuGreFriction,
    RotationalMaxwellDamper,
    RotationalMove,
    Sampled,
    State,
    Subsystem,
    System,
    Wire,
    World,
    WorldForce,
    connect,
    wire,
)
from mbfmu.model.toml import from_toml, to_toml
from mbfmu.prepared.prepare import prepare
from mbfmu.show.listing import description
from mbfmu.show.viewer import motion_of_model

LAW = Block(
    "law",
    inputs=(Port("phi", "rad"), Port("w", "rad/s"), Port("reference", "rad", start=0.5)),
    states=(State("I", "reference - phi", "rad.s"),),
    defined=(
        Defined("e", "reference - phi", "rad"),
        Defined("tau", "kp*e + ki*I - kd*w", "N.m", output=True),
    ),
    parameters=(
        Parameter("kp", 20.0, "N.m/rad"),
        Parameter("ki", 5.0, "N.m/(rad.s)"),
        Parameter("kd", 2.0, "N.m.s/rad"),
    ),
)
GAIN = Block("gain", (Port("u"),), (), (Defined("y", "k*u", output=True),), (Parameter("k", 2.0),))
LAG = Block(
    "lag", (Port("u"),), (State("x", "(u - x)/T"),), (Defined("y", "x", output=True),), (Parameter("T", 1.0, "s"),)
)
ROD = (Revolute("hinge", phi=0.0, w=0.0, actuated=True), Body("rod", m=1.0, r_CM=(0.5, 0.0), I_33=0.1))
SERVO = mbfmu.load("hydraulic_servo")
LOOP = (wire("hinge.phi", "law.phi"), wire("hinge.w", "law.w"), wire("law.tau", "hinge.tau"))
J, ARM = 0.1 + 1.0 * 0.5**2, 1.0 * 9.81 * 0.5
"""Inertia about the hinge, kg.m2, and weight times arm, N.m, of the rod."""


def machine(**changes: Any) -> System:
    """Return a rod on a driven hinge with its controller inside."""
    given: dict[str, Any] = {
        "planar": True,
        "components": (World(g=9.81), *ROD, LAW),
        "connections": (connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "rod.frame_a")),
        "wires": LOOP,
    }
    return System("machine", **{**given, **changes})


def rate(_: float, y: Any, kp: float = 20.0) -> list[float]:
    """Return the rate of [phi, w, I] of the machine."""
    phi, w, integral = y
    tau = kp * (0.5 - phi) + 5.0 * integral - 2.0 * w
    return [w, (tau - ARM * math.cos(phi)) / J, 0.5 - phi]


def solved(stop: float, **more: float) -> Any:
    """Return [phi, w, I] of the machine at the end, by another program."""
    return solve_ivp(
        lambda t, y: rate(t, y, **more), (0, stop), [0.0, 0.0, 0.0], method="DOP853", rtol=1e-12, atol=1e-13
    ).y[:, -1]


# -- what a wire carries ------------------------------------------------------------------------------------------


def test_a_machine_as_a_whole_moves_as_its_equations_do_in_another_solver() -> None:
    run = mbfmu.simulate(machine(), 1.0)
    found = [run["hinge.phi"][-1], run["hinge.w"][-1], run["law.I"][-1]]
    np.testing.assert_allclose(found, solved(1.0), atol=1e-11)  # measured 3e-13


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_machine_moves_as_one_block_with_all_its_equations(coordinates: str) -> None:
    block = Block(
        "whole",
        states=(
            State("phi", "w", "rad"),
            State("w", "(kp*(0.5 - phi) + 5*I - 2*w - 9.81/2*cos(phi))/0.35", "rad/s"),
            State("I", "0.5 - phi", "rad.s"),
        ),
        defined=(Defined("y", "phi", "rad", output=True),),
        parameters=(Parameter("kp", 20.0),),
    )
    given: dict[str, Any] = {"stepper": "radau", "step": 1e-3}
    run, other = mbfmu.simulate(machine(), 0.5, coordinates=coordinates, **given), mbfmu.simulate(block, 0.5, **given)
    np.testing.assert_allclose(run["hinge.phi"], other["y"], atol=1e-11)  # measured 4e-13
    np.testing.assert_allclose(run["law.I"], other["I"], atol=1e-11)


@pytest.mark.parametrize(("extrapolation", "order"), [(0, 1), (1, 2)])
def test_coupled_fmus_come_to_the_machine_as_a_whole_with_the_order_of_the_coupling(
    extrapolation: int, order: int, tmp_path: Path
) -> None:
    given: dict[str, Any] = {"stepper": "radau", "step": 1 / 2048}
    plant = mbfmu.export(machine(components=(World(g=9.81), *ROD), wires=()), tmp_path / "plant.fmu", **given)
    law = mbfmu.export(LAW, tmp_path / "law.fmu", **given)
    wires = (("plant.hinge.phi", "law.phi"), ("plant.hinge.w", "law.w"), ("law.tau", "plant.hinge.tau"))
    whole = mbfmu.simulate(machine(), 0.5, **given)["hinge.phi"][-1]

    def away(step: float) -> float:
        run = mbfmu.couple(
            {"plant": plant, "law": law}, wires, 0.5, step, order="jacobi", extrapolation=extrapolation,
            outputs=["plant.hinge.phi"],
        )  # fmt: skip
        return abs(float(run["plant.hinge.phi"][-1]) - whole)

    assert math.log2(away(1 / 1024) / away(1 / 2048)) == pytest.approx(order, abs=0.2)


@pytest.mark.parametrize("factor", [1, 1.0, "1"])
def test_an_explicit_factor_of_1_carries_a_unit_and_a_missing_one_does_not(factor: float | str) -> None:
    loop = (wire("hinge.w", "law.phi", factor), wire("hinge.w", "law.w"), wire("law.tau", "hinge.tau"))
    derive(machine(wires=loop))
    with pytest.raises(ModelError, match=r"'hinge\.w' is in rad/s and 'law\.phi' in rad; give a factor"):
        derive(machine(wires=(wire("hinge.w", "law.phi"), *loop[1:])))
    model = System("factors", (LAG, replace(LAG, name="other")), wires=(wire("lag.y", "other.u", factor),))
    assert from_toml(to_toml(model)) == model


def test_a_controller_of_the_library_takes_a_length_and_gives_a_force_and_is_the_law_written_by_hand() -> None:
    """K (r - s) - K T_d s' behind its filter, with the integral left out by a long T_i: the poles are those of it."""
    K, T_d, N, m = 50.0, 0.2, 40.0, 2.0
    rail = System(
        "rail",
        planar=True,
        components=(
            World(g=0.0),
            Prismatic("rail", n=(2, 0), s=0.0, v=0.0, actuated=True),
            Body("mass", m=m, I_33=1.0),
            Subsystem("pid", mbfmu.load("pid"), {"K": K, "T_d": T_d, "N": N, "T_i": 1e12}),
        ),
        connections=(connect("world.frame_b", "rail.frame_a"), connect("rail.frame_b", "mass.frame_a")),
        wires=(wire("rail.s", "pid.measured"), wire("pid.y", "rail.f")),
    )
    run = mbfmu.simulate(rail, 1.0, inputs={"pid.reference": 0.1}, step=1e-3)

    def law(_: float, y: Any) -> list[float]:
        s, v, filtered = y
        return [v, (K * (0.1 - s) - K * N * (s - filtered)) / m, (s - filtered) * N / T_d]

    end = solve_ivp(law, (0.0, 1.0), [0.0, 0.0, 0.0], rtol=1e-11, atol=1e-13).y[0, -1]
    assert run["rail.s"][-1] == pytest.approx(end, rel=1e-8)


def test_factor_and_offset_may_be_expressions_of_parameters_of_the_wires_system() -> None:
    """2 c' = 1.5 (3 (-1.5 c)) + 3 - c in units of T = 0.5."""
    parts = (
        Subsystem("a", GAIN, {"k": "g"}),
        Subsystem("b", GAIN, {"k": 3.0}),
        Subsystem("c", LAG, {"x": "g", "T": 0.5}),
    )
    wires = (wire("a.y", "b.u"), wire("b.y", "c.u", factor="g", offset="2*g"), wire("c.y", "a.u", -1))
    pole = -(1 + 1.5 * 3 * 1.5) / 0.5
    rest = 3 / (1 + 1.5 * 3 * 1.5)
    ends = []
    for order in (parts, parts[::-1], (parts[1], parts[2], parts[0])):
        run = mbfmu.simulate(System("chain", order, parameters=(Parameter("g", 1.5),), wires=wires), 0.1)
        assert run["c.x"][-1] == pytest.approx(rest + (1.5 - rest) * math.exp(pole * 0.1), rel=1e-10)
        ends.append((run["a.y"][-1], run["b.y"][-1]))
    assert ends[0] == pytest.approx(ends[1], rel=1e-13)
    assert ends[0] == pytest.approx(ends[2], rel=1e-13)
    run = mbfmu.simulate(System("chain", parts, parameters=(Parameter("g", 1.5),), wires=wires), 0.1, values={"g": 2.0})
    assert run["c.x"][0] == 2.0


@pytest.mark.slow
def test_pressures_of_a_servo_in_a_cylinder_are_its_force_on_a_drive_and_on_its_parts() -> None:
    """The force on a joint, in both coordinates, the force on a drive, and the pressures move the crane alike.

    Measured: to 1e-12 of the change of the stroke.
    """
    size: dict[str, Any] = {"n": (0, 1), "L": 1.3, **BARREL, **ROD_OF_DRIVE}
    signals = (wire("lift.s", "servo.s"), wire("lift.v", "servo.v"))
    force = (*signals, wire("servo.f", "lift.f"))
    pressures = (*signals, wire("servo.p_a", "lift.p_a"), wire("servo.p_b", "lift.p_b"))
    parts = mbfmu.load("crane")
    assert isinstance(parts, System)
    ways = (
        (parts, force, "joint"),
        (parts, force, "absolute"),
        (crane_with(LinearDrive("lift", **size)), force, "joint"),
        (crane_with(HydraulicCylinder("lift", D=0.063, d=0.036, **size)), pressures, "joint"),
    )
    ends = []
    for crane, wires, coordinates in ways:
        driven = replace(crane, components=(*crane.components, Subsystem("servo", SERVO)), wires=wires)
        run = mbfmu.simulate(
            driven, 0.05, coordinates=coordinates, inputs={"servo.command": 0.1}, output_interval=0.05,
            values={"servo.F_c": 0.0, "servo.F_s": 0.0, "servo.b": 0.0},
        )  # fmt: skip
        ends.append((run["lift.s"][-1] - run["lift.s"][0], run["servo.p_a"][-1]))
    for end in ends[1:]:
        assert end == pytest.approx(ends[0], rel=1e-10)


@pytest.mark.parametrize(
    ("part", "name"),
    [
        (RotationalMaxwellDamper("shock", joint="hinge", c=50.0, d=3.0), "shock.tau"),
        (RotationalLuGreFriction("shock", joint="hinge", f_c=0.5, peak=1.2), "shock.z"),
    ],
)
def test_a_state_of_a_component_goes_along_a_wire(part: Component, name: str) -> None:
    measured = machine(
        components=(World(g=9.81), *ROD, part, GAIN),
        wires=(wire(name, "gain.u", "c", 0.5),),
        parameters=(Parameter("c", 0.25),),
    )
    run = mbfmu.simulate(measured, 0.2)
    np.testing.assert_allclose(run["gain.y"], 2 * (0.25 * run[name] + 0.5), rtol=1e-13)
    assert abs(run[name][-1]) > 1e-6


def test_a_row_of_blocks_may_be_long_and_stand_in_any_order() -> None:
    """Longer than calls can be nested; each block passes its input on."""
    row = System(
        "row",
        tuple(Subsystem(f"g{k}", GAIN, {"k": 1.0}) for k in range(500)),
        wires=tuple(wire(f"g{k + 1}.y", f"g{k}.u", 1.0, 1.0) for k in range(499)),
    )
    dae = derive(row)
    assert [item.name for item in dae.inputs] == ["g499.u"]
    y = dae.output([], [], [], [], [], [], [3.0], dae.p_default(), 0.0)
    assert float(y[0]) == 3.0 + 499
    chain = tuple(Defined(f"y{k}", f"y{k + 1} + 1") for k in range(500))
    dae = derive(Block("chain", (Port("u"),), (), (*chain, Defined("y500", "u", output=True))))
    assert float(dae.output([], [], [], [], [], [], [3.0], [], 0.0)[0]) == 503.0


def test_vectors_of_equal_length_are_carried_entry_by_entry() -> None:
    def pushed(*wires: Wire) -> Any:
        return mbfmu.simulate(
            System(
                "pushed",
                (World(), Revolute("hinge", phi=0.1), Body("rod", m=1, r_CM=(0.5, 0, 0), I_33=0.1, I_22=0.1, I_11=0.1),
                 WorldForce("push")),
                (connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "rod.frame_a"),
                 connect("rod.frame_a", "push.frame_b")),
                wires=wires,
            ),
            0.05,
            coordinates="absolute",
        )  # fmt: skip

    one = pushed(wire("rod.v_0", "push.f", -10))
    three = pushed(*(wire(f"rod.v_0[{k}]", f"push.f[{k}]", -10) for k in (1, 2, 3)))
    assert one.names == three.names
    assert np.array_equal(one.values, three.values)
    with pytest.raises(ModelError, match=r"'rod\.r_0' is a vector and the other end is not of its length: name an ent"):
        pushed(wire("rod.r_0", "push.f[1]", 3))
    with pytest.raises(ModelError, match=r"'push\.f' is a vector"):
        pushed(wire("hinge.w", "push.f", 3))


def test_an_input_that_no_wire_goes_to_is_an_input_of_the_machine(tmp_path: Path) -> None:
    dae = derive(machine(wires=LOOP[:2]))
    assert [item.name for item in dae.inputs] == ["hinge.tau", "law.reference"]
    assert [item.start for item in dae.inputs] == [0.0, 0.5]
    rows = interface(prepare(machine(), None, None, 1e-3)).variables
    assert [item.name for item in rows if item.causality == "input"] == ["law.reference"]
    run = mbfmu.simulate(machine(), 0.2, inputs={"law.reference": "0.5*sin(time)"})
    path = mbfmu.export(machine(), tmp_path / "m.fmu", step=1e-3)
    other = mbfmu.simulate(path, 0.2, inputs={"law.reference": "0.5*sin(time)"})
    assert run["hinge.phi"][-1] == pytest.approx(other["hinge.phi"][-1], rel=1e-4)
    with pytest.raises(UnknownNameError, match=r"has no input 'hinge\.tau'"):
        mbfmu.simulate(machine(), 0.2, inputs={"hinge.tau": 1.0})


@pytest.mark.parametrize("backend", ["python", "native"])
def test_a_machine_becomes_an_fmu_without_a_problem_that_runs_as_it_does(backend: str, tmp_path: Path) -> None:
    path = mbfmu.export(machine(), tmp_path / "m.fmu", step=1e-3, backend=backend)
    assert mbfmu.check(path) == []
    found, wanted = mbfmu.simulate(path, 0.2), mbfmu.simulate(machine(), 0.2)
    for name in ("hinge.phi", "law.I", "law.tau", "law.e"):
        np.testing.assert_allclose(found[name][-1], wanted[name][-1], rtol=1e-11)


def test_wires_lead_inside_sub_systems_and_into_them() -> None:
    """The outer wires use the names that the sub-system gives to its input and output."""
    inner = System(
        "inner",
        (Subsystem("a", GAIN), Subsystem("c", LAG)),
        wires=(wire("a.y", "c.u"),),
        names={"into": "a.u", "out": "c.y"},
    )
    outer = System(
        "outer", (Subsystem("s", inner), Subsystem("g", LAG)), wires=(wire("g.y", "s.into"), wire("s.out", "g.u", -1))
    )
    assert [item.name for item in derive(replace(outer, wires=outer.wires[1:])).inputs] == ["s.into"]
    run = mbfmu.simulate(outer, 1.0, values={"g.x": 1.0}, step=0.01)
    # g' = -c - g, c' = 2 g - c: a decaying turn with the rate sqrt(2)
    assert run["s.out"][-1] == pytest.approx(math.exp(-1) * math.sqrt(2) * math.sin(math.sqrt(2)), rel=1e-9)
    assert run["g.x"][-1] == pytest.approx(math.exp(-1) * math.cos(math.sqrt(2)), rel=1e-9)


def test_a_block_used_four_times_has_its_own_parameters_and_states() -> None:
    four = System("four", tuple(Subsystem(f"axis{k}", LAG, {"T": float(k)}) for k in range(1, 5)))
    assert four.values() == tuple(f"axis{k}.{name}" for k in range(1, 5) for name in ("T", "x"))
    run = mbfmu.simulate(
        four, 1.0, values={"axis1.T": 0.5, "axis2.x": 3.0}, inputs={f"axis{k}.u": 1.0 for k in range(1, 5)}
    )
    wanted = {1: 1 - math.exp(-2), 2: 1 + 2 * math.exp(-1 / 2), 3: 1 - math.exp(-1 / 3), 4: 1 - math.exp(-1 / 4)}
    for k, value in wanted.items():
        assert run[f"axis{k}.y"][-1] == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("backend", ["python", "native"])
def test_a_system_of_blocks_alone_becomes_an_fmu_that_runs_as_it_does(backend: str, tmp_path: Path) -> None:
    loop = System(
        "loop",
        (Subsystem("a", LAG), Subsystem("b", LAG, {"T": 0.5})),
        wires=(wire("a.y", "b.u"), wire("b.y", "a.u", -1)),
    )
    path = mbfmu.export(loop.with_values({"a.x": 1.0}), tmp_path / "loop.fmu", step=0.01, backend=backend)
    assert mbfmu.check(path) == []
    found, wanted = mbfmu.simulate(path, 0.5), mbfmu.simulate(loop, 0.5, step=0.01, values={"a.x": 1.0})
    np.testing.assert_allclose(found["b.y"], wanted["b.y"], rtol=1e-13)
    exact = solve_ivp(lambda _, y: [-y[1] - y[0], 2 * (y[0] - y[1])], (0, 0.5), [1.0, 0.0], rtol=1e-12, atol=1e-13)
    assert wanted["b.y"][-1] == pytest.approx(exact.y[1, -1], rel=1e-9)


def test_other_names_are_those_of_results_values_inputs_and_of_the_fmu() -> None:
    named = machine(names={"q": "hinge.phi", "gain": "law.kp", "target": "law.reference", "sum": "law.I"})
    given = {"q": 0.1, "gain": 10.0, "sum": 0.2}
    full = {"hinge.phi": 0.1, "law.kp": 10.0, "law.I": 0.2}
    run = mbfmu.simulate(named, 0.1, values=given, inputs={"target": 0.3})
    other = mbfmu.simulate(machine(), 0.1, values=full, inputs={"law.reference": 0.3})
    assert np.array_equal(run["q"], other["hinge.phi"])
    assert np.array_equal(run["sum"], other["law.I"])
    rows = {item.name: item.causality for item in interface(prepare(named, None, None, 1e-3)).variables}
    assert (rows["q"], rows["gain"], rows["target"]) == ("output", "parameter", "input")
    assert not {"hinge.phi", "law.kp", "law.reference", "law.I"} & rows.keys()
    assert {"q", "gain", "sum"} <= set(named.values())


# -- what no wire carries -----------------------------------------------------------------------------------------


def moved(**changes: Any) -> System:
    """Return a rod whose motion an input gives, beside a block."""
    parts = (World(), Revolute("hinge"), ROD[1], RotationalMove("move", joint="hinge"), Subsystem("law", LAW))
    return machine(components=parts, **changes)


def turning(**changes: Any) -> System:
    """Return a rod that turns in space, beside a block."""
    parts = (World(), Revolute("hinge"), Body("rod", m=1, r_CM=(0.5, 0, 0), I_33=0.1, I_22=0.1, I_11=0.1), LAW)
    return machine(components=parts, planar=False, **changes)


WRONG: Mapping[str, tuple[Callable[[], System], type[MbfmuError], str]] = {
    "from no component": (
        lambda: machine(wires=(wire("hing.phi", "law.phi"),)),
        UnknownNameError,
        r"wire\('hing\.phi', 'law\.phi'\) in 'machine': there is no component 'hing'; did you mean 'hinge'",
    ),
    "from no signal": (
        lambda: machine(wires=(wire("hinge.phii", "law.phi"),)),
        UnknownNameError,
        r"in 'machine': there is no signal 'hinge\.phii'; did you mean 'hinge\.phi'",
    ),
    "from nothing of a block": (
        lambda: machine(wires=(wire("law.tao", "hinge.tau"),)),
        UnknownNameError,
        "block 'law' has no quantity 'tao'; did you mean 'tau'",
    ),
    "to no input": (
        lambda: machine(wires=(wire("law.tau", "hinge.tao"),)),
        UnknownNameError,
        r"there is no input 'hinge\.tao'; did you mean 'hinge\.tau'",
    ),
    "to a joint that is not driven": (
        lambda: machine(components=(World(), Revolute("hinge"), ROD[1], LAW)),
        UnknownNameError,
        r"there is no input 'hinge\.tau'; 'hinge' has inputs if it is given actuated=True",
    ),
    "a power that follows from the wire itself": (
        lambda: machine(
            components=(World(), ROD[0], BodyShape("rod", m=1.0, r=(1.0, 0.0), I_33=0.1), WorldForce("push"), LAW),
            connections=(*machine().connections, connect("rod.frame_b", "push.frame_b")),
            wires=(wire("push.power", "law.phi", 2.0), wire("law.tau", "push.f[1]", 2.0)),
        ),
        ModelError,
        r"signals form an algebraic loop: .*push\.power -> law\.phi.* -> law\.tau -> push\.f\[1\]",
    ),
    "names that are no dictionary": (
        lambda: machine(names=("q", "hinge.phi")),
        ModelError,
        "must be a dictionary of names of variables",
    ),
    "to no input of a block": (
        lambda: machine(wires=(wire("hinge.phi", "law.e"),)),
        UnknownNameError,
        "block 'law' has no input 'e'; known: phi, reference, w",
    ),
    "in a sub-system": (
        lambda: System("o", (Subsystem("s", System("i", (LAW, GAIN), wires=(wire("gain.z", "law.w", 2),))),)),
        UnknownNameError,
        r"wire\('gain\.z', 'law\.w'\) in 's': block 's\.gain' has no quantity 'z'",
    ),
    "a parameter that is not there": (
        lambda: machine(wires=(wire("hinge.phi", "law.phi", factor="n"),)),
        UnknownNameError,
        r"wire\('hinge\.phi', 'law\.phi'\) in 'machine': factor = 'n': there is no parameter 'n'",
    ),
    "a factor that is infinite": (
        lambda: machine(wires=(wire("hinge.phi", "law.phi", offset="1/(2 - 2)"),)),
        ValueRangeError,
        r"wire\(.*\) in 'machine': offset = '1/\(2 - 2\)' is inf: correct it",
    ),
    "another unit": (
        lambda: machine(wires=(wire("hinge.w", "law.phi"),)),
        ModelError,
        r"'hinge\.w' is in rad/s and 'law\.phi' in rad; give a factor that converts it",
    ),
    "an acceleration": (
        lambda: machine(wires=(wire("hinge.a", "law.phi", 1e-3),)),
        ModelError,
        r"no wire can carry 'hinge\.a': it depends on accelerations or constraint forces; take a coordinate",
    ),
    "to one input twice": (
        lambda: machine(wires=(*LOOP, wire("law.e", "law.phi"))),
        ModelError,
        r"wire\('law\.e', 'law\.phi'\) and wire\('hinge\.phi', 'law\.phi'\) in 'machine' go to one input",
    ),
    "to an input of a sub-system that has a wire there": (
        lambda: System(
            "o",
            (Subsystem("s", System("i", (LAG, GAIN), wires=(wire("lag.y", "gain.u"),))), LAG),
            wires=(wire("lag.y", "s.gain.u"),),
        ),
        ModelError,
        r"wire\('lag\.y', 's\.gain\.u'\) and wire\('lag\.y', 'gain\.u'\) both go to 's\.gain\.u'|"
        r"wire\('lag\.y', 'gain\.u'\) and wire\('lag\.y', 's\.gain\.u'\) both go to 's\.gain\.u'",
    ),
    "a motion": (
        lambda: moved(wires=(wire("law.e", "move.phi"),)),
        ModelError,
        r"a wire goes to 'move\.phi', which prescribes a motion",
    ),
    "a circle of three blocks": (
        lambda: System(
            "o",
            tuple(Subsystem(name, GAIN) for name in "abc"),
            wires=(wire("a.y", "b.u"), wire("b.y", "c.u"), wire("c.y", "a.u")),
        ),
        ModelError,
        r"signals form an algebraic loop: a\.y -> b\.u -> b\.y -> c\.u -> c\.y -> a\.u -> a\.y; break it",
    ),
    "a circle of one block": (
        lambda: machine(wires=(wire("law.e", "law.reference"),)),
        ModelError,
        r"form an algebraic loop: law\.reference -> law\.e -> law\.reference",
    ),
    "a name of nothing": (
        lambda: machine(names={"q": "hinge.psi"}),
        UnknownNameError,
        r"names of 'machine': q = 'hinge\.psi', but there is no such variable; did you mean 'hinge\.phi'",
    ),
    "two names of one variable": (
        lambda: machine(names={"q": "hinge.phi", "angle": "hinge.phi"}),
        NameInUseError,
        r"'hinge\.phi' has two other names",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_no_wire_can_do_is_refused_by_name(case: str) -> None:
    make, kind, text = WRONG[case]
    with pytest.raises(kind, match=text):
        derive(make())


def test_an_angle_known_only_up_to_turns_is_carried_in_joint_coordinates() -> None:
    spatial = turning(wires=LOOP[:1])
    with pytest.raises(ModelError, match=r"the angle is known only up to full turns; use joint coordinates"):
        derive(spatial, "absolute")
    assert derive(spatial, "joint").states[0].name == "law.I"


# -- tools --------------------------------------------------------------------------------------------------------


def test_a_stiff_drive_inside_a_mechanism_runs_with_plain_defaults() -> None:
    """The current loop of the motor has a time constant of 0.3 ms, its gear one of 10 us; the step is 1 ms."""
    driven = machine(
        components=(World(g=0.0), *ROD, Subsystem("motor", mbfmu.load("dc_motor"))),
        wires=(wire("hinge.w", "motor.w"), wire("motor.tau", "hinge.tau")),
    )
    run = mbfmu.simulate(driven, 0.1, inputs={"motor.i_ref": 5.0})
    assert run.stepper == "radau stages=5"
    assert "for which projected order=8 needs steps of at most" in run.reason
    # the current lags behind its reference by the ramp of the counter-voltage over k_i = w_c R
    n, k_t, rotor, k_i = 156.0, 0.0302, 1.38e-5, 3000.0 * 0.317
    steady = n * k_t * (5.0 - 0.137) / (J + n**2 * rotor + (n * k_t) ** 2 / k_i)
    assert (run["hinge.w"][-1] - run["hinge.w"][-51]) / 0.05 == pytest.approx(steady, rel=0.01)


def test_a_wire_that_feeds_motion_back_as_a_force_counts_as_a_spring() -> None:
    held = machine(components=(World(), *ROD), wires=(wire("hinge.phi", "hinge.tau", -1e4),))
    assert mbfmu.simulate(held, 0.01).stepper == "rattle iteration=newton"
    free = machine(components=(World(), *ROD), wires=())
    assert mbfmu.simulate(free, 0.01).stepper == "projected order=4"


def test_the_energy_that_blocks_put_into_a_mechanism_is_counted() -> None:
    run = mbfmu.simulate(machine(), 1.0, energy_balance=True)
    assert abs(run["energy.balance"]).max() < 1e-9  # measured 2e-11
    work = np.trapezoid(run["law.tau"] * run["hinge.w"], run.time)
    assert run["energy.total"][-1] - run["energy.total"][0] == pytest.approx(work, rel=1e-4)


def test_a_machine_is_linearised_as_its_equations_are() -> None:
    found = mbfmu.linearize(machine())
    assert found.states == ("hinge.phi", "der(hinge.phi)", "law.I")
    np.testing.assert_allclose(found.A, [[0, 1, 0], [-20 / J, -2 / J, 5 / J], [-1, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(found.B, [[0], [20 / J], [1]], atol=1e-12)


@pytest.mark.parametrize(
    "changed",
    [
        machine(wires=LOOP[:2]),
        machine(wires=(*LOOP[:2], wire("law.tau", "hinge.tau", 2.0))),
        machine(wires=(*LOOP[:2], wire("law.tau", "hinge.tau", offset=1.0))),
        machine(names={"q": "hinge.phi"}),
        machine(components=(World(g=9.81), *ROD, replace(LAW, states=(State("I", "2*(reference - phi)", "rad.s"),)))),
        machine(components=(World(g=9.81), *ROD, Subsystem("law", LAW))),
        machine(components=(World(g=9.81), *ROD, Subsystem("law", LAW, {"kp": 2.0}))),
    ],
)
def test_a_block_or_wire_that_changes_starts_anew(changed: System) -> None:
    keys = [cache_key(item, None, {}, None, tolerant=False) for item in (machine(), machine(), changed)]
    assert keys[0] is not None
    assert keys[2] is not None
    assert keys[0] == keys[1] != keys[2]


def test_a_machine_starts_warm_with_the_same_numbers() -> None:
    runs = [mbfmu.simulate(machine(), 0.1) for _ in range(2)]
    assert np.array_equal(runs[0].values, runs[1].values)


def test_the_description_of_a_machine_lists_its_blocks_and_wires() -> None:
    found = description(machine(wires=(*LOOP[:2], wire("law.tau", "hinge.tau", 2.0, "1/2")), names={"q": "hinge.phi"}))
    assert found["blocks"] == [
        {"name": "law", "type": "Block", "period": "", "inputs": ["phi", "w", "reference"], "states": ["I"],
         "outputs": ["tau"]}
    ]  # fmt: skip
    assert [row["from"] for row in found["wires"]] == ["hinge.phi", "hinge.w", "law.tau"]
    assert found["wires"][2] == {"from": "law.tau", "to": "hinge.tau", "factor": 2.0, "offset": "1/2"}
    assert [row["name"] for row in found["joints"]] == ["hinge"]
    counts = {row["what"]: row["which"] for row in found["counts"]}
    assert (counts["states"], counts["inputs"]) == (["law.I"], ["law.reference"])


def test_the_description_of_blocks_alone_has_no_bodies() -> None:
    inner = System("inner", (GAIN, Sampled(replace(GAIN, name="held"), 0.1)), wires=(wire("gain.y", "held.u"),))
    found = description(System("outer", (Subsystem("s", inner),)))
    assert found.keys() == {"blocks", "wires", "variables", "counts"}
    assert [(row["name"], row["type"], row["period"]) for row in found["blocks"]] == [
        ("s.gain", "Block", ""), ("s.held", "Sampled", 0.1),
    ]  # fmt: skip
    assert found["wires"] == [{"from": "s.gain.y", "to": "s.held.u", "factor": 1.0, "offset": 0.0}]


def test_blocks_alone_are_neither_compared_nor_viewed() -> None:
    alone = System("alone", (LAG,))
    with pytest.raises(UsageError, match="'alone' has blocks only, and this compares the coordinates of mechanisms"):
        mbfmu.compare(alone, 1.0)
    with pytest.raises(UsageError, match="'alone' is a block of equations, and this takes a mechanism"):
        motion_of_model(alone, 1.0)


def test_a_machine_is_viewed_moving_as_it_runs() -> None:
    seen = motion_of_model(machine(), 0.5).result["hinge.phi"]
    assert seen[-1] == pytest.approx(solved(0.5)[0], abs=1e-9)


def test_an_fmu_of_a_machine_documents_its_states_and_samplings(tmp_path: Path) -> None:
    held = Sampled(replace(GAIN, name="held"), 0.1)
    model = machine(components=(World(g=9.81), *ROD, LAW, held), wires=(*LOOP, wire("law.e", "held.u", 2.0)))
    path = mbfmu.export(model, tmp_path / "m.fmu", step=1e-3)
    with zipfile.ZipFile(path) as archive:
        page = archive.read("documentation/index.html").decode("utf-8")
    assert "<tr><th>states</th><td>1: law.I</td></tr>" in page
    assert "<tr><th>sampled blocks</th><td>1: held</td></tr>" in page
    assert "<svg" in page
    assert "<code>law.reference</code>" in page


def test_a_sweep_varies_parameters_and_start_values_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    studies: list[Any] = []

    def note(study: Any, _: Any, todo: list[Any], *__: Any) -> dict[Any, Any]:
        studies.append(study)
        return dict.fromkeys(todo)

    monkeypatch.setattr("mbfmu.analysis.study.run", note)
    mbfmu.sweep(
        machine(), 0.2, measures={"end": "last(hinge.phi)"}, vary={"law.kp": [10.0], "law.I": [0.0, 0.5]}
    )  # fmt: skip
    row = studies[0].row({"law.kp": 10.0, "law.I": 0.0})
    assert row.measures["end"] == pytest.approx(solved(0.2, kp=10.0)[0], abs=1e-9)
    assert studies[0].row({"law.kp": 10.0, "law.I": 0.5}).measures["end"] > row.measures["end"]


# -- the command line -----------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the machine in a file."""
    text = to_toml(replace(machine(), components=(World(g=9.81), *ROD, Subsystem("law", LAW))))
    (tmp_path / "machine.toml").write_text(text, encoding="utf-8")
    return tmp_path


def command(folder: Path, *words: str) -> str:
    """Return what a command shows."""
    done = subprocess.run(
        [sys.executable, "-m", "mbfmu", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_parameters_and_start_values_of_blocks_are_set_on_the_command_line(folder: Path) -> None:
    words = ("simulate", "machine.toml", "--stop", "0.5", "--set", "law.kp=10", "--set", "law.I=0.3", "-o", "run.csv")
    command(folder, *words)
    header, *rows = (folder / "run.csv").read_text(encoding="utf-8").splitlines()
    names = [name.strip('"') for name in header.split(",")]
    place = next(number for number, name in enumerate(names) if name.startswith("law.I"))
    assert float(rows[0].split(",")[place]) == 0.3
    wanted = mbfmu.simulate(folder / "machine.toml", 0.5, values={"law.kp": 10.0, "law.I": 0.3})
    assert float(rows[-1].split(",")[place]) == pytest.approx(wanted["law.I"][-1], rel=1e-6)
