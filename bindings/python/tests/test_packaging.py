"""The package as it is installed: built by the hook, in fresh environments, imported from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import taskhold
from header import ROOT
from running import environment

PACKAGE = ROOT / "bindings/python"
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]["version"]
# What an install must work without.
BARE: dict[str, str | None] = {"TASKHOLD_LIBRARY": None, "TASKHOLD_PREBUILT": None, "PYTHONPATH": None}

PROGRAM = """
import pathlib, sys, taskhold, taskhold._native
with taskhold.TaskManager() as tasks:
    task_id = tasks.create_task("/mcp", {})["task"]["taskId"]
    assert tasks.complete_task(task_id, {})["task"]["status"] == "completed"
print(taskhold._native.path)
"""


def fresh(folder: Path) -> Path:
    """A new environment that has nothing but pip; gives its Python."""
    venv.create(folder, with_pip=True, symlinks=True)
    return folder / "bin/python"


def run(*command: str | Path, **changes: str | None) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        cwd="/",
        env=environment(**{**BARE, **changes}),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(folder: Path, *arguments: str, **changes: str | None) -> Path:
    """Build with this environment's own hatchling; gives the only file that came out."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, *arguments, **changes)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel around the library under test."""
    ready = os.environ.get("TASKHOLD_LIBRARY") or taskhold._native.path
    return build(tmp_path_factory.mktemp("wheel"), "--wheel", str(PACKAGE), TASKHOLD_PREBUILT=ready)


def test_the_wheel(wheel: Path) -> None:
    assert re.fullmatch(rf"taskhold-{re.escape(VERSION)}-py3-none-\w+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = archive.read(f"taskhold-{VERSION}.dist-info/METADATA").decode()
    modules = {f"taskhold/{file.name}" for file in (PACKAGE / "src/taskhold").glob("*.py")}
    assert modules | {"taskhold/py.typed", "taskhold/libtaskhold.so"} <= names
    assert {"taskhold/LICENSE-MIT", "taskhold/LICENSE-APACHE"} <= names
    assert [name for name in names if name.endswith(".so")] == ["taskhold/libtaskhold.so"]
    assert "Requires-Dist" not in metadata
    assert "Requires-Python: >=3.11" in metadata


def test_the_wheel_installed_in_a_fresh_environment(wheel: Path, tmp_path: Path) -> None:
    python = fresh(tmp_path / "env")
    run(python, "-m", "pip", "install", "--quiet", "--no-index", wheel)
    assert Path(run(python, "-c", PROGRAM).strip()).is_relative_to(tmp_path / "env")
    assert run(python, "-m", "taskhold", "--version") == f"taskhold {VERSION}\n"
    assert run(tmp_path / "env/bin/taskhold", "--version") == f"taskhold {VERSION}\n"


def test_pip_install_of_the_folder_and_editable(tmp_path: Path) -> None:
    """As a user does: the build is isolated, and the library is built by the project's own target."""
    python = fresh(tmp_path / "env")
    run(python, "-m", "pip", "install", "--quiet", PACKAGE)
    assert Path(run(python, "-c", PROGRAM).strip()).is_relative_to(tmp_path / "env")

    beside = PACKAGE / "src/taskhold/libtaskhold.so"
    assert not beside.exists(), f"{beside} is in the way: an editable install put it there"
    try:
        run(python, "-m", "pip", "install", "--quiet", "--editable", PACKAGE)
        assert Path(run(python, "-c", PROGRAM).strip()) == beside
        # An ordinary install over it takes its own copy along.
        run(python, "-m", "pip", "install", "--quiet", "--force-reinstall", PACKAGE)
        assert Path(run(python, "-c", PROGRAM).strip()).is_relative_to(tmp_path / "env")
    finally:
        beside.unlink(missing_ok=True)


def test_the_source_distribution_builds_by_itself(tmp_path: Path) -> None:
    archive = build(tmp_path / "sdist", "--sdist", str(PACKAGE))
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    unpacked = tmp_path / f"taskhold-{VERSION}"
    for file in ("Cargo.toml", "Cargo.lock", "Makefile", "src/lib.rs", "LICENSE-MIT"):
        assert (unpacked / "rust" / file).is_file(), f"the sdist lacks {file}"
    # It is complete: cargo reads the manifest with all of its targets, and finds the files of the library.
    crate = unpacked / "rust/Cargo.toml"
    listed = run("cargo", "metadata", "--format-version", "1", "--no-deps", "--offline", "--manifest-path", crate)
    assert '"name":"taskhold"' in listed
    for source in (ROOT / "src").rglob("*.rs"):
        assert (unpacked / "rust" / source.relative_to(ROOT)).read_bytes() == source.read_bytes()
    # Its wheel is the same package, under the same version.
    wheel = build(tmp_path / "wheel", "--wheel", str(unpacked), TASKHOLD_PREBUILT=taskhold._native.path)
    with zipfile.ZipFile(wheel) as built:
        assert "taskhold/libtaskhold.so" in built.namelist()


def test_a_missing_toolchain_is_said_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").symlink_to(sys.executable)
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path / "out", PACKAGE],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment(**{**BARE, "PATH": str(tmp_path / "bin")}),
    )
    assert done.returncode != 0
    assert "building from source needs make, gcc and a Rust toolchain, and there is no make here" in (
        done.stdout + done.stderr
    )
