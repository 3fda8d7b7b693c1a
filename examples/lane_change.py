"""A car in the severe double lane change of ISO 3888-1 at 80 km/h: a driver who looks ahead keeps it within the lanes.

The driver steers by where a point ahead of the car is beside the path (Kondo's preview), with a lag, and holds the
speed of the rear wheels. Widths and lengths of the lanes are those of the standard, for a car of the width b, as public
models have them: demo_VEH_HMMWV_DoubleLaneChange.cpp of Project Chrono, and
sm_car_trajectory_double_lane_change_iso3888.m of the Simscape Vehicle Templates (lengths alone). The second lane begins
3.5 m to the left of the first, right edge to right edge; Chrono measures from the middle of the first lane.

Run: python -m examples.lane_change [--plot FILE]
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

import mbfmu
from examples.report import Array, Curves, Found, Panel, Row, present
from mbfmu.model import (
    AbsoluteSensor,
    Block,
    Defined,
    FixedTranslation,
    Parameter,
    Port,
    State,
    Subsystem,
    System,
    connect,
    wire,
)

MODEL = "car"
SPEED = 80 / 3.6
"""m/s."""
WIDTH, NOSE, TAIL = 1.75, 2.1, -2.3
"""Width of the car's body, and its ends before the centre of mass, m."""
BEGIN, STOP = -20.0, 6.8
"""Place at the start, m, before the first lane, and end of the run, s."""
STEP = 4e-3
"""s."""
STEPS = (8e-3, 4e-3, 2e-3)
"""s, of the convergence."""
INTERVAL = 0.2
"""s, between the points at which runs are compared."""
WHEELS = ("fl", "fr", "rl", "rr")


@dataclass(frozen=True)
class Lane:
    """A lane between cones.

    Args:
        begin, length: place and length, m.
        right, width: place of the right edge, m to the left of the first lane's middle, and width, m.
    """

    begin: float
    length: float
    right: float
    width: float


EDGE = -(1.1 * WIDTH + 0.25) / 2
"""Right edge of the first lane, m."""
LANES = (
    Lane(0.0, 15.0, EDGE, 1.1 * WIDTH + 0.25),
    Lane(45.0, 25.0, EDGE + 3.5, 1.2 * WIDTH + 0.25),
    Lane(95.0, 15.0, EDGE, 1.3 * WIDTH + 0.25),
    Lane(110.0, 15.0, EDGE, 1.3 * WIDTH + 0.25),
)
"""Sections 1, 3, 5 and 6 of ISO 3888-1; 2 and 4, of 30 and 25 m, lie between them."""


def change(x: str) -> str:
    """Return the formula of a lane change from 0 to 1 while x goes from 0 to 1, with two smooth derivatives."""
    s = f"max(0, min(1, {x}))"
    return f"{s}**3*(10 - 15*{s} + 6*{s}**2)"


def driver() -> Block:
    """Return the driver: the point ahead and a rear wheel's speed in, steering wheel and torque of the drive out."""
    path = f"y_2*{change('(x - x_1)/l_1')} + (y_3 - y_2)*{change('(x - x_2)/l_2')}"
    return Block(
        name="driver",
        description="Steering by a point ahead, and a controller of the speed",
        inputs=(
            Port("x", "m", "place of the point ahead", nominal=100.0),
            Port("y", "m", "its place to the left"),
            Port("w", "rad/s", "angular velocity of a rear wheel", nominal=100.0),
        ),
        states=(State("steer", "(asked - steer)/lag", "rad", 0.0, "angle of the steering wheel", 1.0),),
        defined=(
            Defined("path", path, "m", "place of the path there", True),
            Defined("asked", "max(-most, min(most, gain*(path - y)))", "rad", "angle asked for"),
            Defined("drive", "k*(w_0 - w)", "N.m", "torque of the drive", True, 1e3),
        ),
        parameters=(
            Parameter("gain", 1.8, "rad/m", "angle of the steering wheel for a metre beside the path"),
            Parameter("lag", 0.05, "s", "time constant of the arms", min=1e-3),
            Parameter("most", 6.0, "rad", "largest angle"),
            Parameter("x_1", 17.6, "m", "begin of the first change"),
            Parameter("l_1", 19.1, "m", "its length", min=1.0),
            Parameter("x_2", 71.2, "m", "begin of the second change"),
            Parameter("l_2", 19.2, "m", "its length", min=1.0),
            Parameter("y_2", 3.44, "m", "path in the second lane"),
            Parameter("y_3", 0.22, "m", "path in the last lane"),
            Parameter("k", 200.0, "N.m.s/rad", "torque for the speed that is missing"),
            Parameter("w_0", SPEED / 0.3682, "rad/s", "angular velocity of the wheel asked for"),
        ),
    )


def driven_car() -> System:
    """Return the car with its driver, and with a sensor at its centre of mass."""
    car = mbfmu.load(MODEL)
    assert isinstance(car, System)
    return replace(
        car,
        name="lane_change",
        components=(
            *car.components,
            FixedTranslation("up", r=(0.0, 0.0, "h")),
            AbsoluteSensor("centre"),
            Subsystem("driver", driver()),
        ),
        connections=(
            *car.connections,
            connect("body.frame_a", "up.frame_a"),
            connect("up.frame_b", "centre.frame_a"),
        ),
        wires=(
            *car.wires,
            wire("view.r[1]", "driver.x"),
            wire("view.r[2]", "driver.y"),
            wire("rl_hub.w", "driver.w"),
            wire("driver.steer", "steering.u"),
            wire("driver.drive", "pedals.drive"),
        ),
        names={},
    ).with_values({"free.r_rel[1]": BEGIN, "v": SPEED, "preview": 14.2})


