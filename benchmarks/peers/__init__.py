"""The peers: other programs that can solve some of the tasks. A module each, with a function ``cases(task)``.

Each is optional. To add one, copy the nearest file and add its name here.
"""

from collections.abc import Iterator, Sequence
from importlib import import_module

from benchmarks.case import Case
from benchmarks.task import Task

PEERS = ("pinocchio", "pinocchio_generated", "mujoco", "exudyn", "drake", "scipy", "sundae")
TOUCHING = ("mujoco", "exudyn", "drake", "pinocchio")
"""Peers that know contacts: a second module each, such as ``mujoco_contacts``."""
PILING = ("mujoco", "exudyn", "drake", "pinocchio")
"""Peers that know many contacts: a further module each, such as ``mujoco_pile``."""
TOUCHES = ("ball", "block", "belt", "puck")
"""What they build."""


def present(wanted: Sequence[str] = PEERS) -> tuple[list[str], dict[str, str]]:
    """Return which of the peers are installed, and why the others are absent."""
    found: list[str] = []
    absent: dict[str, str] = {}
    for name in wanted:
        try:
            import_module(f"benchmarks.peers.{name}")
            found.append(name)
        except (ImportError, OSError) as error:
            absent[name] = str(error)
    return found, absent


def cases(task: Task, names: Sequence[str]) -> Iterator[Case]:
    """Return the cases of some peers; a task with neither links nor contacts is nobody's."""
    for name in names:
        if task.touching in TOUCHES and name in TOUCHING:
            yield from import_module(f"benchmarks.peers.{name}_contacts").cases(task)
        elif task.links:
            yield from import_module(f"benchmarks.peers.{name}").cases(task)
