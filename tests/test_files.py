"""Files: whole or not at all, through links, devices and pipes, in the format that their ending names."""

import io
import os
import re
import stat
import subprocess
import sys
import threading
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import extra
from scipy.io import loadmat, savemat

import mbfmu
from mbfmu.base.files import check_outputs, ending_of, is_stream, write_aside
from mbfmu.base.formats import FORMATS, read_columns, write_columns
from mbfmu.base.result import Result, read_table
from mbfmu.errors import MbfmuError, UsageError

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither these links nor these devices")
ODD = np.array([0.1, -1e-300, 1 / 3, 1e308, 5e-324])
"""Numbers that a rounded text would not give back."""


# -- where a path leads ---------------------------------------------------------------------------------------------


@posix
def test_a_link_stays_and_the_file_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    target, link, second = tmp_path / "deep" / "target", tmp_path / "link", tmp_path / "second"
    target.write_text("old", encoding="utf-8")
    link.symlink_to("deep/target")
    second.symlink_to("link")
    write_aside(second, b"new")
    assert (link.is_symlink(), second.is_symlink()) == (True, True)
    assert target.read_bytes() == b"new"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["deep", "link", "second", "target"]


@posix
def test_a_link_that_leads_nowhere_gets_its_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("made/later")
    write_aside(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "made" / "later").read_bytes() == b"new"


