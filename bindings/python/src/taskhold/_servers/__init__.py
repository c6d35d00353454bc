"""What the plugs into MCP SDKs have in common: tool calls that run as tasks, and the protocol's requests about them.

It stands on the official SDK (``mcp``), which FastMCP stands on too. ``wire`` reads requests, ``runs`` runs a tool's
body, ``channel`` is what the body talks to instead of its client, ``current`` what it finds of its run, ``tasks``
joins them over a task manager, and ``listen`` sends notifications. For tools that may run again in another process
``calls`` keeps the call with its task, and ``journal`` what was reached.
"""
