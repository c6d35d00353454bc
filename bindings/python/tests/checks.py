"""What the conformance suite does not look at: each is a coroutine that a server of either SDK has to pass.

``test_plugs`` runs them, and runs them again with the plug broken on purpose: each breakage has to be noticed.
"""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from typing import Any

import mcp.client
import pytest
from mcp.client.extension import advertise
from mcp.shared.exceptions import MCPError

from kits import ENDED, TASKS, Answer, Build, Client, Kit, accept, serving
from taskhold import ManualClock, Store


async def questions(client: Client, task_id: str, number: int = 1) -> list[str]:
    """The keys of a task's open questions, once there are so many."""
    while True:
        task = await client.until(task_id, "input_required", *ENDED)
        keys = list(task.get("inputRequests", {}))
        if len(keys) >= number:
            return keys
        assert task["status"] not in ENDED, task
        await asyncio.sleep(0.01)


async def a_name_that_is_missing_or_another_is_refused(build: Build) -> None:
    kit = build()
    async with serving(kit.app) as clients:
        client = clients()
        task_id = await client.task("hold")
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            params = {"taskId": task_id, "inputResponses": {}}
            for name in (None, "another", ""):
                answer = await client.send(method, params, Mcp_Name=name)
                assert (answer.status, answer.code) == (400, -32020), (method, name, answer)
            assert (await client.send(method, params, Mcp_Name=f"=?base64?{encoded(task_id)}?=")).code is None
        assert (await client.until(task_id))["status"] == "cancelled"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def tasks_of_another_principal_are_unknown(build: Build) -> None:
    kit = build(users=True)
    async with serving(kit.app) as clients:
        alice, bob = clients(user="alice"), clients(user="bob")
        task_id = await alice.task("ask")
        (key,) = await questions(alice, task_id)
        for method, more in (
            ("tasks/get", {}),
            ("tasks/update", {"inputResponses": {key: accept("Bob")}}),
            ("tasks/cancel", {}),
        ):
            foreign = await bob.send(method, {"taskId": task_id, **more})
            unknown = await bob.send(method, {"taskId": "unknown", **more})
            assert foreign == unknown
            assert (foreign.status, foreign.code) == (400, -32602)
        task = await alice.get(task_id)
        assert (task["status"], list(task.get("inputRequests", {}))) == ("input_required", [key])
        await alice.answer(task_id, {key: accept("Alice")})
        assert text(await alice.until(task_id)) == "Alice"


def text(task: dict[str, Any]) -> str:
    """What the tool of a completed task said."""
    assert task["status"] == "completed", task
    said: str = task["result"]["content"][0]["text"]
    return said


async def keys_are_used_once_and_late_or_wrong_answers_are_ignored(build: Build) -> None:
    kit = build()
    async with serving(kit.app) as clients:
        client = clients()
        task_id = await client.task("ask_twice")
        (first,) = await questions(client, task_id)
        wrong: list[Any] = [None, 1, "yes", [], {}, {"action": "maybe"}, {"action": "accept", "content": [1]}]
        for answer in wrong:
            acknowledged = await client.answer(task_id, {first: answer, "unknown": accept("Eve")})
            assert acknowledged.result["resultType"] == "complete"
            assert list((await client.get(task_id))["inputRequests"]) == [first]
        await client.answer(task_id, {first: accept("Ada")})
        while (keys := await questions(client, task_id)) == [first]:
            pass
        (second,) = keys
        assert second != first
        await client.answer(task_id, {first: accept("late")})
        assert list((await client.get(task_id))["inputRequests"]) == [second]
        await client.answer(task_id, {second: accept("Grace")})
        assert text(await client.until(task_id)) == "Ada, Grace"
        # An answer to a task that has ended is acknowledged, too.
        assert (await client.answer(task_id, {second: accept("late")})).result["resultType"] == "complete"
        assert text(await client.get(task_id)) == "Ada, Grace"


