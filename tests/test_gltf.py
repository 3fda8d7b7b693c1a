"""Binary glTF: the bodies of a page in their places, and the poses of the run as an animation."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import trimesh
from scipy.spatial.transform import Rotation

import mbfmu
from mbfmu.errors import UsageError
from mbfmu.show.viewer import ShownMotion, motion_of_model, page_of

STOP = 0.3
TYPES = {5126: "<f4", 5125: "<u4"}
WIDTHS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}


class Read:
    """A .glb file: its JSON, and the numbers of its accessors."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        magic, version, length = struct.unpack_from("<4sII", data)
        assert (magic, version, length) == (b"glTF", 2, len(data))
        size, kind = struct.unpack_from("<I4s", data, 12)
        assert kind == b"JSON"
        assert size % 4 == 0
        self.content: dict[str, Any] = json.loads(data[20 : 20 + size])
        rest, kind = struct.unpack_from("<I4s", data, 20 + size)
        assert kind == b"BIN\0"
        self.buffer = data[28 + size :]
        assert rest == len(self.buffer) == self.content["buffers"][0]["byteLength"]

    def numbers(self, index: int) -> npt.NDArray[Any]:
        accessor = self.content["accessors"][index]
        view = self.content["bufferViews"][accessor["bufferView"]]
        part = self.buffer[view["byteOffset"] : view["byteOffset"] + view["byteLength"]]
        values = np.frombuffer(part, TYPES[accessor["componentType"]]).reshape(accessor["count"], -1)
        assert values.shape[1] == WIDTHS[accessor["type"]]
        assert accessor["min"] == pytest.approx(values.min(axis=0).tolist())
        assert accessor["max"] == pytest.approx(values.max(axis=0).tolist())
        return values

    def track(self, node: str, path: str) -> npt.NDArray[Any]:
        """Return the values of a node's animation."""
        (animation,) = self.content["animations"]
        index = next(k for k, item in enumerate(self.content["nodes"]) if item["name"] == node and "mesh" not in item)
        (sampler,) = (
            item["sampler"] for item in animation["channels"] if item["target"] == {"node": index, "path": path}
        )
        return self.numbers(animation["samplers"][sampler]["output"])


@pytest.fixture(scope="module", params=["crane", "arm6"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[ShownMotion, Read, Path]:
    motion = motion_of_model(mbfmu.load(request.param), STOP, output_interval=0.01)
    path = page_of(motion, "machine").write(tmp_path_factory.mktemp("glb") / "machine.glb")
    return motion, Read(path), path


def test_the_animation_has_the_poses_of_the_run(case: tuple[ShownMotion, Read, Path]) -> None:
    motion, read, _ = case
    times = read.numbers(read.content["animations"][0]["samplers"][0]["input"])[:, 0]
    assert times == pytest.approx(motion.result.time, abs=1e-6)
    for k, body in enumerate(motion.bodies):
        assert read.track(body, "translation")[:, : motion.dim] == pytest.approx(motion.r[:, k], abs=1e-5)
        turns = read.track(body, "rotation")
        R = Rotation.from_quat(turns).as_matrix()[:, : motion.dim, : motion.dim]
        assert motion.R[:, k] == pytest.approx(R, abs=1e-6)
        assert np.all(np.sum(turns[1:] * turns[:-1], axis=1) > 0)  # the shorter way from one to the next


def test_another_reader_finds_the_solids_in_their_places_with_up_as_y(case: tuple[ShownMotion, Read, Path]) -> None:
    motion, read, path = case
    scene = trimesh.load_scene(path)
    assert len(scene.geometry) == len(read.content["meshes"])
    root = read.content["nodes"][read.content["scenes"][0]["nodes"][0]]
    up = Rotation.from_quat(root["rotation"]).apply([*motion.up, 0.0][:3])
    assert up == pytest.approx([0.0, 1.0, 0.0], abs=1e-12)
    for mesh in scene.geometry.values():
        assert mesh.is_watertight or mesh.merge_vertices() is None
        assert mesh.volume > 0  # faces look outwards


def test_a_page_that_computes_has_no_motion_to_write(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"a \.glb file is of a recorded motion"):
        mbfmu.report("pid", 0.01).write(tmp_path / "pid.glb")
