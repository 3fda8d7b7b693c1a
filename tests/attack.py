"""Files of models with random damage, read one after the other in a process: python attack.py READER SEED COUNT FOLDER.

It prints what was not a model or one line that came soon, as JSON, and keeps the file at hand in the folder.
"""

import json
import math
import random
import re
import shutil
import struct
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import mbfmu
from mbfmu.errors import MbfmuError
from mbfmu.model import System
from mbfmu.model.mjcf.meshes import read_mesh, solid_of
from mbfmu.model.modelica import compiler
from mbfmu.model.modelica.flatten import flattened

HERE = Path(__file__).parent
SOON = 10.0
"""Longest time that an answer may take, s: a hundred times as long as on a machine with nothing else to do."""
LONGEST = 2_000
"""Largest number of characters of a message."""
NUMBERS = b"0 -0 -1 1e-320 1e-59 1e-61 1e30 1e308 1e999 nan inf 0x10 1_0 1. .5 99999999999 1e2e3".split()
DEEP = (b"(", b"[", b"{", b"-", b"+1", b"not ", b'"', b"/*", b"<body>", b"<link>", b"<!--", b"<frame>", b"a.", b"\0")
"""Signs that are repeated, such as those that open something."""
NUMBER = re.compile(rb"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
WORD = re.compile(rb"[A-Za-z_][\w:.]*")
CHUNK = re.compile(rb"<[^>]*>|[^\n;]*[\n;]")
"""An element's tag, a line or a statement."""
STL = b"".join(
    struct.pack("<12fH", 0, 0, 1, *corner, 0)
    for corner in ((0, 0, 0, 0, 1, 0, 1, 0, 0), (0, 0, 0, 1, 0, 0, 0, 0, 1), (0, 0, 0, 0, 0, 1, 0, 1, 0),
                   (1, 0, 0, 0, 1, 0, 0, 0, 1))
)  # fmt: skip
URDF = b"""<robot name="arm"><link name="base"/>
<joint name="hinge" type="revolute"><origin xyz="0 0 1" rpy="0 0 0.1"/><parent link="base"/><child link="rod"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/><dynamics damping="0.1" friction="0.1"/></joint>
<link name="rod"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><box size="1 1 1"/></geometry></visual></link><link name="tip"/>
<joint name="slide" type="prismatic"><parent link="rod"/><child link="tip"/><mimic joint="hinge" multiplier="2"/>
<limit effort="1" velocity="1"/></joint></robot>
"""


def _texts(pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(HERE.glob(pattern))]


SEEDS: dict[str, tuple[str, Callable[[], list[bytes]]]] = {
    "URDF": (".urdf", lambda: [URDF, (HERE.parent / "models" / "robot.urdf").read_bytes()]),
    "MJCF": (".xml", lambda: [text for text in _texts("mjcf/**/*.xml") if len(text) < 8_000]),
    "SDF": (".sdf", lambda: _texts("sdf/*.sdf")),
    "TOML": (".toml", lambda: [(HERE.parent / "models" / "cart_pendulum.toml").read_bytes()]),
    "Modelica": (".mo", lambda: _texts("modelica/*.mo")),
    "STL": (".stl", lambda: [bytes(80) + struct.pack("<I", 4) + STL, *_texts("mjcf/**/*.stl")]),
    "OBJ": (".obj", lambda: [text for text in _texts("mjcf/**/*.obj") if len(text) < 20_000]),
}
"""Suffix of the files of each reader, and the texts that are damaged."""


def damaged(seeds: list[bytes], chance: random.Random) -> bytes:
    """Return one of some texts with one to four kinds of damage."""
    text = chance.choice(seeds)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        (damage,) = chance.choices((_number, _word, _chunk, _moved, _repeated, _byte, _cut), (8, 2, 2, 2, 1, 1, 1))
        text = damage(text, seeds, chance)
    return text


def _place(text: bytes, pattern: "re.Pattern[bytes]", chance: random.Random) -> tuple[int, int]:
    spans = [match.span() for match in pattern.finditer(text)] or [(0, 0)]
    return chance.choice(spans)


def _number(text: bytes, _: list[bytes], chance: random.Random) -> bytes:
    begin, end = _place(text, NUMBER, chance)
    return text[:begin] + chance.choice(NUMBERS) + text[end:]


def _word(text: bytes, seeds: list[bytes], chance: random.Random) -> bytes:
    (begin, end), other = _place(text, WORD, chance), chance.choice(seeds)
    first, last = _place(other, WORD, chance)
    return text[:begin] + other[first:last] + text[end:]


def _chunk(text: bytes, seeds: list[bytes], chance: random.Random) -> bytes:
    """Put a chunk of another text, or nothing, in the place of one."""
    (begin, end), other = _place(text, CHUNK, chance), chance.choice(seeds)
    first, last = _place(other, CHUNK, chance)
    return text[:begin] + other[first : last if chance.random() < 0.7 else first] + text[end:]


def _moved(text: bytes, _: list[bytes], chance: random.Random) -> bytes:
    """Copy a span of chunks to another place, so that things stand in others, twice or unclosed."""
    (begin, _end), (_begin, end), (at, _at) = (_place(text, CHUNK, chance) for _ in range(3))
    span = text[min(begin, end) : max(begin, end)]
    return text[:at] + span * chance.choice((1, 1, 2, 20)) + text[at:]


def _repeated(text: bytes, _: list[bytes], chance: random.Random) -> bytes:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(DEEP) * chance.choice((1, 3, 70, 3000)) + text[at:]


def _byte(text: bytes, _: list[bytes], chance: random.Random) -> bytes:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.randbytes(chance.randint(0, 4)) + text[at + chance.randint(0, 4) :]


def _cut(text: bytes, _: list[bytes], chance: random.Random) -> bytes:
    return text[: chance.randrange(len(text) + 1)]


def fault_of(path: Path) -> str:
    """Return what is wrong with the answer to a file; empty if it is a model of finite numbers, or one line."""
    begin = time.monotonic()
    fault = ""
    try:
        if path.suffix in {".stl", ".obj"}:
            solid = solid_of(*read_mesh(path), "legacy")
            strange = [] if math.isfinite(solid.m + abs(solid.I).sum()) else [("the solid", solid.m)]
        else:
            strange = list(_strange(mbfmu.load(path)))
        if strange:
            fault = f"{strange[0][0]} is {strange[0][1]}"
    except MbfmuError as error:
        if "\n" in str(error) or len(str(error)) > LONGEST:
            fault = f"not one line: {str(error)[:200]!r}"
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        fault = f"{type(error).__name__}: {error}"
    if (taken := time.monotonic() - begin) > SOON:
        fault += f" after {taken:.1f} s"
    return fault


def _strange(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield the numbers of a system's components that are not finite."""
    for item in model.components if isinstance(model, System) else ():
        for field in fields(item):
            value = getattr(item, field.name)
            for number in value if isinstance(value, tuple) else (value,):
                if isinstance(number, float) and not math.isfinite(number):
                    yield f"{item.name}.{field.name}", number


def attack(reader: str, seed: int, count: int, folder: Path) -> list[str]:
    """Return what is wrong with the answers to damaged files."""
    compiler.run_apart = lambda _, job, *__: flattened(**job)  # type: ignore[assignment] # a process for all, not each
    suffix, texts = SEEDS[reader]
    chance, seeds, faults = random.Random(seed), texts(), []
    for mesh in HERE.glob("mjcf/**/*.obj"):
        shutil.copy(mesh, folder)
    path = folder / f"damaged{suffix}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for index in range(count):
            path.write_bytes(damaged(seeds, chance))
            if fault := fault_of(path):
                path.rename(folder / f"fault{index}{suffix}")
                faults.append(f"{reader} {index}: {fault}")
    return faults


if __name__ == "__main__":
    print(json.dumps(attack(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))))