@posix
def test_links_in_a_circle_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(MbfmuError, match=r"cannot write '.*one'"):
        write_aside(tmp_path / "one", b"new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]
    assert (tmp_path / "one").is_symlink()


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_that_is_replaced_keeps_its_permissions(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_aside(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_bytes() == b"new"


def test_a_protected_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To root no file is protected: the answer of the system is put in its place."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(MbfmuError, match=r"cannot write '.*file': Permission denied"):
        write_aside(path, b"new")
    assert path.read_bytes() == b"old"


@posix
def test_a_device_is_written_through(tmp_path: Path) -> None:
    before = os.stat("/dev/null")
    (tmp_path / "link").symlink_to("/dev/null")
    for path in (Path("/dev/null"), tmp_path / "link"):
        write_aside(path, b"gone")
    after = os.stat("/dev/null")
    assert stat.S_ISCHR(after.st_mode)
    assert (after.st_rdev, after.st_ino) == (before.st_rdev, before.st_ino)
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


@posix
def test_a_pipe_is_written_through(tmp_path: Path) -> None:
    path, got = tmp_path / "pipe", []
    os.mkfifo(path)
    assert is_stream(path)
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()))
    reader.start()
    write_aside(path, b"content")
    reader.join(10)
    assert got == [b"content"]
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert [item.name for item in tmp_path.iterdir()] == ["pipe"]


@posix
@pytest.mark.parametrize("into", ["pipe", "file"])
def test_the_standard_output_gets_the_content_between_what_is_printed(into: str, tmp_path: Path) -> None:
    script = (
        "from pathlib import Path; from mbfmu.base.files import write_aside; print('first');"
        "write_aside(Path('/dev/stdout'), b'content\\n'); print('last')"
    )
    command = [sys.executable, "-c", script]
    if into == "file":
        with (tmp_path / "out").open("w", encoding="utf-8") as file:
            subprocess.run(command, stdout=file, check=True)
        text = (tmp_path / "out").read_text(encoding="utf-8")
    else:
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert text == "first\ncontent\nlast\n"


@posix
def test_what_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    for path, why in (("/dev/full", "No space left"), (tmp_path / "folder", ""), (tmp_path / "file" / "deep", "")):
        if path == "/dev/full" and not os.path.exists(path):
            continue
        with pytest.raises(MbfmuError, match=f"cannot write '{path}'.*{why}"):
            write_aside(Path(path), b"content")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_file_that_is_read_is_not_overwritten_by_any_of_its_names(tmp_path: Path) -> None:
    source, other = tmp_path / "model.toml", tmp_path / "out.csv"
    source.write_text("model", encoding="utf-8")
    other.symlink_to("model.toml")
    for path in (source, other, tmp_path / "." / "model.toml"):
        with pytest.raises(UsageError, match=r"would overwrite '.*model\.toml', which is read"):
            check_outputs((None, path), ("two_link", source))
    check_outputs((tmp_path / "new.csv", None), (source, "2*sin(time)", "two_link"))


# -- endings --------------------------------------------------------------------------------------------------------


def test_an_ending_decides_in_capitals_too_and_another_is_refused() -> None:
    assert ending_of(Path("run.CSV"), (".csv", ".mat")) == ".csv"
    for name in ("run", "run.toml", "csv", ".csv"):
        with pytest.raises(UsageError, match=rf"'{name}' must end in \.csv, \.md or \.mat"):
            ending_of(Path(name), (".csv", ".md", ".mat"))
    with pytest.raises(UsageError, match=r"'run' must end in \.fmu$"):
        ending_of(Path("run"), (".fmu",))


@posix
def test_a_device_without_an_ending_has_the_first_format() -> None:
    assert ending_of(Path("/dev/null"), (".csv", ".mat")) == ".csv"


# -- tables ---------------------------------------------------------------------------------------------------------

every = pytest.mark.parametrize("ending", FORMATS)


@every
def test_numbers_read_back_exactly_in_every_format(ending: str, tmp_path: Path) -> None:
    names = ("hinge.phi", "b.r_0[1]", "file", "allow_pickle", 'a, "b"', "", "é\n€")
    result = Result(np.arange(5.0), names, np.outer(ODD, [1, -1, 0.5, 1, 1, 1, 1]))
    columns = read_table(result.write(tmp_path / "deeper" / f"run{ending}"))
    assert list(columns) == ["time", *names]
    assert all(np.array_equal(columns[name], result[name]) for name in columns)
    assert [path.name for path in (tmp_path / "deeper").iterdir()] == [f"run{ending}"]


@every
@pytest.mark.parametrize("sign", ["\r", "\0", "\ud800"])
def test_a_name_that_would_not_read_back_is_refused_and_nothing_is_written(
    sign: str, ending: str, tmp_path: Path
) -> None:
    result = Result(np.arange(5.0), (f"a{sign}b",), np.outer(ODD, [1]))
    with pytest.raises(MbfmuError, match=re.escape(f"run{ending}': its column {f'a{sign}b'!r} has the character")):
        result.write(tmp_path / f"run{ending}")
    assert not list(tmp_path.iterdir())


@every
def test_a_table_of_one_time_and_no_variable_reads_back(ending: str, tmp_path: Path) -> None:
    path = Result(np.array([0.5]), (), np.zeros((1, 0))).write(tmp_path / f"run{ending}")
    assert {name: column.tolist() for name, column in read_table(path).items()} == {"time": [0.5]}


@every
def test_the_same_result_gives_the_same_bytes(ending: str, tmp_path: Path) -> None:
    result = Result(np.arange(5.0), ("a", "b"), np.outer(ODD, [1, 0.5]))
    one, other = (result.write(tmp_path / f"{name}{ending}").read_bytes() for name in ("one", "two"))
    if ending == ".mat":  # its header holds the date
        one, other = one[128:], other[128:]
    assert one == other


def test_other_tools_find_the_columns(tmp_path: Path) -> None:
    result = Result(np.arange(5.0), ("hinge.phi", "hinge.w"), np.outer(ODD, [1, 0.5]))
    made = {ending: result.write(tmp_path / f"run{ending}") for ending in FORMATS}
    with np.load(made[".npz"]) as archive:
        assert np.array_equal(archive["hinge.phi"], ODD)
    mat = loadmat(made[".mat"], simplify_cells=True)
    assert list(mat["names"]) == ["time", "hinge.phi", "hinge.w"]
    assert np.array_equal(mat["values"][:, 1], ODD)
    assert made[".csv"].read_text(encoding="utf-8").splitlines()[:2] == ["time,hinge.phi,hinge.w", "0.0,0.1,0.05"]


@every
@pytest.mark.parametrize("damage", ["empty", "text", "half", "missing", "folder"])
def test_a_table_that_is_damaged_is_one_error_that_names_it(ending: str, damage: str, tmp_path: Path) -> None:
    path = tmp_path / f"run{ending}"
    whole = Result(np.arange(500.0), ("a",), np.random.default_rng(0).normal(size=(500, 1))).write(path).read_bytes()
    match damage:
        case "missing":
            path.unlink()
        case "folder":
            path.unlink()
            path.mkdir()
        case _:
            path.write_bytes({"empty": b"", "text": b"\x00 no table", "half": whole[: len(whole) // 2]}[damage])
    if (ending, damage) == (".csv", "half"):
        path.write_bytes(whole[: whole.rindex(b",")])
    with pytest.raises(MbfmuError, match=rf"run\{ending}"):
        read_table(path)


@every
@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"t": np.arange(3.0)}, "needs a column 'time'"),
        ({"time": np.zeros(0)}, "at least one row"),
        ({"time": np.array([0.0, 2.0, 1.0])}, "must increase"),
        ({"time": np.arange(3.0), "a": np.array([0, np.nan, 0])}, "'a' needs one finite number"),
    ],
)
def test_a_table_of_no_run_is_refused(ending: str, columns: dict[str, Any], why: str, tmp_path: Path) -> None:
    path = write_columns(tmp_path / f"run{ending}", columns)
    with pytest.raises(MbfmuError, match=why):
        read_table(path)


