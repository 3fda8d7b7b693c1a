"""MuJoCo: RK4 on the tree by its own loop, mj_step with a number of steps; loops by stiff `connect` constraints."""

import time
from collections.abc import Iterator
from importlib import import_module
from xml.etree import ElementTree

import numpy as np

from benchmarks.case import MOST, Case, End, judged, number_of_steps
from benchmarks.task import Link, Task, Vector3

mujoco = import_module("mujoco")
mujoco.set_mju_user_warning(lambda _: None)  # else a run that diverges leaves a file MUJOCO_LOG.TXT

FASTEST = 1.0
"""Frequency of a stiff `connect` constraint, times the step: the most accurate of 0.5, 1, 2 and 4."""


def cases(task: Task) -> Iterator[Case]:
    """Return RK4; with loops, also with the constraints as stiff as the step allows."""
    if task.loaded:
        return
    yield Case(task, "mujoco", "RK4", "joint", lambda h: run(task, h, stiff=False), finest=task.stop / MOST)
    if task.pins:
        yield Case(
            task, "mujoco", "RK4, stiff connect", "joint", lambda h: run(task, h, stiff=True), finest=task.stop / MOST
        )


def run(task: Task, h: float, stiff: bool) -> End:
    """Run the whole time; return how it went."""
    n = number_of_steps(task, h)
    h = task.stop / n
    model = mujoco.MjModel.from_xml_string(describe(task, h, stiff))
    data = mujoco.MjData(model)
    data.qvel[:] = [link.v for link in task.links]
    data.qpos[:] = [link.q for link in task.links]
    begin = time.perf_counter()
    mujoco.mj_step(model, data, n)
    seconds = time.perf_counter() - begin
    if any(item.number for item in data.warning):
        data.qpos[:] = np.nan
    return judged(task, seconds, n, np.array(data.qpos), np.array(data.qvel))


def describe(task: Task, h: float, stiff: bool) -> str:
    """Return the model as MJCF."""
    root = ElementTree.Element("mujoco")
    ElementTree.SubElement(root, "compiler", angle="radian", autolimits="true", inertiafromgeom="false")
    option = ElementTree.SubElement(
        root, "option", timestep=repr(h), integrator="RK4", gravity=numbers(task.gravity), solver="Newton",
        tolerance="1e-14", iterations="20",
    )  # fmt: skip
    ElementTree.SubElement(
        option,
        "flag",
        contact="disable",
        limit="disable",
        warmstart="disable",
        refsafe="disable" if stiff else "enable",
    )
    bodies = {-1: ElementTree.SubElement(root, "worldbody")}
    for i, link in enumerate(task.links):
        bodies[i] = body(bodies[link.parent], i, link)
    loops = ElementTree.SubElement(root, "equality")
    frequency = FASTEST / h
    for k, pin in enumerate(task.pins):
        ElementTree.SubElement(bodies[pin.a], "site", name=f"a{k}", pos=numbers(pin.at_a))
        ElementTree.SubElement(bodies[pin.b], "site", name=f"b{k}", pos=numbers(pin.at_b))
        made = ElementTree.SubElement(loops, "connect", site1=f"a{k}", site2=f"b{k}")
        if stiff:
            made.set("solref", numbers((-(frequency**2) / 4, -frequency)))
            made.set("solimp", "0.999999 0.999999 0.001 0.5 2")
    return ElementTree.tostring(root, encoding="unicode")


def body(parent: ElementTree.Element, number: int, link: Link) -> ElementTree.Element:
    """Add a link; return its element."""
    made = ElementTree.SubElement(parent, "body", name=f"link{number}", pos=numbers(link.at))
    kind = "slide" if link.slides else "hinge"
    ElementTree.SubElement(made, "joint", type=kind, axis=numbers(link.axis))
    ElementTree.SubElement(
        made, "inertial", pos=numbers(link.center), mass=repr(link.m), diaginertia=numbers(link.inertia)
    )
    return made


def numbers(values: tuple[float, ...] | Vector3) -> str:
    """Return numbers as MJCF writes them."""
    return " ".join(map(repr, values))
