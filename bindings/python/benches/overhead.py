"""What the package adds to the C call below it: time per call, in one thread, on a store in memory.

Columns: the C function called in a loop in C, the same through bare ctypes (arguments ready, output freed), the
`…_json` method, and the method that gives a dict. Rows are run in turns; a figure is the best of the rounds.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from ctypes import byref, c_char_p, c_uint64
from pathlib import Path

from taskhold import StateProvider, TaskManager, _native
from taskhold._native import lib

ROUNDS = 7
CALLS = 5_000

LOOPS = """
typedef int (*find_task)(void *, const char *, char **, char **);
typedef int (*save_task)(void *, const char *, const char *, const char *, unsigned long *, char **);
typedef void (*string_free)(char *);
void loop_find(find_task find, string_free release, void *handle, const char *id, long count) {
    for (long n = 0; n < count; n++) {
        char *record, *error;
        find(handle, id, &record, &error);
        release(record);
    }
}
void loop_save(save_task save, void *handle, const char *task, long count) {
    for (long n = 0; n < count; n++) {
        unsigned long revision;
        char *error;
        save(handle, 0, task, 0, &revision, &error);
    }
}
"""


def compiled() -> ctypes.CDLL:
    """The loops in C."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "loops.so")
        subprocess.run(
            ["gcc", "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", path], input=LOOPS, text=True, check=True
        )
        return ctypes.CDLL(str(path))


def address(function: object) -> ctypes.c_void_p:
    """A C function as a pointer."""
    return ctypes.cast(function, ctypes.c_void_p)  # type: ignore[arg-type]


def repeated(call: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(CALLS):
            call()

    return run


def main() -> None:
    loops = compiled()
    tasks, provider = TaskManager(), StateProvider()
    payload = {"text": "x" * 460}
    task_id = tasks.create_task("/mcp", payload)["task"]["taskId"]
    raw_id = task_id.encode()
    a2a = {"id": "t-1", "contextId": "c", "status": {"state": "working"}, "metadata": payload}
    a2a_text = json.dumps(a2a)
    raw_task = a2a_text.encode()
    provider.save_task(None, a2a)

    def bare_find() -> None:
        record, error = c_char_p(), c_char_p()
        lib.taskhold_manager_find_task(tasks._token, raw_id, byref(record), byref(error))
        _ = record.value
        _native._free(record)

    def bare_save() -> None:
        revision, error = c_uint64(), c_char_p()
        lib.taskhold_state_provider_save_task(provider._token, None, raw_task, None, byref(revision), byref(error))

    find, free = address(lib.taskhold_manager_find_task), address(lib.taskhold_string_free)
    save = address(lib.taskhold_state_provider_save_task)
    manager_token, provider_token = ctypes.c_void_p(tasks._token), ctypes.c_void_p(provider._token)
    count = ctypes.c_long(CALLS)
    rows: dict[str, list[Callable[[], object]]] = {
        "find a task, 500 B": [
            lambda: loops.loop_find(find, free, manager_token, raw_id, count),
            repeated(bare_find),
            repeated(lambda: tasks.find_task_json(task_id)),
            repeated(lambda: tasks.find_task(task_id)),
        ],
        "save an A2A task, 500 B": [
            lambda: loops.loop_save(save, provider_token, raw_task, count),
            repeated(bare_save),
            repeated(lambda: provider.save_task(None, a2a_text)),
            repeated(lambda: provider.save_task(None, a2a)),
        ],
    }
    best: dict[str, list[float]] = {name: [float("inf")] * 4 for name in rows}
    for _ in range(ROUNDS):
        for name, forms in rows.items():
            for at, form in enumerate(forms):
                start = time.perf_counter()
                form()
                best[name][at] = min(best[name][at], (time.perf_counter() - start) / CALLS * 1e9)
    print(f"{'ns per call':<26}{'C':>9}{'ctypes':>9}{'text':>9}{'dict':>9}{'text - C':>10}{'text / ctypes':>15}")
    for name, figures in best.items():
        c, bare, text, _ = figures
        cells = "".join(f"{figure:>9.0f}" for figure in figures)
        print(f"{name:<26}{cells}{text - c:>10.0f}{text / bare:>15.2f}")


if __name__ == "__main__":
    main()
