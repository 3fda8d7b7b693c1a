"""MuJoCo: the Stewart platform of the library, its legs held to the plate by stiff `connect` constraints."""

import time
from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree

import numpy as np

from benchmarks.peers.mujoco import FASTEST, mujoco, numbers
from mbfmu.model import Body, FixedRotation, FixedTranslation, System


def described(system: System, h: float) -> str:
    """Return the platform as MJCF.

    Args:
        system: of the library.
        h: step, s.
    """
    parts = {item.name: item for item in system.components}
    root = ElementTree.Element("mujoco")
    ElementTree.SubElement(root, "compiler", angle="radian", autolimits="true")
    option = ElementTree.SubElement(root, "option", timestep=repr(h), integrator="RK4", tolerance="1e-14")
    ElementTree.SubElement(option, "flag", contact="disable", limit="disable", refsafe="disable")
    world, loops = (ElementTree.SubElement(root, name) for name in ("worldbody", "equality"))
    platform = parts["platform"]
    assert isinstance(platform, Body)
    plate = ElementTree.SubElement(world, "body", name="platform", pos=written(platform.r_0 or ()))
    ElementTree.SubElement(plate, "freejoint")
    weigh(plate, platform)
    frequency = FASTEST / h
    for k in range(1, 7):
        foot, home, head = (parts[f"{name}{k}"] for name in ("foot", "home", "head"))
        assert isinstance(foot, FixedRotation)
        assert isinstance(home, FixedTranslation)
        assert isinstance(head, FixedTranslation)
        turned = (*foot.n, foot.angle)
        tube = ElementTree.SubElement(world, "body", pos=written(foot.r), axisangle=written(turned))
        for axis in ("1 0 0", "0 1 0"):
            ElementTree.SubElement(tube, "joint", type="hinge", axis=axis)
        weigh(tube, parts[f"tube{k}"])
        rod = ElementTree.SubElement(tube, "body", pos=written(home.r))
        ElementTree.SubElement(rod, "joint", name=f"leg{k}", type="slide", axis="0 0 1")
        weigh(rod, parts[f"rod{k}"])
        ElementTree.SubElement(rod, "site", name=f"rod{k}")
        ElementTree.SubElement(plate, "site", name=f"head{k}", pos=written(head.r))
        ElementTree.SubElement(
            loops, "connect", site1=f"rod{k}", site2=f"head{k}", solimp="0.999999 0.999999 0.001 0.5 2",
            solref=written((-(frequency**2) / 4, -frequency)),
        )  # fmt: skip
    return ElementTree.tostring(root, encoding="unicode")


def weigh(body: ElementTree.Element, part: object) -> None:
    """Give a body of MJCF the inertia of one of the system."""
    assert isinstance(part, Body)
    inertia, center = (written(item) for item in ((part.I_11, part.I_22, part.I_33), part.r_CM or (0.0, 0.0, 0.0)))
    ElementTree.SubElement(body, "inertial", pos=center, mass=written([part.m]), diaginertia=inertia)


def run(system: System, h: float, n: int) -> tuple[float, float]:
    """Take n steps from home, with no forces in the legs; return their time, s, and the extension of a leg, m."""
    model = mujoco.MjModel.from_xml_string(described(system, h))
    data = mujoco.MjData(model)
    begin = time.process_time()
    mujoco.mj_step(model, data, n)
    seconds = time.process_time() - begin
    return seconds, float(np.array(data.joint("leg1").qpos)[0])


def written(values: Iterable[Any]) -> str:
    """Return numbers as MJCF writes them."""
    return numbers(tuple(map(float, values)))
