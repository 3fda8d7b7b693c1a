"""What is released: the version, the package page, the distributions, and how users install them."""

import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager
from packaging.requirements import Requirement
from packaging.version import Version

import mbfmu
from mbfmu.base import extras

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "mbfmu"
HOME = "https://example.org/owner/mbfmu"
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def text_of(path: str) -> str:
    """Return a file of the repository."""
    return (ROOT / path).read_text(encoding="utf-8")


def metadata() -> ProjectMetadata:
    """Return what a distribution that is built now says of itself."""
    return ProjectMetadata(str(ROOT), PluginManager())


# -- the version and the package page -------------------------------------------------------------------------------


def test_the_version_stands_in_one_file_and_a_distribution_has_it() -> None:
    assert metadata().version == mbfmu.__version__
    files = [*PACKAGE.rglob("*.py"), *(ROOT / name for name in ("pyproject.toml", "hatch_build.py"))]
    quoted = re.compile(rf"""["'](mbfmu |v)?{re.escape(mbfmu.__version__)}["']""")
    assert [path for path in files if quoted.search(path.read_text(encoding="utf-8"))] == [PACKAGE / "__init__.py"]


def test_the_foot_of_every_page_has_the_version() -> None:
    project = tomllib.loads(text_of("zensical.toml"))["project"]
    assert project["copyright"] == f"mbfmu {mbfmu.__version__}"


def test_links_of_the_package_page_lead_to_the_files_of_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MBFMU_REPOSITORY", f"{HOME}/")
    core = metadata().core
    below = re.compile(rf"{re.escape(HOME)}/(?:blob|raw)/v{re.escape(mbfmu.__version__)}/([^#]+)(?:#.*)?")
    written, shown = LINK.findall(text_of("README.md")), LINK.findall(core.readme)
    assert len(shown) == len(written) >= 30
    for before, after in zip(written, shown, strict=True):
        if "://" in before:
            assert after == before
        else:
            found = below.fullmatch(after)
            assert found, after
            assert (ROOT / found[1]).is_file()
            assert after.endswith(before)
    assert FENCE.findall(core.readme) == FENCE.findall(text_of("README.md"))
    assert core.urls["Source"] == HOME
    for address in core.urls.values():
        found = below.fullmatch(address)
        assert (ROOT / found[1]).is_file() if found else address in {HOME, f"{HOME}/issues"}


def test_a_package_page_without_a_repository_has_no_address_that_leads_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MBFMU_REPOSITORY", raising=False)
    core = metadata().core
    assert [link for link in LINK.findall(core.readme) if "://" not in link] == []
    assert core.urls == {}
    words = re.compile(r"\w+")
    links = re.compile(r"\]\(.*?\)")
    assert words.findall(links.sub("", core.readme)) == words.findall(links.sub("", text_of("README.md")))


def test_pythons_and_systems_that_the_metadata_claims_are_those_that_the_workflows_test() -> None:
    claimed = " ".join(metadata().core.classifiers)
    workflow = text_of(".github/workflows/tests.yml")
    (matrix,) = re.findall(r"python: (\[.*\])", workflow)
    assert re.findall(r"Python :: (3\.\d+)", claimed) == json.loads(matrix)
    names = {"MacOS": "macos", "Microsoft :: Windows": "windows", "POSIX :: Linux": "ubuntu"}
    systems = re.findall(r"Operating System :: (.*?)(?= [A-Z]\w+ ?\w* ::|$)", claimed)
    assert {names[system] for system in systems} == set(re.findall(r"\b(\w+)-latest", workflow))


def test_the_changelog_has_one_line_a_change_and_a_screen_a_version() -> None:
    head, *sections = re.split(r"^## (?=.*$)", text_of("CHANGELOG.md"), flags=re.MULTILINE)
    assert head.startswith("# Changelog\n")
    titles = [section.partition("\n")[0] for section in sections]
    assert titles[:2] == ["Unreleased", mbfmu.__version__]
    versions = [Version(title) for title in titles[1:]]
    assert versions == sorted(versions, reverse=True)
    for section in sections:
        _, *lines = section.strip().splitlines()
        assert len(lines) <= 40, "longer than a screen"
        assert [line for line in lines if line and not re.fullmatch(r"\* [A-Z`].{,116}\.", line)] == []


