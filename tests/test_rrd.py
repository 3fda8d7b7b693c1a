"""Rerun recordings: the reader of Rerun finds the poses and the curves of the run."""

import builtins
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbfmu
from mbfmu.errors import UsageError
from mbfmu.show.viewer import motion_of_model, page_of

STOP = 0.2


@pytest.mark.parametrize("name", ["crane", "heavy_top"])
def test_the_reader_of_rerun_finds_the_poses_and_the_curves_of_the_run(name: str, tmp_path: Path) -> None:
    pytest.importorskip("rerun", reason="needs the extra rerun, whose wheel is too large (170 MB) for the extra test")
    chunk = pytest.importorskip("rerun.chunk", reason="needs a version of Rerun that reads recordings")
    motion = motion_of_model(mbfmu.load(name), STOP, output_interval=0.01)
    path = page_of(motion, "machine").write(tmp_path / "machine.rrd")
    tables: dict[str, Any] = {}
    for item in chunk.RrdReader(str(path)).stream():
        if not item.is_static:
            tables[str(item.entity_path).replace("\\", "")] = item.to_record_batch()

    def column(table: Any, part: str) -> Any:
        return np.array([row[0] for row in table.column(part).to_pylist()])

    for k, body in enumerate(motion.bodies):
        table = tables[f"/world/{body}"]
        seconds = table.column("time").cast("int64").to_numpy() / 1e9
        assert seconds == pytest.approx(motion.result.time, abs=1e-6)
        r = column(table, "Transform3D:translation")
        assert r[:, : motion.dim] == pytest.approx(motion.r[:, k], abs=1e-5)
        x, y, z, w = column(table, "Transform3D:quaternion").T
        first = np.stack([1 - 2 * (y**2 + z**2), 2 * (x * y + w * z), 2 * (x * z - w * y)], axis=1)
        assert first[:, : motion.dim] == pytest.approx(motion.R[:, k, :, 0], abs=1e-5)
    curves = {path.rpartition("/")[2]: table for path, table in tables.items() if path.startswith("/curves/")}
    assert set(curves) == set(motion.result.names)
    kept = curves["energy.total"]
    assert column(kept, "Scalars:scalars") == pytest.approx(motion.result["energy.total"], rel=1e-6)


def test_without_rerun_a_recording_is_refused_before_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = builtins.__import__

    def missing(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "rerun":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "rerun", raising=False)
    monkeypatch.setattr(builtins, "__import__", missing)
    from mbfmu.show.viewer import refuse_page

    with pytest.raises(UsageError, match=r"needs Rerun: .*\[rerun\]"):
        refuse_page(tmp_path / "crane.rrd")
