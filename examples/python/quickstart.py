"""A whole MCP task, from the tool call to the client's poll."""

from taskhold import TaskManager

with TaskManager() as tasks:
    # A tool call will take long: the server creates a task and hands out its id.
    record = tasks.create_task("/mcp", {"name": "hello"}, authorization_partition="alice")
    task_id = record["task"]["taskId"]
    # The worker completes it later, on any thread.
    tasks.complete_task(task_id, {"content": [{"type": "text", "text": "Hello, Luca!"}]})
    # Alice's client polls: the manager answers the whole request.
    response = tasks.handle_request_json(
        "/mcp",
        "alice",
        {"jsonrpc": "2.0", "id": 7, "method": "tasks/get", "params": {"taskId": task_id}},
        client_capabilities={"extensions": {"io.modelcontextprotocol/tasks": {}}},
    )
    print(response)