async def questions_at_once_are_answered_one_by_one(build: Build) -> None:
    kit = build()
    async with serving(kit.app) as clients:
        client = clients()
        task_id = await client.task("ask_both")
        keys = await questions(client, task_id, 2)
        asked = (await client.get(task_id))["inputRequests"]
        names = {key: asked[key]["params"]["message"].strip("?") for key in keys}
        await client.answer(task_id, {keys[0]: accept(names[keys[0]])})
        assert list((await client.get(task_id))["inputRequests"]) == [keys[1]]
        await client.answer(task_id, {keys[1]: accept(names[keys[1]])})
        assert text(await client.until(task_id)) == "One, Two"


async def null_content_counts_as_absent(build: Build) -> None:
    kit = build()
    async with serving(kit.app) as clients:
        client = clients()
        for action in ("decline", "cancel"):
            task_id = await client.task("ask")
            (key,) = await questions(client, task_id)
            await client.answer(task_id, {key: {"action": action, "content": None}})
            assert text(await client.until(task_id)) == action


async def a_question_whose_answer_nobody_awaits_is_withdrawn(build: Build) -> None:
    kit = build()
    async with serving(kit.app) as clients:
        client = clients()
        task_id = await client.task("give_up")
        await client.until(task_id, "input_required")
        task = await client.until(task_id, "working")
        assert "inputRequests" not in task
        kit.bench.go.set()
        assert text(await client.until(task_id)) == "gave up"


async def a_result_that_asks_is_asked_through_the_task(build: Build) -> None:
    kit = build()
    async with serving(kit.app) as clients:
        client = clients()
        task_id = await client.task("ask_by_result")
        (key,) = await questions(client, task_id)
        await client.answer(task_id, {key: accept("Ada")})
        assert text(await client.until(task_id)) == "Ada 1"


async def a_tool_that_detaches_negotiates_in_the_foreground(build: Build) -> None:
    kit = build()
    async with serving(kit.app) as clients:
        client = clients()
        first = (await client.call("negotiate")).result
        assert first["resultType"] == "input_required"
        assert "taskId" not in first
        again = {
            "name": "negotiate",
            "arguments": {},
            "inputResponses": {"who": accept("Ada")},
            "requestState": first["requestState"],
        }
        task = (await client.send("tools/call", again)).result
        assert task["resultType"] == "task"
        assert (await client.get(task["taskId"]))["status"] == "working"
        kit.bench.go.set()
        assert text(await client.until(task["taskId"])) == "Ada 1"
        assert (await client.call("stay")).result["resultType"] == "complete"
        # Without tasks it is an ordinary tool.
        inline = clients(declares=False)
        first = (await inline.call("negotiate")).result
        again["requestState"] = first["requestState"]
        assert (await inline.send("tools/call", again)).result["content"][0]["text"] == "Ada 1"


async def progress_is_a_message_and_withdraws_no_question(build: Build) -> None:
    kit = build()
    async with serving(kit.app) as clients:
        client = clients()
        task_id = await client.task("report")
        (key,) = await questions(client, task_id)
        kit.bench.go.set()
        while (task := await client.get(task_id)).get("statusMessage") != "one of three":
            assert task["status"] == "input_required", task
        assert (task["status"], list(task.get("inputRequests", {}))) == ("input_required", [key])
        await client.answer(task_id, {key: accept("Ada")})
        assert text(await client.until(task_id)) == "Ada"


async def ends_are_stored_as_what_they_are(build: Build) -> None:
    kit = build()
    async with serving(kit.app) as clients:
        client = clients()
        task = await client.until(await client.task("fail"))
        assert task["result"]["isError"] is True
        assert "fail" in text(task)
        task = await client.until(await client.task("break_protocol"))
        assert task["status"] == "failed"
        assert task.get("error") == {"code": -32099, "message": "no more", "data": {"why": "test"}}
        assert "result" not in task


