"""Models that an MJCF file attaches: they move as if they were written out, with names and classes of their own."""

from pathlib import Path

import numpy as np
import pytest
from test_mjcf import accelerations, loaded, written

from mbfmu.dae import derive
from mbfmu.errors import MbfmuError
from mbfmu.model import AxesSpring, Gear, RotationalDamper, World

CHILD = """<mujoco model="arm"><default><geom density="500"/><default class="soft"><joint damping="3"/></default>
  </default>
  <worldbody><body name="hip" childclass="soft"><joint name="h"/><geom size="0.1" pos="0.1 0 0"/>
    <body name="leg" pos="0 0 1" euler="0 90 0"><joint name="k" axis="0 1 0"/><geom size="0.1" pos="0.2 0 0"/>
      <body name="foot" pos="0 1 0"><joint name="f" axis="1 0 0"/><geom size="0.2" pos="0 0 1"/></body></body></body>
  </worldbody>
  <tendon><fixed name="t" stiffness="2"><joint joint="k" coef="1"/><joint joint="f" coef="2"/></fixed>
    <fixed name="long" stiffness="9"><joint joint="h" coef="1"/><joint joint="k" coef="1"/></fixed></tendon>
  <equality><joint joint1="f" joint2="k"/><joint joint1="f" joint2="h"/></equality>
  <actuator><motor name="m" joint="k" gear="3"/><motor name="n" joint="h"/></actuator></mujoco>"""
PARENT = """<mujoco><default><geom density="100"/><joint armature="7"/></default>
  <asset><model name="limb" file="{}"/></asset>
  <worldbody><body name="base"><joint name="j" axis="1 0 0"/><geom size="0.3" pos="0 1 0"/>
    <frame pos="0 0 2" euler="90 0 0"><attach model="limb" {} prefix="{}"/></frame></body></worldbody></mujoco>"""
SPELT = """<mujoco><worldbody><body name="base"><joint name="j" axis="1 0 0" armature="7"/>
    <geom size="0.3" pos="0 1 0" density="100"/>
    <frame pos="0 0 2" euler="90 0 0"><body name="x_leg" pos="0 0 1" euler="0 90 0">
      <joint name="x_k" axis="0 1 0" damping="3"/><geom size="0.1" pos="0.2 0 0" density="500"/>
      <body name="x_foot" pos="0 1 0"><joint name="x_f" axis="1 0 0" damping="3"/>
      <geom size="0.2" pos="0 0 1" density="500"/></body></body></frame></body></worldbody>
  <tendon><fixed name="x_t" stiffness="2"><joint joint="x_k" coef="1"/><joint joint="x_f" coef="2"/></fixed></tendon>
  <equality><joint joint1="x_f" joint2="x_k"/></equality>
  <actuator><motor name="x_m" joint="x_k" gear="3"/></actuator></mujoco>"""


def parent(
    folder: Path, what: str = 'body="leg"', prefix: str = "x_", child: str = CHILD, file: str = "arm.xml"
) -> Path:
    written(folder, child, "arm.xml")
    return written(folder, PARENT.format(file, what, prefix))


def test_an_attached_body_moves_as_if_it_were_written_out(tmp_path: Path) -> None:
    one = loaded(parent(tmp_path))
    other = loaded(written(tmp_path, SPELT, "spelt.xml"))
    assert [item.name for item in one.components] == [item.name for item in other.components]
    first, second = derive(one, "joint"), derive(other, "joint")
    rng = np.random.default_rng(0)
    q, v, u = rng.normal(size=first.n), rng.normal(size=first.n), rng.normal(size=1)
    assert accelerations(first, q, v, u) == pytest.approx(accelerations(second, q, v, u), rel=1e-12)


def test_what_names_something_outside_the_attached_body_stays_behind(tmp_path: Path) -> None:
    """Of the whole model all tendons and equalities come; of the leg only those without the hip."""
    for what, count in (("", 2), ('body="leg"', 1)):
        system = loaded(parent(tmp_path, what))
        kinds = [type(item) for item in system.components]
        assert (kinds.count(AxesSpring), kinds.count(Gear)) == (count, count)


WRONG = {
    "there is no model 'limb'": ("limb", "leg"),
    "the model has no body 'legs'": ('body="leg"', 'body="legs"'),
    "is outside the folder of the model": ("arm.xml", "../arm.xml"),
    "has the setting angle=": ("<mujoco><default>", '<mujoco><compiler angle="radian"/><default>'),
    "it is one of warning, merge, error": ("<mujoco><default>", '<mujoco><compiler conflict="all"/><default>'),
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
def test_what_cannot_be_attached_is_one_line_with_the_remedy(message: str, tmp_path: Path) -> None:
    old, new = WRONG[message]
    (tmp_path / "inner").mkdir()
    written(tmp_path, CHILD, "arm.xml")
    path = parent(tmp_path / "inner")
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(MbfmuError, match=message):
        loaded(path)


def test_a_model_that_attaches_itself_is_refused(tmp_path: Path) -> None:
    text = PARENT.format("model.xml", "", "x_")
    with pytest.raises(MbfmuError, match="more than 20 models attached to each other"):
        loaded(written(tmp_path, text))


def test_options_of_an_attached_model_count_where_the_models_are_to_be_merged_and_agree(tmp_path: Path) -> None:
    """By themselves they are left out; the model takes over what it does not state, and refuses what differs."""
    child = CHILD.replace("<worldbody>", '<option gravity="0 0 -3"><flag damper="disable"/></option><worldbody>', 1)
    path = parent(tmp_path, child=child)
    plain, merging = path.read_text(encoding="utf-8"), '<mujoco><compiler conflict="merge"/>'
    for text, g, dampers in ((plain, 9.81, 2), (plain.replace("<mujoco>", merging), 3.0, 0)):
        system = loaded(written(tmp_path, text))
        assert next(item.g for item in system.components if isinstance(item, World)) == g
        assert sum(isinstance(item, RotationalDamper) for item in system.components) == dampers
    for rule in ("merge", "error"):
        stated = f'<mujoco><compiler conflict="{rule}"/><option gravity="0 0 -2"/>'
        with pytest.raises(MbfmuError, match='the models state gravity="0 0 -2" and "0 0 -3"'):
            loaded(written(tmp_path, plain.replace("<mujoco>", stated)))
