"""An FMU's axes as flanges: the Modelica text compiles, and moves as the mechanism does."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import extra

import mbfmu
from examples.ssp import wagon
from mbfmu.errors import FmuError, UsageError
from mbfmu.fmi.reading import FmuVariable, OuterFmu, parse_fmu
from mbfmu.fmu.modelica import write_modelica
from mbfmu.fmu.modelica.axes import axes
from mbfmu.fmu.modelica.language import identifier
from mbfmu.fmu.modelica.package import package
from mbfmu.model import RotationalDamper, RotationalSpring, System

rumoca = extra("rumoca", "modelica")

LIBRARY = """
package Modelica "The connectors of the Modelica Standard Library, by structure"
  package Blocks package Interfaces
    connector RealInput = input Real;
    connector RealOutput = output Real;
    connector IntegerOutput = output Integer;
    connector BooleanOutput = output Boolean;
  end Interfaces; end Blocks;
  package Mechanics
    package Rotational package Interfaces
      connector Flange_a
        Real phi(quantity="Angle", unit="rad", displayUnit="deg");
        flow Real tau(quantity="Torque", unit="N.m");
      end Flange_a;
    end Interfaces; end Rotational;
    package Translational package Interfaces
      connector Flange_a
        Real s(quantity="Length", unit="m");
        flow Real f(quantity="Force", unit="N");
      end Flange_a;
    end Interfaces; end Translational;
  end Mechanics;
  package Utilities package Files
    function loadResource "The path of a file"
      input String uri; output String path;
    algorithm
      path := uri;
    end loadResource;
  end Files; end Utilities;
end Modelica;
model SpringDamper "Between the flange and the ground"
  parameter Real c; parameter Real d; parameter Real phi0 = 0;
  Modelica.Mechanics.Rotational.Interfaces.Flange_a flange;
equation
  flange.tau = c*(flange.phi - phi0) + d*der(flange.phi);
end SpringDamper;
"""
TWIN = """
block Twin "The two-link arm, by Lagrange's equations for the angles t1, t2 from +x"
  extends Arm.Fmu;
  parameter Real g = 9.8; parameter Real l1 = 1; parameter Real l2 = 2; parameter Real m1 = 1; parameter Real m2 = 1;
  Real t1(start=0, fixed=true); Real t2(start=0, fixed=true);
  Real w1(start=0, fixed=true); Real w2(start=0, fixed=true);
  Real a1; Real a2; Real h;
equation
  der(t1) = w1; der(t2) = w2; der(w1) = a1; der(w2) = a2;
  h = m2*l1*l2/2;
  (m1*l1^2/3 + m2*l1^2)*a1 + h*cos(t1 - t2)*a2 + h*sin(t1 - t2)*w2^2 + (m1/2 + m2)*g*l1*cos(t1)
    = shoulder_tau - elbow_tau;
  h*cos(t1 - t2)*a1 + m2*l2^2/3*a2 - h*sin(t1 - t2)*w1^2 + m2*g*l2/2*cos(t2) = elbow_tau;
  shoulder_phi = t1; shoulder_w = w1; shoulder_a = a1;
  elbow_phi = t2 - t1; elbow_w = w2 - w1; elbow_a = a2 - a1;
  energy_total = 0; constraint_position = 0; constraint_velocity = 0;
end Twin;
"""
COUPLED = """
model Coupled
  Arm.Mechanism arm(redeclare Twin fmu);
  SpringDamper shoulder(c=30, d=4, phi0=0.3);
  SpringDamper elbow(c=10, d=2);
equation
  connect(arm.shoulder, shoulder.flange);
  connect(arm.elbow, elbow.flange);
