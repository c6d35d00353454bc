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
    # Nothing is needed but for the extras.
    needed = re.findall(r"^Requires-Dist: (.*)$", metadata, re.M)
    assert [one for one in needed if "extra ==" not in one] == []
    assert "Requires-Python: >=3.11" in metadata


def test_the_wheel_is_tagged_for_the_oldest_glibc_that_it_runs_on(wheel: Path) -> None:
    platform = wheel.stem.rpartition("-")[2]
    assert re.fullmatch(r"manylinux_2_\d+_\w+", platform)
    shown = " ".join(run(sys.executable, "-m", "auditwheel", "show", wheel).split())
    assert f'is consistent with the following platform tag: "{platform}"' in shown


@pytest.mark.parametrize(("system", "suffix"), [("linux", ".so"), ("darwin", ".dylib"), ("win32", ".dll")])
def test_the_library_is_packed_under_the_name_that_is_loaded(
    system: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = tmp_path / f"built{suffix}"
    ready.write_bytes(b"a library for another system")
    made = build(
        tmp_path / "wheel", "--wheel", str(PACKAGE), TASKHOLD_PREBUILT=str(ready), TASKHOLD_PLATFORM_TAG="any_system"
    )
    assert made.name == f"taskhold-{VERSION}-py3-none-any_system.whl"
    with zipfile.ZipFile(made) as archive:
        (packed,) = (name for name in archive.namelist() if name.endswith(suffix))
    monkeypatch.delenv("TASKHOLD_LIBRARY", raising=False)
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(taskhold._native, "__file__", str(tmp_path / "_native.py"))
    with pytest.raises(ImportError, match=re.escape(str(tmp_path / Path(packed).name))):
        taskhold._native._path()


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
    for file in ("Cargo.toml", "Cargo.lock", "Makefile", "build.rs", ".cargo/config.toml", "src/lib.rs", "LICENSE-MIT"):
        assert (unpacked / "rust" / file).read_bytes() == (ROOT / file).read_bytes(), f"the sdist lacks {file}"
    # It is complete: cargo reads the manifest with all of its targets, and finds the files of the library.
    crate = unpacked / "rust/Cargo.toml"
    listed = run("cargo", "metadata", "--format-version", "1", "--no-deps", "--offline", "--manifest-path", crate)
    assert '"name":"taskhold"' in listed
    for source in (ROOT / "src").rglob("*.rs"):
        assert (unpacked / "rust" / source.relative_to(ROOT)).read_bytes() == source.read_bytes()
    # Its wheel has a library with the same SQLite. It is compiled quickly, in a folder that stays for the next time.
    quickly = {
        "CARGO_TARGET_DIR": str(ROOT / "build/sdist"),
        "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0",
        "CARGO_PROFILE_RELEASE_LTO": "off",
        "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
    }
    wheel = build(tmp_path / "wheel", "--wheel", str(unpacked), **quickly)
    with zipfile.ZipFile(wheel) as built:
        options = sqlite_options(built.read("taskhold/libtaskhold.so"))
    assert b"DEFAULT_MEMSTATUS=0" in options
    assert options == sqlite_options(Path(os.environ.get("TASKHOLD_LIBRARY") or taskhold._native.path).read_bytes())


def sqlite_options(library: bytes) -> set[bytes]:
    """What `PRAGMA compile_options` would say, out of the strings of a library."""
    option = re.compile(
        rb"(?:COMPILER|SYSTEM_MALLOC|TEMP_STORE|THREADSAFE|USE_URI|"
        rb"(?:ATOMIC|DEFAULT|ENABLE|HAVE|MAX|MUTEX|OMIT)_[A-Z0-9_]+)(?:=[\w.-]+)?"
    )
    return {text for text in library.split(b"\0") if option.fullmatch(text)}


def test_an_install_names_a_missing_package_and_installs_nothing(tmp_path: Path) -> None:
    """Also as root, where `make demo` would install it."""
    called = tmp_path / "called"
    for name, script in {"gcc": "exit 1", "id": "echo 0", "apt-get": f"touch {called}"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path / "out", PACKAGE],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment(**{**BARE, "PATH": f"{tmp_path}:{os.environ['PATH']}", "TASKHOLD_MISSING": "install"}),
    )
    assert done.returncode != 0
    assert "Missing on this machine: libc6-dev" in done.stdout + done.stderr
    assert not called.exists()


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