# -- how it is installed --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "source"),
    [
        (None, "mbfmu[view,sweep]"),
        ({"url": "file:///home/a%20b/mbfmu", "dir_info": {"editable": True}}, "-e /home/a b/mbfmu[view,sweep]"),
        ({"url": "file:///home/a%20b/mbfmu", "dir_info": {}}, "file:///home/a%20b/mbfmu"),
        ({"url": "https://example.org/mbfmu-1-py3-none-any.whl", "archive_info": {}}, None),
        (
            {"url": f"{HOME}.git", "vcs_info": {"vcs": "git", "commit_id": "0" * 40}},
            f"git+{HOME}.git@{'0' * 40}",
        ),
    ],
)
def test_an_extra_is_installed_from_where_the_package_was(
    record: dict[str, Any] | None, source: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Installed:
        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return record and json.dumps(record)

    monkeypatch.setattr(extras, "distribution", lambda _: Installed())
    command = extras.command("view", "sweep")
    assert command.startswith("python -m pip install ")
    named = command.removeprefix("python -m pip install ").replace('"', "")
    if named.startswith("-e"):
        assert named == source
        return
    requirement = Requirement(named)
    assert (requirement.name, requirement.extras) == ("mbfmu", {"view", "sweep"})
    assert requirement.url == (source or (record or {})["url"]) if record else named == source


def test_an_extra_of_a_package_that_no_installer_knows_is_installed_from_an_index(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(extras, "distribution", missing)
    assert extras.command("view") == 'python -m pip install "mbfmu[view]"'


def pages() -> Iterator[Path]:
    """Yield the pages, and the files whose docstrings say how to run them."""
    yield from (ROOT / name for name in ("README.md", "CONTRIBUTING.md"))
    for folder in ("docs", "examples", "benchmarks", "models"):
        yield from (path for path in (ROOT / folder).rglob("*") if path.suffix in {".md", ".py", ".ipynb"})


def test_pages_install_from_a_checkout_with_extras_that_exist() -> None:
    known = set(tomllib.loads(text_of("pyproject.toml"))["project"]["optional-dependencies"])
    count = 0
    for path in pages():
        text = path.read_text(encoding="utf-8")
        assert "mbfmu[" not in text, path
        for names in re.findall(r"pip install -e \\?[\"']\.\[([\w,]+)\]\\?[\"']", text):
            count += 1
            assert set(names.split(",")) <= known, path
    assert count >= 12


# -- the distributions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("builder", [WheelBuilder, SdistBuilder])
def test_a_distribution_carries_the_sources_of_native_fmus_and_the_licence_of_their_headers(
    builder: Any, tmp_path: Path
) -> None:
    made = Path(next(builder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])))
    if made.suffix == ".whl":
        with zipfile.ZipFile(made) as archive:
            names = archive.namelist()
    else:
        with tarfile.open(made) as archive:
            names = [name.partition("/")[2] for name in archive.getnames()]
    native = [path for path in (PACKAGE / "fmu" / "native").rglob("*") if path.suffix in {".c", ".h", ".txt"}]
    assert len(native) >= 8
    assert {path.relative_to(ROOT).as_posix() for path in native} <= set(names)
    assert made.suffix != ".whl" or any("licenses/" in name and name.endswith("BSD-2-Clause.txt") for name in names)


def test_a_wheel_finds_its_models_and_recipes_anywhere(tmp_path: Path) -> None:
    wheel = next(WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"]))
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    script = (
        "import mbfmu, mbfmu.fmu.recipe as r\n"
        "print(mbfmu.__file__, mbfmu.load('two_link').name, sorted(r.known_recipes()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path, env={"PYTHONPATH": str(site)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    where, model, recipes = done.stdout.split(" ", 2)
    assert where.startswith(str(site))
    assert model == "two_link"
    assert "two_link_rattle" in recipes


def python_of(folder: Path) -> str:
    """Return the interpreter of a new virtual environment."""
    venv.create(folder, with_pip=True)
    return str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def done(*command: str, folder: Path, **more: str) -> str:
    """Run a command that knows of no checkout; return what it prints."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | more
    run = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=600, check=False
    )
    assert run.returncode == 0, f"{command}\n{run.stdout}\n{run.stderr}"
    return run.stdout


@pytest.mark.slow
@pytest.mark.long
def test_a_released_wheel_passes_the_index_runs_the_demo_and_gets_an_extra_in_a_new_environment(tmp_path: Path) -> None:
    """By the commands of the workflow that releases."""
    install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    tools, made = python_of(tmp_path / "tools"), tmp_path / "dist"
    probe = [tools, "-m", "pip", "download", "--quiet", "--no-deps", "--retries", "0", "--timeout", "15", "twine"]
    if subprocess.run(probe, cwd=tmp_path, capture_output=True, check=False).returncode:
        pytest.skip("no package index can be reached")
    done(tools, *install, "build", "twine", folder=tmp_path)
    done(tools, "-m", "build", "--outdir", str(made), str(ROOT), folder=tmp_path, MBFMU_REPOSITORY=HOME)
    files = sorted(path.name for path in made.iterdir())
    assert files == [f"mbfmu-{mbfmu.__version__}-py3-none-any.whl", f"mbfmu-{mbfmu.__version__}.tar.gz"]
    done(tools, "-m", "twine", "check", "--strict", *(str(made / name) for name in files), folder=tmp_path)

    python = python_of(tmp_path / "fresh")
    scripts = Path(python).parent
    there = {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done(python, *install, str(made / files[0]), folder=tmp_path)
    assert "check: no problem" in done(str(scripts / "mbfmu"), "demo", folder=tmp_path, **there)
    command = done(
        python, "-c", "from mbfmu.base import extras; print(extras.command('xacro'))", folder=tmp_path, **there
    )
    assert files[0] in command
    done(*shlex.split(command), folder=tmp_path, **there)
    done(python, "-c", "import xacro", folder=tmp_path, **there)