end Coupled;
"""


def simulated(text: str, model: str, stop: float, step: float = 0.01) -> Any:
    """Compile a model in rumoca and run it."""
    config = rumoca.SimConfig(rtol=1e-9, atol=1e-9, dt=step)
    return rumoca.Session().loads(text, model=model).simulate(stop, config=config)


def made(ports: Iterable[tuple[str, str, str, str | None]]) -> OuterFmu:
    """Return an FMU by name, causality, unit and what it is the derivative of."""
    found = {name: FmuVariable(name, "Real", causality, unit, "", of) for name, causality, unit, of in ports}
    return OuterFmu("made", "", b"", found, {})


@pytest.fixture(scope="module")
def arm(two_link_fmu: Path) -> OuterFmu:
    """The two-link arm."""
    return parse_fmu(two_link_fmu)


@pytest.fixture(scope="module")
def motion(two_link: System) -> mbfmu.Result:
    """The arm with the springs and dampers of the coupled model inside."""
    inside = System(
        "inside",
        (
            *two_link.components,
            RotationalSpring("spring1", joint="shoulder", c=30.0, phi_rel0=0.3),
            RotationalDamper("damper1", joint="shoulder", d=4.0),
            RotationalSpring("spring2", joint="elbow", c=10.0),
            RotationalDamper("damper2", joint="elbow", d=2.0),
        ),
        two_link.connections,
        two_link.parameters,
        planar=True,
    )
    return mbfmu.simulate(inside, 2.0, stepper="gauss", step=1e-3, output_interval=0.01)


@pytest.mark.parametrize("library", [True, False], ids=["library", "own"])
def test_springs_on_the_flanges_move_the_arm_as_springs_inside(
    library: bool, arm: OuterFmu, motion: mbfmu.Result
) -> None:
    """With an analytic twin in the FMU's place; the package's own flanges connect to those of the library."""
    found = simulated(package(arm, "Arm", library) + LIBRARY + TWIN + COUPLED, "Coupled", 2.0)
    for name in ("shoulder.phi", "elbow.phi"):
        seen = np.interp(motion.time, found.time, found[f"arm.{name}"])
        assert np.ptp(motion[name]) > 0.5
        np.testing.assert_allclose(seen, motion[name], atol=1e-6)


def test_a_damper_feels_the_speed_the_fmu_tells_while_its_angle_is_held(arm: OuterFmu) -> None:
    held = """
    block Held extends Arm.Fmu;
    equation
      shoulder_phi = 0.25; shoulder_w = 3; shoulder_a = 0; elbow_phi = 0; elbow_w = 0; elbow_a = 0;
      energy_total = 0; constraint_position = 0; constraint_velocity = 0;
    end Held;
    """
    found = simulated(package(arm, "Arm") + LIBRARY + held + COUPLED.replace("Twin", "Held"), "Coupled", 0.1)
    assert found["arm.shoulder.phi"][-1] == pytest.approx(0.25)
    assert found["arm.shoulder.tau"][-1] == pytest.approx(-(30 * (0.25 - 0.3) + 4 * 3))


def test_a_moved_axis_takes_its_motion_from_the_flange_and_gives_the_force(tmp_path: Path) -> None:
    """A spring in the FMU's place, hanging on a mass: it swings with the frequency sqrt(c/m)."""
    fmu = parse_fmu(mbfmu.export(wagon(), tmp_path / "wagon.fmu"))
    (axis,) = axes(fmu.ports)
    assert (axis.name, axis.kind, axis.driven) == ("tow", "Translational", False)
    zeros = "".join(f"{identifier(p.name)} = 0; " for p in fmu.ports.values()
                    if p.causality == "output" and p.name != "tow.f")  # fmt: skip
    rest = f"""
    block Spring extends Wagon.Fmu;
    equation
      tow_f = 8*tow_s; {zeros}
    end Spring;
    model Mass
      Modelica.Mechanics.Translational.Interfaces.Flange_a flange;
      Real s(start=1, fixed=true); Real v(start=0, fixed=true);
    equation
      s = flange.s; der(s) = v; 2*der(v) = flange.f;
    end Mass;
    model Swing
      Wagon.Mechanism wagon(redeclare Spring fmu);
      Mass mass;
    equation
      connect(wagon.tow, mass.flange);
    end Swing;
    """
    found = simulated(package(fmu, "Wagon") + LIBRARY + rest, "Swing", 1.0)
    assert found["mass.s"][-1] == pytest.approx(np.cos(2.0 * found.time[-1]), abs=1e-4)
    assert found["wagon.fmu.tow_v"][-1] == pytest.approx(-2 * np.sin(2.0 * found.time[-1]), abs=1e-3)


def test_a_joint_with_two_axes_has_a_flange_for_each() -> None:
    ports: list[tuple[str, str, str, str | None]] = []
    for q, v, a, u, units in (("s", "v", "a", "f", "m m/s m/s2 N"), ("phi", "w", "wd", "tau", "rad rad/s rad/s2 N.m")):
        names = [f"bolt.{letter}" for letter in (q, v, a)]
        for name, unit, of in zip(names, units.split(), (None, *names), strict=False):
            ports.append((name, "output", unit, of))
        ports.append((f"bolt.{u}", "input", units.split()[-1], None))
    text = package(made(ports), "Bolt")
    assert "Translational.Interfaces.Flange_a bolt_s" in text
    assert "Rotational.Interfaces.Flange_a bolt_phi" in text
    assert "bolt_phi.phi = given({fmu.bolt_phi, fmu.bolt_w, fmu.bolt_wd}, time);" in text


