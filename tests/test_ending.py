"""Processes that end early: signals end in one line at most, and no compiler, thread or file stays behind."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbfmu
from mbfmu.base.cache import passing_folder

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals are a POSIX matter")
PROGRAM = """
import os, signal, sys

class Interrupting:
    "Ctrl-C as a module is loaded, of which the module makes another error if it is told to."

    def find_spec(self, name, *_):
        if name == {name!r}:
            sys.meta_path.remove(self)
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt as stop:
                raise {error} from stop

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored if the tests run in the background
sys.meta_path.insert(0, Interrupting())
sys.argv = ["mbfmu", "describe", "two_link"]
from mbfmu.__main__ import main
main()
"""
COMPILER = """#!/bin/sh
[ "$1" = --version ] && echo slow && exit
touch "$TMPDIR/left.s"
sleep 600 &
echo $$ $! > {started}.part
mv {started}.part {started}
wait
"""


@POSIX
@pytest.mark.parametrize(
    ("name", "error"),
    [("typer", "KeyboardInterrupt()"), ("casadi", "KeyboardInterrupt()"), ("casadi", "RuntimeError()")],
)
def test_an_interrupt_while_modules_load_is_one_line(name: str, error: str) -> None:
    script = PROGRAM.format(name=name, error=error)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "mbfmu: interrupted\n")


def alive(pid: int) -> bool:
    """Return whether a process runs, and is not only waited for."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"


@pytest.fixture
def compiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, list[int], Path]]:
    """Run Python until it compiles; return it, its compiler and what that has started, and its temporary folder."""
    started, scratch = tmp_path / "started", tmp_path / "scratch"
    scratch.mkdir()
    compiler = tmp_path / "slow"
    compiler.write_text(COMPILER.format(started=started), encoding="utf-8")
    compiler.chmod(0o755)
    for key, value in {"CC": compiler, "TMPDIR": scratch, "XDG_CACHE_HOME": tmp_path / "cache"}.items():
        monkeypatch.setenv(key, str(value))

    def run(*arguments: str) -> tuple[Any, list[int], Path]:
        pipe = subprocess.PIPE
        running = subprocess.Popen([sys.executable, *arguments], stdout=pipe, stderr=pipe, text=True)
        while running.poll() is None and not started.exists():
            time.sleep(0.02)
        pids = [int(pid) for pid in started.read_text(encoding="utf-8").split()]
        assert all(map(alive, pids))
        assert list(scratch.rglob("left.s"))
        return running, pids, scratch

    return run


def soon(holds: Callable[[], bool]) -> bool:
    """Return whether something holds within some seconds."""
    for _ in range(200):
        if holds():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells what a compiler has started")
def test_a_terminated_command_leaves_neither_compilers_nor_files(compiling: Callable[..., Any]) -> None:
    running, pids, scratch = compiling("-m", "mbfmu", "simulate", "two_link", "--stop", "1")
    running.terminate()
    assert running.communicate(timeout=60) == ("", "")
    assert running.returncode == 128 + signal.SIGTERM
    assert soon(lambda: not any(map(alive, pids)))  # one whose parent is gone ends a little later
    assert list(scratch.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells what a compiler has started")
@pytest.mark.parametrize("order", ["SIGTERM", "SIGKILL"])
def test_a_program_that_is_ended_leaves_neither_compilers_nor_files(order: str, compiling: Callable[..., Any]) -> None:
    """A program of the user's handles no signals, and nothing of it is run at its end."""
    running, pids, scratch = compiling("-c", "import mbfmu; mbfmu.simulate('two_link', 1.0)")
    running.send_signal(getattr(signal, order))
    running.communicate(timeout=60)
    assert running.returncode == -getattr(signal, order)
    assert soon(lambda: not any(map(alive, pids)))
    assert soon(lambda: not list(scratch.iterdir()))


@POSIX
def test_a_forked_process_leaves_the_files_of_its_parent() -> None:
    script = """
import os
from mbfmu.base.cache import passing_folder
mine = passing_folder()
child = os.fork()
if child == 0:
    other = passing_folder()
    print(other != mine, other.is_dir(), mine.is_dir(), flush=True)
else:
    os.waitpid(child, 0)
    print(mine.is_dir())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True True True\nTrue\n", "")
    assert passing_folder() == passing_folder()


def test_the_first_use_may_come_in_a_thread_after_the_end_of_the_main_one() -> None:
    script = """
import threading

def late():
    threading.main_thread().join()
    import mbfmu
    mbfmu.Simulation("two_link", stepper="direct", batch=64, threads=2).step(None, 0.01)
    print(mbfmu.Simulation("two_link", stepper="direct").step(None, 0.01).size > 0)

threading.Thread(target=late).start()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")


class Own(mbfmu.Simulation):
    """A simulation with other arguments."""

    def __init__(self, length: float) -> None:
        super().__init__("two_link", stepper="direct", values={"l1": length})


@pytest.mark.parametrize("again", [lambda item: pickle.loads(pickle.dumps(item)), copy.deepcopy])
def test_a_simulation_pickles_with_its_state(again: Callable[[mbfmu.Simulation], mbfmu.Simulation]) -> None:
    lengths = np.linspace(0.5, 1, 4)
    for one in (Own(0.7), mbfmu.Simulation("two_link", stepper="direct", values={"l1": lengths}, batch=4)):
        one.step({"shoulder.tau": 1.0}, 0.01)
        other = again(one)
        assert type(other) is type(one)
        assert (other.time, other.state) == (one.time, one.state)
        np.testing.assert_array_equal(other.step(None, 0.01), one.step(None, 0.01))
