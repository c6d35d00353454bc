"""a2a-python's InMemoryTaskStore and taskhold through ctypes: the same tasks, the same calls, in turn.

Prints one JSON object a line: operation, retained, who, ns a call. a2a-python is "peer" with its objects, and
"peertext" with the conversions from and to JSON text that a server makes anyway. taskhold is "text", and "decoded" with
json.loads and json.dumps around it, so that the program has objects.
"""

import asyncio
import ctypes
import json
import os
import random
import sys
import time
from ctypes import POINTER, byref, c_char_p, c_int32, c_uint64, c_void_p
from importlib.metadata import version
from pathlib import Path

from a2a.server.context import ServerCallContext
from a2a.server.tasks import InMemoryTaskStore
from a2a.types.a2a_pb2 import ListTasksRequest, Task
from google.protobuf.json_format import MessageToJson, Parse

ROUNDS = 3
TEMPLATE = Path(__file__).with_name("task.json").read_text(encoding="utf-8")

library = ctypes.CDLL(os.environ["TASKHOLD_LIBRARY"])
out, handle = POINTER(c_void_p), c_void_p
open_provider = library.taskhold_state_provider_open
open_provider.argtypes = [handle, c_char_p, out, out]
save_task = library.taskhold_state_provider_save_task
save_task.argtypes = [handle, c_char_p, c_char_p, c_char_p, POINTER(c_uint64), out]
get_task = library.taskhold_state_provider_get_task
get_task.argtypes = [handle, c_char_p, c_char_p, c_char_p, out, POINTER(c_uint64), out]
list_tasks = library.taskhold_state_provider_list_tasks
list_tasks.argtypes = [handle, c_char_p, c_char_p, out, out]
close_provider = library.taskhold_state_provider_close
close_provider.argtypes = [handle]
for function in (open_provider, save_task, get_task, list_tasks, close_provider):
    function.restype = c_int32
free = library.taskhold_string_free
free.argtypes, free.restype = [c_void_p], None

PAGE = b'{"pageSize": 50, "includeArtifacts": true}'


def task_text(n: int, minute: int) -> bytes:
    timestamp = f"2026-01-{1 + n // 86_400:02}T{n // 3600 % 24:02}:{minute:02}:{n % 60:02}.{n % 1000:03}Z"
    return TEMPLATE.replace("{id}", f"task-{n:08}").replace("{timestamp}", timestamp).encode()


def checked(status: int) -> None:
    if status != 0:
        raise RuntimeError(f"taskhold: status {status}")


def taken(text: c_void_p) -> bytes:
    """Takes over a string that the library gave out."""
    copy = ctypes.string_at(text)
    free(text)
    return copy


class Taskhold:
    """What a binding does at the least: call, copy, free."""

    def __init__(self) -> None:
        self.handle = c_void_p()
        checked(open_provider(None, None, byref(self.handle), None))

    def save(self, task: bytes) -> None:
        checked(save_task(self.handle, None, task, None, None, None))

    def get(self, task_id: bytes) -> bytes:
        text = c_void_p()
        checked(get_task(self.handle, None, task_id, None, byref(text), None, None))
        return taken(text)

    def list(self) -> bytes:
        text = c_void_p()
        checked(list_tasks(self.handle, None, PAGE, byref(text), None))
        return taken(text)


async def measure(retained: int) -> None:
    numbers = random.Random(retained)
    store, context, taskhold = InMemoryTaskStore(), ServerCallContext(), Taskhold()
    first = Parse(task_text(0, 0).decode(), Task())
    for n in range(retained):
        text = task_text(n, 0)
        task = Task()
        task.CopyFrom(first)
        task.id = f"task-{n:08}"
        task.status.timestamp.FromJsonString(json.loads(text)["status"]["timestamp"])
        await store.save(task, context)
        taskhold.save(text)

    # Objects and texts that a call is given are made beforehand; each save moves its task to a later time.
    order = [numbers.randrange(retained) for _ in range(5_000)]
    ids = [f"task-{n:08}" for n in order]
    id_texts = [task_id.encode() for task_id in ids]
    request = ListTasksRequest(page_size=50)
    pages = 20 if retained <= 1_000 else 2
    texts: list[bytes] = []
    objects: list[Task] = []
    documents: list[dict] = []

    async def peer_get() -> int:
        for task_id in ids:
            await store.get(task_id, context)
        return len(ids)

    async def peertext_get() -> int:
        for task_id in ids[:1_000]:
            MessageToJson(await store.get(task_id, context), indent=None).encode()
        return 1_000

    async def text_get() -> int:
        for task_id in id_texts:
            taskhold.get(task_id)
        return len(ids)

    async def decoded_get() -> int:
        for task_id in id_texts:
            json.loads(taskhold.get(task_id))
        return len(ids)

    async def peer_save() -> int:
        for task in objects:
            await store.save(task, context)
        return len(objects)

    async def peertext_save() -> int:
        for text in texts[:1_000]:
            await store.save(Parse(text, Task()), context)
        return 1_000

    async def text_save() -> int:
        for text in texts:
            taskhold.save(text)
        return len(texts)

    async def decoded_save() -> int:
        for document in documents:
            taskhold.save(json.dumps(document, separators=(",", ":")).encode())
        return len(documents)

    async def peer_list() -> int:
        for _ in range(pages):
            await store.list(request, context)
        return pages

    async def peertext_list() -> int:
        for _ in range(pages):
            MessageToJson(await store.list(request, context), indent=None).encode()
        return pages

    async def text_list() -> int:
        for _ in range(20):
            taskhold.list()
        return 20

    async def decoded_list() -> int:
        for _ in range(20):
            json.loads(taskhold.list())
        return 20

    # Both answer the same before they are measured.
    theirs = await store.list(request, context)
    ours = json.loads(taskhold.list())
    assert [task.id for task in theirs.tasks][:1] == [ours["tasks"][0]["id"]] and len(ours["tasks"]) == 50
    assert theirs.total_size == ours["totalSize"] == retained

    loops = [peer_get, text_get, peertext_get, decoded_get, peer_save, text_save, peertext_save, decoded_save]
    loops += [peer_list, text_list, peertext_list, decoded_list]
    for round_number in range(ROUNDS):
        texts = [task_text(n, 1 + round_number) for n in order]
        objects = [Parse(text.decode(), Task()) for text in texts[:1_000]]
        documents = [json.loads(text) for text in texts[:1_000]]
        for loop in loops if round_number % 2 == 0 else reversed(loops):
            start = time.perf_counter_ns()
            calls = await loop()
            figure = (time.perf_counter_ns() - start) / calls
            who, operation = loop.__name__.split("_")
            line = {"operation": operation, "retained": retained, "who": who, "ns": figure}
            print(json.dumps(line))
    close_provider(taskhold.handle)


if __name__ == "__main__":
    print(json.dumps({"peer": f"a2a-python {version('a2a-sdk')}, CPython {sys.version.split()[0]}"}))
    for size in (1_000, 100_000):
        asyncio.run(measure(size))
