"""An MCP server in one file, on the standard library alone: a tool that asks back runs as a task.

    python own_server.py [--port 8000] [--store sqlite:tasks.db]   serve http://127.0.0.1:8000/mcp
    python own_server.py --demo                                    serve, play a client, print the conversation

It shows how the pieces meet: `tools/call` creates a task and starts the work, the worker asks the client and waits
without a thread, and `handle_request` answers everything that is sent about tasks. Who the caller is would come
from the access token that a real server checks; here it is the header `Authorization` as it stands.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from typing import Any

from taskhold import InvalidStateError, NotFoundError, Rendering, TaskManager, json_get

ENDPOINT = "/mcp"
TASKS = "io.modelcontextprotocol/tasks"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
# Where a JSON pointer finds whether a client declares tasks: a slash inside a name is written ~1.
DECLARED = "/".join(["/params/_meta", *(name.replace("/", "~1") for name in (CAPABILITIES, "extensions", TASKS))])
QUESTION = {
    "method": "elicitation/create",
    "params": {
        "message": "What is your name?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    },
}


class Server:
    """The tasks, and the work that is going on."""

    def __init__(self, store: str | None = None) -> None:
        self.tasks = TaskManager(store, poll_interval_ms=200)
        self.work: set[asyncio.Task[None]] = set()

    async def greet(self, task_id: str) -> None:
        """The tool: it asks for a name and greets; a client that gives up gets no greeting."""
        try:
            record = await self.tasks.request_task_input_async(task_id, {"name": QUESTION}, "Waiting for your name")
            while record["task"]["status"] == "input_required" and not record["cancelationRequested"]:
                record = await self.tasks.wait_task_async(task_id, record["revision"])
            if record["cancelationRequested"]:
                await self.tasks.cancel_task_async(task_id, "Cancelled by the client")
                return
            answer = (await self.tasks.take_task_input_responses_async(task_id))["name"]
            name = answer["content"]["name"] if answer["action"] == "accept" else "whoever you are"
            result = {"content": [{"type": "text", "text": f"Hello, {name}!"}]}
            await self.tasks.complete_task_async(task_id, result, unless_cancelation_requested=True)
        except NotFoundError:
            pass  # It expired: nobody asked any more.
        except InvalidStateError as error:
            if error.reason == "cancelation_requested":
                await self.tasks.cancel_task_async(task_id, "Cancelled by the client")

    async def call_tool(self, request: dict[str, Any], user: str | None) -> dict[str, Any]:
        """Create the task, start the work, and hand out the task's id."""
        record = await self.tasks.create_task_async(
            ENDPOINT, request["params"], authorization_partition=user, declared_input_requests=["elicitation/form"]
        )
        task_id = record["task"]["taskId"]
        created = await self.tasks.render_task_async(ENDPOINT, user, task_id, Rendering.CREATE_RESULT)
        working = asyncio.create_task(self.greet(task_id))
        self.work.add(working)
        working.add_done_callback(self.work.discard)
        return {"jsonrpc": "2.0", "id": request["id"], "result": created.value}

    async def answer(self, body: bytes, user: str | None) -> str | None:
        """Answer one JSON-RPC request; everything about tasks goes to the manager as it came."""
        try:
            request = json.loads(body)
            declared = json_get(body, DECLARED)
        except ValueError:
            request, declared = None, None
        if isinstance(request, dict) and request.get("method") == "tools/call" and "id" in request:
            if declared is not None:
                return json.dumps(await self.call_tool(request, user))
            required = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
            error = {"code": -32021, "message": "This tool needs a client that knows tasks", "data": required}
            return json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error})
        return await self.tasks.handle_request_json_async(ENDPOINT, user, body)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """HTTP, as little of it as is needed: one request, one response, and the connection ends."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            if head[0].split()[:2] == ["POST", ENDPOINT]:
                response = await self.answer(body, headers.get("authorization"))
                status = "202 Accepted" if response is None else "200 OK"
            else:
                status, response = "404 Not Found", None
            content = (response or "").encode()
            fields = f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
            writer.write(f"HTTP/1.1 {status}\r\n{fields}".encode() + content)
            await writer.drain()
        except (asyncio.IncompleteReadError, ValueError, ConnectionError):
            pass  # The client went away, or does not speak HTTP.
        finally:
            writer.close()


async def post(port: int, message: dict[str, Any]) -> dict[str, Any]:
    """Alice's client sends a request."""
    message["params"]["_meta"] = {CAPABILITIES: {"elicitation": {}, "extensions": {TASKS: {}}}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, **message}).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST {ENDPOINT} HTTP/1.1\r\nAuthorization: alice\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    _, _, content = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    response: dict[str, Any] = json.loads(content)
    print(f"{message['method']:<13} -> {json.dumps(response.get('result', response.get('error')))}", flush=True)
    return response


async def demo(port: int) -> None:
    """Call the tool, poll, answer the question, poll again."""
    called = await post(port, {"method": "tools/call", "params": {"name": "greet", "arguments": {}}})
    task_id = called["result"]["taskId"]
    while True:
        got = (await post(port, {"method": "tasks/get", "params": {"taskId": task_id}}))["result"]
        if got["status"] == "completed":
            return
        if got["status"] == "input_required":
            answers = {"name": {"action": "accept", "content": {"name": "Luca"}}}
            await post(port, {"method": "tasks/update", "params": {"taskId": task_id, "inputResponses": answers}})
        await asyncio.sleep(got["pollIntervalMs"] / 1000)


async def main(arguments: argparse.Namespace) -> None:
    """Serve until Ctrl-C, or until the demo is over."""
    server = Server(arguments.store)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0 if arguments.demo else arguments.port)
    port = listening.sockets[0].getsockname()[1]
    async with listening:
        if arguments.demo:
            await demo(port)
        else:
            print(f"serving http://127.0.0.1:{port}{ENDPOINT}", flush=True)
            await listening.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="An MCP server with one tool, `greet`, that runs as a task.")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--store", help="where tasks are kept; in memory unless given")
    parser.add_argument("--demo", action="store_true", help="play a client against it and end")
    try:
        asyncio.run(main(parser.parse_args()))
    except KeyboardInterrupt:
        sys.exit(130)
