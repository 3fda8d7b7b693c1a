"""The pictures of the documentation: what makes each, and which are stale.

Run: python -m examples.pictures (makes all), python -m examples.pictures --stale (says which do not fit their sources)
"""

import argparse
import ast
import hashlib
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
RECORD = "docs/pictures.json"
"""Path of the hashes of each picture and of the sources it was made from."""

COLOURS = 256
"""Of a .png."""


@dataclass(frozen=True)
class Picture:
    """A picture and what makes it.

    Args:
        name: path below docs/.
        script: path of the Python file that draws it.
        others: paths of the models and of other scripts that decide what it shows.
        command: arguments of python; {module} stands for the script, {folder} for where it writes.
        made: the picture's name in that folder.
        exempt: why it is neither made with the others nor compared with its sources; empty: it is both.
    """

    name: str
    script: str
    others: tuple[str, ...] = ()
    command: str = "-m {module} --plot {folder}/picture.png"
    made: str = "picture.png"
    exempt: str = ""

    @property
    def sources(self) -> tuple[str, ...]:
        """The paths of all files whose change makes the picture stale."""
        return () if self.exempt else (self.script, *self.others)

    def arguments(self, folder: str) -> list[str]:
        """Return the arguments of python that make the picture in a folder."""
        module = self.script.removesuffix(".py").replace("/", ".")
        return [part.format(module=module, folder=folder) for part in self.command.split()]


FILM = "examples/film.py"
GIF = ("-m {module} --plot {folder}/picture.gif", "picture.gif")
"""Command and name of a moving picture."""
SHOT = "examples/shot.py"
STATES = "examples/papers/states.py"
SERVO = ("examples/coupled/servo.py", "models/hydraulic_servo.py", "models/pid.py")
SPLIT = "examples/coupled/split.py"
MANIPULATOR = ("models/hydraulic_manipulator.py", "models/manipulator_hydraulics.py")
DRIVEN = (
    "models/robot_arm_drives.py",
    "models/arm6.py",
    "models/trajectory.py",
    "models/digital_current_controller.py",
    "models/current_controller.py",
    "models/bldc_motor.py",
    "models/gearbox.py",
    "models/stewart_hydraulic.py",
    "models/stewart.py",
    "models/servo_valve.py",
    "models/cylinder.py",
)
EXCAVATOR = (
    "models/excavator.py",
    "models/pump.py",
    "models/line.py",
    "models/servo_valve.py",
    "models/cylinder.py",
    "models/waypoints.py",
)
FIGURES = "examples/figures"
SOLIDS = f"{FIGURES}/solids.py"
SKATES = ("models/ice_skate.py", "models/ice_skate_harmonic.py", "models/rolling_disk.py")


def figure(name: str, *others: str) -> Picture:
    """Return the row of a figure that explains; others: as in `Picture`."""
    command = f"-m {FIGURES.replace('/', '.')} {name} --plot {{folder}}/figure.svg"
    return Picture(f"figures/{name}.svg", f"{FIGURES}/{name}.py", others, command, "figure.svg")


