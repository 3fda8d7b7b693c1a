"""Masses that SDF files leave to be computed, and screws: as sdformat and Drake have them."""

import math
from pathlib import Path

import pytest
from test_sdf import accelerations, loaded, of, written

from mbfmu.dae import derive
from mbfmu.errors import MbfmuError
from mbfmu.model import Body, RotationalStop, Screw

SHAPES = """<sdf version="1.11"><model name="shapes"><link name="one">
  <inertial auto="true"><density>700</density></inertial>
  <collision name="a"><pose>0.1 0.2 0.3 0.4 0.5 0.6</pose>
    <geometry><cone><radius>0.1</radius><length>0.3</length></cone></geometry></collision>
  <collision name="b"><density>2700</density><pose>-0.2 0 0 0 0.3 0</pose>
    <geometry><capsule><radius>0.05</radius><length>0.4</length></capsule></geometry></collision>
  <collision name="c"><geometry><ellipsoid><radii>0.1 0.2 0.15</radii></ellipsoid></geometry></collision>
  <collision name="d"><pose>0 0 0.3 1 0 0</pose><geometry><box><size>0.1 0.2 0.3</size></box></geometry></collision>
  <collision name="e"><pose>0 0.3 0.3 0 1 0</pose>
    <geometry><cylinder><radius>0.06</radius><length>0.5</length></cylinder></geometry></collision>
  <collision name="f"><pose>0.4 0 0 0 0 0</pose><geometry><sphere><radius>0.1</radius></sphere></geometry></collision>
</link></model></sdf>
"""
NUT = """<sdf version="1.11"><model name="nut">
  <link name="nut"><pose>0.3 0.1 0 0.2 0.4 0</pose><inertial><pose>0.1 0.05 0 0 0 0</pose><mass>2</mass>
    <inertia><ixx>0.02</ixx><iyy>0.03</iyy><izz>0.04</izz></inertia></inertial></link>
  <joint name="thread" type="screw"><parent>world</parent><child>nut</child>PITCH
    <axis><xyz>0.6 0 0.8</xyz><dynamics><damping>0.1</damping></dynamics></axis></joint>
</model></sdf>
"""


def test_an_inertia_that_is_computed_is_that_of_the_collisions(tmp_path: Path) -> None:
    """Mass, centre and inertia about it, as Drake 1.51.1 computes them of the same file."""
    (body,) = of(loaded(written(tmp_path, SHAPES)), Body)
    assert body.m == pytest.approx(31.982151033245742, rel=1e-13)
    assert body.r_CM == pytest.approx((-0.021349625353202763, 0.051254560210988766, 0.0929874751457822), rel=1e-12)
    inertia = [getattr(body, f"I_{k}{j}") for k in (1, 2, 3) for j in range(1, k + 1)]
    assert inertia == pytest.approx(
        [1.3270935196265574, -0.06019806835829573, 1.8162837760927801, -0.18027659968361254, -0.3037608510533278,
         1.4502703132320318], rel=1e-12)  # fmt: skip


def test_a_mass_that_is_stated_scales_an_inertia_that_is_computed(tmp_path: Path) -> None:
    system = loaded(written(tmp_path, SHAPES.replace("<density>700</density>", "<density>700</density><mass>3</mass>")))
    whole, scaled = loaded(written(tmp_path, SHAPES)), system
    (a,), (b,) = of(whole, Body), of(scaled, Body)
    assert (b.m, b.r_CM) == (pytest.approx(3.0, rel=1e-14), a.r_CM)
    assert pytest.approx(a.m * b.I_32, rel=1e-13) == 3 * a.I_32


def test_water_is_what_collisions_are_of_if_no_density_is_stated(tmp_path: Path) -> None:
    cube = """<sdf version="1.11"><model name="m"><link name="l"><inertial auto="true"/><collision name="c">
      <geometry><box><size>0.1 0.2 0.3</size></box></geometry></collision></link></model></sdf>"""
    (body,) = of(loaded(written(tmp_path, cube)), Body)
    assert (body.m, body.I_11) == pytest.approx((6.0, 6.0 * (0.04 + 0.09) / 12), rel=1e-14)
    with pytest.raises(MbfmuError, match='<inertial auto="true"> of <plane> is not computed, only of box'):
        loaded(written(tmp_path, cube.replace("<box><size>0.1 0.2 0.3</size></box>", "<plane/>")))


@pytest.mark.parametrize(
    ("pitch", "advance"),
    [
        ("<screw_thread_pitch>0.3</screw_thread_pitch>", 0.3),
        ("<thread_pitch>-20.943951023931955</thread_pitch>", 0.3),
        ("<screw_thread_pitch>0.3</screw_thread_pitch><thread_pitch>7</thread_pitch>", 0.3),
        ("", 1.0),
    ],
)
def test_a_screw_advances_by_its_pitch_in_a_full_turn(pitch: str, advance: float, tmp_path: Path) -> None:
    """thread_pitch is -2 pi / screw_thread_pitch, which comes first; without either it is 1 m, as in sdformat."""
    (screw,) = of(loaded(written(tmp_path, NUT.replace("PITCH", pitch))), Screw)
    assert screw.pitch == pytest.approx(advance, rel=1e-15)


def test_a_screw_accelerates_as_in_drake(tmp_path: Path) -> None:
    """Drake 1.51.1 has -39.42155944 rad/s2 at 0.7 rad and 1.1 rad/s, and 0.05515945 kg.m2 on the axis."""
    text = NUT.replace("PITCH", "<screw_thread_pitch>0.3</screw_thread_pitch>")
    dae = derive(loaded(written(tmp_path, text)), "joint")
    assert float(dae.equations.M([0.7], dae.p_default())) == pytest.approx(0.05515945, rel=1e-7)
    assert accelerations(dae, [0.7], [1.1], [0.0]) == pytest.approx([-39.42155944], rel=1e-9)


def test_the_stop_of_a_screw_suits_the_inertia_that_it_moves(tmp_path: Path) -> None:
    """On an axis through the centre of mass it is J + m (pitch / 2 pi)^2; the stop turns it back within pi steps."""
    text = NUT.replace("0.1 0.05 0 0 0 0", "0 0 0 0 0 0").replace("0.6 0 0.8", "0 0 1").replace("0.2 0.4 0<", "0 0 0<")
    text = text.replace("<mass>2", "<mass>2e-4").replace("0.04</izz>", "4e-5</izz>")
    limited = text.replace("<dynamics>", "<limit><lower>-1</lower><upper>1</upper></limit><dynamics>")
    system = loaded(written(tmp_path, limited.replace("PITCH", "<screw_thread_pitch>6</screw_thread_pitch>")))
    (stop,) = of(system, RotationalStop)
    assert stop.c == pytest.approx((4e-5 + 2e-4 * (6 / (2 * math.pi)) ** 2) / 1e-6, rel=1e-12)