def attitude(run: mbfmu.Result) -> tuple[Array, Array]:
    """Return yaw to the left and roll to the right, rad, each of shape (n_t,)."""
    a, b, c, d = (run[f"free.Q_rel[{k}]"] for k in (1, 2, 3, 4))
    yaw = np.arctan2(2 * (a * d + b * c), 1 - 2 * (c * c + d * d))
    return yaw, np.arctan2(2 * (a * b + c * d), 1 - 2 * (b * b + c * c))


def corners(run: mbfmu.Result) -> list[tuple[Array, Array]]:
    """Return the paths (x, y) of the four corners of the body, m."""
    yaw, _ = attitude(run)
    x, y = run["free.r_rel[1]"], run["free.r_rel[2]"]
    return [
        (x + ahead * np.cos(yaw) - side * np.sin(yaw), y + ahead * np.sin(yaw) + side * np.cos(yaw))
        for ahead in (NOSE, TAIL)
        for side in (WIDTH / 2, -WIDTH / 2)
    ]


def room(run: mbfmu.Result, lane: Lane) -> float:
    """Return the least distance of the body's corners from the edges while they are in a lane, m; below 0: outside."""
    found = []
    for x, y in corners(run):
        inside = (x >= lane.begin) & (x <= lane.begin + lane.length)
        found += [(y[inside] - lane.right).min(), (lane.right + lane.width - y[inside]).min()]
    return float(min(found))


def sideways(run: mbfmu.Result) -> Array:
    """Return the lateral acceleration of the centre of mass in the car's direction, m/s2, shape (n_t,)."""
    yaw, _ = attitude(run)
    return np.asarray(run["centre.a[2]"] * np.cos(yaw) - run["centre.a[1]"] * np.sin(yaw))


def run() -> Found:
    """Drive through the lanes, with other steps, and by another method with a tight tolerance."""
    car = driven_car()
    course = mbfmu.simulate(car, STOP, step=STEP, output_interval=0.01)
    places = ("free.r_rel[1]", "free.r_rel[2]")
    tight = mbfmu.simulate(
        car, STOP, stepper="projected", options={"order": 8}, step=STEP, tolerance=1e-8, output_interval=INTERVAL
    )
    numbers: dict[str, float] = {}
    for h in STEPS:
        found = mbfmu.simulate(car, STOP, step=h, output_interval=INTERVAL)
        numbers[f"error, {h:g}"] = max(float(np.abs(found[name] - tight[name]).max()) for name in places)
    yaw, roll = attitude(course)
    speed = np.hypot(course["free.v_rel[1]"], course["free.v_rel[2]"])
    numbers |= {f"room in lane {k}": room(course, lane) for k, lane in enumerate(LANES, 1)}
    numbers |= {
        "lateral acceleration": float(np.abs(sideways(course)).max()),
        "roll": float(np.degrees(np.abs(roll).max())),
        "yaw": float(np.degrees(np.abs(yaw).max())),
        "steering": float(np.degrees(np.abs(course["driver.steer"]).max())),
        "slowest": float(speed.min() * 3.6),
        "fastest": float(speed.max() * 3.6),
        "least load": float(min(course[f"{wheel}_tyre.F_z"].min() for wheel in WHEELS)),
        "valid": float(min(course[f"{wheel}_tyre.valid"].min() for wheel in WHEELS)),
    }
    edges = [(lane, edge) for lane in LANES for edge in (lane.right, lane.right + lane.width)]
    cones: Curves = {
        "lanes": (
            np.concatenate([[lane.begin, lane.begin + lane.length, np.nan] for lane, _ in edges]),
            np.concatenate([[edge, edge, np.nan] for _, edge in edges]),
        )
    }
    names = ("front left", "front right", "rear left", "rear right")
    outline: Curves = dict(zip(names, corners(course), strict=True))
    x = course["free.r_rel[1]"]
    panels = (
        Panel("corners of the body", "x [m]", "y [m]", {**cones, **outline}, window=(-10, 130, -2, 6.5)),
        Panel("steering wheel", "x [m]", "angle [°]", {"steering wheel": (x, np.degrees(course["driver.steer"]))}),
        Panel("lateral acceleration", "x [m]", "a [m/s²]", {"lateral acceleration": (x, sideways(course))}),
        Panel("roll to the right", "x [m]", "angle [°]", {"roll": (x, np.degrees(roll))}),
    )
    return Found(numbers, panels, columns=2)


def main() -> dict[str, float]:
    """Return the room in the lanes (m), the car's motion (m/s2, degrees, km/h, N) and the errors of steps (m)."""
    return run().numbers


def rows(found: dict[str, float]) -> Sequence[Row]:
    """Return the rows of the table."""
    return [
        *(
            (f"least distance from the cones, section {section}", "above 0", f"{found[f'room in lane {k}']:.3f} m")
            for k, section in enumerate((1, 3, 5, 6), 1)
        ),
        ("speed", "80 +- 3 km/h", f"{found['slowest']:.1f} to {found['fastest']:.1f} km/h"),
        ("largest lateral acceleration", "-", f"{found['lateral acceleration']:.1f} m/s2"),
        (
            "largest roll angle, angle of the steering wheel",
            "-",
            f"{found['roll']:.1f}, {found['steering']:.0f} degrees",
        ),
        ("least load of a tyre", "above 0: no wheel lifts", f"{found['least load']:.0f} N"),
        *((f"error of the way with steps of {h * 1e3:g} ms", "-", f"{found[f'error, {h:g}']:.0e} m") for h in STEPS),
    ]


if __name__ == "__main__":
    present("The double lane change of ISO 3888-1 at 80 km/h", run, rows, "the standard")