@posix
def test_a_table_from_an_endless_device_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.csv").symlink_to("/dev/zero")
    with pytest.raises(MbfmuError, match="it is a device"):
        read_table(tmp_path / "run.csv")


@posix
def test_an_input_from_a_file_that_is_no_table_is_refused() -> None:
    with pytest.raises(UsageError, match=r"the name of a table ends in \.csv.*that of '/dev/zero' does not"):
        mbfmu.simulate("two_link", 0.1, inputs={"shoulder.tau": "/dev/zero"})


@posix
def test_a_table_from_a_pipe_is_read_to_its_end_and_refused_if_it_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mbfmu.base.formats.LONGEST_STREAM", 100_000)
    os.mkfifo(tmp_path / "run.csv")
    for content, said in (("printf 'time,a\\n0,1\\n'", ""), ("yes", "more than 100000 bytes, and may never end")):
        with subprocess.Popen(["sh", "-c", f"exec {content} > run.csv"], cwd=tmp_path, stderr=subprocess.DEVNULL):
            if said:
                with pytest.raises(MbfmuError, match=said):
                    read_table(tmp_path / "run.csv")
            else:
                assert {name: list(column) for name, column in read_table(tmp_path / "run.csv").items()} == {
                    "time": [0.0],
                    "a": [1.0],
                }


@every
def test_two_columns_of_one_name_are_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"run{ending}"
    match ending:
        case ".csv":
            path.write_text("time,a,time\n0,1,0\n", encoding="utf-8")
        case ".parquet":
            pyarrow, parquet = extra("pyarrow", "sweep"), extra("pyarrow.parquet", "sweep")
            column = pyarrow.array([0.0, 1.0])
            parquet.write_table(pyarrow.table([column] * 3, names=["time", "a", "time"]), path)
        case ".mat":
            savemat(path, {"names": np.array(["time", "a", "time"], dtype=object), "values": np.ones((2, 3))})
        case ".npz":
            content = write_columns(path, {"time": np.arange(2.0)}).read_bytes()
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                member = archive.read("time.npy")
            with zipfile.ZipFile(path, "w") as archive, warnings.catch_warnings():
                warnings.simplefilter("ignore")  # zipfile's own, of the second name
                for name in ("time", "a", "time"):
                    archive.writestr(f"{name}.npy", member)
        case _:
            pytest.fail(f"no table with two columns of one name in {ending}")
    with pytest.raises(MbfmuError, match=rf"run\{ending}': two columns are named 'time'"):
        read_table(path)


@pytest.mark.parametrize("ending", [name for name, item in FORMATS.items() if item.texts])
def test_texts_and_empty_cells_read_back(ending: str, tmp_path: Path) -> None:
    path = write_columns(tmp_path / f"t{ending}", {"x": [1.5, None], "why": ["", 'a "b", c']}, texts=True)
    columns = read_columns(path, texts=True)
    assert [value and float(value) for value in columns["x"]] in ([1.5, None], [1.5, ""])
    assert list(columns["why"]) == ["", 'a "b", c']


@every
def test_an_input_may_come_from_a_table_of_any_format(ending: str, tmp_path: Path) -> None:
    times = np.linspace(0, 0.1, 11)
    path = Result(times, ("shoulder.tau",), np.sin(30 * times)[:, None]).write(tmp_path / f"torque{ending}")
    arm = mbfmu.load("two_link")
    run = mbfmu.simulate(arm, 0.1, output_interval=0.01, inputs={"shoulder.tau": str(path)})
    np.testing.assert_allclose(run["shoulder.tau"], np.sin(30 * times), atol=1e-15)


@pytest.mark.parametrize(
    "write",
    [
        lambda path: Result(np.zeros(1), (), np.zeros((1, 0))).write(path),
        lambda path: mbfmu.export(mbfmu.load("two_link"), path),
        lambda path: mbfmu.linearize(mbfmu.load("two_link")).write(path),
    ],
)
def test_every_writer_refuses_the_ending_of_a_model(write: Callable[[Path], Path], tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match=r"model\.toml' must end in \."):
        write(path)
    assert path.read_text(encoding="utf-8") == "mine"


def test_a_table_of_complex_numbers_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", time=np.arange(2.0), a=np.arange(2.0) * 1j)
    with pytest.raises(MbfmuError, match=r"'.*x\.npz' holds something that is not a number"):
        read_table(tmp_path / "x.npz")