@pytest.mark.parametrize("name", ["cart_pendulum", "two_link", "crane"])
def test_other_inputs_and_outputs_stay_signals_of_the_model(name: str, tmp_path: Path) -> None:
    fmu = parse_fmu(mbfmu.export(mbfmu.load(name), tmp_path / f"{name}.fmu"))
    text = package(fmu, "P")
    ports = {item.name for item in fmu.ports.values() if item.causality in {"input", "output"}}
    flanged = {part for axis in axes(fmu.ports) for part in (*axis.motion, axis.effort)}
    model = text.split("model Mechanism")[1]
    for port in ports:
        assert (f" {identifier(port)}(" in model) == (port not in flanged)
    stand_in = "block B extends P.Fmu; equation " + "".join(
        f"{identifier(item.name)} = 0; " for item in fmu.ports.values() if item.causality == "output"
    )
    whole = f"{text}{LIBRARY}{stand_in} end B; model M P.Mechanism m(redeclare B fmu); end M;"
    assert rumoca.Session().loads(whole, model="M").structure().is_balanced


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shoulder.tau", "shoulder_tau"),
        ("load.f[1]", "load_f_1_"),
        ("a[1,2].x", "a_1_2__x"),
        ("der(x)", "der_x_"),
        ("output", "output_"),
        ("1st", "_1st"),
        ("Größe", "Gr__e"),
    ],
)
def test_names_become_identifiers_as_in_openmodelica(name: str, expected: str) -> None:
    assert identifier(name) == expected


def test_descriptions_cannot_leave_their_string(arm: OuterFmu) -> None:
    port = FmuVariable("x", "Real", "input", '1"; end', 'a "quote" \\ and\na line', None)
    odd = OuterFmu(arm.model, '"', arm.data, {**arm.ports, "x": port}, arm.units)
    text = package(odd, "Odd")
    assert '"a \\"quote\\" \\\\ and a line"' in text
    assert [item for item in rumoca.validate_source(text + LIBRARY) if item.level == "error"] == []


def test_two_names_that_become_one_are_refused(arm: OuterFmu) -> None:
    for name in ("shoulder_tau", "shoulder", "time", "fmu"):
        more = {**arm.ports, name: FmuVariable(name, "Real", "input", "", "", None)}
        with pytest.raises(FmuError, match=rf"and '{name}' are both '{name}' in Modelica"):
            package(OuterFmu(arm.model, "", b"", more, {}), "Arm")


def test_an_fmu_without_an_axis_for_a_flange_is_refused() -> None:
    with pytest.raises(FmuError, match="no axis for a flange"):
        package(made([("x", "output", "m", None), ("push.f", "input", "N", None)]), "P")


def test_an_input_of_another_type_is_refused(arm: OuterFmu) -> None:
    more = {**arm.ports, "note": FmuVariable("note", "String", "input", "", "", None)}
    with pytest.raises(FmuError, match="'note' is of type String; Modelica has connectors for Real, Integer, Boolean"):
        package(OuterFmu(arm.model, "", b"", more, {}), "Arm")


def test_a_wrong_unit_makes_no_flange() -> None:
    good = [("j.phi", "output", "rad", None), ("j.w", "output", "rad/s", "j.phi"), ("j.a", "output", "rad/s2", "j.w")]
    assert len(list(axes(made([*good, ("j.tau", "input", "N.m", None)]).ports))) == 1
    assert list(axes(made([*good, ("j.tau", "input", "kN.m", None)]).ports)) == []
    assert list(axes(made([*good[:2], ("j.tau", "input", "N.m", None)]).ports)) == []


def test_the_file_is_named_after_the_package(two_link_fmu: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a name for a Modelica package"):
        write_modelica(two_link_fmu, tmp_path / "my arm.mo")
    with pytest.raises(UsageError, match=r"must end in \.mo"):
        write_modelica(two_link_fmu, tmp_path / "Arm.txt")
    command = [sys.executable, "-m", "mbfmu", "modelica", str(two_link_fmu), "-o", str(tmp_path / "Arm.mo")]
    done = subprocess.run([*command, "--own-connectors"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "Arm.mo").read_text(encoding="utf-8") == package(parse_fmu(two_link_fmu), "Arm", library=False)
