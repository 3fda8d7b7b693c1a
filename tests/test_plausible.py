"""Notices on values that a user may have meant otherwise."""

import pytest

import mbfmu
from mbfmu.dae.plausible import looks_like_degrees, unit_fault
from mbfmu.model import Block, Body, Defined, Parameter, Revolute, System, World, connect


def pendulum(phi: float | str, *parameters: Parameter) -> System:
    return System(
        "pendulum",
        planar=True,
        components=(World(), Revolute("hinge", phi=phi, w=0.0), Body("rod", m=1.0, r_CM=(0.5, 0.0), I_33=0.1)),
        connections=(connect("world.frame_b", "hinge.frame_a"), connect("hinge.frame_b", "rod.frame_a")),
        parameters=parameters,
    )


def test_a_start_angle_that_looks_like_degrees_gets_a_notice_with_what_to_write() -> None:
    with pytest.warns(UserWarning, match=r"hinge\.phi = 45 is more than two turns: for degrees write deg\(45\)"):
        mbfmu.simulate(pendulum(45), 0.01)
    mbfmu.simulate(pendulum("deg(45)"), 0.01)  # warnings are errors


def test_a_unit_by_its_name_gets_a_notice_with_its_symbol() -> None:
    with pytest.warns(UserWarning, match=r"the unit of l, 'meter', is not a symbol; did you mean 'm'\?"):
        mbfmu.simulate(pendulum(0.0, Parameter("l", 1.0, "meter")), 0.01)
    block = Block("gain", defined=(Defined("y", "2*time", "newtons", output=True),))
    with pytest.warns(UserWarning, match=r"the unit of y, 'newtons', is not a symbol; did you mean 'N'\?"):
        mbfmu.simulate(block, 0.01)


@pytest.mark.parametrize("angle", [15, -90.0, 22.5, 360.0])
def test_degrees_are_more_than_two_turns_in_halves(angle: float) -> None:
    assert looks_like_degrees(angle)
    assert not looks_like_degrees(angle * 0.0174532925)


@pytest.mark.parametrize("angle", [0.0, 7.0, 12.566370614359172, 1e9])
def test_angles_of_few_turns_and_limits_that_never_act_are_no_degrees(angle: float) -> None:
    assert not looks_like_degrees(angle)


@pytest.mark.parametrize("unit", ["", "1", "m", "N.m/rad", "m3/(s.Pa(1/2))", "kg.m2/s", "rev/min", "kN", "%", "Ohm.m"])
def test_symbols_of_the_si_are_units(unit: str) -> None:
    assert unit_fault(unit) == ""


@pytest.mark.parametrize(
    ("unit", "clause"),
    [
        ("meters/second", "did you mean 'm/second'"),
        ("Radians", "did you mean 'rad'"),
        ("furlong", "has no known symbol 'furlong'"),
    ],
)
def test_what_is_no_symbol_is_named(unit: str, clause: str) -> None:
    assert clause in unit_fault(unit)
