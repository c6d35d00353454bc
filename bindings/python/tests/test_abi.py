"""The package says what the header says, so that neither can drift, and loads only what it was made for."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import taskhold
from header import CONSTANTS, FUNCTIONS, ROOT, STATUSES, TEXT
from running import python
from taskhold import _errors, _native

_SCALARS: dict[str, Any] = {
    "void": None,
    "taskhold_status": ctypes.c_int32,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "const char *": ctypes.c_char_p,
    "char *": ctypes.c_void_p,
    "char **": ctypes.POINTER(ctypes.c_char_p),
    "int32_t *": ctypes.POINTER(ctypes.c_int32),
    "uint64_t *": ctypes.POINTER(ctypes.c_uint64),
}


def ctype(declared: str) -> Any:
    if declared in _SCALARS:
        return _SCALARS[declared]
    assert re.fullmatch(r"taskhold_\w+ \*\*?", declared), declared
    return ctypes.POINTER(ctypes.c_void_p) if declared.endswith("**") else ctypes.c_void_p


def test_the_table_has_the_headers_functions() -> None:
    assert len(FUNCTIONS) > 50
    assert FUNCTIONS.keys() >= _native.NOT_BOUND
    bound = FUNCTIONS.keys() - _native.NOT_BOUND
    assert _native.SIGNATURES.keys() == bound


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - _native.NOT_BOUND))
def test_signature(name: str) -> None:
    function = FUNCTIONS[name]
    result, parameters = _native.SIGNATURES[name]
    assert result == ctype(function.returns)
    assert list(parameters) == [ctype(parameter.type) for parameter in function.parameters]


def test_constants() -> None:
    assert CONSTANTS["TASKHOLD_ABI_VERSION"] == _native.ABI_VERSION == taskhold.abi_version()
    assert re.search(r"TASKHOLD_WAIT_FOREVER UINT32_MAX", TEXT)
    assert {f"TASKHOLD_RENDER_{one.name}": one.value for one in taskhold.Rendering} == {
        name: value for name, value in CONSTANTS.items() if "_RENDER_" in name
    }
    assert {f"TASKHOLD_LIVENESS_{one.name}": one.value for one in taskhold.Liveness} == {
        name: value for name, value in CONSTANTS.items() if "_LIVENESS_" in name
    }


def test_each_status_has_its_exception() -> None:
    failures = {name: number for name, number in STATUSES.items() if name != "ok"}
    assert len(failures) == 13
    assert {error.status: code for code, error in _errors.BY_CODE.items()} == failures
    for name, number in failures.items():
        error = getattr(taskhold, "".join(word.capitalize() for word in name.split("_")) + "Error")
        assert (error.status, error.code) == (name, number)
        assert taskhold.status_name(number) == name
        assert len([base for base in error.__mro__ if base.__module__ == "builtins"]) >= 4, "it is a builtin too"


def test_every_function_is_a_method_with_its_twins() -> None:
    """Each function of a system is a method with the function's name and an `…_async` twin."""
    classes: dict[str, type[Any]] = {
        "manager": taskhold.TaskManager,
        "session_store": taskhold.SessionStore,
        "state_provider": taskhold.StateProvider,
    }
    for name, function in FUNCTIONS.items():
        for prefix, cls in classes.items():
            method = name.removeprefix(f"taskhold_{prefix}_")
            if method == name or method in ("open", "close", "subscribe"):
                continue
            assert hasattr(cls, method), name
            assert hasattr(cls, method + "_async"), name
            if any(p.type == "char **" and p.name != "out_error" for p in function.parameters):
                assert hasattr(cls, method + "_json"), name
                assert hasattr(cls, method + "_json_async"), name
            documentation = getattr(cls, method).__doc__
            assert f"Source: ``{name}``" in documentation, f"{method} does not name its source"
            if len(function.parameters) > 3:
                assert "Raises:" in documentation, f"{method} does not say what it raises"


def test_versions_are_one() -> None:
    crate = re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.M)
    assert crate
    assert taskhold.__version__ == taskhold.version() == crate[1]


def compiled(source: str, folder: Path) -> Path:
    (folder / "fake.c").write_text(source)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", "libfake.so", "fake.c"], cwd=folder, check=True)
    return folder / "libfake.so"


def test_another_abi_is_an_import_error_that_names_both_versions(tmp_path: Path) -> None:
    library = compiled("unsigned taskhold_abi_version(void) { return 77; }", tmp_path)
    done = python("import taskhold", TASKHOLD_LIBRARY=str(library))
    assert done.returncode == 1
    assert f"ImportError: taskhold: {library} has ABI version 77, this package needs 1" in done.stderr


def test_a_library_that_lacks_a_function_is_an_import_error(tmp_path: Path) -> None:
    library = compiled("unsigned taskhold_abi_version(void) { return 1; }", tmp_path)
    done = python("import taskhold", TASKHOLD_LIBRARY=str(library))
    assert "is not the library that this package needs" in done.stderr
    assert "taskhold_version" in done.stderr


def test_a_missing_library_is_an_import_error_with_the_remedy(tmp_path: Path) -> None:
    done = python("import taskhold", TASKHOLD_LIBRARY=str(tmp_path / "nothing.so"))
    assert "ImportError: taskhold: cannot load" in done.stderr
    source = Path(taskhold.__file__).parent
    for file in source.glob("*.py"):
        (tmp_path / "taskhold").mkdir(exist_ok=True)
        (tmp_path / "taskhold" / file.name).write_text(file.read_text())
    done = python("import taskhold", PYTHONPATH=str(tmp_path), TASKHOLD_LIBRARY=None)
    assert done.returncode == 1
    assert "is missing; install the package (pip install ./bindings/python)" in done.stderr
