"""FMU Manipulation Toolbox: a foreign tool checks our FMUs, puts them in containers and reads our .ssp files."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from masters import run_fmpy
from test_ssp import run

import mbfmu
from examples.ssp import CONNECTIONS, wagon
from mbfmu.fmu.ssp import write_ssp

NAMES = ("shoulder.phi", "elbow.phi", "shoulder.w", "energy.total")
TORQUES = {"shoulder.tau": 12.0, "elbow.tau": -3.0}


def tool(name: str, *arguments: str, cwd: Path) -> str:
    """Run one of its commands; return what it says."""
    command = [sys.executable, "-m", f"fmu_manipulation_toolbox.cli.{name}", *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    return done.stdout


def test_an_fmu_passes_its_check(two_link_fmu: Path, tmp_path: Path) -> None:
    said = tool("fmutool", "-input", str(two_link_fmu), "-check", cwd=tmp_path)
    assert "compliant with FMI-2.0" in said
    assert "No semantic error" in said
    assert "ERROR" not in said


def test_an_fmu_in_a_container_moves_as_outside(two_link_fmu: Path, tmp_path: Path) -> None:
    (tmp_path / "box.json").write_text(json.dumps({"fmu": [two_link_fmu.name], "step_size": 1e-3}), encoding="utf-8")
    (tmp_path / two_link_fmu.name).write_bytes(two_link_fmu.read_bytes())
    tool("fmucontainer", "-container", "box.json", "-fmu-directory", ".", cwd=tmp_path)
    assert "No semantic error" in tool("fmutool", "-input", "box.fmu", "-check", cwd=tmp_path)
    inside = run_fmpy(tmp_path / "box.fmu", TORQUES, NAMES, stop=0.5)
    outside = run_fmpy(two_link_fmu, TORQUES, NAMES, stop=0.5)
    assert np.ptp(outside[:, 0]) > 0.1
    np.testing.assert_allclose(inside, outside, rtol=1e-9, atol=1e-9)


def test_an_ssp_file_in_a_container_moves_as_in_libcosim(tmp_path: Path) -> None:
    """It reads connections, not factors, and shows no outputs: those are added to what it read."""
    models = (mbfmu.load("cart_pendulum"), wagon())
    fmus = {name: mbfmu.export(model, tmp_path / f"{name}.fmu", step=1e-3)
            for name, model in zip(("cart", "wagon"), models, strict=True)}  # fmt: skip
    path = write_ssp(tmp_path / "train.ssp", fmus, CONNECTIONS[:2], step=1e-3)
    said = tool("fmucontainer", "-container", "train.ssp:0.001", "-fmu-directory", ".", "-dump-json", cwd=tmp_path)
    assert "'train.fmu' is available" in said
    found = json.loads((tmp_path / "train-dump.json").read_text(encoding="utf-8"))
    ends = [".".join((Path(fmu).stem, name)) for link in found["link"] for fmu, name in (link[:2], link[2:])]
    assert ends == [end for item in CONNECTIONS[:2] for end in (item.start, item.end)]
    found["output"] = [["train.dir/wagon.fmu", "track.s", "track.s"]]
    (tmp_path / "box.json").write_text(json.dumps({**found, "name": "box.fmu"}), encoding="utf-8")
    tool("fmucontainer", "-container", "box.json", "-fmu-directory", ".", cwd=tmp_path)
    inside = run_fmpy(tmp_path / "box.fmu", {}, ("track.s",), stop=0.3)
    np.testing.assert_allclose(inside, run("libcosim", path, ("wagon.track.s",), 300), rtol=1e-9, atol=1e-9)
    assert np.ptp(inside) > 1e-4
