"""MuJoCo with many contacts: its soft contacts made as stiff as the step allows, see `mujoco_contacts`."""

import time
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.case import damping
from benchmarks.peers.mujoco_contacts import IMPEDANCE
from benchmarks.pile import Heap, Push, Seen, Watch, Way, push, steps

mujoco = import_module("mujoco")
mujoco.set_mju_user_warning(lambda _: None)

FREQUENCIES = (0.1, 0.3)
"""Frequencies of a contact, times the step, that are tried."""


def ways(task: Heap) -> Iterator[Way]:
    """Return Euler's method with contacts of some stiffnesses."""
    for frequency in FREQUENCIES:
        yield Way("mujoco", f"Euler, contact {frequency:g}/h", partial(run, task, frequency))


def run(task: Heap, frequency: float, h: float, watch: Watch | None) -> float:
    """Run the whole time; return the processor's time."""
    n = steps(task, h)
    model = mujoco.MjModel.from_xml_string(describe(task, frequency, task.stop / n))
    data = mujoco.MjData(model)
    begin = time.process_time()
    if watch is None:
        mujoco.mj_step(model, data, n)
    else:
        for _ in range(n):
            mujoco.mj_step(model, data)
            watch(seen(task, model, data))
    seconds = time.process_time() - begin
    return float("nan") if any(item.number for item in data.warning) else seconds


def seen(task: Heap, model: Any, data: Any) -> Seen:
    """Return the state after a step, and the forces that led there."""
    rates = data.qvel.reshape(-1, 6)
    turns = np.empty((len(rates), 9))
    for matrix, quaternion in zip(turns, data.qpos.reshape(-1, 7)[:, 3:], strict=True):
        mujoco.mju_quat2Mat(matrix, quaternion)
    r, v = data.qpos.reshape(-1, 7)[:, :3].copy(), rates[:, :3].copy()
    w = np.einsum("nij,nj->ni", turns.reshape(-1, 3, 3), rates[:, 3:])
    return Seen(r, v, w, [item for k in range(data.ncon) if (item := told(task, model, data, k, (r, v, w)))])


def told(task: Heap, model: Any, data: Any, k: int, state: Any) -> Push | None:
    """Return a contact with its force; None: it has none."""
    contact, force = data.contact[k], np.empty(6)
    if contact.efc_address < 0:
        return None
    mujoco.mj_contactForce(model, data, k, force)
    f = contact.frame.reshape(3, 3).T @ force[:3]  # on the second geometry
    first, second = (int(number) - len(task.walls) for number in contact.geom)  # the walls come first
    r, v, w = state
    return push(task, r, v, w, second, first if first >= 0 else -1 - (first + len(task.walls)), f)


def describe(task: Heap, frequency: float, h: float) -> str:
    """Return the model as MJCF."""
    w, ratio = frequency / h, damping(task.e)
    law = (
        f'solref="{-(w**2)!r} {-2 * ratio * w!r}" solimp="{IMPEDANCE}" condim="3" '
        f'friction="{task.mu!r} 0 0" priority="1"'
    )
    walls = "".join(
        f'<geom type="plane" size="0 0 1" zaxis="{n[0]} {n[1]} {n[2]}" pos="{n[0] * d} {n[1] * d} {n[2] * d}" {law}/>'
        for *n, d in task.walls.tolist()
    )
    spheres = "".join(
        f'<body pos="{x!r} {y!r} {z!r}"><freejoint/>'
        f'<geom type="sphere" size="{task.radius!r}" mass="{task.m!r}" {law}/></body>'
        for x, y, z in task.places.tolist()
    )
    return f"""<mujoco><option timestep="{h!r}" integrator="Euler" gravity="0 0 {-task.g!r}" solver="Newton"
        cone="elliptic" impratio="100" tolerance="1e-14" iterations="50"><flag refsafe="disable"/></option>
        <worldbody>{walls}{spheres}</worldbody></mujoco>"""
