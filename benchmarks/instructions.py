"""python -m benchmarks.instructions: machine instructions of one step, counted by valgrind's callgrind.

The count does not depend on what else the machine does, so a change of a kernel is seen at once. A small C program
loads the compiled kernel and takes some steps; the difference of two runs over the difference of their steps is one.
"""

import ctypes
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.conditions import compiler_version
from benchmarks.ours import AB7, HIGHER, IMPLICIT, PROJECTED, RK4, Scheme, bundled, label
from benchmarks.table import markdown
from benchmarks.task import Task
from benchmarks.tasks import andrews, arm6, chain, four_bar, slider_crank, two_link
from mbfmu.kernel import Compiled, library, vector

RUNNER = Path(__file__).with_name("runner.c")
FEW, MANY = 20, 120
KERNELS: tuple[tuple[Task, str, Scheme], ...] = (
    (two_link(), "joint", RK4),
    (two_link(), "joint", AB7),
    (two_link(), "joint", HIGHER[1]),
    (two_link(), "absolute", PROJECTED[0]),
    (two_link(), "absolute", IMPLICIT[0]),
    (two_link(), "absolute", IMPLICIT[1]),
    (slider_crank(), "joint", PROJECTED[1]),
    (slider_crank(), "joint", PROJECTED[3]),
    (four_bar(), "joint", PROJECTED[1]),
    (andrews(), "joint", PROJECTED[0]),
    (arm6(), "joint", RK4),
    (chain(8, False), "absolute", IMPLICIT[0]),
    (chain(32, False), "absolute", IMPLICIT[0]),
    (chain(128, False), "absolute", IMPLICIT[0]),
    (chain(32, True), "absolute", IMPLICIT[0]),
    (chain(8, True), "joint", RK4),
    (chain(32, True), "joint", RK4),
    (chain(128, True), "joint", RK4),
)


def main() -> None:
    """Count and print."""
    valgrind, compiler = shutil.which("valgrind"), shutil.which("cc")
    if valgrind is None or compiler is None:
        raise SystemExit("valgrind and cc are needed")
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        runner = Path(folder) / "runner"
        subprocess.run([compiler, "-O2", str(RUNNER), "-o", str(runner), "-ldl"], check=True)
        for task, coordinates, scheme in KERNELS:
            print(task.name, label(scheme), file=sys.stderr)
            lines.append([task.name, label(scheme), coordinates, *counted(valgrind, runner, task, coordinates, scheme)])
    names = ["task", "scheme", "coordinates", "instructions of a step", "bytes of the kernel"]
    print(f"Counted with {compiler_version()}; see docs/records/benchmarks.md.", "", *markdown(names, lines), sep="\n")


def counted(valgrind: str, runner: Path, task: Task, coordinates: str, scheme: Scheme) -> list[str]:
    """Return the instructions of a step and the size of the kernel."""
    dae, bundle = bundled(task, coordinates, scheme)
    made = library(bundle, portable=True)  # valgrind does not know the instructions of every processor
    assert made is not None
    kernel = Compiled(str(made.path))
    h = task.steps[0]
    p, u = vector(dae.p_default()), vector([0.0] * len(dae.inputs))
    x, _ = kernel.initialize(vector(dae.s_default()), u, p, 0.0, h)
    x, _ = kernel.advance(x, u, u, p, 0.0, h, FEW)  # away from the start, where much is zero
    state = runner.with_name("state")
    state.write_bytes(b"".join(bytes(item) for item in ((ctypes.c_longlong * 3)(len(x), len(u), len(p)), x, u, p)))
    totals = []
    for n in (FEW, MANY):
        command = [str(runner), str(made.path), str(state), str(h), str(n)]
        watching = [valgrind, "--tool=callgrind", f"--callgrind-out-file={runner}.out"]
        done = subprocess.run([*watching, *command], capture_output=True, text=True, check=True)
        found = re.search(r"Collected : (\d+)", done.stderr)
        assert found is not None, done.stderr
        totals.append(int(found.group(1)))
    return [f"{(totals[1] - totals[0]) / (MANY - FEW):.0f}", f"{made.path.stat().st_size}"]


if __name__ == "__main__":
    main()