PICTURES = (
    figure("choose", "models/slider_crank.py"),
    figure("communication"),
    figure("contacts"),
    figure("controller"),
    figure("events", "models/bouncing_ball.py", "models/stick_slip.py"),
    figure("forces"),
    figure("frames", SOLIDS),
    figure("hoist", "docs/ropes.md"),
    figure("joints", SOLIDS),
    figure("life"),
    figure("loops", SOLIDS, "models/slider_crank.py"),
    figure("quantities", "models/slider_crank.py"),
    figure("rolling", SOLIDS),
    figure("sprung", "docs/forces.md"),
    Picture(
        "crane.gif",
        "examples/animation.py",
        (FILM, "mbfmu/show/demo.py", "models/crane.py"),
        *GIF,
    ),
    Picture("moving/pile.gif", "examples/moving/pile.py", (FILM, "models/pile.py"), *GIF),
    Picture("moving/gripper.gif", "examples/moving/gripper.py", (FILM, "models/gripper.py"), *GIF),
    Picture("moving/walker.gif", "examples/moving/walker.py", (FILM, "models/rimless_wheel.py"), *GIF),
    Picture("rooms.png", "examples/rooms.py"),
    Picture("demo.png", "mbfmu/show/demo.py", ("models/crane.py",), "-m mbfmu demo -o {folder}", "crane.png"),
    Picture(
        "benchmarks.png",
        "benchmarks/picture.py",
        command="-m benchmarks --peers -o {folder}/picture.png",
        exempt="with the tables of docs/records/benchmarks.md: half an hour of an idle machine, every peer installed",
    ),
    Picture(
        "bode.png",
        "models/quarter_car.py",
        command="-m mbfmu bode quarter_car --from tyre.z --to hub.s,suspension.s --plot {folder}/picture.png",
    ),
    Picture(
        "locus.png",
        "models/bicycle.py",
        command="-m mbfmu locus bicycle --parameter v=0:10:101 --plot {folder}/picture.png",
    ),
    Picture(
        "hunting.png",
        "models/wheelset.py",
        command="-m mbfmu simulate wheelset --stop 4 --show lateral.s,track.left.N,track.right.N "
        "--plot {folder}/picture.png",
    ),
    Picture(
        "workspace.png",
        "models/crane.py",
        command="-m mbfmu kinematics crane --frame beam2.frame_b --grid lift.s=-0.2:1.1:27 --grid tilt.s=0:1.1:23 "
        "--plot {folder}/picture.png",
    ),
    Picture(
        "sweep.png",
        "models/crane.py",
        command="-m mbfmu sweep crane --stop 0.5 --sample saltelli:64 --distribution load=uniform(100,300) "
        "--distribution L1=uniform(3.4,3.6) --distribution L2=uniform(2.3,2.7) --measure tip=min(hook.r_0[2]) "
        "-o {folder}/crane.csv --plot {folder}/picture.png",
    ),
    Picture("view.png", "examples/viewed.py", (SHOT, "models/crane.py")),
    Picture("bent.png", "examples/bent.py", (SHOT, "models/excavator_flexible.py", *EXCAVATOR)),
    Picture("examples/rolling.png", "examples/rolling.py", ("models/ice_skate.py", "models/rolling_disk.py")),
    Picture("examples/hits.png", "examples/hits.py", ("models/woodpecker.py", "models/slider_crank_clearance.py")),
    Picture("examples/robot.png", "examples/robot.py", ("models/robot.urdf",)),
    Picture("examples/design.png", "examples/design.py", ("models/quarter_car.py",)),
    Picture("examples/synthesis.png", "examples/synthesis.py"),
    Picture("examples/slew.png", "examples/slew.py"),
    Picture("examples/predictive.png", "examples/predictive.py", ("models/cart_pendulum.toml",)),
    Picture(
        "examples/grading.png",
        "examples/grading.py",
        ("examples/predictive.py", "models/cart_pendulum.toml", *EXCAVATOR),
    ),
    Picture("examples/estimation.png", "examples/estimation.py", ("models/cart_pendulum.toml",)),
    Picture("examples/calibration.png", "examples/calibration.py", ("models/arm6.py",)),
    Picture("swing.png", "examples/swing.py", ("models/two_link.py",)),
    Picture("lane_change.png", "examples/lane_change.py", ("models/car.py",)),
    Picture(
        "coupled/arm.png",
        "examples/coupled/arm.py",
        ("models/two_link.py", "models/dc_motor.py", "models/pid.py", "models/trajectory.py"),
    ),
    Picture("coupled/crane.png", "examples/coupled/crane.py", ("models/crane.py", *SERVO)),
    Picture("coupled/platform.png", "examples/coupled/platform.py", ("models/stewart.py", *SERVO)),
    Picture("coupled/driven.png", "examples/driven.py", DRIVEN),
    Picture("coupled/axes.png", "examples/coupled/axes.py", (SPLIT, *DRIVEN)),
    Picture("coupled/manipulator.png", "examples/coupled/manipulator.py", MANIPULATOR),
    Picture("coupled/accuracy.png", "examples/coupled/accuracy.py", ("examples/coupled/manipulator.py", *MANIPULATOR)),
    Picture(
        "excavator_coupled.png",
        "examples/coupled/excavator.py",
        (SPLIT, *EXCAVATOR),
    ),
    Picture("papers/local_index_1.png", "examples/papers/local_index_1.py", ("models/two_link.py", STATES)),
    Picture("papers/survey.png", "examples/papers/survey.py", ("models/two_link.py", STATES)),
    Picture("papers/block_methods.png", "examples/papers/block_methods.py", ("models/two_link.py", STATES)),
    Picture(
        "papers/rigid_body.png",
        "examples/papers/rigid_body.py",
        ("models/two_link.py", "examples/papers/rigid_motion.py", STATES),
    ),
    Picture("papers/nonholonomic.png", "examples/papers/nonholonomic.py", (*SKATES, STATES)),
)