async def what_is_no_result_fails_the_task(build: Build) -> None:
    kit = build(maximum_payload_bytes=1000)
    async with serving(kit.app) as clients:
        client = clients()
        task = await client.until(await client.task("say_much"))
        assert (task["status"], task.get("error", {}).get("code")) == ("failed", -32603)


async def only_who_declares_tasks_gets_them(build: Build) -> None:
    kit = build()
    kit.bench.go.set()
    async with serving(kit.app) as clients:
        client = clients(declares=False)
        result = (await client.call("hold")).result
        assert result["resultType"] == "complete"
        assert result["content"][0]["text"] == "held"
        refused = await client.call("ask_both")
        assert (refused.status, refused.code) == (400, -32021)
        assert refused.response["error"]["data"] == {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        task_id = await clients().task("hold")
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            answer = await client.send(method, {"taskId": task_id, "inputResponses": {}})
            assert (answer.status, answer.code) == (400, -32021)


async def clients_of_earlier_versions_are_served_inline(build: Build) -> None:
    kit = build()
    kit.bench.go.set()
    async with (
        serving(kit.app) as clients,
        mcp.client.Client(clients().url, mode="legacy", extensions=[advertise(TASKS)]) as client,
    ):
        result = await client.call_tool("hold")
        assert [block.text for block in result.content if block.type == "text"] == ["held"]
        with pytest.raises(MCPError) as refused:
            await client.call_tool("ask_both")
        assert refused.value.error.code == -32021


async def what_a_client_cannot_answer_is_not_asked(build: Build) -> None:
    kit = build()
    async with serving(kit.app) as clients:
        client = clients()
        del client.capabilities["elicitation"]
        task = await client.until(await client.task("ask"))
        # The tool is told; what it makes of it is its own.
        assert task["status"] == "failed" or task["result"]["isError"] is True


async def an_expired_task_is_unknown_and_its_tool_is_stopped(build: Build) -> None:
    clock = ManualClock(1_764_498_600_000)
    kit = build(Store(clock=clock), task_time_to_live_ms=60_000, lease_ms=None)
    async with serving(kit.app) as clients:
        client = clients()
        task_id = await client.task("hold")
        await logged(kit.bench.log, "started")
        clock.advance(59_999)
        assert (await client.get(task_id))["status"] == "working"
        clock.advance(1)
        answer = await client.send("tasks/get", {"taskId": task_id})
        assert (answer.status, answer.code) == (400, -32602)
        assert answer == await client.send("tasks/get", {"taskId": "unknown"})
        await logged(kit.bench.log, "cancelled")


async def logged(log: list[str], what: str) -> None:
    """Wait until a tool says that it did something."""
    async with asyncio.timeout(10):
        while what not in log:
            await asyncio.sleep(0.01)


async def a_lapsed_lease_abandons_the_task_and_stops_its_tool(build: Build) -> None:
    clock = ManualClock(1_764_498_600_000)
    kit = build(Store(clock=clock), lease_ms=30_000)
    async with serving(kit.app) as clients:
        client = clients()
        task_id = await client.task("hold")
        await logged(kit.bench.log, "started")
        clock.advance(30_000)
        task = await client.get(task_id)
        assert (task["status"], task.get("error", {}).get("code")) == ("failed", -32603)
        await logged(kit.bench.log, "cancelled")
        assert await client.get(task_id) == task


async def expiry(kit: Kit, task_id: str) -> str:
    """When the lease of a task ends."""
    record = await kit.tasks.manager.find_task(task_id)
    assert record is not None
    lease = record["lease"]
    assert lease is not None, record
    return lease["expiresAt"]


async def leases_are_renewed_together_while_the_process_lives(build: Build) -> None:
    clock = ManualClock(1_764_498_600_000)
    kit = build(Store(clock=clock), lease_ms=30_000)
    async with serving(kit.app) as clients:
        client = clients()
        ids = [await client.task("hold") for _ in range(3)]
        for _ in range(4):
            before = [await expiry(kit, task_id) for task_id in ids]
            clock.advance(20_000)
            async with asyncio.timeout(10):
                while any([await expiry(kit, task_id) <= was for task_id, was in zip(ids, before, strict=True)]):
                    # Each move of the clock has the leases looked at again.
                    clock.advance(1)
                    await asyncio.sleep(0.01)
        kit.bench.go.set()
        for task_id in ids:
            assert text(await client.until(task_id)) == "held"


async def cancelation_races_completion(build: Build) -> None:
    kit = build()
    async with serving(kit.app) as clients:
        client = clients()
        seen = set()
        for pause in [0, 0, 0, 0.001, 0.002, 0.005, 0.01, 0.02] * 3:
            kit.bench.go.clear()
            task_id = await client.task("hold")
            canceling = asyncio.create_task(client.send("tasks/cancel", {"taskId": task_id}))
            await asyncio.sleep(pause)
            kit.bench.go.set()
            assert (await canceling).result["resultType"] == "complete"
            task = await client.until(task_id)
            seen.add(task["status"])
            assert text(task) == "held" if task["status"] == "completed" else task["status"] == "cancelled"
            # It stays so.
            await client.send("tasks/cancel", {"taskId": task_id})
            assert await client.get(task_id) == task
        assert "cancelled" in seen


async def two_hundred_wait_without_threads(build: Build) -> None:
    kit = build()
    async with serving(kit.app) as clients:
        client = clients()
        await client.call("plain")
        threads = threading.active_count()
        manager = kit.tasks.manager
        ids = [await client.task("ask") for _ in range(200)]
        answers = {}
        for task_id in ids:
            while not (asked := (await manager.wait_task(task_id))["task"].get("inputRequests")):
                await asyncio.sleep(0)
            answers[task_id] = next(iter(asked))
        # A tool that needs a thread gets one.
        assert (await asyncio.wait_for(client.call("plain"), 5)).result["content"][0]["text"] == "plain"
        assert threading.active_count() <= threads + 1
        for number, (task_id, key) in enumerate(answers.items()):
            await manager.update_task("/mcp", None, task_id, {key: accept(str(number))})
        for number, task_id in enumerate(ids):
            assert text(await client.until(task_id)) == str(number)


async def a_stopped_server_fails_what_it_leaves(build: Build) -> None:
    kit = build()
    async with serving(kit.app) as clients:
        client = clients()
        task_id = await client.task("hold")
        await logged(kit.bench.log, "started")
        # As when the loop ends: nobody asked for a cancelation.
        for running in asyncio.all_tasks():
            if running.get_name().startswith("taskhold:"):
                running.cancel()
        task = await client.until(task_id)
        assert (task["status"], task.get("error", {}).get("code")) == ("failed", -32603)
        await logged(kit.bench.log, "cancelled")


async def the_rest_of_the_wire_is_as_it_should_be(build: Build) -> None:
    kit = build(maximum_retained_tasks=1)
    async with serving(kit.app) as clients:
        client = clients()
        created = (await client.call("hold")).result
        assert created["resultType"] == "task"
        assert {"taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs"} <= created.keys()
        assert created["status"] == "working"
        assert not {"inputRequests", "result", "error"} & created.keys()
        full = await client.call("hold")
        assert full.code == -32603
        for params in ({}, {"taskId": 1}, {"taskId": None}):
            assert (await client.send("tasks/get", params, Mcp_Name="1")).code == -32602
        await client.send("tasks/cancel", {"taskId": created["taskId"]})
        await client.until(created["taskId"], "cancelled")


async def notifications_show_each_task_to_its_end(build: Build) -> None:
    kit = build(json_response=False)
    async with serving(kit.app) as clients:
        client = Streamed(clients())
        task_id = await client.task("ask")
        (key,) = await questions(client, task_id)
        got: list[dict[str, Any]] = []
        async for message in client.listen(task_id, "unknown"):
            got.append(message)
            if message["method"] == "notifications/subscriptions/acknowledged":
                assert message["params"]["notifications"]["taskIds"] == [task_id]
                continue
            assert message["method"] == "notifications/tasks"
            assert message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == 1
            if message["params"]["status"] == "input_required":
                assert list(message["params"]["inputRequests"]) == [key]
                await client.answer(task_id, {key: accept("Ada")})
            if message["params"]["status"] in ENDED:
                assert text(message["params"]) == "Ada"
                break
        assert got[0]["method"] == "notifications/subscriptions/acknowledged"
        assert got[1]["params"]["status"] == "input_required"


async def the_last_notification_always_comes(build: Build) -> None:
    kit = build(json_response=False)
    async with serving(kit.app) as clients:
        client = Streamed(clients())
        for _ in range(10):
            kit.bench.go.clear()
            task_id = await client.task("hold")
            async with asyncio.timeout(5):
                async for message in client.listen(task_id):
                    kit.bench.go.set()
                    if message["params"].get("status") in ENDED:
                        break


async def notifications_need_the_declaration(build: Build) -> None:
    kit = build(json_response=False, users=True)
    async with serving(kit.app) as clients:
        client = clients(declares=False, user="alice")
        message = await anext(client.listen("unknown"))
        assert message.get("error", {}).get("code") == -32021
        alice, bob = Streamed(clients(user="alice")), Streamed(clients(user="bob"))
        foreign = await alice.task("hold")
        message = await anext(bob.listen(foreign))
        assert message["params"]["notifications"]["taskIds"] == []
        message = await anext(bob.listen(*(str(number) for number in range(1001))))
        assert message.get("error", {}).get("code") == -32602


class Streamed(Client):
    """A client of a server that answers in event streams."""

    def __init__(self, client: Client) -> None:
        super().__init__(client.http, client.url, True, client.user)

    async def send(self, method: str, params: dict[str, Any], **changed: str | None) -> Any:
        """Send a request and read the stream to its response."""
        message, headers = self.message(method, params)
        async with self.http.stream("POST", self.url, json=message, headers=headers) as response:
            if response.headers["content-type"].startswith("application/json"):
                return Answer(response.status_code, json.loads(await response.aread()))
            async for line in response.aiter_lines():
                if line.startswith("data:") and "id" in (got := json.loads(line[5:])):
                    return Answer(response.status_code, got)
        raise AssertionError("no response")


COMMON = [
    a_name_that_is_missing_or_another_is_refused,
    tasks_of_another_principal_are_unknown,
    keys_are_used_once_and_late_or_wrong_answers_are_ignored,
    questions_at_once_are_answered_one_by_one,
    null_content_counts_as_absent,
    a_question_whose_answer_nobody_awaits_is_withdrawn,
    a_result_that_asks_is_asked_through_the_task,
    a_tool_that_detaches_negotiates_in_the_foreground,
    progress_is_a_message_and_withdraws_no_question,
    ends_are_stored_as_what_they_are,
    what_is_no_result_fails_the_task,
    only_who_declares_tasks_gets_them,
    clients_of_earlier_versions_are_served_inline,
    what_a_client_cannot_answer_is_not_asked,
    an_expired_task_is_unknown_and_its_tool_is_stopped,
    a_lapsed_lease_abandons_the_task_and_stops_its_tool,
    leases_are_renewed_together_while_the_process_lives,
    cancelation_races_completion,
    two_hundred_wait_without_threads,
    a_stopped_server_fails_what_it_leaves,
    the_rest_of_the_wire_is_as_it_should_be,
]
# FastMCP does not serve subscriptions/listen.
OFFICIAL = [
    notifications_show_each_task_to_its_end,
    the_last_notification_always_comes,
    notifications_need_the_declaration,
]
