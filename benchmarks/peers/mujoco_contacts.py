"""MuJoCo where something touches: its soft contacts made as stiff as the step allows, in its own loops.

A contact is a spring and a damper in terms of accelerations: ``solref`` with negative numbers, an impedance near 1, the
elliptic cone and Newton's solver. The damper gives the restitution. Pushes that change with time are the controls of
``mujoco.rollout``, at the middle of each step.
"""

import time
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from math import cos, sin

import numpy as np

from benchmarks.case import MOST, Case, End, damping, number_of_steps, touched
from benchmarks.task import Task

mujoco = import_module("mujoco")
mujoco.set_mju_user_warning(lambda _: None)
rollouts = import_module("mujoco.rollout")

FREQUENCIES = {"contact": (0.03, 0.1, 0.3), "frictionloss": (0.3, 1.0)}
"""Frequencies of a contact and of dry friction, times the step, that are tried."""
IMPEDANCE = "0.9999 0.9999 0.001 0.5 2"
"""The largest that MuJoCo does not cut off."""
RADIUS = 0.1


def cases(task: Task) -> Iterator[Case]:
    """Return Euler's method and RK4, each with contacts, or a joint's dry friction, of some stiffnesses."""
    laws = {"block": ("contact", "frictionloss"), "belt": ("frictionloss",)}.get(task.touching, ("contact",))
    for integrator in ("Euler", "RK4"):
        for law in laws:
            for frequency in FREQUENCIES[law]:
                once = partial(run, task, integrator, frequency, law)
                label = f"{integrator}, {law} {frequency:g}/h"
                yield Case(task, "mujoco", label, "joint", once, finest=task.stop / MOST)


def run(task: Task, integrator: str, frequency: float, law: str, h: float) -> End:
    """Run the whole time; return how it went."""
    n = number_of_steps(task, h)
    h = task.stop / n
    model = mujoco.MjModel.from_xml_string(describe(task, h, integrator, frequency, law))
    data = mujoco.MjData(model)
    value = task.values
    if task.touching == "belt":
        data.qvel[:] = value["v_belt"]
    elif task.touching == "puck":
        data.qvel[:2] = value["v_1"], value["v_2"]
    if task.touching == "block" and value["P"]:
        push = value["P"] * np.sin(value["omega_push"] * h * (np.arange(n) + 0.5))
        first = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
        mujoco.mj_getState(model, data, first, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        control, states = push[None, :, None], np.empty((1, n, first.size))
        begin = time.process_time()
        rollouts.rollout([model], [data], first[None], control, state=states, skip_checks=True, nstep=n)
        seconds = time.process_time() - begin
        mujoco.mj_setState(model, data, states[0, -1], mujoco.mjtState.mjSTATE_FULLPHYSICS)
    else:
        begin = time.process_time()
        mujoco.mj_step(model, data, n)
        seconds = time.process_time() - begin
    if any(item.number for item in data.warning):
        data.qpos[:] = np.nan
    q = data.qpos
    watched = (q[0], data.qvel[0]) if task.touching == "ball" else q
    found = dict(zip(task.exact, map(float, watched), strict=False))
    gap = 0.0 if task.touching == "belt" or law == "frictionloss" else q[-1]
    return touched(task, seconds, n, found, float(gap))


def describe(task: Task, h: float, integrator: str, frequency: float, law: str) -> str:
    """Return the model as MJCF."""
    value = task.values
    w, ratio = frequency / h, damping(value.get("e", 0.0))
    reference = f"{-(w**2)!r} {-2 * ratio * w!r}"
    g, alpha = value.get("g", value.get("world.g", 0.0)), value.get("alpha", 0.0)
    option = (
        f'<option timestep="{h!r}" integrator="{integrator}" gravity="{g * sin(alpha)!r} 0 {-g * cos(alpha)!r}" '
        f'solver="Newton" cone="elliptic" impratio="100" tolerance="1e-14" iterations="50">'
        '<flag refsafe="disable"/></option>'
    )
    if task.touching == "belt":
        return f"""<mujoco>{option}<worldbody>
            <body><joint name="mass" type="slide" axis="1 0 0" stiffness="{value["k"]!r}" damping="{value["c"]!r}"/>
            <inertial pos="0 0 0" mass="{value["m"]!r}" diaginertia="1 1 1"/></body>
            <body><joint name="belt" type="slide" axis="1 0 0"/>
            <inertial pos="0 0 0" mass="1e12" diaginertia="1e12 1e12 1e12"/></body>
            </worldbody><tendon><fixed frictionloss="{value["F_k"]!r}" solreffriction="{reference}"
            solimpfriction="{IMPEDANCE}"><joint joint="mass" coef="1"/><joint joint="belt" coef="-1"/></fixed></tendon>
            </mujoco>"""
    mu = value.get("mu", 0.0)
    dry = (
        f'frictionloss="{mu * value["m"] * g * cos(alpha)!r}" solreffriction="{reference}" solimpfriction="{IMPEDANCE}"'
        if law == "frictionloss"
        else ""
    )
    axes = {"ball": "z", "block": "xz", "puck": "xyz"}[task.touching]
    unit = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}
    start = {"ball": value.get("h", 0.0), "block": 0.0, "puck": value.get("height", 0.0)}[task.touching]
    joints = "".join(
        f'<joint name="{axis}" type="slide" axis="{unit[axis]}" ref="{start if axis == "z" else 0.0!r}"/>'
        for axis in axes
    )
    motor = '<actuator><motor joint="x"/></actuator>' if task.touching == "block" else ""
    if dry:
        return f"""<mujoco>{option}<worldbody><body><joint name="x" type="slide" axis="1 0 0" {dry}/>
            <inertial pos="0 0 0" mass="{value["m"]!r}" diaginertia="1 1 1"/></body></worldbody>
            <actuator><motor joint="x"/></actuator></mujoco>"""
    return f"""<mujoco>{option}<worldbody><geom name="ground" type="plane" size="0 0 1"/>
        <body pos="0 0 {RADIUS + start!r}">{joints}<geom name="it" type="sphere" size="{RADIUS}" mass="{value["m"]!r}"/>
        </body></worldbody><contact><pair geom1="ground" geom2="it" condim="{3 if mu else 1}" friction="{mu} {mu}"
        solref="{reference}" solimp="{IMPEDANCE}"/></contact>{motor}</mujoco>"""