def code(text: str) -> str:
    """Return Python source without comments, docstrings and other strings that are statements, imports, blank lines."""
    lines = text.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(text)):
        bare = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.stmt) and (bare or isinstance(node, ast.Import | ast.ImportFrom)):
            first, last = node.lineno - 1, node.end_lineno or node.lineno
            lines[first:last] = [""] * (last - first)
    return "\n".join(line.rstrip() for line in lines if line.strip())


def sources_hash(picture: Picture, root: Path = ROOT) -> str:
    """Return the hash of all sources of a picture; of a Python file its `code` counts, of a page its Python files."""
    found = hashlib.sha256(picture.command.encode())
    for name in picture.sources:
        text = (root / name).read_text(encoding="utf-8")
        if name.endswith(".md"):
            text = "".join(re.findall(r"^```python title=.*?^```", text, re.DOTALL | re.MULTILINE))
        found.update(f"\n{name}\n{code(text) if name.endswith('.py') else text}".encode())
    return found.hexdigest()


def hashes(picture: Picture, root: Path = ROOT) -> dict[str, str]:
    """Return what the record keeps of a picture."""
    drawn = root / "docs" / picture.name
    return {
        "picture": hashlib.sha256(drawn.read_bytes()).hexdigest() if drawn.exists() else "missing",
        "sources": sources_hash(picture, root),
    }


def read_record(root: Path = ROOT) -> dict[str, dict[str, str]]:
    """Return the hashes of all pictures as they were made, by name."""
    path = root / RECORD
    found: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def stale(root: Path = ROOT) -> Iterator[tuple[Picture, str]]:
    """Yield each picture that is not what its sources make, with why."""
    record = read_record(root)
    for picture in PICTURES:
        if not picture.exempt:
            now, made = hashes(picture, root), record.get(picture.name, {})
            if now["sources"] != made.get("sources"):
                yield picture, f"changed since it was made: one of {', '.join(picture.sources)}"
            elif now["picture"] != made.get("picture"):
                yield picture, "not the file that was made"


def shrink(path: Path) -> None:
    """Write a .png with a palette, which is a third of its size; other pictures stay as they are."""
    if path.suffix == ".png":
        with Image.open(path) as picture:
            colours = picture.convert("RGB")
        # a palette for all colours alike: by their areas, those of a legend's lines would be lost
        smaller = colours.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        smaller.save(path, optimize=True)


def make(picture: Picture, root: Path = ROOT) -> None:
    """Make a picture, put it into its place, and note what it was made from.

    Raises:
        subprocess.CalledProcessError: its command failed; picture and record are as before.
    """
    before = sources_hash(picture, root)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, *picture.arguments(folder)], cwd=root, check=True, stdout=subprocess.DEVNULL)
        shrink(Path(folder) / picture.made)
        shutil.copyfile(Path(folder) / picture.made, root / "docs" / picture.name)
    record = read_record(root) | {picture.name: hashes(picture, root) | {"sources": before}}
    text = json.dumps(dict(sorted(record.items())), indent=2)
    (root / RECORD).write_text(f"{text}\n", encoding="utf-8")


def describe(picture: Picture) -> str:
    """Return what makes a picture, and from what."""
    command = shlex.join(["python", *picture.arguments("FOLDER")])
    return f"docs/{picture.name}\n  {command}\n  {picture.exempt or 'from ' + ', '.join(picture.sources)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Make pictures, or tell of them; return how many are stale, or could not be made."""
    parser = argparse.ArgumentParser(description="Make the pictures of the documentation.")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--list", action="store_true", help="print what makes each picture, and make none")
    choice.add_argument("--stale", action="store_true", help="print which pictures are stale, and make none")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="paths below docs/, such as demo.png; default: all that are not exempt"
    )
    given = parser.parse_args(arguments)
    known = {picture.name: picture for picture in PICTURES}
    if unknown := sorted({*given.names} - known.keys()):
        parser.error(f"there is no picture '{unknown[0]}'; --list prints all")
    if given.list:
        print(*map(describe, PICTURES), sep="\n")
        return 0
    if given.stale:
        found = [(picture, why) for picture, why in stale() if not given.names or picture.name in given.names]
        for picture, why in found:
            print(f"docs/{picture.name}: {why}; make it with: python -m examples.pictures {picture.name}")
        return len(found)
    failures = 0
    for picture in [known[name] for name in given.names] or [item for item in PICTURES if not item.exempt]:
        print(f"docs/{picture.name}", flush=True)
        try:
            make(picture)
        except subprocess.CalledProcessError as error:
            print(f"not made: {error}", file=sys.stderr)
            failures += 1
    return failures


if __name__ == "__main__":
    sys.exit(main())
