"""Rotors that a body carries: the motion of body and rotor is that of two bodies, and of the momentum they share."""

import numpy as np
import pytest

import mbfmu
from mbfmu.model import (
    AxialInertia,
    AxisLaw,
    Body,
    CarriedRotor,
    Component,
    Revolute,
    Spherical,
    System,
    World,
    connect,
)

N = (0.6, 0.0, 0.8)
J = 0.2
WHOLE = np.diag([0.3, 0.5, 0.4])


def tensor(inertia: np.ndarray) -> dict[str, float]:
    return {f"I_{i}{j}": float(inertia[i - 1, j - 1]) for i, j in ((1, 1), (2, 2), (3, 3), (2, 1), (3, 1), (3, 2))}


def top(*rotor: Component, inertia: np.ndarray) -> System:
    """A body with a fixed point, spun off its axes, and a rotor in it that a damper slows down."""
    body = Body("body", m=1.0, r_CM=(0.2, 0.0, 0.0), **tensor(inertia))
    ball = Spherical("ball", Q_rel=(1.0, 0.0, 0.0, 0.0), w_rel=(0.3, 0.2, -0.5))
    ends = [("world.frame_b", "ball.frame_a"), ("ball.frame_b", "body.frame_a"), ("body.frame_a", "rotor.frame_a")]
    ends += [("rotor.frame_b", "wheel.frame_a")] if len(rotor) > 1 else []
    brake = AxisLaw("brake", joint="rotor", formula="-0.1*v")
    return System("top", (World(), ball, body, *rotor, brake), tuple(connect(*pair) for pair in ends))


def test_a_carried_rotor_moves_as_a_body_on_an_axis_with_what_it_has_taken_from_its_carrier() -> None:
    own = J * np.outer(N, N)
    carried = top(CarriedRotor("rotor", J=J, n=N, phi=0.0, w=30.0), inertia=WHOLE)
    apart = top(Revolute("rotor", n=N, phi=0.0, w=30.0), Body("wheel", m=0.0, **tensor(own)), inertia=WHOLE - own)
    one, other = (mbfmu.simulate(item, 1.0, step=2e-3, error_samples=0) for item in (carried, apart))
    for name in ("rotor.phi", "rotor.w", "body.w_a[1]", "body.w_a[2]", "body.w_a[3]", "energy.total"):
        np.testing.assert_allclose(one[name], other[name], rtol=1e-9, atol=1e-9, err_msg=name)


def test_a_motor_turns_rotor_and_body_against_each_other() -> None:
    """In the plane: J (a + dw) = tau and (I - J) dw = -tau, with the inertia I of the body and its rotor together."""
    inertia, tau = 0.7, 0.35
    system = System(
        "yo_yo",
        (
            World(g=0.0),
            Revolute("pin", phi=0.0, w=0.0),
            Body("body", I_33=inertia),
            CarriedRotor("rotor", J=J, phi=0.0, w=0.0),
            AxisLaw("motor", joint="rotor", formula=tau),
        ),
        (
            connect("world.frame_b", "pin.frame_a"),
            connect("pin.frame_b", "body.frame_a"),
            connect("body.frame_a", "rotor.frame_a"),
        ),
        planar=True,
    )
    found = mbfmu.simulate(system, 0.5, step=1e-3, error_samples=0)
    body = -tau / (inertia - J)
    assert found["pin.w"][-1] == pytest.approx(body * 0.5, rel=1e-9)
    assert found["rotor.w"][-1] == pytest.approx((tau / J - body) * 0.5, rel=1e-9)


def test_a_negative_inertia_about_an_axis_cancels_a_positive_one() -> None:
    def pendulum(*more: Component) -> System:
        body = Body("body", m=2.0, r_CM=(0.5, 0.0, 0.0), I_11=0.1, I_22=0.1, I_33=0.1)
        ends = [("world.frame_b", "pin.frame_a"), ("pin.frame_b", "body.frame_a")]
        ends += [("body.frame_a", f"{item.name}.frame_a") for item in more]
        pin = Revolute("pin", n=N, phi=0.4, w=0.0)
        return System("pendulum", (World(), pin, body, *more), tuple(connect(*pair) for pair in ends))

    pair = AxialInertia("more", J=0.3, n=N), AxialInertia("less", J=-0.3, n=N)
    one, other, heavier = (
        mbfmu.simulate(item, 0.5, step=1e-3, error_samples=0)["pin.phi"][-1]
        for item in (pendulum(), pendulum(*pair), pendulum(pair[0]))
    )
    assert one == pytest.approx(other, rel=1e-12)
    assert abs(heavier - one) > 1e-2
